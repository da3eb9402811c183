package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/selvagehq/selvage"
)

// What is worth knowing about a server: an append waits for one round trip,
// and leases are measured by its clock while changes are stamped by ours.
const (
	slowServer = 50 * time.Millisecond
	wideSkew   = 2 * time.Second
)

// checkServer asks the server that keeps the store for its version, and how
// far it is away in time.
func checkServer(ctx context.Context, server selvage.Pinger) []finding {
	p, err := server.Ping(ctx)
	if err != nil {
		return []finding{{"server", broke, err.Error(), classify(err).hint}}
	}
	return []finding{{"server", fine, p.Server, ""}, roundTrip(p), skew(p)}
}

func roundTrip(p selvage.Ping) finding {
	said := fmt.Sprintf("a round trip takes %s", p.RoundTrip.Round(10*time.Microsecond))
	if p.RoundTrip > slowServer {
		return finding{"latency", worth, said, "every append waits for one; run closer to the server"}
	}
	return finding{"latency", fine, said, ""}
}

func skew(p selvage.Ping) finding {
	apart := p.ClockSkew.Abs().Round(time.Millisecond)
	said := fmt.Sprintf("the server's clock is %s ahead of this machine's", apart)
	if p.ClockSkew < 0 {
		said = fmt.Sprintf("the server's clock is %s behind this machine's", apart)
	}
	if apart > wideSkew {
		return finding{"clock skew", worth, said, "let both follow a time server; order does not depend on it, the times that changes show do"}
	}
	return finding{"clock skew", fine, said, ""}
}
