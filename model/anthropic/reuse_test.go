package anthropic_test

import (
	"testing"

	"github.com/selvagehq/selvage/model"
)

// A complete answer gives its connection back, so that the next turn pays for no
// new handshake.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	s := serve(t, events(whole("end_turn", saying("a"))...))
	m := s.model(t)
	for range 20 {
		if _, err := model.Collect(m.Stream(t.Context(), hello)); err != nil {
			t.Fatal(err)
		}
	}
	from := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		from[r.RemoteAddr] = true
	}
	if len(from) != 1 {
		t.Errorf("%d answers took %d connections, want one for all", len(s.requests), len(from))
	}
}
