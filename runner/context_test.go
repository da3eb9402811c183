package runner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/tool"
)

// attentive is a model that keeps what it is asked and can be told to
// summarise. It counts a token for three characters, and its calls are one of
// echo in every third answer.
type attentive struct {
	summarise func(ctx context.Context, asked string) (string, error)

	mu    sync.Mutex
	asked []model.Request // answers that were asked for; guarded by mu
	sums  []string        // what was to be summarised; guarded by mu
}

func (*attentive) Name() string { return "test/attentive" }

func (*attentive) Price() (model.Price, bool) {
	return model.Price{Input: selvage.Dollar, Output: selvage.Dollar}, true
}

func (m *attentive) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if strings.HasPrefix(req.System, "You summarise") {
			asked := req.Messages[0].Text()
			m.mu.Lock()
			m.sums = append(m.sums, asked)
			m.mu.Unlock()
			text, err := m.summarise(ctx, asked)
			if err != nil {
				yield(model.Chunk{}, err)
				return
			}
			_ = yield(model.Chunk{Text: text}, nil) && yield(model.Chunk{Usage: &selvage.Usage{InputTokens: 1000, OutputTokens: 10}}, nil) && yield(stop, nil)
			return
		}
		m.mu.Lock()
		m.asked = append(m.asked, req)
		n := len(m.asked)
		m.mu.Unlock()
		chars := 0
		for i := range req.Messages {
			chars += len(req.Messages[i].Text())
		}
		chunk := text(fmt.Sprintf("answer %d", n))
		if last := req.Messages[len(req.Messages)-1]; n%3 == 0 && last.Role != selvage.RoleTool {
			chunk = call("echo", `{"text":"a result that takes some room in the window"}`)
		}
		_ = yield(chunk, nil) && yield(model.Chunk{Usage: &selvage.Usage{InputTokens: int64(chars / 3), OutputTokens: 3}}, nil) && yield(stop, nil)
	}
}

// summed is a model that summarises at once.
func summed() *attentive {
	return &attentive{summarise: func(_ context.Context, asked string) (string, error) {
		return fmt.Sprintf("summary of %d messages", strings.Count(asked, "user: ")), nil
	}}
}

// talkOn has runs on thread t, each in a process of its own.
func talkOn(t *testing.T, store selvage.Store, m *attentive, rules selvage.ContextRules, from, to int) (last runner.Result) {
	t.Helper()
	for i := from; i <= to; i++ {
		r := newRunner(t, runner.Options{Store: store, Model: m, Context: rules, System: "Be brief.", Tools: []tool.Tool{echoTool("echo", selvage.EffectNone)}})
		last = mustRun(t, r, "t", fmt.Sprintf("message %d, which says this and that and takes some room", i))
	}
	return last
}

// The summary costs no commit of its own, is paid for, and stands in for
// what it covers; the log keeps everything.
func TestSummary(t *testing.T) {
	t.Parallel()
	store, m := newSpy(), summed()
	talkOn(t, store, m, selvage.ContextRules{Tokens: 200, Summarise: true}, 1, 30)
	if len(m.sums) < 3 {
		t.Fatalf("summarised %d times", len(m.sums))
	}
	head := load(t, store, "t")
	said, summaries := 0, 0
	for _, msg := range head.Messages {
		if strings.HasPrefix(msg.Text(), "message ") {
			said++
		}
		if _, ok := msg.Metadata[runner.MetadataSummary]; ok && msg.Internal() {
			summaries++
		}
	}
	if said != 30 || summaries != len(m.sums) {
		t.Errorf("the log has %d of 30 messages, and %d summaries of %d", said, summaries, len(m.sums))
	}
	// Each goes on from the one before.
	for i, asked := range m.sums[1:] {
		if !strings.Contains(asked, "[Summary of the conversation before what follows]\nsummary of") {
			t.Errorf("summary %d does not go on from the one before:\n%s", i+2, asked)
		}
	}
	for _, a := range store.appended() {
		if a.set.Reason == selvage.ReasonUserMessage && len(a.set.Runs) == 0 {
			t.Errorf("a commit of its own: %s", describe(&a.set))
		}
	}
	page, err := store.Runs(t.Context(), selvage.RunQuery{ThreadID: "t", Limit: new(200)})
	if err != nil {
		t.Fatal(err)
	}
	input := int64(0)
	for _, run := range page.Items {
		input += run.Usage.InputTokens
		if want := selvage.Money(run.Usage.InputTokens+run.Usage.OutputTokens) * selvage.Dollar / 1_000_000; run.Cost != want {
			t.Errorf("run %s cost %s for %+v, want %s", run.ID, run.Cost, run.Usage, want)
		}
	}
	if input < 1000*int64(len(m.sums)) {
		t.Errorf("%d input tokens are booked, and %d summaries took 1000 each", input, len(m.sums))
	}
	for i, asked := range m.asked {
		total := 0
		for j := range asked.Messages {
			total += len(asked.Messages[j].Text()) / 3
		}
		if total > 260 {
			t.Errorf("request %d took %d tokens of 200", i, total)
		}
	}
	verify(t, store, "t")
}

// A summary that fails never fails the run: what it would cover is cut.
func TestSummaryFails(t *testing.T) {
	t.Parallel()
	store := newSpy()
	m := &attentive{summarise: func(context.Context, string) (string, error) { return "", failing(model.Permanent) }}
	talkOn(t, store, m, selvage.ContextRules{Tokens: 200, Summarise: true}, 1, 20)
	if len(m.sums) == 0 {
		t.Fatal("nothing was to be summarised")
	}
	for i, asked := range m.asked {
		if strings.Contains(asked.Messages[0].Text(), "[Summary") {
			t.Errorf("request %d has a summary", i)
		}
	}
	verify(t, store, "t")
}

// It is made while the model answers, and recorded when the run ends.
func TestSummaryInTheBackground(t *testing.T) {
	t.Parallel()
	store, m := newSpy(), summed()
	talkOn(t, store, m, selvage.ContextRules{}, 1, 8)
	room := len(load(t, store, "t").Messages)*10/9 + 1 // so that 0.9 of it is used
	started, answered := make(chan struct{}), make(chan struct{})
	m.summarise = func(context.Context, string) (string, error) {
		close(started)
		<-answered
		return "late summary", nil
	}
	over := sync.OnceFunc(func() { close(answered) }) // the first answer is there before
	hook := selvage.Hook{Name: "watch", AfterInference: func(context.Context, selvage.Scene) (selvage.Effects, error) {
		<-started
		return selvage.Effects{}, nil
	}, StepEnd: func(context.Context, selvage.Scene) (selvage.Effects, error) {
		over()
		return selvage.Effects{}, nil
	}}
	r := newRunner(t, runner.Options{Store: store, Model: m, Context: selvage.ContextRules{Messages: room, Summarise: true}, Hooks: []selvage.Hook{hook}})
	mustRun(t, r, "t", "message 9")
	if got := transcript(load(t, store, "t").Messages); !strings.Contains(got, "(system): [Summary of the conversation before what follows]\nlate summary\n") {
		t.Errorf("the summary that was made in the background is not there:\n%s", got)
	}
	verify(t, store, "t")
}

// A run that is cancelled gives up on its summary and leaves nothing behind.
func TestSummaryOfACancelledRun(t *testing.T) {
	t.Parallel()
	store, m := newSpy(), summed()
	talkOn(t, store, m, selvage.ContextRules{Messages: 20}, 1, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan struct{})
	m.summarise = func(ctx context.Context, _ string) (string, error) {
		cancel()
		<-ctx.Done()
		close(gone)
		return "", ctx.Err()
	}
	r := newRunner(t, runner.Options{Store: store, Model: m, Context: selvage.ContextRules{Messages: 10, Summarise: true}})
	if _, err := r.Run(ctx, "t", runner.Text("go")); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run = %v", err)
	}
	select {
	case <-gone:
	default:
		t.Error("the summary is being made still")
	}
}

// A summary that was erased, or taken back, is not given to the model.
func TestSummaryThatIsGone(t *testing.T) {
	t.Parallel()
	rules := selvage.ContextRules{Tokens: 200, Summarise: true}
	summaryIn := func(m *attentive) bool {
		last := m.asked[len(m.asked)-1]
		return strings.HasPrefix(last.Messages[0].Text(), "[Summary")
	}
	t.Run("erased", func(t *testing.T) {
		t.Parallel()
		store, m := newSpy(), summed()
		talkOn(t, store, m, rules, 1, 12)
		if !summaryIn(m) {
			t.Fatal("there is no summary")
		}
		var ids []string
		for _, msg := range load(t, store, "t").Messages {
			if _, ok := msg.Metadata[runner.MetadataSummary]; ok {
				ids = append(ids, msg.ID)
			}
		}
		eraser, _ := selvage.As[selvage.Eraser](store.Store)
		if _, err := eraser.Erase(t.Context(), "t", selvage.EraseRequest{Messages: ids}); err != nil {
			t.Fatal(err)
		}
		m.summarise = func(context.Context, string) (string, error) { return "", failing(model.Permanent) }
		talkOn(t, store, m, rules, 13, 13)
		if summaryIn(m) {
			t.Error("the model is given an erased summary")
		}
	})
	t.Run("rewound", func(t *testing.T) {
		t.Parallel()
		store, m := newSpy(), summed()
		before := talkOn(t, store, m, rules, 1, 2).Version
		talkOn(t, store, m, rules, 3, 12)
		if !summaryIn(m) {
			t.Fatal("there is no summary")
		}
		if _, err := store.Append(t.Context(), "t", selvage.ChangeSet{Rewind: &before}, selvage.Any()); err != nil {
			t.Fatal(err)
		}
		talkOn(t, store, m, rules, 13, 13)
		if summaryIn(m) {
			t.Error("the model is given a summary of what was taken back")
		}
	})
}
