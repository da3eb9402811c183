package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// waitPromises are about calls that wait.
func waitPromises() []promise {
	return []promise{
		{"NothingIsWaitedFor", "EventQuery: a call that waits answers when there is something, and never an empty page.", nothingIsWaitedFor},
		{"WaitReturnsWhatIsThere", "EventQuery: who waits gets what is there at once.", waitReturnsWhatIsThere},
		{"AppendEndsTheWait", "EventQuery: an append ends the wait of those it is news for.", appendEndsTheWait},
		{"DeleteEndsTheWait", "EventQuery: the deletion of the thread ends the wait for its events.", deleteEndsTheWait},
		{"CancelEndsTheWait", "EventQuery: the end of its context ends a wait.", cancelEndsTheWait},
		{"CloseEndsTheWait", "EventQuery: closing the store ends every wait, as closed.", closeEndsTheWait},
	}
}

// waits are calls on a thread, and on a position of the feed, that have to
// wait. Each returns how many items it got.
func (k *kit) waits(id selvage.ThreadID) map[string]func(context.Context) (int, error) {
	k.Helper()
	w := k.watcher()
	v := k.load(id).Thread.Version
	k.feedUntil(selvage.FeedPosition{}, id, v)
	end, err := w.End(k.Context())
	if err != nil {
		k.Fatalf("end of the feed: %v", err)
	}
	return map[string]func(context.Context) (int, error){
		"events": func(ctx context.Context) (int, error) {
			page, err := w.Events(ctx, id, selvage.EventQuery{After: v.End(), Wait: true})
			return len(page.Items), err
		},
		"feed": func(ctx context.Context) (int, error) {
			page, err := w.Feed(ctx, selvage.FeedQuery{After: end, Wait: true})
			return len(page.Items), err
		},
	}
}

// inTime returns what a call answers that must not take long.
func (k *kit) inTime(call func() (int, error)) (n int, err error) {
	type answer struct {
		n   int
		err error
	}
	done := make(chan answer, 1)
	go func() {
		n, err := call()
		done <- answer{n, err}
	}()
	late := time.NewTimer(k.patience)
	defer late.Stop()
	select {
	case a := <-done:
		return a.n, a.err
	case <-late.C:
		return 0, fmt.Errorf("it goes on waiting after %v", k.patience)
	}
}

func nothingIsWaitedFor(k *kit) {
	k = k.alone()
	for what, wait := range k.waits(k.create(says("one"))) {
		ctx, cancel := context.WithTimeout(k.Context(), 30*time.Millisecond)
		n, err := k.inTime(func() (int, error) { return wait(ctx) })
		if cancel(); !errors.Is(err, context.DeadlineExceeded) {
			k.Errorf("waiting for %s where nothing happens answers %d items, %v; want the error of the context", what, n, err)
		}
	}
}

func waitReturnsWhatIsThere(k *kit) {
	k = k.alone()
	id := k.create(says("one"))
	k.feedUntil(selvage.FeedPosition{}, id, 1)
	if page, err := k.watcher().Events(k.patient(), id, selvage.EventQuery{Wait: true}); err != nil || len(page.Items) != 1 {
		k.Errorf("events, waited for, of a thread with one: %s, %v", encode(k, page), err)
	}
	if page, err := k.watcher().Feed(k.patient(), selvage.FeedQuery{Wait: true}); err != nil || len(page.Items) != 1 {
		k.Errorf("feed, waited for, of a store with one change: %s, %v", encode(k, page), err)
	}
}

func appendEndsTheWait(k *kit) {
	k = k.alone()
	other, id := k.create(says("another thread")), k.create(says("one"))
	for i := range 10 {
		for what, wait := range k.waits(id) {
			errs := together(2, func(who int) error {
				if who == 0 {
					_, err := k.store.Append(k.Context(), []selvage.ThreadID{other, id}[i%2], says("news"), selvage.Any())
					if err == nil && i%2 == 0 {
						_, err = k.store.Append(k.Context(), id, says("news"), selvage.Any())
					}
					return err
				}
				n, err := k.inTime(func() (int, error) { return wait(k.patient()) })
				if err == nil && n == 0 {
					err = errors.New("it came back with nothing")
				}
				if err != nil {
					err = fmt.Errorf("waiting for %s: %w", what, err)
				}
				return err
			})
			k.noErrors(errs)
		}
	}
}

func deleteEndsTheWait(k *kit) {
	id := k.create(says("one"))
	first := make(chan struct{})
	var last selvage.Event
	errs := together(2, func(who int) error {
		if who == 0 {
			<-first
			return k.store.Delete(k.Context(), id, selvage.DeleteReject)
		}
		seen := 0
		for e, err := range selvage.Follow(k.patient(), k.watcher(), id, selvage.Position{}) {
			if err != nil {
				if seen == 0 {
					close(first)
				}
				return err
			}
			if last = e; seen == 0 {
				close(first)
			}
			seen++
		}
		return nil
	})
	k.noErrors(errs)
	if last.Position.Version != 2 || string(last.Payload) != `{"deleted":true}` {
		k.Errorf("the last event of a thread that is deleted is %s; want that of its tombstone", encode(k, last))
	}
}

func cancelEndsTheWait(k *kit) {
	k = k.alone()
	for range 5 {
		for what, wait := range k.waits(k.create(says("one"))) {
			ctx, cancel := context.WithCancel(k.Context())
			errs := together(2, func(who int) error {
				if who == 0 {
					cancel()
					return nil
				}
				_, err := k.inTime(func() (int, error) { return wait(ctx) })
				return err
			})
			cancel()
			if !errors.Is(errs[1], context.Canceled) {
				k.Fatalf("waiting for %s with a context that is cancelled answers %v; want an error matching %q", what, errs[1], context.Canceled)
			}
		}
	}
}

func closeEndsTheWait(k *kit) {
	for range 3 {
		k := k.alone()
		var calls []func(context.Context) (int, error)
		for _, wait := range k.waits(k.create(says("one"))) {
			calls = append(calls, wait, wait)
		}
		errs := together(len(calls)+1, func(i int) error {
			if i == len(calls) {
				return k.store.Close()
			}
			_, err := k.inTime(func() (int, error) { return calls[i](k.patient()) })
			return err
		})
		for _, err := range errs[:len(calls)] {
			k.class("a wait on a store that is closed", err, selvage.ErrClosed)
		}
		if err := errs[len(calls)]; err != nil {
			k.Errorf("close with calls that wait: %v", err)
		}
	}
}
