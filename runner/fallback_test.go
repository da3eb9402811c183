package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
)

// other is a scripted model of another name and price.
type other struct {
	*scripted
	name  string
	price selvage.Money // of a million output tokens
}

func (o *other) Name() string               { return o.name }
func (o *other) Price() (model.Price, bool) { return model.Price{Output: o.price}, true }

// each makes a stream of a failure so often.
func each(n int, steps ...any) [][]any { return slices.Repeat([][]any{steps}, n) }

// When the attempts of a model are used up the next one is asked, at once if
// its quota is; each answers at its own price, and the answer tells which did.
func TestFallback(t *testing.T) {
	t.Parallel()
	never := &model.Error{Class: model.RateLimited, RetryAfter: time.Hour, Err: errors.New("scripted")}
	tests := []struct {
		name                 string
		first, second, third [][]any
		by                   string // "" is the first
		text, code           string
		wait                 float64 // seconds at most
		tokens               [3]int64
	}{
		{"not needed", [][]any{{text("one"), tokens(1), stop}}, nil, nil, "", "one", "", 0, [3]int64{1}},
		{"attempts used up", each(4, tokens(1), failing(model.Transient)), [][]any{{text("two"), tokens(5), stop}}, nil, "test/second", "two", "", 5, [3]int64{4, 5}},
		{"no quota", each(1, failing(model.Quota)), [][]any{{text("two"), tokens(1), stop}}, nil, "test/second", "two", "", 0, [3]int64{0, 1}},
		{"asks for too much patience", each(1, never), [][]any{{text("two"), tokens(1), stop}}, nil, "test/second", "two", "", 0, [3]int64{0, 1}},
		{"empty answers", each(4, stop), [][]any{{text("two"), stop}}, nil, "test/second", "two", "", 5, [3]int64{}},
		{"cut for good", each(4, text("a "), tokens(1), failing(model.Cut)), [][]any{{text("two"), tokens(1), stop}}, nil, "test/second", "a a a a two", "", 5, [3]int64{4, 1}},
		{"the third", each(1, failing(model.Quota)), each(4, failing(model.RateLimited)), [][]any{{text("three"), tokens(1), stop}}, "test/third", "three", "", 5, [3]int64{0, 0, 1}},
		{"none", each(1, failing(model.Quota)), each(1, failing(model.Quota)), each(1, failing(model.Quota)), "", "", "quota", 0, [3]int64{}},
		{"what will not pass", each(1, failing(model.Permanent)), nil, nil, "", "", "permanent", 0, [3]int64{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				prices := []selvage.Money{selvage.Dollar, 2 * selvage.Dollar, 30 * selvage.Dollar}
				first := &scripted{streams: tt.first}
				second := &other{&scripted{streams: tt.second}, "test/second", prices[1]}
				third := &other{&scripted{streams: tt.third}, "test/third", prices[2]}
				store, begun := newSpy(), time.Now()
				r := newRunner(t, runner.Options{Store: store, Model: first, Price: &model.Price{Output: prices[0]}, Fallbacks: []model.Model{second, third}})
				h := listen(t, r.Stream(t.Context(), "t", runner.Text("hi")))
				if h.result.Text != tt.text || h.text != tt.text || h.result.Outcome.Code != tt.code {
					t.Errorf("text %q, deltas %q, outcome %v, error %v", h.result.Text, h.text, h.result.Outcome, h.failed)
				}
				var cost selvage.Money
				var used int64
				for i, n := range tt.tokens {
					cost, used = cost+model.Price{Output: prices[i]}.Cost(selvage.Usage{OutputTokens: n}), used+n
				}
				if h.result.Cost != cost || h.result.Usage.OutputTokens != used {
					t.Errorf("usage %v, cost %v, want %d tokens, %v", h.result.Usage, h.result.Cost, used, cost)
				}
				if took := time.Since(begun).Seconds(); took > tt.wait {
					t.Errorf("it took %.1fs", took)
				}
				by := ""
				for _, m := range load(t, store, "t").Messages {
					by += strings.Trim(string(m.Metadata[runner.MetadataModel]), `"`)
				}
				if by != tt.by {
					t.Errorf("answered by %q, want %q", by, tt.by)
				}
			})
		})
	}
}

// A model without quota is not asked again in the same run; one that was only
// unwell is.
func TestFallbackOfTheNextTurn(t *testing.T) {
	t.Parallel()
	for class, again := range map[model.Class]int{model.Quota: 1, model.Transient: 5} {
		synctest.Test(t, func(t *testing.T) {
			first := &scripted{streams: append(each(4, failing(class)), []any{text("well again"), stop})}
			second := &other{&scripted{streams: [][]any{{call("echo", `{"text":"a"}`), stop}, {text("still here"), stop}}}, "test/second", 1}
			r := newRunner(t, runner.Options{Store: newSpy(), Model: first, Fallbacks: []model.Model{second}, Tools: echoTools()})
			result := mustRun(t, r, "t", "hi")
			want := map[model.Class]string{model.Quota: "still here", model.Transient: "well again"}[class]
			if result.Text != want || len(first.attempts) != again {
				t.Errorf("%s: %q after %d requests to the first, want %q after %d", class, result.Text, len(first.attempts), want, again)
			}
		})
	}
}

// A run records what it falls back on. Who goes on with it has the same, or
// says what is lacking.
func TestFallbacksAreRecorded(t *testing.T) {
	t.Parallel()
	second := &other{&scripted{streams: [][]any{{text("ok"), stop}}}, "test/second", 1}
	third := &other{&scripted{}, "test/third", 1}
	first := func() *scripted { return &scripted{streams: each(1, failing(model.Quota))} }
	begun := func() *spy {
		store := newSpy()
		o := runner.Options{Model: first(), Fallbacks: []model.Model{second}}
		second.streams = each(2, text("ok"), stop)
		die(t, store, o, "hi", 2) // before the answer is recorded
		return store
	}
	store := begun()
	if page, err := store.Runs(t.Context(), selvage.RunQuery{}); err != nil || !slices.Equal(page.Items[0].Spec.Fallbacks, []string{"test/second"}) {
		t.Errorf("recorded %+v, %v", page.Items[0].Spec, err)
	}
	opts := runner.Options{Store: store, Model: first(), Fallbacks: []model.Model{third, second}} // more than it needs
	recovered, err := newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || recovered[0].Result.Text != "ok" {
		t.Errorf("%v, %v", recovered, err)
	}
	opts.Store, opts.Model, opts.Fallbacks = begun(), first(), []model.Model{third}
	recovered, err = newRunner(t, opts).Recover(t.Context())
	if err != nil || len(recovered) != 1 || !strings.Contains(recovered[0].Difference, "it needs model test/second to fall back on, which is not here") {
		t.Errorf("%v, %v", recovered, err)
	}
}

// A model is asked in one place of the order.
func TestFallbacksOnce(t *testing.T) {
	t.Parallel()
	m := &scripted{}
	for _, fallbacks := range [][]model.Model{{m}, {nil}, {&other{m, "a", 0}, &other{m, "a", 0}}} {
		if _, err := runner.New(runner.Options{Model: m, Fallbacks: fallbacks}); !errors.Is(err, selvage.ErrInvalid) {
			t.Errorf("%v: %v", fallbacks, err)
		}
	}
}
