package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// needy is a tool that needs a capability besides its own.
func needy(name string, caps ...string) tool.Tool {
	return tool.Func(name, "", func(context.Context, struct{}) (string, error) { return name + " ran", nil },
		tool.Options{Effect: selvage.EffectNone, Caps: caps})
}

// A run may do what it is granted and nothing else: what is not granted is not
// offered, and a call of it all the same is refused and says why.
func TestCaps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		caps    []string
		want    []string // recorded
		offered string
		say     string
		answer  string
	}{
		{"those of the tools", nil, []string{"tool.plain", "tool.fetch", "net.get"}, "plain fetch", "call fetch {}", "Done: fetch ran"},
		{"some", []string{"tool.fetch", "net.*"}, []string{"tool.fetch", "net.*"}, "fetch", "call fetch {}", "Done: fetch ran"},
		{"the tool, and not what it needs", []string{"tool.*"}, []string{"tool.*"}, "plain", "call fetch {}",
			"Done: fetch may not be called in this run, which is not granted net.get"},
		{"what it needs, and not the tool", []string{"net.get"}, []string{"net.get"}, "", "call fetch {}",
			"Done: fetch may not be called in this run, which is not granted tool.fetch"},
		{"nothing", []string{}, nil, "", "call plain {}", "Done: plain may not be called in this run, which is not granted tool.plain"},
		{"everything", []string{"*"}, []string{"*"}, "plain fetch", "call plain {}", "Done: plain ran"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, watch := newSpy(), &recorder{Model: newModel(t)}
			r := newRunner(t, runner.Options{Store: store, Model: watch, Caps: tt.caps, Tools: []tool.Tool{needy("plain"), needy("fetch", "net.get")}})
			if got := mustRun(t, r, "t", tt.say).Text; got != tt.answer {
				t.Errorf("answered %q, want %q", got, tt.answer)
			}
			var offered []string
			for _, spec := range watch.requests[0].Tools {
				offered = append(offered, spec.Name)
			}
			if got := strings.Join(offered, " "); got != tt.offered {
				t.Errorf("offered %q, want %q", got, tt.offered)
			}
			page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t"})
			if err != nil || !slices.Equal(page.Items[0].Spec.Caps, tt.want) || len(page.Items[0].Spec.Tools) != len(offered) {
				t.Errorf("recorded %+v, %v", page.Items[0].Spec, err)
			}
		})
	}
}

func TestCapsRefuses(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]runner.Options{
		"no glob":             {Caps: []string{"tool clock"}},
		"a tool with a glob":  {Tools: []tool.Tool{needy("a", "net.*")}},
		"a tool with no name": {Tools: []tool.Tool{needy("a", "")}},
	} {
		opts.Model = newModel(t)
		if _, err := runner.New(opts); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%s: New = %v, want it invalid", name, err)
		}
	}
}

// Who goes on with a run may grant it less than it was granted, and never more.
func TestCapsOfAResumedRun(t *testing.T) {
	t.Parallel()
	tools := []tool.Tool{needy("plain"), needy("fetch", "net.get")}
	tests := []struct {
		name        string
		began, here []string
		say, answer string
	}{
		{"the same", []string{"tool.plain"}, []string{"tool.plain"}, "fetch", "Done: fetch may not be called"},
		{"more here", []string{"tool.plain"}, []string{"*"}, "fetch", "Done: fetch may not be called"},
		{"nothing said here", []string{"tool.plain"}, nil, "fetch", "Done: fetch may not be called"},
		{"less here", []string{"*"}, []string{"tool.plain"}, "fetch", "Done: fetch may not be called"},
		{"less here, and enough", []string{"*"}, []string{"tool.plain"}, "plain", "Done: plain ran"},
		{"nothing here", []string{"tool.plain"}, []string{}, "plain", "Done: plain may not be called"},
		{"partly the same", []string{"tool.plain", "net.*"}, []string{"tool.*", "net.get"}, "fetch", "Done: fetch may not be called"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newSpy()
			die(t, store, runner.Options{Tools: tools, Caps: tt.began}, "call "+tt.say+" {}", 2)
			all, err := newRunner(t, runner.Options{Store: store, Tools: tools, Caps: tt.here}).Recover(t.Context())
			if err != nil || len(all) != 1 || all[0].Difference != "" {
				t.Fatalf("recovered %+v, %v", all, err)
			}
			if got := all[0].Result.Text; !strings.HasPrefix(got, tt.answer) {
				t.Errorf("gone on with, it answers %q, want %q", got, tt.answer)
			}
		})
	}
}
