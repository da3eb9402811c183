package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/selvagehq/selvage"
)

// CopyOptions configures [Copy].
type CopyOptions struct {
	// Thread limits the copy to one thread of the store's own tenant.
	Thread selvage.ThreadID
	// Told, if not nil, is called after every thread.
	Told func(CopyReport)
}

// CopyReport tells what a copy did so far.
type CopyReport struct {
	Tenants  int   `json:"tenants"`    // besides the one without a name
	Threads  int   `json:"threads"`    // that are now in both stores
	Changes  int64 `json:"changes"`    // copied by this call
	UpToDate int   `json:"up_to_date"` // threads that were there already
	// Refused are the threads that were left out.
	Refused []RefusedThread `json:"refused,omitempty"`
}

// RefusedThread is a thread that could not be copied for a reason of its own:
// it is damaged, or the other store has a history of its own for it or has
// removed it.
type RefusedThread struct {
	Tenant string           `json:"tenant,omitempty"`
	ID     selvage.ThreadID `json:"id"`
	Reason string           `json:"reason"`
}

// Copy copies every thread of every tenant, or one thread, into another store
// and proves that it came out as it went in: each change is judged anew by the
// store that takes it in, its hash must follow, and head, state and runs must
// be the same in both at the end. What is there already is not copied again,
// so that a copy that broke off goes on where it was, and a later one brings
// what has happened since. Threads of the other store that have a history of
// their own are not touched and match [selvage.ErrAlreadyExists].
//
// Both stores may be in use. What is appended to a thread while it is copied
// is left for the next copy. Blobs come with the messages that refer to them.
// Leases, deliveries, tombstones and what is kept besides threads do not come;
// a backup has all but the leases.
func Copy(ctx context.Context, from, to selvage.Store, opts CopyOptions) (CopyReport, error) {
	c := &copier{opts: opts}
	if opts.Thread != "" {
		err := c.oneThread(ctx, from, to, opts.Thread)
		return c.report, err
	}
	for pair, err := range tenants(ctx, from, to) {
		if err == nil {
			err = c.tenant(ctx, pair)
		}
		if err != nil {
			return c.report, err
		}
	}
	return c.report, c.refusal()
}

// pair is a tenant in both stores.
type pair struct {
	name     string
	from, to selvage.Store
}

// tenants goes through the tenants of a store, the one without a name first.
func tenants(ctx context.Context, from, to selvage.Store) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		if !yield(pair{"", from, to}, nil) {
			return
		}
		source, ok := selvage.As[selvage.Tenancy](from)
		for after := ""; ok; {
			names, err := source.Tenants(ctx, after)
			if err != nil {
				yield(pair{}, err)
				return
			}
			for _, name := range names {
				p, err := tenantOf(source, to, name)
				if !yield(p, err) || err != nil {
					return
				}
				after = name
			}
			ok = len(names) > 0
		}
	}
}

func tenantOf(source selvage.Tenancy, to selvage.Store, name string) (pair, error) {
	target, ok := selvage.As[selvage.Tenancy](to)
	if !ok {
		return pair{}, fmt.Errorf("there are tenants to copy, and the other store has none: %w", selvage.ErrUnsupported)
	}
	a, err := source.Tenant(name)
	if err != nil {
		return pair{}, err
	}
	b, err := target.Tenant(name)
	if err != nil {
		return pair{}, errors.Join(err, a.Close())
	}
	return pair{name, a, b}, nil
}

// copier is a copy under way.
type copier struct {
	opts    CopyOptions
	report  CopyReport
	refused error // of the thread that was refused for the gravest reason
}

// refuse remembers a thread that could not be copied for a reason of its own,
// and reports whether err is such a one.
func (c *copier) refuse(tenant string, id selvage.ThreadID, err error) bool {
	damaged := errors.Is(err, selvage.ErrCorrupt)
	its := slices.ContainsFunc([]error{selvage.ErrAlreadyExists, selvage.ErrGone, selvage.ErrNotFound}, func(class error) bool { return errors.Is(err, class) })
	if !damaged && !its {
		return false
	}
	c.report.Refused = append(c.report.Refused, RefusedThread{tenant, id, err.Error()})
	if c.refused == nil || damaged && !errors.Is(c.refused, selvage.ErrCorrupt) {
		c.refused = err
	}
	return true
}

// refusal is what a copy that left threads out comes to.
func (c *copier) refusal() error {
	if n := len(c.report.Refused); n > 1 {
		return fmt.Errorf("%d threads were not copied, one of them for: %w", n, c.refused)
	}
	return c.refused
}

func (c *copier) tenant(ctx context.Context, p pair) (err error) {
	if p.name != "" {
		c.report.Tenants++
		defer func() { err = errors.Join(err, p.from.Close(), p.to.Close()) }()
	}
	limit := selvage.MaxPage
	for q := (selvage.ThreadQuery{Limit: &limit}); ; {
		page, err := p.from.Threads(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			err := c.oneThread(ctx, p.from, p.to, page.Items[i].ID)
			if errors.Is(err, selvage.ErrNotFound) {
				if _, gone := load(ctx, p.from, page.Items[i].ID); errors.Is(gone, selvage.ErrNotFound) {
					continue // deleted since it was listed
				}
			}
			if c.refuse(p.name, page.Items[i].ID, err) {
				continue
			}
			if err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// oneThread brings one thread up to where it is in the store it comes from.
func (c *copier) oneThread(ctx context.Context, from, to selvage.Store, id selvage.ThreadID) error {
	importer, ok := selvage.As[selvage.Importer](to)
	if !ok {
		return fmt.Errorf("the store takes no logs of other stores in: %w", selvage.ErrUnsupported)
	}
	here, err := load(ctx, from, id)
	if err != nil {
		return err
	}
	there, err := load(ctx, to, id)
	if errors.Is(err, selvage.ErrGone) {
		// A copy broke off before it came to the version from which the state is
		// kept. What is there is known when it is imported again.
		there, err = &selvage.Head{}, nil
	}
	if err != nil && !errors.Is(err, selvage.ErrNotFound) {
		return err
	}
	if there.Thread.Version >= here.Thread.Version {
		c.report.UpToDate++
	} else {
		n, err := bring(ctx, from, importer, to, here, there)
		if err != nil {
			return fmt.Errorf("copy thread %q: %w", id, err)
		}
		c.report.Changes += n
		if there, err = load(ctx, to, id); err != nil {
			return err
		}
	}
	if err := compare(ctx, from, to, here, there); err != nil {
		return fmt.Errorf("copy thread %q: %w", id, err)
	}
	c.report.Threads++
	if c.opts.Told != nil {
		c.opts.Told(c.report)
	}
	return nil
}

// bring copies the changes that are not there yet and returns how many.
func bring(ctx context.Context, from selvage.Store, importer selvage.Importer, to selvage.Store, here, there *selvage.Head) (n int64, err error) {
	id, v := here.Thread.ID, there.Thread.Version
	if v > 0 {
		if err := sameAt(ctx, from, to, id, v); err != nil {
			return 0, err
		}
	}
	_, err = importAll(ctx, importer, id, func(yield func(selvage.Change, error) bool) {
		for c, err := range Changes(ctx, from, id, v, here.Thread.Version) {
			n++
			if err == nil {
				err = carry(ctx, from, to, &c)
			}
			if !yield(c, err) {
				return
			}
		}
	})
	return n, err
}

func load(ctx context.Context, s selvage.Store, id selvage.ThreadID) (*selvage.Head, error) {
	none := 0
	h, err := s.Load(ctx, id, selvage.LoadOptions{Messages: &none})
	return &h, err
}

// compare proves that a thread is in both stores the same.
func compare(ctx context.Context, from, to selvage.Store, here, there *selvage.Head) error {
	v := here.Thread.Version
	switch {
	case there.Thread.Version < v:
		return &selvage.CorruptError{Thread: here.Thread.ID, Version: there.Thread.Version, Reason: fmt.Sprintf("the copy ends here, and the thread at version %d", v)}
	case there.Thread.Version > v:
		return sameAt(ctx, from, to, here.Thread.ID, v)
	case there.Hash != here.Hash:
		return fmt.Errorf("the other store has another history of it, also of %d versions: %w", v, selvage.ErrAlreadyExists)
	}
	a, b := *here, *there
	a.Lease, b.Lease = nil, nil
	x, errX := json.Marshal(&a)
	y, errY := json.Marshal(&b)
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	if string(x) != string(y) {
		return &selvage.CorruptError{Thread: here.Thread.ID, Version: v, Reason: "the log is the same in both stores and the thread, its state, run or calls are not; verify both"}
	}
	return sameRuns(ctx, from, to, here.Thread.ID)
}

// sameAt compares the changes of one version. A copy may be ahead, because it
// was worked on.
func sameAt(ctx context.Context, from, to selvage.Store, id selvage.ThreadID, v selvage.Version) error {
	var hashes [2]selvage.Hash
	for i, s := range []selvage.Store{from, to} {
		for c, err := range Changes(ctx, s, id, v-1, v) {
			if err != nil {
				return err
			}
			hashes[i] = c.Hash
		}
	}
	if hashes[0] != hashes[1] {
		return fmt.Errorf("the other store has another history of it: %w", selvage.ErrAlreadyExists)
	}
	return nil
}

// sameRuns compares the runs of a thread.
func sameRuns(ctx context.Context, from, to selvage.Store, id selvage.ThreadID) error {
	var all [2][]byte
	for i, s := range []selvage.Store{from, to} {
		limit := selvage.MaxPage
		for q := (selvage.RunQuery{ThreadID: id, Limit: &limit}); ; {
			page, err := s.Runs(ctx, q)
			if err != nil {
				return err
			}
			data, err := json.Marshal(page.Items)
			if err != nil {
				return err
			}
			all[i] = append(all[i], data...)
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	if string(all[0]) != string(all[1]) {
		return &selvage.CorruptError{Thread: id, Reason: "its runs are not the same in both stores; verify both"}
	}
	return nil
}
