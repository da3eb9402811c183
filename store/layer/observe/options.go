package observe

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Options configures [New]. What is nil is not told.
type Options struct {
	// Name tells several stores of one program apart: the label "store" of
	// metrics and the attribute of records and spans. Empty means "store".
	Name string

	// Logger receives a record a call: at Debug if the store answered, a
	// refusal included, at Warn if it could not, at Error if what it keeps is
	// damaged.
	Logger *slog.Logger

	// Tracer provides spans. One that has no recording parent and is not
	// sampled costs next to nothing.
	Tracer trace.TracerProvider

	// Metrics is where the metrics are registered. Several stores may share
	// one: their metrics differ in the label "store".
	Metrics prometheus.Registerer
}
