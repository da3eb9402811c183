package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/state"
)

const (
	// keepAfterVersions and keepAfterBytes are how far the log may run ahead
	// of the newest state document that was kept before another one is.
	keepAfterVersions = 64
	keepAfterBytes    = 32 << 10
	// keepTimeout bounds the keeping of one document.
	keepTimeout = 30 * time.Second
	// stopTimeout bounds the keeping of what is queued when the store closes.
	stopTimeout = 2 * time.Second
	keepQueue   = 32 // documents
)

// keeper writes state documents into the database beside the appends, so that
// a reader need not fold a long log. What does not fit its queue is not kept:
// that costs a reader time and nothing else.
type keeper struct {
	store *Store
	queue chan keepsake
	done  chan struct{}
	abort context.CancelFunc
}

// keepsake is a state document to keep.
type keepsake struct {
	key     threadKey
	version selvage.Version
	doc     state.Document
}

func startKeeper(s *Store) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{store: s, queue: make(chan keepsake, keepQueue), done: make(chan struct{}), abort: cancel}
	go k.work(ctx)
	return k
}

// stop keeps what is queued, if that goes fast, and ends the keeper. Nobody
// may consider any more.
func (k *keeper) stop() {
	close(k.queue)
	late := time.AfterFunc(stopTimeout, k.abort)
	<-k.done
	late.Stop()
	k.abort()
}

func (k *keeper) work(ctx context.Context) {
	defer close(k.done)
	for item := range k.queue {
		if err := k.keep(ctx, item); err != nil {
			k.store.log.Warn("a state document was not kept; reading the thread takes longer until one is",
				"thread", string(item.key.id), "version", int64(item.version), "err", err)
		}
	}
}

func (k *keeper) keep(ctx context.Context, item keepsake) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	return k.store.writeCache(ctx, item)
}

// consider has the state document of a head kept if the log has run far ahead
// of the last one, and returns the head as it is then to be remembered.
func (k *keeper) consider(key threadKey, h *head) *head {
	ahead := h.stateVersion - h.cached
	if h.doc == nil || h.stateVersion == 0 || h.tail == 0 || ahead < keepAfterVersions && h.tail < max(keepAfterBytes, h.bytes-h.tail) {
		return h
	}
	select {
	case k.queue <- keepsake{key, h.Thread.Version, *h.doc}:
	default:
		return h
	}
	kept := *h
	kept.cached, kept.tail = int64(h.Thread.Version), 0
	return &kept
}

// writeCache keeps a state document and forgets all but the one before it. A
// thread that was deleted or written anew meanwhile is left alone.
func (s *Store) writeCache(ctx context.Context, item keepsake) error {
	data := item.doc.AppendJSON(nil)
	return s.retry(ctx, "keep a state document", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, `WITH k AS (
				INSERT INTO selvage.state_cache (tenant, thread, version, digest, doc)
				SELECT t.tenant, t.thread, $3::bigint, $4::bytea, $5::bytea FROM selvage.threads t
				WHERE t.tenant = $1::text AND t.thread = $2::bytea AND t.version >= $3::bigint AND t.tombstone < $3::bigint AND NOT t.deleted
				ON CONFLICT (tenant, thread, version) DO NOTHING)
			DELETE FROM selvage.state_cache o WHERE o.tenant = $1::text AND o.thread = $2::bytea AND o.version < (
				SELECT max(p.version) FROM selvage.state_cache p
				WHERE p.tenant = $1::text AND p.thread = $2::bytea AND p.version < $3::bigint)`,
			item.key.tenant, packID(string(item.key.id)), int64(item.version), cacheDigest(item.key.id, int64(item.version), data), data)
		return err
	})
}

// cacheDigest proves that a kept document is whole and where it belongs.
func cacheDigest(id selvage.ThreadID, version int64, doc []byte) []byte {
	h := sha256.New()
	var b [8]byte
	for _, n := range [...]uint64{uint64(len(id)), uint64(version)} {
		binary.BigEndian.PutUint64(b[:], n)
		h.Write(b[:])
	}
	h.Write([]byte(id))
	h.Write(doc)
	return h.Sum(nil)
}
