package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

// kit is what a promise is tested with: a store, and verbs that fail the test
// with a full sentence.
type kit struct {
	testing.TB
	store  selvage.Store                           // shared with the other promises of the group
	fresh  func() selvage.Store                    // opens a store of the test's own
	reopen func(old selvage.Store) selvage.Store   // nil unless claimed
	share  func(first selvage.Store) selvage.Store // nil unless claimed

	patience time.Duration // with what should not take long
}

// on returns the kit working on another store.
func (k *kit) on(s selvage.Store) *kit {
	other := *k
	other.store = s
	return &other
}

// alone returns the kit working on a store that nobody else uses.
func (k *kit) alone() *kit { return k.on(k.fresh()) }

// newID returns an id that nobody else uses.
func newID() selvage.ThreadID { return selvage.ThreadID("t-" + selvage.NewID()) }

// say is a user's message with an id, or without one.
func say(id, text string) selvage.Message {
	return selvage.Message{ID: id, Role: selvage.RoleUser, Content: selvage.Text(text)}
}

// says is a change set of messages without ids.
func says(texts ...string) selvage.ChangeSet {
	var set selvage.ChangeSet
	for _, text := range texts {
		set.Messages = append(set.Messages, say("", text))
	}
	return set
}

// patch is a change set of one patch.
func patch(ops ...state.Op) selvage.ChangeSet {
	return selvage.ChangeSet{Patches: []selvage.StatePatch{{Ops: ops}}}
}

func ptr[T any](v T) *T { return &v }

// append appends, which must succeed.
func (k *kit) append(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) selvage.Receipt {
	k.Helper()
	r, err := k.store.Append(k.Context(), id, set, pre)
	if err != nil {
		k.Fatalf("append with precondition %s failed: %v", pre, err)
	}
	return r
}

// create makes a new thread out of sets, one version each.
func (k *kit) create(sets ...selvage.ChangeSet) selvage.ThreadID {
	k.Helper()
	id, pre := newID(), selvage.New()
	for _, set := range sets {
		k.append(id, set, pre)
		pre = selvage.Any()
	}
	return id
}

// refuse appends, which must fail with an error of the class and leave no mark
// on the thread. It returns the error.
func (k *kit) refuse(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, class error) error {
	k.Helper()
	before := k.picture(id)
	r, err := k.store.Append(k.Context(), id, set, pre)
	if err == nil {
		k.Fatalf("append with precondition %s made version %d; want it refused as %q", pre, r.Version, class)
	}
	k.class("append", err, class)
	if after := k.picture(id); after != before {
		k.Errorf("append was refused (%v), yet it left its mark: %s", err, difference(after, before))
	}
	return err
}

// refuseField is refuse for an [selvage.InvalidError] about a certain field.
func (k *kit) refuseField(id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition, field string) {
	k.Helper()
	err := k.refuse(id, set, pre, selvage.ErrInvalid)
	var invalid *selvage.InvalidError
	if !errors.As(err, &invalid) {
		k.Fatalf("append failed with %v, a %T; want an *InvalidError, which names the field at fault", err, err)
	}
	if !strings.HasPrefix(invalid.Field, field) {
		k.Errorf("append was refused because of field %q (%v); want the fault found in %q", invalid.Field, err, field)
	}
}

// classes are all of them: an error has exactly one.
func classes() []error {
	return []error{selvage.ErrNotFound, selvage.ErrAlreadyExists, selvage.ErrConflict, selvage.ErrInvalid, selvage.ErrFenced,
		selvage.ErrUnknownOutcome, selvage.ErrCorrupt, selvage.ErrUnsupported, selvage.ErrTooLarge, selvage.ErrGone,
		selvage.ErrCursorExpired, selvage.ErrBusy, selvage.ErrClosed, selvage.ErrUnavailable}
}

// class checks that an error is there and matches want, and no other class.
func (k *kit) class(what string, err, want error) {
	k.Helper()
	if err == nil {
		k.Fatalf("%s succeeded; want an error matching %q", what, want)
	}
	if !errors.Is(err, want) {
		k.Fatalf("%s failed with %q (code %q); want an error matching %q", what, err, selvage.Code(err), want)
	}
	for _, c := range classes() {
		if c != want && errors.Is(err, c) {
			k.Errorf("%s failed with %q, which matches %q besides %q; an error matches exactly one class", what, err, c, want)
		}
	}
}
