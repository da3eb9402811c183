package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/runner"
)

// metrics are what activities are counted in. No label has an id, so their
// number is bounded by the agents, models and tools that there are.
type metrics struct {
	runs    *prometheus.HistogramVec // agent, status
	active  *prometheus.GaugeVec     // agent
	models  *prometheus.HistogramVec // model, status
	tools   *prometheus.HistogramVec // tool, status
	tokens  *prometheus.CounterVec   // model, type
	dollars *prometheus.CounterVec   // model
}

// seconds are the buckets of what lasts from milliseconds to an hour.
var seconds = prometheus.ExponentialBuckets(0.005, 3, 13)

// newMetrics registers the metrics, or finds them registered by another
// observer.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		runs:    histogram("selvage_run_seconds", "Time that a process led a run until it was over or waited, by agent and by how it ended (completed, failed, cancelled, stopped, waiting).", "agent", "status"),
		active:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "selvage_runs_active", Help: "Runs that this process leads now."}, []string{"agent"}),
		models:  histogram("selvage_model_request_seconds", "Time of a request to a model until its answer was complete, by model and by class of failure (ok if none).", "model", "status"),
		tools:   histogram("selvage_tool_call_seconds", "Time of one execution of a tool, by tool and status (ok, failed, suspended, cancelled).", "tool", "status"),
		tokens:  counter("selvage_model_tokens_total", "Tokens as the provider counted them, by model and type (input, output).", "model", "type"),
		dollars: counter("selvage_model_cost_dollars_total", "What requests cost, by model. It is a float; exact amounts are in the runs.", "model"),
	}
	for _, c := range []struct {
		own prometheus.Collector
		set func(prometheus.Collector) bool
	}{
		{m.runs, keep(&m.runs)}, {m.active, keep(&m.active)}, {m.models, keep(&m.models)},
		{m.tools, keep(&m.tools)}, {m.tokens, keep(&m.tokens)}, {m.dollars, keep(&m.dollars)},
	} {
		err := r.Register(c.own)
		var there prometheus.AlreadyRegisteredError
		if errors.As(err, &there) && c.set(there.ExistingCollector) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("register the metrics of runs: %w", err)
		}
	}
	return m, nil
}

// keep returns a func that stores a collector that was registered before.
func keep[C prometheus.Collector](at *C) func(prometheus.Collector) bool {
	return func(found prometheus.Collector) bool {
		c, ok := found.(C)
		if ok {
			*at = c
		}
		return ok
	}
}

func (m *metrics) begin(a *runner.Activity) {
	if m != nil && a.Kind == runner.ActivityRun {
		m.active.WithLabelValues(a.AgentID).Inc()
	}
}

func (m *metrics) end(a *runner.Activity, e *runner.Ended) {
	if m == nil {
		return
	}
	status := statusOf(a, e)
	switch a.Kind {
	case runner.ActivityRun:
		m.active.WithLabelValues(a.AgentID).Dec()
		m.runs.WithLabelValues(a.AgentID, status).Observe(e.Took.Seconds())
	case runner.ActivityModel:
		m.models.WithLabelValues(a.Model, status).Observe(e.Took.Seconds())
		m.tokens.WithLabelValues(a.Model, "input").Add(float64(max(e.Usage.InputTokens, 0)))
		m.tokens.WithLabelValues(a.Model, "output").Add(float64(max(e.Usage.OutputTokens, 0)))
		m.dollars.WithLabelValues(a.Model).Add(max(float64(e.Cost)/float64(selvage.Dollar), 0))
	case runner.ActivityTool:
		m.tools.WithLabelValues(a.Tool, status).Observe(e.Took.Seconds())
	}
}
