package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/internal/pgtest"
	"github.com/selvagehq/selvage/store/postgres"
)

// The connection is cut at the first, second, ... message of a write of a
// record, in each of the ways, until one goes through whole. A write that says
// that it was made was made once, however often it had to be sent.
func TestRecordConnectionCut(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		for name, verdict := range map[string]pgtest.Verdict{"before": pgtest.Cut, "within": pgtest.Torn, "after": pgtest.CutAfter} {
			t.Run(fmt.Sprintf("%s/refused=%v", name, refuse), func(t *testing.T) {
				t.Parallel()
				url := database(t)
				proxy := pgtest.NewProxy(t, url)
				s := open(t, with(proxy.URL(t, url), "pool_max_conns=2"))
				cutRecords(t, s, proxy, verdict, refuse)
			})
		}
	}
}

func cutRecords(t *testing.T, s *postgres.Store, proxy *pgtest.Proxy, verdict pgtest.Verdict, refuse bool) {
	m, _ := selvage.As[selvage.Memory](s)
	name := selvage.MemoryName{Owner: selvage.UserMemory("alice"), Namespace: "facts", Key: "n"}
	last, err := m.Put(t.Context(), selvage.MemoryDraft{MemoryName: name, Value: json.RawMessage(`0`)}, selvage.New())
	if err != nil {
		t.Fatal(err)
	}
	unknown, underway := 0, "" // the value of a write of which nobody knows whether it will be made
	for at := int64(1); ; at++ {
		var seen atomic.Int64
		var cut atomic.Bool
		proxy.Watch(func(pgtest.Step) pgtest.Verdict {
			if seen.Add(1) != at {
				return pgtest.Pass
			}
			cut.Store(true)
			proxy.Refuse(refuse)
			return verdict
		})
		draft := selvage.MemoryDraft{MemoryName: name, Value: json.RawMessage(fmt.Sprint(at))}
		put, err := m.Put(t.Context(), draft, selvage.Exact(last.Version))
		proxy.Watch(nil)
		proxy.Refuse(false)
		got, readErr := m.Get(t.Context(), name)
		if readErr != nil {
			t.Fatalf("cut at message %d: read: %v", at, readErr)
		}
		if err != nil && got.Version == last.Version+1 && string(got.Value) == underway {
			// The server was at it still when its result was looked for.
			last, underway = got, ""
			at--
			continue
		}
		switch {
		case err == nil && (put.Version != last.Version+1 || got.Version != put.Version):
			t.Fatalf("cut at message %d: answered version %d after %d, and %d is there; want it written once", at, put.Version, last.Version, got.Version)
		case err != nil && !hidden(err):
			t.Fatalf("cut at message %d: %v; want unavailable or unknown_outcome, and no conflict with itself", at, err)
		case errors.Is(err, selvage.ErrUnavailable) && got.Version != last.Version:
			t.Fatalf("cut at message %d: %v, yet it was written", at, err)
		case got.Version > last.Version+1:
			t.Fatalf("cut at message %d: version %d after %d", at, got.Version, last.Version)
		}
		underway = ""
		if errors.Is(err, selvage.ErrUnknownOutcome) {
			unknown++
			underway = string(draft.Value)
		}
		last = got
		if !cut.Load() {
			t.Logf("%d messages, %d unknown outcomes", at-1, unknown)
			if refuse && unknown == 0 {
				t.Error("no cut left the outcome unknown; the test proves nothing")
			}
			return
		}
	}
}
