package observe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/selvagehq/selvage"
)

// call is one call of a method under way.
type call struct {
	o      *observer
	method string
	thread selvage.ThreadID // "" if it is about none, or several
	began  time.Time
	span   trace.Span // nil without a tracer
}

// observer is where calls are told.
type observer struct {
	name    string
	log     *slog.Logger // nil if not asked for
	tracer  trace.Tracer // nil if not asked for
	metrics *metrics     // nil if not asked for
}

// begin tells that a call begins. The context carries its span.
func (o *observer) begin(ctx context.Context, method string, thread selvage.ThreadID) (context.Context, call) {
	c := call{o: o, method: method, thread: thread, began: time.Now()}
	o.metrics.begin(o.name, method)
	if o.tracer != nil {
		ctx, c.span = o.tracer.Start(ctx, "selvage.store "+method, trace.WithSpanKind(trace.SpanKindClient))
	}
	return ctx, c
}

// end tells what became of the call. An answer of ErrClosed or a refusal is
// the business of the caller; what the store could not do is the operator's.
func (c call) end(ctx context.Context, err error, v volume) {
	took, code := time.Since(c.began), selvage.Code(err)
	if err == nil {
		code = "ok"
	}
	c.o.metrics.end(c.o.name, c.method, code, took, v)
	if c.span != nil {
		c.endSpan(code, err, v)
	}
	if c.o.log != nil {
		c.record(ctx, code, took, err, v)
	}
}

func (c call) endSpan(code string, err error, v volume) {
	if c.span.IsRecording() {
		attrs := []attribute.KeyValue{attribute.String("selvage.store", c.o.name), attribute.String("selvage.code", code)}
		if c.thread != "" {
			attrs = append(attrs, attribute.String("selvage.thread", string(c.thread)))
		}
		if v.version != 0 {
			attrs = append(attrs, attribute.Int64("selvage.version", int64(v.version)))
		}
		if v.rows > 0 {
			attrs = append(attrs, attribute.Int("selvage.rows", v.rows))
		}
		c.span.SetAttributes(attrs...)
		if level(err) > slog.LevelDebug {
			c.span.SetStatus(codes.Error, reason(err))
		}
	}
	c.span.End()
}

func (c call) record(ctx context.Context, code string, took time.Duration, err error, v volume) {
	at := level(err)
	if !c.o.log.Enabled(ctx, at) {
		return
	}
	attrs := []slog.Attr{slog.String("store", c.o.name), slog.String("method", c.method), slog.String("code", code), slog.Duration("took", took)}
	if c.thread != "" {
		attrs = append(attrs, slog.String("thread", string(c.thread)))
	}
	if v.version != 0 {
		attrs = append(attrs, slog.Int64("version", int64(v.version)))
	}
	if v.rows > 0 {
		attrs = append(attrs, slog.Int("rows", v.rows))
	}
	if text := reason(err); text != "" {
		attrs = append(attrs, slog.String("err", text))
	}
	c.o.log.LogAttrs(ctx, at, "store call", attrs...)
}

// level is how much an operator should mind an answer.
func level(err error) slog.Level {
	switch {
	case err == nil:
		return slog.LevelDebug
	case errors.Is(err, selvage.ErrCorrupt), selvage.Code(err) == "internal":
		return slog.LevelError
	case errors.Is(err, selvage.ErrUnavailable), errors.Is(err, selvage.ErrUnknownOutcome):
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// reason is the text of an error that is about the store, and "" for one that
// is about what the caller sent, or of which nothing is known: such a text may
// quote content.
func reason(err error) string {
	for _, class := range []error{selvage.ErrUnavailable, selvage.ErrUnknownOutcome, selvage.ErrCorrupt, selvage.ErrUnsupported} {
		if errors.Is(err, class) {
			return err.Error()
		}
	}
	return ""
}
