package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// passes waits, and reports whether ctx let it.
func passes(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// keeping is a store that keeps account of stream checkpoints, and can die.
type keeping struct {
	*spy
	inner selvage.StreamCheckpoints
	pause time.Duration // that a write takes
	deaf  bool          // writes do not heed that they are given up

	mu      sync.Mutex
	puts    []selvage.StreamCheckpoint // guarded by mu
	deletes int                        // guarded by mu
	under   int                        // writes under way; guarded by mu
	most    int                        // the most that were; guarded by mu
	dead    bool                       // guarded by mu
}

func newKeeping(s *spy) *keeping {
	inner, _ := selvage.As[selvage.StreamCheckpoints](s.Store)
	return &keeping{spy: s, inner: inner}
}

func (k *keeping) Unwrap() selvage.Store { return k.spy }

func (k *keeping) Capability(target any) bool {
	t, ok := target.(*selvage.StreamCheckpoints)
	if ok {
		*t = checkpoints{k}
	}
	return ok
}

func (k *keeping) Append(ctx context.Context, id selvage.ThreadID, set selvage.ChangeSet, pre selvage.Precondition) (selvage.Receipt, error) {
	if k.isDead() {
		return selvage.Receipt{}, fmt.Errorf("dead: %w", selvage.ErrClosed)
	}
	return k.spy.Append(ctx, id, set, pre)
}

func (k *keeping) isDead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dead
}

func (k *keeping) die() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
}

// written returns the checkpoints that were put.
func (k *keeping) written() []selvage.StreamCheckpoint {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]selvage.StreamCheckpoint(nil), k.puts...)
}

// left returns the checkpoint of the latest run of a thread, nil if there is
// none.
func (k *keeping) left(t *testing.T, id selvage.ThreadID) *selvage.StreamCheckpoint {
	t.Helper()
	c, err := k.inner.Get(t.Context(), id, load(t, k, id).Thread.LatestRunID)
	switch {
	case errors.Is(err, selvage.ErrNotFound):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return &c
}

type checkpoints struct{ k *keeping }

func (c checkpoints) Put(ctx context.Context, p selvage.StreamCheckpoint) error {
	c.k.mu.Lock()
	if c.k.dead {
		c.k.mu.Unlock()
		return selvage.ErrClosed
	}
	c.k.puts = append(c.k.puts, p)
	c.k.under++
	c.k.most = max(c.k.most, c.k.under)
	c.k.mu.Unlock()
	if c.k.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	passes(ctx, c.k.pause)
	defer func() {
		c.k.mu.Lock()
		defer c.k.mu.Unlock()
		c.k.under--
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.k.inner.Put(ctx, p)
}

func (c checkpoints) Get(ctx context.Context, thread selvage.ThreadID, run selvage.RunID) (selvage.StreamCheckpoint, error) {
	return c.k.inner.Get(ctx, thread, run)
}

func (c checkpoints) Delete(ctx context.Context, thread selvage.ThreadID, run selvage.RunID) error {
	c.k.mu.Lock()
	c.k.deletes++
	dead := c.k.dead
	c.k.mu.Unlock()
	if dead {
		return selvage.ErrClosed
	}
	return c.k.inner.Delete(ctx, thread, run)
}

// reciter is a model that says a text in pieces, from the prefix on, and breaks
// off as often as it is told to. Each piece costs a token, and so does each
// piece of the prefix that it is given.
type reciter struct {
	pieces  []string
	cuts    []int // after how many pieces each attempt breaks off; those after the last do not
	repeats bool  // it says the prefix again
	silent  bool  // it says nothing about usage when it breaks off
	asked   []model.Request
}

func (*reciter) Name() string { return "test/reciter" }

func (*reciter) Price() (model.Price, bool) {
	return model.Price{Input: 1_000_000, Output: 1_000_000_000}, true // 1 and 1000 billionths a token
}

func (m *reciter) Stream(_ context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		m.asked = append(m.asked, req)
		said, from := "", 0
		for from < len(m.pieces) && said != req.Prefix {
			said += m.pieces[from]
			from++
		}
		usage := selvage.Usage{InputTokens: 10 + int64(from)}
		if m.repeats {
			from = 0
		}
		cut := len(m.asked) <= len(m.cuts)
		for i, piece := range m.pieces[from:] {
			if cut && i == m.cuts[len(m.asked)-1] {
				break
			}
			usage.OutputTokens++
			if !yield(model.Chunk{Text: piece}, nil) {
				return
			}
		}
		if !cut || !m.silent {
			yield(model.Chunk{Usage: &usage}, nil)
		}
		if cut {
			yield(model.Chunk{}, model.Broken(usage.OutputTokens > 0, errors.New("scripted cut")))
			return
		}
		yield(model.Chunk{Finish: model.FinishStop}, nil)
	}
}

var recital = []string{"Once ", "upon ", "a ", "time, ", "wo", "ven ", "on\n\n", "a ", "loom \U0001F9F5", " of ", "1", "0 ", "10."}

// heard is what a reader of the events of a run makes of its deltas.
type heard struct {
	text            string
	retries, goesOn int
	result          runner.Result
	failed          error
}

func listen(t *testing.T, events iter.Seq2[runner.Event, error]) heard {
	t.Helper()
	var h heard
	id := ""
	for e, err := range events {
		switch {
		case err != nil:
			h.failed = err
		case e.Kind == runner.EventRetry:
			h.retries++
			h.text, id = "", ""
		case e.Kind == runner.EventContinue:
			h.goesOn++
		case e.Kind == runner.EventDelta:
			if id != "" && e.MessageID != id {
				t.Errorf("a delta of message %s follows one of %s", e.MessageID, id)
			}
			h.text, id = h.text+e.Text, e.MessageID
		case e.Kind == selvage.EventMessage && e.Message.Role == selvage.RoleAssistant:
			if id != "" && e.Message.ID != id || e.Message.Text() != h.text {
				t.Errorf("message %s says %q, deltas of %s said %q", e.Message.ID, e.Message.Text(), id, h.text)
			}
		case e.Result != nil:
			h.result = *e.Result
		}
	}
	return h
}

// A stream that is cut at any chunk boundary is gone on with: the final text is
// whole, nothing is doubled, the cost counts both, and it was one turn.
func TestCutAtEveryBoundary(t *testing.T) {
	t.Parallel()
	want := strings.Join(recital, "")
	for cut := 0; cut <= len(recital); cut++ {
		for _, repeats := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m := &reciter{pieces: recital, cuts: []int{cut}, repeats: repeats}
				r := newRunner(t, runner.Options{Store: newSpy(), Model: m})
				h := listen(t, r.Stream(t.Context(), "t", runner.Text("tell")))
				if h.failed != nil || h.result.Text != want || h.text != want || h.result.Steps != 1 {
					t.Fatalf("cut after %d (repeats %v): text %q, deltas %q, %d steps, error %v", cut, repeats, h.result.Text, h.text, h.result.Steps, h.failed)
				}
				prefix := strings.Join(recital[:cut], "")
				if len(m.asked) != 2 || m.asked[1].Prefix != prefix || m.asked[1].Attempt != 1 {
					t.Fatalf("cut after %d: asked %+v", cut, m.asked)
				}
				if goesOn := cut > 0; (h.goesOn == 1) != goesOn || (h.retries == 1) == goesOn {
					t.Errorf("cut after %d: %d retries and %d continuations told", cut, h.retries, h.goesOn)
				}
				out := int64(len(recital))
				if repeats {
					out += int64(cut)
				}
				usage := selvage.Usage{InputTokens: 20 + int64(cut), OutputTokens: out}
				if cost := selvage.Money(usage.InputTokens + 1000*usage.OutputTokens); h.result.Usage != usage || h.result.Cost != cost {
					t.Errorf("cut after %d: usage %v, cost %v; want %v, %v", cut, h.result.Usage, h.result.Cost, usage, cost)
				}
			})
		}
	}
}

// So is one that is cut again and again.
func TestCutAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &reciter{pieces: recital, cuts: []int{3, 0, 2}}
		h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("tell")))
		if want := strings.Join(recital, ""); h.result.Text != want || h.goesOn != 3 || h.retries != 0 {
			t.Errorf("%+v", h)
		}
		if h.result.Usage.OutputTokens != int64(len(recital)) {
			t.Errorf("usage %v", h.result.Usage)
		}
	})
}

// With Restart an answer is asked for anew, and so is one with a call in it.
func TestRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &reciter{pieces: recital, cuts: []int{3}}
		h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m, OnPartial: runner.Restart}).Stream(t.Context(), "t", runner.Text("tell")))
		if want := strings.Join(recital, ""); h.result.Text != want || h.text != want || h.goesOn != 0 || h.retries != 1 || m.asked[1].Prefix != "" {
			t.Errorf("%+v", h)
		}
		s := &scripted{streams: [][]any{{text("I will"), call("echo", `{"text":"a"}`), failing(model.Cut)}, {text("ok"), stop}}}
		store := newSpy()
		h = listen(t, newRunner(t, runner.Options{Store: store, Model: s, Tools: []tool.Tool{echoTool("echo", selvage.EffectOnce)}}).Stream(t.Context(), "u", runner.Text("hi")))
		if h.result.Text != "ok" || h.text != "ok" || h.retries != 1 || h.goesOn != 0 || len(load(t, store, "u").Messages) != 2 {
			t.Errorf("%+v", h)
		}
	})
	if _, err := runner.New(runner.Options{Model: newModel(t), OnPartial: "maybe"}); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("OnPartial maybe: %v", err)
	}
}

// What could be a repetition and is none is kept, and so is what repeats
// itself by its nature.
func TestNotARepetition(t *testing.T) {
	t.Parallel()
	for first, rest := range map[string][]string{
		"ha ":                {"ha ", "ha"},
		"haha":               {"haha"},
		"1 1 ":               {"1 1"},
		"Once upon":          {"Once", " again"},
		"Once upon a time":   {"Once upon a"},
		"half a \U0001F9F5 ": {"half", " a \U0001F9F5"},
	} {
		synctest.Test(t, func(t *testing.T) {
			steps := []any{}
			want := first
			for _, s := range rest {
				steps = append(steps, text(s))
				want += s
			}
			m := &scripted{streams: [][]any{{text(first), failing(model.Cut)}, append(steps, stop)}}
			h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("hi")))
			if h.result.Text != want || h.text != want {
				t.Errorf("%q and %q became %q", first, rest, h.result.Text)
			}
		})
	}
}

// A character that a cut leaves in halves is not part of the beginning.
func TestCutInsideACharacter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		thread := "\U0001F9F5"
		m := &scripted{streams: [][]any{{text("a " + thread[:2]), failing(model.Cut)}, {text(thread[:1]), text(thread[1:] + " b"), stop}}}
		h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("hi")))
		if want := "a " + thread + " b"; h.result.Text != want || m.prefixes[1] != "a " {
			t.Errorf("%q, prefix %q", h.result.Text, m.prefixes[1])
		}
	})
}

// A service that refuses to be given the beginning of an answer is asked for
// the whole of it.
func TestPrefixRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &scripted{streams: [][]any{{text("Once"), failing(model.Cut)}, {failing(model.Permanent)}, {text("Once more"), stop}}}
		h := listen(t, newRunner(t, runner.Options{Store: newSpy(), Model: m}).Stream(t.Context(), "t", runner.Text("hi")))
		if diff := cmp.Diff([]string{"", "Once", ""}, m.prefixes); diff != "" || h.result.Text != "Once more" || h.text != "Once more" {
			t.Errorf("%+v, prefixes %q", h, m.prefixes)
		}
	})
}
