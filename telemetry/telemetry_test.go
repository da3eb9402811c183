package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/sim"
	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/telemetry"
	"github.com/selvagehq/selvage/tool"
)

// told leads one run and returns its spans by name, and what was counted.
func told(t *testing.T, text string, tools ...tool.Tool) (map[string]tracetest.SpanStub, *prometheus.Registry) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	registry := prometheus.NewRegistry()
	o, err := telemetry.New(telemetry.Options{Tracer: provider.Tracer("test"), Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	echo, err := sim.New("echo")
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Model: echo, Tools: tools, AgentID: "weaver", Observers: []runner.Observer{o},
		Retry: runner.Retry{Attempts: 2, Initial: 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = r.Ask(t.Context(), runner.Text(text)) // some are to fail
	spans := make(map[string]tracetest.SpanStub)
	for _, s := range tracetest.SpanStubsFromReadOnlySpans(recorder.Ended()) {
		spans[s.Name] = s
	}
	return spans, registry
}

func attributes(s tracetest.SpanStub) map[string]string {
	all := make(map[string]string)
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.String()
	}
	return all
}

// A run, its turns, its requests and its calls are spans inside of each other,
// named as the conventions say.
func TestSpans(t *testing.T) {
	t.Parallel()
	look := tool.Func("look", "", func(context.Context, struct{}) (string, error) { return "secret result", nil }, tool.Options{Effect: selvage.EffectNone})
	spans, _ := told(t, `call look {}`, look)
	inside := map[string]string{"turn 1": "invoke_agent weaver", "turn 2": "invoke_agent weaver", "chat echo": "turn 2", "execute_tool look": "turn 1"}
	for name, parent := range inside {
		s, ok := spans[name]
		if !ok || s.Parent.SpanID() != spans[parent].SpanContext.SpanID() {
			t.Errorf("span %q is not inside of %q", name, parent)
		}
	}
	want := map[string]map[string]string{
		"invoke_agent weaver": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weaver", "gen_ai.provider.name": "sim", "selvage.status": "completed",
			"gen_ai.conversation.id": "ask", "gen_ai.usage.input_tokens": "8", "gen_ai.usage.output_tokens": "3", "selvage.cost.usd": "0.000014"},
		"chat echo":         {"gen_ai.operation.name": "chat", "gen_ai.request.model": "echo", "gen_ai.response.finish_reasons": `["stop"]`, "selvage.status": "ok"},
		"execute_tool look": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "selvage.tool.effect": "none", "selvage.status": "ok"},
	}
	for name, attrs := range want {
		got := attributes(spans[name])
		for key, value := range attrs {
			if got[key] != value {
				t.Errorf("span %q: %s is %q, want %q", name, key, got[key], value)
			}
		}
	}
	for name, s := range spans {
		if strings.Contains(fmt.Sprint(s), "secret result") {
			t.Errorf("span %q tells what the conversation says", name)
		}
	}
}

// What failed says so, by its class and without its text.
func TestFailure(t *testing.T) {
	t.Parallel()
	spans, registry := told(t, "fail rate_limited")
	for name, status := range map[string]string{"chat echo": "rate_limited", "invoke_agent weaver": "failed"} {
		s := spans[name]
		if s.Status.Code != codes.Error || s.Status.Description != status || attributes(s)["error.type"] != "rate_limited" {
			t.Errorf("span %q has status %+v and %v, want %s", name, s.Status, attributes(s), status)
		}
	}
	if n := testutil.CollectAndCount(registry, "selvage_model_request_seconds"); n != 1 {
		t.Errorf("%d series of requests, want 1", n)
	}
}

// Everything is counted by what there is few of.
func TestMetrics(t *testing.T) {
	t.Parallel()
	broken := tool.Func("broken", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no") }, tool.Options{Effect: selvage.EffectNone})
	_, registry := told(t, `call broken {}`, broken)
	want := `
# HELP selvage_model_tokens_total Tokens as the provider counted them, by model and type (input, output).
# TYPE selvage_model_tokens_total counter
selvage_model_tokens_total{model="sim/echo",type="input"} 7
selvage_model_tokens_total{model="sim/echo",type="output"} 2
# HELP selvage_runs_active Runs that this process leads now.
# TYPE selvage_runs_active gauge
selvage_runs_active{agent="weaver"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "selvage_model_tokens_total", "selvage_runs_active"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := make(map[string]bool)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[f.GetName()+" "+l.GetName()+"="+l.GetValue()] = true
			}
		}
	}
	for _, want := range []string{"selvage_run_seconds status=completed", "selvage_tool_call_seconds status=failed", "selvage_tool_call_seconds tool=broken"} {
		if !labels[want] {
			t.Errorf("nothing is counted as %s", want)
		}
	}
}

// A second observer of a registerer shares its metrics; none at all is refused.
func TestNew(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	for range 2 {
		if _, err := telemetry.New(telemetry.Options{Registerer: registry}); err != nil {
			t.Error(err)
		}
	}
	if _, err := telemetry.New(telemetry.Options{}); !errors.Is(err, selvage.ErrInvalid) {
		t.Errorf("error %v, want one that matches ErrInvalid", err)
	}
}

// cached is a model whose provider has a cache, as it was recorded.
type cached struct{}

func (cached) Name() string { return "replay:/home/ada/secret/paris.jsonl" }

func (cached) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		_ = yield(model.Chunk{Text: "hi"}, nil) && yield(model.Chunk{Usage: &selvage.Usage{InputTokens: 9, OutputTokens: 4, CachedTokens: 5, CacheWriteTokens: 2}}, nil) &&
			yield(model.Chunk{Finish: model.FinishStop}, nil)
	}
}

// What a provider's cache did is told, and where a recording is is not.
func TestCachedTokens(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	o, err := telemetry.New(telemetry.Options{Tracer: sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test"), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := runner.New(runner.Options{Model: cached{}, Observers: []runner.Observer{o}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Ask(t.Context(), runner.Text("hello")); err != nil {
		t.Fatal(err)
	}
	for _, s := range tracetest.SpanStubsFromReadOnlySpans(recorder.Ended()) {
		got := attributes(s)
		if strings.Contains(fmt.Sprint(s.Name, got), "ada") {
			t.Errorf("span %q tells where the recording is: %v", s.Name, got)
		}
		if s.Name == "chat paris.jsonl" && got["gen_ai.usage.cache_read.input_tokens"] == "5" && got["gen_ai.usage.cache_creation.input_tokens"] == "2" &&
			got["gen_ai.provider.name"] == "replay" && got["gen_ai.usage.reasoning.output_tokens"] == "" {
			return
		}
	}
	t.Error("no span tells of the cache")
}
