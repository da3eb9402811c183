package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/selvagehq/selvage"
)

func closePromises() []promise {
	return []promise{
		{"EveryMethodIsClosed", "Store: after Close every method matches closed.", everyMethodIsClosed},
		{"CloseLetsAppendsFinish", "Store.Close: it releases what the store holds after the appends under way: each was written, or was not.", closeLetsAppendsFinish},
		{"CancelledContextIsAnswered", "Store: a cancelled context is answered with its error.", cancelledContext},
		{"DeadlineIsAnswered", "Store: a context past its deadline is answered with its error.", expiredContext},
		{"CancelledAppendIsResolved", "Store: after a cancelled append the outcome is learned by sending the same set again.", cancelledAppend},
	}
}

// everything calls each method of a store once and returns the errors by name.
func (k *kit) everything(ctx context.Context, id selvage.ThreadID, lease selvage.Lease) map[string]error {
	k.Helper()
	errs := make(map[string]error)
	_, errs["Append"] = k.store.Append(ctx, id, says("more"), selvage.Any())
	_, errs["Load"] = k.store.Load(ctx, id, selvage.LoadOptions{})
	_, errs["State"] = k.store.State(ctx, id, 1)
	_, errs["State at the head"] = k.store.State(ctx, id, 0)
	_, errs["Messages"] = k.store.Messages(ctx, id, selvage.MessageQuery{})
	_, errs["Changes"] = k.store.Changes(ctx, id, selvage.ChangeQuery{})
	_, errs["Threads"] = k.store.Threads(ctx, selvage.ThreadQuery{})
	_, errs["Runs"] = k.store.Runs(ctx, selvage.RunQuery{})
	errs["Delete"] = k.store.Delete(ctx, id, selvage.DeleteReject)
	l := k.leaser()
	_, errs["Acquire"] = l.Acquire(ctx, newID(), owner("b"), minute)
	_, errs["Renew"] = l.Renew(ctx, lease, minute)
	errs["Release"] = l.Release(ctx, lease)
	if w, offered := selvage.As[selvage.Watcher](k.store); offered {
		_, errs["Events"] = w.Events(ctx, id, selvage.EventQuery{})
		_, errs["Events, waiting"] = w.Events(ctx, id, selvage.EventQuery{Wait: true})
		_, errs["Feed"] = w.Feed(ctx, selvage.FeedQuery{})
		_, errs["Feed, waiting"] = w.Feed(ctx, selvage.FeedQuery{Wait: true})
		_, errs["End"] = w.End(ctx)
	}
	return errs
}

func everyMethodIsClosed(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	lease := k.acquire(k.leaser(), id, owner("a"))
	if err := k.store.Close(); err != nil {
		k.Fatalf("close failed: %v", err)
	}
	for name, err := range k.everything(k.Context(), id, lease) {
		k.class(name+" of a closed store", err, selvage.ErrClosed)
	}
	if err := k.store.Close(); err != nil {
		k.class("a second Close", err, selvage.ErrClosed)
	}
}

func closeLetsAppendsFinish(k *kit) {
	k = k.alone()
	id := k.create(says("hello"))
	const writers = 8
	var over atomic.Bool
	errs := together(writers+1, func(i int) error {
		if i == writers {
			defer over.Store(true)
			return k.store.Close()
		}
		return untilRefused(&over, func() (bool, error) {
			_, err := k.store.Append(k.Context(), id, says("more"), selvage.Any())
			return untilClosed(err)
		})
	})
	k.noErrors(errs)
}

// untilClosed tells for untilRefused what an append to a store came to that is
// being closed.
func untilClosed(err error) (refused bool, _ error) {
	if err == nil || errors.Is(err, selvage.ErrClosed) {
		return err != nil, nil
	}
	return false, fmt.Errorf("an append while the store was closed: %w; want success or closed", err)
}

func cancelledContext(k *kit) {
	k.contextIsAnswered(context.WithCancel, context.Canceled)
}

func expiredContext(k *kit) {
	k.contextIsAnswered(func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithDeadline(ctx, time.Now().Add(-time.Second))
	}, context.DeadlineExceeded)
}

func (k *kit) contextIsAnswered(end func(context.Context) (context.Context, context.CancelFunc), want error) {
	k.Helper()
	id := k.create(says("hello"))
	lease := k.acquire(k.leaser(), id, owner("a"))
	before := k.picture(id)
	ctx, cancel := end(k.Context())
	cancel()
	for name, err := range k.everything(ctx, id, lease) {
		if !errors.Is(err, want) {
			k.Errorf("%s with a context that has ended answers %v; want an error matching %q", name, err, want)
		}
	}
	if after := k.picture(id); after != before {
		k.Errorf("calls with a context that had ended before left their mark: %s", difference(after, before))
	}
}

func cancelledAppend(k *kit) {
	id := k.create(says("hello"))
	for i := range 20 {
		set := says(fmt.Sprint(i))
		set.ID = "set-" + selvage.NewID()
		ctx, cancel := context.WithCancel(k.Context())
		errs := together(2, func(i int) error {
			if i == 0 {
				cancel()
				return nil
			}
			_, err := k.store.Append(ctx, id, set, selvage.Any())
			return err
		})
		cancel()
		if err := errs[1]; err != nil && !errors.Is(err, context.Canceled) {
			k.Fatalf("a cancelled append failed with %v; want an error matching %q", err, context.Canceled)
		}
		r := k.append(id, set, selvage.Any())
		if want := selvage.Version(i + 2); r.Version != want || errs[1] == nil && !r.Replayed {
			k.Fatalf("the set sent again answers version %d, replayed %v; want version %d, written once", r.Version, r.Replayed, want)
		}
	}
	if h := k.load(id); h.Thread.Version != 21 || len(h.Messages) != 21 {
		k.Errorf("after 20 sets the thread is at version %d with %d messages; want 21 and 21", h.Thread.Version, len(h.Messages))
	}
}
