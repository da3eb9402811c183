package storetest

import (
	"context"
	"reflect"
	"time"

	"github.com/selvagehq/selvage"
)

// Capability offers what was planted in place of the sound store's, what the
// faulty store itself can do, and what else the sound one can.
func (f *faulty) Capability(target any) bool {
	into := reflect.ValueOf(target).Elem()
	for _, have := range append(f.planted, f) {
		if reflect.TypeOf(have).Implements(into.Type()) {
			into.Set(reflect.ValueOf(have))
			return true
		}
	}
	asker, ok := f.sound.(interface{ Capability(any) bool })
	return ok && asker.Capability(target)
}

// onRecords plants something in place of a capability C of the sound store.
func onRecords[C, Bad any](wrap func(next C) Bad) func(*faulty) {
	return func(f *faulty) {
		next, _ := selvage.As[C](f.sound)
		f.planted = append(f.planted, wrap(next))
	}
}

// badMemory is a memory of which methods may be replaced.
type badMemory struct {
	selvage.Memory
	put    func(context.Context, selvage.MemoryDraft, selvage.Precondition) (selvage.MemoryEntry, error)
	get    func(context.Context, selvage.MemoryName) (selvage.MemoryEntry, error)
	delete func(context.Context, selvage.MemoryName, selvage.Precondition) error
	list   func(context.Context, selvage.MemoryQuery) (selvage.MemoryPage, error)
	clear  func(context.Context, selvage.MemoryOwner) (int, error)
	owners func(context.Context, selvage.MemoryOwnerQuery) (selvage.MemoryOwnerPage, error)
}

// onMemory plants a fault in a memory.
func onMemory(plant func(b *badMemory)) func(*faulty) {
	return onRecords(func(m selvage.Memory) *badMemory {
		b := &badMemory{m, m.Put, m.Get, m.Delete, m.List, m.Clear, m.Owners}
		plant(b)
		return b
	})
}

func (b *badMemory) Put(ctx context.Context, d selvage.MemoryDraft, pre selvage.Precondition) (selvage.MemoryEntry, error) {
	return b.put(ctx, d, pre)
}

func (b *badMemory) Get(ctx context.Context, n selvage.MemoryName) (selvage.MemoryEntry, error) {
	return b.get(ctx, n)
}

func (b *badMemory) Delete(ctx context.Context, n selvage.MemoryName, pre selvage.Precondition) error {
	return b.delete(ctx, n, pre)
}

func (b *badMemory) List(ctx context.Context, q selvage.MemoryQuery) (selvage.MemoryPage, error) {
	return b.list(ctx, q)
}

func (b *badMemory) Clear(ctx context.Context, o selvage.MemoryOwner) (int, error) {
	return b.clear(ctx, o)
}

func (b *badMemory) Owners(ctx context.Context, q selvage.MemoryOwnerQuery) (selvage.MemoryOwnerPage, error) {
	return b.owners(ctx, q)
}

// badConfig is a registry of which methods may be replaced.
type badConfig struct {
	selvage.Config
	publish  func(context.Context, selvage.ConfigDraft, selvage.Precondition) (selvage.ConfigVersion, error)
	rollback func(context.Context, selvage.ConfigName, selvage.Version, selvage.Precondition) (selvage.ConfigVersion, error)
	archive  func(context.Context, selvage.ConfigName) error
	versions func(context.Context, selvage.ConfigVersionQuery) (selvage.ConfigVersionPage, error)
	prune    func(context.Context, selvage.ConfigRetention) ([]selvage.ConfigPin, error)
}

// onConfig plants a fault in a registry.
func onConfig(plant func(b *badConfig)) func(*faulty) {
	return onRecords(func(c selvage.Config) *badConfig {
		b := &badConfig{c, c.Publish, c.Rollback, c.Archive, c.Versions, c.Prune}
		plant(b)
		return b
	})
}

func (b *badConfig) Publish(ctx context.Context, d selvage.ConfigDraft, pre selvage.Precondition) (selvage.ConfigVersion, error) {
	return b.publish(ctx, d, pre)
}

func (b *badConfig) Rollback(ctx context.Context, n selvage.ConfigName, to selvage.Version, pre selvage.Precondition) (selvage.ConfigVersion, error) {
	return b.rollback(ctx, n, to, pre)
}

func (b *badConfig) Archive(ctx context.Context, n selvage.ConfigName) error {
	return b.archive(ctx, n)
}

func (b *badConfig) Versions(ctx context.Context, q selvage.ConfigVersionQuery) (selvage.ConfigVersionPage, error) {
	return b.versions(ctx, q)
}

func (b *badConfig) Prune(ctx context.Context, r selvage.ConfigRetention) ([]selvage.ConfigPin, error) {
	return b.prune(ctx, r)
}

// badAudit is an audit log of which methods may be replaced.
type badAudit struct {
	selvage.Audit
	append func(context.Context, selvage.AuditEntry) (selvage.AuditEntry, error)
	query  func(context.Context, selvage.AuditQuery) (selvage.AuditPage, error)
	prune  func(context.Context, time.Time, int) (int, error)
}

// onAudit plants a fault in an audit log.
func onAudit(plant func(b *badAudit)) func(*faulty) {
	return onRecords(func(a selvage.Audit) *badAudit {
		b := &badAudit{a, a.Append, a.Query, a.Prune}
		plant(b)
		return b
	})
}

func (b *badAudit) Append(ctx context.Context, e selvage.AuditEntry) (selvage.AuditEntry, error) {
	return b.append(ctx, e)
}

func (b *badAudit) Query(ctx context.Context, q selvage.AuditQuery) (selvage.AuditPage, error) {
	return b.query(ctx, q)
}

func (b *badAudit) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return b.prune(ctx, before, limit)
}

// badStreams are stream checkpoints of which methods may be replaced.
type badStreams struct {
	selvage.StreamCheckpoints
	put    func(context.Context, selvage.StreamCheckpoint) error
	delete func(context.Context, selvage.ThreadID, selvage.RunID) error
}

// onStreams plants a fault in stream checkpoints.
func onStreams(plant func(b *badStreams)) func(*faulty) {
	return onRecords(func(s selvage.StreamCheckpoints) *badStreams {
		b := &badStreams{s, s.Put, s.Delete}
		plant(b)
		return b
	})
}

func (b *badStreams) Put(ctx context.Context, c selvage.StreamCheckpoint) error { return b.put(ctx, c) }

func (b *badStreams) Delete(ctx context.Context, id selvage.ThreadID, run selvage.RunID) error {
	return b.delete(ctx, id, run)
}

// badReplay is a replay log of which methods may be replaced.
type badReplay struct {
	selvage.Replay
	append func(context.Context, selvage.ReplayStream, []selvage.ReplayDraft) ([]selvage.ReplayRow, error)
	list   func(context.Context, selvage.ReplayStream, selvage.ReplayQuery) (selvage.ReplayPage, error)
	redact func(context.Context, selvage.ReplayStream, string) error
}

// onReplay plants a fault in a replay log.
func onReplay(plant func(b *badReplay)) func(*faulty) {
	return onRecords(func(r selvage.Replay) *badReplay {
		b := &badReplay{r, r.Append, r.List, r.Redact}
		plant(b)
		return b
	})
}

func (b *badReplay) Append(ctx context.Context, s selvage.ReplayStream, rows []selvage.ReplayDraft) ([]selvage.ReplayRow, error) {
	return b.append(ctx, s, rows)
}

func (b *badReplay) List(ctx context.Context, s selvage.ReplayStream, q selvage.ReplayQuery) (selvage.ReplayPage, error) {
	return b.list(ctx, s, q)
}

func (b *badReplay) Redact(ctx context.Context, s selvage.ReplayStream, wireID string) error {
	return b.redact(ctx, s, wireID)
}
