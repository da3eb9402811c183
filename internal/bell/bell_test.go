package bell_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/selvagehq/selvage/internal/bell"
)

// waiter waits in a bubble until a number has been reached.
func waiter(t *testing.T, b *bell.Bells[string], name string, at *atomic.Int64, want int64) (done *atomic.Bool, looks *atomic.Int64) {
	done, looks = new(atomic.Bool), new(atomic.Int64)
	go func() {
		err := b.Wait(t.Context(), name, func() (bool, error) {
			looks.Add(1)
			return at.Load() >= want, nil
		})
		if err != nil {
			t.Errorf("waiting for %s: %v", name, err)
		}
		done.Store(true)
	}()
	synctest.Wait()
	return done, looks
}

func TestRingWakesThoseOfTheName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bell.Bells[string]
		var at atomic.Int64
		one, oneLooks := waiter(t, &b, "a", &at, 1)
		_, twoLooks := waiter(t, &b, "a", &at, 2)
		_, otherLooks := waiter(t, &b, "b", &at, 2)
		if b.Waiting() != 3 || len(b.Names()) != 2 {
			t.Errorf("%d wait for %v; want 3 for a and b", b.Waiting(), b.Names())
		}
		at.Store(1)
		b.Ring("a", "nobody")
		synctest.Wait()
		if !one.Load() || oneLooks.Load() != 2 || twoLooks.Load() != 2 || otherLooks.Load() != 1 {
			t.Errorf("after a ring for a those of a looked %d and %d times, and that of b %d times; want 2, 2, 1", oneLooks.Load(), twoLooks.Load(), otherLooks.Load())
		}
		at.Store(2)
		b.RingAll()
		synctest.Wait()
		if b.Waiting() != 0 || len(b.Names()) != 0 {
			t.Errorf("after all was found %d wait for %v; want nobody", b.Waiting(), b.Names())
		}
		b.Ring("a") // which nobody hears
	})
}

// TestRingDuringALookIsHeard rings between what a look saw and the wait.
func TestRingDuringALookIsHeard(t *testing.T) {
	t.Parallel()
	var b bell.Bells[int]
	looks := 0
	err := b.Wait(t.Context(), 1, func() (bool, error) {
		looks++
		if looks == 1 {
			b.Ring(1)
		}
		return looks == 2, nil
	})
	if err != nil || looks != 2 {
		t.Errorf("a ring during a look led to %d looks, %v; want 2", looks, err)
	}
}

func TestWaitEndsWithItsContextAndWithClose(t *testing.T) {
	t.Parallel()
	var b bell.Bells[int]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(ctx, 1, func() (bool, error) { return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that has ended: %v", err)
	}
	closed := errors.New("closed")
	b.Close()
	b.Close()
	looks := 0
	err := b.Wait(t.Context(), 1, func() (bool, error) {
		if looks++; looks == 3 {
			return false, closed
		}
		return false, nil
	})
	if !errors.Is(err, closed) || looks != 3 {
		t.Errorf("waiting on closed bells: %v after %d looks", err, looks)
	}
}

// TestNoNewsAreLost counts while others wait for each number.
func TestNoNewsAreLost(t *testing.T) {
	t.Parallel()
	const last = 2000
	var b bell.Bells[int]
	var at atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for want := int64(1); want <= last; want++ {
				if err := b.Wait(t.Context(), 7, func() (bool, error) { return at.Load() >= want, nil }); err != nil {
					t.Errorf("waiting for %d: %v", want, err)
					return
				}
			}
		})
	}
	for range last {
		at.Add(1)
		b.Ring(7)
	}
	wg.Wait()
}
