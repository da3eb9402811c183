package observe

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what calls are counted in.
type metrics struct {
	seconds  *prometheus.HistogramVec // store, method, code; its count is the number of calls
	inFlight *prometheus.GaugeVec     // store, method
	rows     *prometheus.CounterVec   // store, method
	bytes    *prometheus.CounterVec   // store, method
}

// newMetrics registers the metrics, or finds them registered by another store.
func newMetrics(r prometheus.Registerer) (m *metrics, err error) {
	m = &metrics{}
	m.seconds, err = registered(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "selvage_store_call_seconds",
		Help: "Time a call of the store took, by method and by the code of its answer (ok, conflict, unavailable, ...).",
		// A read of a warm page takes tens of microseconds, a durable append
		// from a tenth of a millisecond to a slow disk's ten.
		Buckets: prometheus.ExponentialBuckets(25e-6, 2.5, 14),
	}, []string{"store", "method", "code"}))
	if err != nil {
		return nil, err
	}
	m.inFlight, err = registered(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "selvage_store_calls_in_flight", Help: "Calls of the store that have no answer yet.",
	}, []string{"store", "method"}))
	if err != nil {
		return nil, err
	}
	m.rows, err = registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "selvage_store_rows_total", Help: "Messages appended, and items of the pages that were read.",
	}, []string{"store", "method"}))
	if err != nil {
		return nil, err
	}
	m.bytes, err = registered(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "selvage_store_bytes_total", Help: "Bytes of content in messages and changes that were appended or read.",
	}, []string{"store", "method"}))
	return m, err
}

// registered registers a collector, or returns the one that is there already.
func registered[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	if err == nil {
		return c, nil
	}
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if known, ok := there.ExistingCollector.(C); ok {
			return known, nil
		}
	}
	return c, fmt.Errorf("register the metrics of a store: %w", err)
}

// begin counts a call that begins.
func (m *metrics) begin(store, method string) {
	if m != nil {
		m.inFlight.WithLabelValues(store, method).Inc()
	}
}

// end counts a call that ended.
func (m *metrics) end(store, method, code string, took time.Duration, v volume) {
	if m == nil {
		return
	}
	m.inFlight.WithLabelValues(store, method).Dec()
	m.seconds.WithLabelValues(store, method, code).Observe(took.Seconds())
	if v.rows > 0 {
		m.rows.WithLabelValues(store, method).Add(float64(v.rows))
	}
	if v.bytes > 0 {
		m.bytes.WithLabelValues(store, method).Add(float64(v.bytes))
	}
}
