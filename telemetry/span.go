package telemetry

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/runner"
)

// span is that of an activity; the zero span is none.
type span struct{ of trace.Span }

// begin starts the span of an activity.
func begin(ctx context.Context, t trace.Tracer, a *runner.Activity) (context.Context, span) {
	name, kind := nameOf(a), trace.SpanKindInternal
	if a.Kind == runner.ActivityModel {
		kind = trace.SpanKindClient
	}
	ctx, s := t.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributesOf(a)...))
	return ctx, span{s}
}

// nameOf is what the conventions call the span of an activity.
func nameOf(a *runner.Activity) string {
	switch a.Kind {
	case runner.ActivityRun:
		return strings.TrimSpace("invoke_agent " + a.AgentID)
	case runner.ActivityTurn:
		return fmt.Sprintf("turn %d", a.Step)
	case runner.ActivityModel:
		_, name := provider(a.Model)
		return "chat " + name
	default:
		return "execute_tool " + a.Tool
	}
}

// providers are the names that the conventions have for some of them.
var providers = map[string]string{"gemini": "gcp.gemini"}

// provider divides the name of a model into that of its provider, as the
// conventions call it, and its own.
func provider(full string) (string, string) {
	if file, recorded := strings.CutPrefix(full, "replay:"); recorded {
		return "replay", path.Base(file)
	}
	of, name, ok := strings.Cut(full, "/")
	if !ok {
		return full, full
	}
	if known, ok := providers[of]; ok {
		of = known
	}
	return of, name
}

func attributesOf(a *runner.Activity) []attribute.KeyValue {
	all := []attribute.KeyValue{attribute.String("gen_ai.conversation.id", string(a.ThreadID)), attribute.String("selvage.run.id", string(a.RunID))}
	if a.Step > 0 {
		all = append(all, attribute.Int("selvage.step", a.Step))
	}
	of, name := provider(a.Model)
	switch a.Kind {
	case runner.ActivityRun:
		all = append(all, attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.provider.name", of),
			attribute.String("gen_ai.request.model", name), attribute.Bool("selvage.run.resumed", a.Resumed))
		if a.AgentID != "" {
			all = append(all, attribute.String("gen_ai.agent.name", a.AgentID))
		}
		if a.ParentRunID != "" {
			all = append(all, attribute.String("selvage.run.parent_id", string(a.ParentRunID)))
		}
	case runner.ActivityModel:
		all = append(all, attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.provider.name", of),
			attribute.String("gen_ai.request.model", name), attribute.Int("selvage.attempt", a.Attempt))
	case runner.ActivityTool:
		all = append(all, attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", a.Tool),
			attribute.String("gen_ai.tool.call.id", a.CallID), attribute.String("gen_ai.tool.type", "function"), attribute.String("selvage.tool.effect", string(a.Effect)))
	}
	return all
}

// end ends the span with what came of the activity.
func (s span) end(a *runner.Activity, e *runner.Ended) {
	if s.of == nil {
		return
	}
	defer s.of.End()
	if !s.of.IsRecording() {
		return
	}
	if a.Kind == runner.ActivityModel || a.Kind == runner.ActivityRun {
		s.of.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", e.Usage.InputTokens), attribute.Int64("gen_ai.usage.output_tokens", e.Usage.OutputTokens),
			attribute.String("selvage.cost.usd", e.Cost.String()))
		s.count("gen_ai.usage.cache_read.input_tokens", e.Usage.CachedTokens)
		s.count("gen_ai.usage.cache_creation.input_tokens", e.Usage.CacheWriteTokens)
		s.count("gen_ai.usage.reasoning.output_tokens", e.Usage.ReasoningTokens)
	}
	if e.Finish != "" {
		s.of.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", []string{e.Finish}))
	}
	if e.Suspended {
		s.of.SetAttributes(attribute.Bool("selvage.call.suspended", true))
	}
	status := statusOf(a, e)
	s.of.SetAttributes(attribute.String("selvage.status", status))
	if failed(e) {
		class := status
		if e.Outcome != nil && e.Outcome.Code != "" {
			class = e.Outcome.Code // one of few, too
		}
		s.of.SetAttributes(attribute.String("error.type", class))
		// The text of an error may quote the conversation.
		s.of.SetStatus(codes.Error, status)
	}
}

// count sets an attribute to a number of which not every provider tells.
func (s span) count(key string, n int64) {
	if n > 0 {
		s.of.SetAttributes(attribute.Int64(key, n))
	}
}

// failed reports whether an activity came to no good.
func failed(e *runner.Ended) bool {
	return e.Err != nil || e.Failed || e.Outcome != nil && e.Outcome.Kind == selvage.OutcomeFailed
}

// statusOf is what came of an activity, in one of few words.
func statusOf(a *runner.Activity, e *runner.Ended) string {
	switch {
	case e.Outcome != nil:
		return string(e.Outcome.Kind)
	case e.Waiting != nil:
		return "waiting"
	case e.Suspended:
		return "suspended"
	case e.Err != nil && errors.Is(e.Err, context.Canceled):
		return "cancelled"
	case e.Err != nil && a.Kind == runner.ActivityModel:
		return string(model.ClassOf(e.Err))
	case e.Failed || e.Err != nil && a.Kind == runner.ActivityTool:
		return "failed"
	case e.Err != nil:
		return selvage.Code(e.Err)
	}
	return "ok"
}
