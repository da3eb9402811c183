package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// recordFaults are mistakes in what a store keeps besides threads.
func recordFaults() []fault {
	return slices.Concat(memoryFaults(), configFaults(), auditFaults(), streamFaults(), replayFaults())
}

// onMemoryPut plants a fault in what is put.
func onMemoryPut(change func(*selvage.MemoryDraft, *selvage.Precondition)) func(*faulty) {
	return onMemory(func(b *badMemory) {
		b.put = func(ctx context.Context, d selvage.MemoryDraft, pre selvage.Precondition) (selvage.MemoryEntry, error) {
			change(&d, &pre)
			return b.Memory.Put(ctx, d, pre)
		}
	})
}

// onMemoryList plants a fault in what is listed.
func onMemoryList(change func(*selvage.MemoryQuery)) func(*faulty) {
	return onMemory(func(b *badMemory) {
		b.list = func(ctx context.Context, q selvage.MemoryQuery) (selvage.MemoryPage, error) {
			change(&q)
			return b.Memory.List(ctx, q)
		}
	})
}

func memoryFaults() []fault {
	return []fault{
		{"rewrites the values of memory", onMemoryPut(func(d *selvage.MemoryDraft, _ *selvage.Precondition) {
			var b bytes.Buffer
			if json.Compact(&b, d.Value) == nil {
				d.Value = b.Bytes()
			}
		}), []string{"Memory/EntryComesBack"}},
		{"lets the last writer of memory win", onMemoryPut(func(_ *selvage.MemoryDraft, pre *selvage.Precondition) { *pre = selvage.Any() }),
			[]string{"Memory/Preconditions", "Memory/OneWinner", "Memory/VersionsAreNotReused"}},
		{"never lets memory expire", onMemoryPut(func(d *selvage.MemoryDraft, _ *selvage.Precondition) { d.ExpiresAt = nil }),
			[]string{"Memory/ExpiredIsGone", "Memory/EntryComesBack", "Records/SweepIsBounded"}},
		{"takes memory of everybody for one", onMemory(func(b *badMemory) {
			b.put = func(ctx context.Context, d selvage.MemoryDraft, pre selvage.Precondition) (selvage.MemoryEntry, error) {
				owner := d.Owner
				d.Owner = selvage.UserMemory("everybody")
				e, err := b.Memory.Put(ctx, d, pre)
				e.Owner = owner
				return e, err
			}
			b.get = func(ctx context.Context, n selvage.MemoryName) (selvage.MemoryEntry, error) {
				owner := n.Owner
				n.Owner = selvage.UserMemory("everybody")
				e, err := b.Memory.Get(ctx, n)
				e.Owner = owner
				return e, err
			}
		}), []string{"Memory/OwnersAreApart", "Memory/ThreadMemory"}},
		{"numbers entries of memory anew", onMemory(func(b *badMemory) {
			b.delete = func(ctx context.Context, n selvage.MemoryName, pre selvage.Precondition) error {
				if err := b.Memory.Delete(ctx, n, pre); err != nil {
					return err
				}
				_, err := b.Memory.Clear(ctx, n.Owner)
				return err
			}
		}), []string{"Memory/VersionsAreNotReused"}},
		{"fails to delete what is not remembered", onMemory(func(b *badMemory) {
			b.delete = func(ctx context.Context, n selvage.MemoryName, pre selvage.Precondition) error {
				if _, err := b.Memory.Get(ctx, n); errors.Is(err, selvage.ErrNotFound) && pre.IsAny() {
					return err
				}
				return b.Memory.Delete(ctx, n, pre)
			}
		}), []string{"Memory/Deleting"}},
		{"finds no text in memory", onMemoryList(func(q *selvage.MemoryQuery) { q.Text = strings.ToUpper(q.Prefix) }), []string{"Memory/TextIsFound", "Memory/CursorsAreBound"}},
		{"overlooks the prefix of keys", onMemoryList(func(q *selvage.MemoryQuery) { q.Prefix = "" }), []string{"Memory/ListIsInOrder", "Memory/CursorsAreBound"}},
		{"lists memory anew for a bad cursor", onMemory(func(b *badMemory) {
			b.list = func(ctx context.Context, q selvage.MemoryQuery) (selvage.MemoryPage, error) {
				page, err := b.Memory.List(ctx, q)
				if errors.Is(err, selvage.ErrInvalid) && q.Cursor != "" {
					q.Cursor = ""
					return b.Memory.List(ctx, q)
				}
				return page, err
			}
		}), []string{"Memory/CursorsAreBound"}},
		{"forgets entries and keeps the name", onMemory(func(b *badMemory) {
			b.clear = func(ctx context.Context, o selvage.MemoryOwner) (n int, err error) {
				for {
					page, err := b.Memory.List(ctx, selvage.MemoryQuery{Owner: o})
					if err != nil || len(page.Items) == 0 {
						return n, err
					}
					for _, e := range page.Items {
						if err := b.Memory.Delete(ctx, e.MemoryName, selvage.Any()); err != nil {
							return n, err
						}
						n++
					}
				}
			}
		}), []string{"Memory/ClearForgets"}},
		{"lists owners of any kind", onMemory(func(b *badMemory) {
			b.owners = func(ctx context.Context, q selvage.MemoryOwnerQuery) (selvage.MemoryOwnerPage, error) {
				q.Kind = ""
				return b.Memory.Owners(ctx, q)
			}
		}), []string{"Memory/OwnersAreListed"}},
		{"takes any name for memory", onMemoryPut(func(d *selvage.MemoryDraft, _ *selvage.Precondition) {
			if d.Namespace == "" {
				d.Namespace = "default"
			}
		}), []string{"Memory/Limits"}},
	}
}

func configFaults() []fault {
	publish := func(change func(*selvage.ConfigDraft, *selvage.Precondition)) func(*faulty) {
		return onConfig(func(b *badConfig) {
			b.publish = func(ctx context.Context, d selvage.ConfigDraft, pre selvage.Precondition) (selvage.ConfigVersion, error) {
				change(&d, &pre)
				return b.Config.Publish(ctx, d, pre)
			}
		})
	}
	return []fault{
		{"publishes whatever is current", publish(func(_ *selvage.ConfigDraft, pre *selvage.Precondition) { *pre = selvage.Any() }),
			[]string{"Config/Preconditions", "Config/OneWinner"}},
		{"publishes equal values again", publish(func(d *selvage.ConfigDraft, _ *selvage.Precondition) { d.Schema += int(time.Now().UnixNano() % 1e9) }),
			[]string{"Config/EqualIsUnchanged", "Config/HashIsCanonical", "Config/VersionsGrow"}},
		{"rolls back without a word", onConfig(func(b *badConfig) {
			b.rollback = func(ctx context.Context, n selvage.ConfigName, to selvage.Version, pre selvage.Precondition) (selvage.ConfigVersion, error) {
				v, err := b.Version(ctx, n, to)
				if err != nil {
					return v, err
				}
				return b.Config.Publish(ctx, v.ConfigDraft, pre)
			}
		}), []string{"Config/RollbackCopiesForward"}},
		{"archives nothing", onConfig(func(b *badConfig) {
			b.archive = func(ctx context.Context, n selvage.ConfigName) error {
				_, err := b.Resource(ctx, n)
				return err
			}
		}), []string{"Config/ArchivedTakesNothing", "Publications/AllOrNone"}},
		{"prunes in a dry run", onConfig(func(b *badConfig) {
			b.prune = func(ctx context.Context, r selvage.ConfigRetention) ([]selvage.ConfigPin, error) {
				r.DryRun = false
				return b.Config.Prune(ctx, r)
			}
		}), []string{"Config/PruneKeepsWhatIsWanted"}},
		{"prunes what somebody protects", onConfig(func(b *badConfig) {
			b.prune = func(ctx context.Context, r selvage.ConfigRetention) ([]selvage.ConfigPin, error) {
				r.Protected = nil
				return b.Config.Prune(ctx, r)
			}
		}), []string{"Config/PruneKeepsWhatIsWanted"}},
		{"lists versions oldest first", onConfig(func(b *badConfig) {
			b.versions = func(ctx context.Context, q selvage.ConfigVersionQuery) (selvage.ConfigVersionPage, error) {
				page, err := b.Config.Versions(ctx, q)
				slices.Reverse(page.Items)
				return page, err
			}
		}), []string{"Config/VersionsGrow", "Config/RollbackCopiesForward"}},
	}
}

func auditFaults() []fault {
	return []fault{
		{"writes an audit entry for each copy", onAudit(func(b *badAudit) {
			b.append = func(ctx context.Context, e selvage.AuditEntry) (selvage.AuditEntry, error) {
				e.ID = ""
				return b.Audit.Append(ctx, e)
			}
		}), []string{"Audit/RetryIsOneEntry", "Audit/CopiesAreOne", "Audit/ByTime"}},
		{"lists the audit log oldest first", onAudit(func(b *badAudit) {
			b.query = func(ctx context.Context, q selvage.AuditQuery) (selvage.AuditPage, error) {
				page, err := b.Audit.Query(ctx, q)
				slices.Reverse(page.Items)
				return page, err
			}
		}), []string{"Audit/NewestFirst", "Audit/FiltersSelect"}},
		{"overlooks the request of audit entries", onAudit(func(b *badAudit) {
			b.query = func(ctx context.Context, q selvage.AuditQuery) (selvage.AuditPage, error) {
				q.RequestID = ""
				return b.Audit.Query(ctx, q)
			}
		}), []string{"Audit/FiltersSelect", "Audit/CursorsAreBound"}},
		{"prunes the audit log whole", onAudit(func(b *badAudit) {
			b.prune = func(ctx context.Context, _ time.Time, limit int) (int, error) {
				return b.Audit.Prune(ctx, time.Now().Add(time.Hour), limit)
			}
		}), []string{"Audit/PruneByAge"}},
	}
}

func streamFaults() []fault {
	return []fault{
		{"takes checkpoints of zombies", onStreams(func(b *badStreams) {
			b.put = func(ctx context.Context, c selvage.StreamCheckpoint) error {
				err := b.StreamCheckpoints.Put(ctx, c)
				var fenced *selvage.FencedError
				if errors.As(err, &fenced) {
					c.Epoch = fenced.Actual
					return b.StreamCheckpoints.Put(ctx, c)
				}
				return err
			}
		}), []string{"StreamCheckpoints/OlderEpochIsFenced"}},
		{"drops checkpoints of no thread silently", onStreams(func(b *badStreams) {
			b.put = func(ctx context.Context, c selvage.StreamCheckpoint) error {
				if err := b.StreamCheckpoints.Put(ctx, c); !errors.Is(err, selvage.ErrNotFound) {
					return err
				}
				return nil
			}
		}), []string{"StreamCheckpoints/GoesWithItsThread", "StreamCheckpoints/Limits"}},
		{"keeps the first checkpoint", onStreams(func(b *badStreams) {
			b.put = func(ctx context.Context, c selvage.StreamCheckpoint) error {
				if _, err := b.Get(ctx, c.ThreadID, c.RunID); err == nil {
					return nil
				}
				return b.StreamCheckpoints.Put(ctx, c)
			}
		}), []string{"StreamCheckpoints/PutReplaces", "StreamCheckpoints/OlderEpochIsFenced"}},
		{"deletes no checkpoint", onStreams(func(b *badStreams) {
			b.delete = func(context.Context, selvage.ThreadID, selvage.RunID) error { return nil }
		}), []string{"StreamCheckpoints/DeleteMayBeRepeated", "Records/EveryMethodIsClosed"}},
	}
}

func replayFaults() []fault {
	return []fault{
		{"replays rows without their threads", onReplay(func(b *badReplay) {
			b.append = func(ctx context.Context, s selvage.ReplayStream, rows []selvage.ReplayDraft) ([]selvage.ReplayRow, error) {
				s.ThreadID = ""
				return b.Replay.Append(ctx, s, rows)
			}
			b.list = func(ctx context.Context, s selvage.ReplayStream, q selvage.ReplayQuery) (selvage.ReplayPage, error) {
				s.ThreadID = ""
				return b.Replay.List(ctx, s, q)
			}
		}), []string{"Replay/GoesWithItsThread"}},
		{"replays all after an unknown id", onReplay(func(b *badReplay) {
			b.list = func(ctx context.Context, s selvage.ReplayStream, q selvage.ReplayQuery) (selvage.ReplayPage, error) {
				page, err := b.Replay.List(ctx, s, q)
				if errors.Is(err, selvage.ErrCursorExpired) {
					q.After = ""
					return b.Replay.List(ctx, s, q)
				}
				return page, err
			}
		}), []string{"Replay/UnknownIDIsExpired", "Replay/ExpiredIsOmitted"}},
		{"appends replay rows one by one", onReplay(func(b *badReplay) {
			b.append = func(ctx context.Context, s selvage.ReplayStream, rows []selvage.ReplayDraft) (out []selvage.ReplayRow, err error) {
				for i := range rows {
					one, err := b.Replay.Append(ctx, s, rows[i:i+1])
					if err != nil {
						return nil, err
					}
					out = append(out, one...)
				}
				return out, nil
			}
		}), []string{"Replay/AllOrNone", "Replay/OtherContentIsRefused"}},
		{"hides redacted rows", onReplay(func(b *badReplay) {
			b.list = func(ctx context.Context, s selvage.ReplayStream, q selvage.ReplayQuery) (selvage.ReplayPage, error) {
				page, err := b.Replay.List(ctx, s, q)
				page.Items = slices.DeleteFunc(page.Items, func(r selvage.ReplayRow) bool { return r.Redacted })
				return page, err
			}
		}), []string{"Replay/RedactedStays"}},
		{"redacts nothing", onReplay(func(b *badReplay) {
			b.redact = func(context.Context, selvage.ReplayStream, string) error { return nil }
		}), []string{"Replay/RedactedStays"}},
		{"lists a replay twice over", onReplay(func(b *badReplay) {
			b.list = func(ctx context.Context, s selvage.ReplayStream, q selvage.ReplayQuery) (selvage.ReplayPage, error) {
				page, err := b.Replay.List(ctx, s, q)
				if len(page.Items) > 1 && page.Next != "" {
					page.Next = page.Items[0].WireID
				}
				return page, err
			}
		}), []string{"Replay/GoesOnAfterAnID"}},
	}
}
