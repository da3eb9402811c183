package telemetry

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// Options says where runs are told. One of them is needed.
type Options struct {
	// Tracer starts spans. Nil starts none.
	Tracer trace.Tracer
	// Registerer is given the metrics. Nil counts nothing. Observers of one
	// registerer share their metrics.
	Registerer prometheus.Registerer
}

// New returns an observer. The error matches [selvage.ErrInvalid] if there is
// nowhere to tell, or is that of the registerer.
func New(opts Options) (runner.Observer, error) {
	o := &observer{tracer: opts.Tracer}
	if opts.Tracer == nil && opts.Registerer == nil {
		return nil, &selvage.InvalidError{Field: "Options", Reason: "give it a tracer or a registerer; without either nothing is told"}
	}
	if opts.Registerer != nil {
		m, err := newMetrics(opts.Registerer)
		if err != nil {
			return nil, fmt.Errorf("new telemetry: %w", err)
		}
		o.metrics = m
	}
	return o, nil
}

// observer tells activities in spans and metrics.
type observer struct {
	tracer  trace.Tracer
	metrics *metrics
}

// Begin implements [runner.Observer].
func (o *observer) Begin(ctx context.Context, a runner.Activity) (context.Context, func(runner.Ended)) {
	var s span
	if o.tracer != nil {
		ctx, s = begin(ctx, o.tracer, &a)
	}
	o.metrics.begin(&a)
	return ctx, func(e runner.Ended) {
		s.end(&a, &e)
		o.metrics.end(&a, &e)
	}
}
