package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// A faulty store is an Outbox by these methods.

func (f *faulty) Claim(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	return f.box.Claim(ctx, c)
}

func (f *faulty) Ack(ctx context.Context, d selvage.Delivery) error { return f.box.Ack(ctx, d) }

func (f *faulty) Nack(ctx context.Context, d selvage.Delivery, why selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
	return f.box.Nack(ctx, d, why)
}

func (f *faulty) Deliveries(ctx context.Context, q selvage.DeliveryQuery) (selvage.DeliveryPage, error) {
	return f.box.Deliveries(ctx, q)
}

func (f *faulty) Retry(ctx context.Context, d selvage.Delivery) error { return f.box.Retry(ctx, d) }

func (f *faulty) Prune(ctx context.Context, before time.Time) (int, error) {
	return f.box.Prune(ctx, before)
}

// badBox is an outbox some of whose methods are replaced.
type badBox struct {
	selvage.Outbox
	claim func(context.Context, selvage.OutboxClaim) ([]selvage.Delivery, error)
	ack   func(context.Context, selvage.Delivery) error
	nack  func(context.Context, selvage.Delivery, selvage.DeliveryFailure) (selvage.DeliveryStatus, error)
	list  func(context.Context, selvage.DeliveryQuery) (selvage.DeliveryPage, error)
	prune func(context.Context, time.Time) (int, error)
}

func (b *badBox) Claim(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
	return b.claim(ctx, c)
}
func (b *badBox) Ack(ctx context.Context, d selvage.Delivery) error { return b.ack(ctx, d) }
func (b *badBox) Nack(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
	return b.nack(ctx, d, f)
}
func (b *badBox) Deliveries(ctx context.Context, q selvage.DeliveryQuery) (selvage.DeliveryPage, error) {
	return b.list(ctx, q)
}
func (b *badBox) Prune(ctx context.Context, before time.Time) (int, error) {
	return b.prune(ctx, before)
}

// onBox plants a fault in the outbox.
func onBox(change func(f *faulty, sound selvage.Outbox, b *badBox)) func(*faulty) {
	return func(f *faulty) {
		sound := f.box
		b := &badBox{sound, sound.Claim, sound.Ack, sound.Nack, sound.Deliveries, sound.Prune}
		f.box = b
		change(f, sound, b)
	}
}

// onClaimed plants a fault in what a claim answers.
func onClaimed(change func(selvage.OutboxClaim, []selvage.Delivery) []selvage.Delivery) func(*faulty) {
	return onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
		b.claim = func(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
			out, err := sound.Claim(ctx, c)
			return change(c, out), err
		}
	})
}

// onClaim plants a fault in what a claim asks for.
func onClaim(change func(*selvage.OutboxClaim)) func(*faulty) {
	return onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
		b.claim = func(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
			change(&c)
			return sound.Claim(ctx, c)
		}
	})
}

// onEntries plants a fault in what is taken of the entries of a set.
func onEntries(change func([]selvage.OutboxEntry) []selvage.OutboxEntry) func(*faulty) {
	return onAppend(func(next appendFunc) appendFunc {
		return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
			set.Outbox = change(slices.Clone(set.Outbox))
			return next(ctx, id, set, pre)
		}
	})
}

func outboxFaults() []fault {
	each := func(change func(*selvage.OutboxEntry)) func(*faulty) {
		return onEntries(func(all []selvage.OutboxEntry) []selvage.OutboxEntry {
			for i := range all {
				change(&all[i])
			}
			return all
		})
	}
	return []fault{
		{"forgets the last entry", onEntries(func(all []selvage.OutboxEntry) []selvage.OutboxEntry { return all[:max(len(all), 1)-1] }),
			[]string{"Outbox/ReceiptNamesDeliveries", "Outbox/PayloadIsKept", "Outbox/Shape"}},
		{"knows no dedupe keys", each(func(e *selvage.OutboxEntry) { e.DedupeKey = "" }),
			[]string{"Outbox/DedupeIsOneDelivery", "Outbox/DedupeWithOtherPayload", "Outbox/DedupeUnderConcurrency", "Outbox/ReceiptNamesDeliveries"}},
		{"delivers at once whatever was said", each(func(e *selvage.OutboxEntry) { e.AvailableAt = time.Time{} }), []string{"Outbox/ClaimFollowsTime"}},
		{"tries as often as it likes", each(func(e *selvage.OutboxEntry) { e.MaxAttempts = 50 }), []string{"Outbox/CrashLoopsEnd", "Outbox/NackTriesAgain"}},
		{"cuts payloads", each(func(e *selvage.OutboxEntry) { e.Payload = e.Payload[:0] }), []string{"Outbox/PayloadIsKept"}},
		{"claims of any target", onClaim(func(c *selvage.OutboxClaim) { c.Target = "" }), []string{"Outbox/ClaimHonoursItsFilters"}},
		{"claims more than it may", onClaim(func(c *selvage.OutboxClaim) { c.Limit = max(c.Limit, 1) + 2 }), []string{"Outbox/ClaimHonoursItsFilters", "Outbox/BadInput"}},
		{"never lets a claim run out", onClaim(func(c *selvage.OutboxClaim) { c.Lease = time.Hour }), []string{"Outbox/BadInput"}},
		{"claims the latest first", onClaimed(func(_ selvage.OutboxClaim, all []selvage.Delivery) []selvage.Delivery {
			slices.Reverse(all)
			return all
		}), []string{"Outbox/ClaimFollowsTime"}},
		{"loses what it claims", onClaimed(func(_ selvage.OutboxClaim, all []selvage.Delivery) []selvage.Delivery {
			return all[:min(len(all), 1)]
		}), []string{"Outbox/OneOwner", "Outbox/ClaimFollowsTime"}},
		{"claims for everybody", onBox(func(f *faulty, sound selvage.Outbox, b *badBox) {
			b.claim = func(ctx context.Context, c selvage.OutboxClaim) ([]selvage.Delivery, error) {
				out, err := sound.Claim(ctx, c)
				for _, d := range out {
					_, _ = sound.Nack(ctx, d, selvage.DeliveryFailure{})
				}
				return out, err
			}
		}), []string{"Outbox/AckEnds", "Outbox/LateAckIsRefused"}},
		{"takes any acknowledgement", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.ack = func(ctx context.Context, d selvage.Delivery) error { _ = sound.Ack(ctx, d); return nil }
		}), []string{"Outbox/LateAckIsRefused", "Outbox/NackTriesAgain", "Outbox/DeleteTakesDeliveries", "Outbox/BadInput"}},
		{"forgets acknowledgements", onBox(func(_ *faulty, _ selvage.Outbox, b *badBox) {
			b.ack = func(context.Context, selvage.Delivery) error { return nil }
		}), []string{"Outbox/AckEnds", "Outbox/PruneForgets"}},
		{"tries at once what failed", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.nack = func(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
				f.After = 0
				return sound.Nack(ctx, d, f)
			}
		}), []string{"Outbox/NackTriesAgain", "Outbox/BadInput"}},
		{"tries again what cannot succeed", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.nack = func(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
				f.Permanent = false
				return sound.Nack(ctx, d, f)
			}
		}), []string{"Outbox/PermanentFailureIsDead"}},
		{"keeps no causes", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.nack = func(ctx context.Context, d selvage.Delivery, f selvage.DeliveryFailure) (selvage.DeliveryStatus, error) {
				f.Cause = ""
				return sound.Nack(ctx, d, f)
			}
		}), []string{"Outbox/NackTriesAgain", "Outbox/PermanentFailureIsDead"}},
		{"prunes nothing", onBox(func(_ *faulty, _ selvage.Outbox, b *badBox) {
			b.prune = func(context.Context, time.Time) (int, error) { return 0, nil }
		}), []string{"Outbox/PruneForgets"}},
		{"prunes whatever was delivered", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.prune = func(ctx context.Context, _ time.Time) (int, error) {
				return sound.Prune(ctx, time.Now().Add(time.Minute))
			}
		}), []string{"Outbox/PruneForgets"}},
		{"lists whatever the status", onBox(func(_ *faulty, sound selvage.Outbox, b *badBox) {
			b.list = func(ctx context.Context, q selvage.DeliveryQuery) (selvage.DeliveryPage, error) {
				q.Status = ""
				return sound.Deliveries(ctx, q)
			}
		}), []string{"Outbox/ListsPages", "Outbox/BadInput"}},
		{"enqueues before it judges", onAppend(enqueueFirst), []string{"Outbox/RefusedSetsEnqueueNothing"}},
		{"keeps the deliveries of what was deleted", onBox(func(f *faulty, sound selvage.Outbox, b *badBox) {
			var kept selvage.DeliveryPage
			next := f.delete
			f.delete = func(ctx context.Context, id selvage.ThreadID, strategy selvage.DeleteStrategy) error {
				kept, _ = sound.Deliveries(ctx, selvage.DeliveryQuery{ThreadID: id})
				return next(ctx, id, strategy)
			}
			b.list = func(ctx context.Context, q selvage.DeliveryQuery) (selvage.DeliveryPage, error) {
				page, err := sound.Deliveries(ctx, q)
				if err == nil && len(page.Items) == 0 {
					return kept, nil
				}
				return page, err
			}
		}), []string{"Outbox/DeleteTakesDeliveries"}},
	}
}

// enqueueFirst writes the entries of a set to a thread of their own, whatever
// becomes of the set.
func enqueueFirst(next appendFunc) appendFunc {
	return func(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
		if len(set.Outbox) > 0 && !strings.HasPrefix(string(id), "outbox-") {
			if _, err := next(ctx, "outbox-"+newID(), selvage.ChangeSet{Outbox: set.Outbox}, selvage.New()); err != nil {
				return selvage.Receipt{}, err
			}
			set.Outbox = nil
		}
		return next(ctx, id, set, pre)
	}
}
