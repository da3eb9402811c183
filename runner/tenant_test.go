package runner_test

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/sqlite"
	"github.com/selvagehq/selvage/tool"
)

// Runs of two tenants bear the same names on threads of the same names. Each
// waits, is decided on and goes on in its own store, and neither the other
// tenant nor who has none finds it.
func TestTenants(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) selvage.Store{
		"inmem": func(*testing.T) selvage.Store { return inmem.New(inmem.Options{}) },
		"sqlite": func(t *testing.T) selvage.Store {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := open(t)
			defer func() { _ = all.Close() }() // in memory, or removed with its directory
			tenancy, ok := selvage.As[selvage.Tenancy](all)
			if !ok {
				t.Fatal("the store keeps no tenants apart")
			}
			of := func(tenant string) selvage.Store {
				store, err := tenancy.Tenant(tenant)
				if err != nil {
					t.Fatal(err)
				}
				return store
			}
			var ran [2]atomic.Int32
			agents := [2]runner.Options{}
			for i, tenant := range []string{"acme", "globex"} {
				agents[i] = runner.Options{Store: of(tenant), Tools: []tool.Tool{gated(selvage.EffectOnce, &ran[i]), spawning(t)}}
				in := runner.Text(`call deploy {"to":"prod"}`)
				in.RunID = "r"
				if result, err := newRunner(t, agents[i]).Run(t.Context(), "t", in); err != nil || result.Waiting == nil {
					t.Fatalf("%s: %+v, %v", tenant, result, err)
				}
			}
			decide(t, of("acme"), "r", approve, "")

			// Nobody but acme has anything to go on with.
			for tenant, store := range map[string]selvage.Store{"": all, "globex": of("globex")} {
				if recovered, err := newRunner(t, runner.Options{Store: store, Tools: agents[0].Tools}).Recover(t.Context()); err != nil || len(recovered) != 0 {
					t.Errorf("tenant %q recovers %v, %v", tenant, recovered, err)
				}
			}
			if _, err := newRunner(t, runner.Options{Store: all, Tools: agents[0].Tools}).Resume(t.Context(), "r", runner.ResumeOptions{}); !errors.Is(err, selvage.ErrNotFound) {
				t.Errorf("resumed without a tenant: %v, want it not to be found", err)
			}
			if _, err := runner.Decide(t.Context(), all, "r", approve, ""); !errors.Is(err, selvage.ErrNotFound) {
				t.Errorf("decided without a tenant: %v, want it not to be found", err)
			}
			recovered, err := newRunner(t, agents[0]).Recover(t.Context())
			if err != nil || len(recovered) != 1 || recovered[0].Result.Text != "Done: deployed to prod" || ran[0].Load() != 1 || ran[1].Load() != 0 {
				t.Errorf("acme recovers %+v, %v; ran %d and %d times", recovered, err, ran[0].Load(), ran[1].Load())
			}
			if _, err := runner.Cancel(t.Context(), of("globex"), "r", "not ours"); err != nil {
				t.Error(err)
			}
			for tenant, want := range map[string]selvage.OutcomeKind{"acme": selvage.OutcomeCompleted, "globex": selvage.OutcomeCancelled} {
				run, err := runner.FindRun(t.Context(), of(tenant), "r")
				if err != nil || run.Outcome == nil || run.Outcome.Kind != want {
					t.Errorf("%s: run %+v, %v; want %s", tenant, run, err, want)
				}
				checkComplete(t, of(tenant), "t")
			}

			// A child is the tenant's too.
			result := mustRun(t, newRunner(t, agents[0]), "parent", `call spawn_agent {"prompt":"hello"}`)
			children, err := of("acme").Runs(t.Context(), selvage.RunQuery{ParentRunID: result.RunID})
			if err != nil || len(children.Items) != 1 || result.Text != "Done: You said: hello" {
				t.Errorf("%q spawned %+v, %v", result.Text, children.Items, err)
			}
			for tenant, store := range map[string]selvage.Store{"": all, "globex": of("globex")} {
				if page, err := store.Threads(t.Context(), selvage.ThreadQuery{}); err != nil || len(page.Items) > 1 || tenant == "" && len(page.Items) > 0 {
					t.Errorf("tenant %q sees threads %+v, %v", tenant, page.Items, err)
				}
			}
		})
	}
}
