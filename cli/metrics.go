package cli

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/telemetry"
)

// metered counts what the runs of one command do.
type metered struct {
	registry *prometheus.Registry
	observer runner.Observer
}

// observers are told what the runs of this command do.
func (a *app) observers() ([]runner.Observer, error) {
	if a.conf.Get("metrics.file").Text == "" {
		return a.observe, nil
	}
	if a.metered == nil {
		m := &metered{registry: prometheus.NewRegistry()}
		var err error
		if m.observer, err = telemetry.New(telemetry.Options{Registerer: m.registry}); err != nil {
			return nil, err
		}
		a.metered = m
	}
	return append(slices.Clip(a.observe), a.metered.observer), nil
}

// writeMetrics leaves what was counted where the textfile collector of
// Prometheus' node exporter reads it. A command does not fail for it.
func (a *app) writeMetrics() {
	if a.metered == nil {
		return
	}
	file := a.path(a.conf.Get("metrics.file").Text)
	if err := prometheus.WriteToTextfile(file, a.metered.registry); err != nil {
		a.note("metrics are not written to %s: %v", file, cause(err))
	}
}
