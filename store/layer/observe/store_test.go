package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/store/inmem"
	"github.com/selvagehq/selvage/store/layer/observe"
	"github.com/selvagehq/selvage/store/storetest"
)

// TestStore is the whole contract through a layer that tells everything.
func TestStore(t *testing.T) {
	t.Parallel()
	metrics, spans := prometheus.NewRegistry(), sdk.NewTracerProvider()
	storetest.Run(t, storetest.Config{
		New: func(t *testing.T) selvage.Store {
			log := slog.New(slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.LevelDebug}))
			return watched(t, inmem.New(inmem.Options{}), observe.Options{Logger: log, Metrics: metrics, Tracer: spans})
		},
	})
}

// TestSilent is the contract through a layer that is asked for nothing.
func TestSilent(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Config{
		New: func(t *testing.T) selvage.Store { return watched(t, inmem.New(inmem.Options{}), observe.Options{}) },
	})
}

func watched(t *testing.T, s selvage.Store, opts observe.Options) *observe.Store {
	t.Helper()
	o, err := observe.New(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// broken fails some methods as an engine does.
type broken struct {
	selvage.Store
	err error
}

func (b *broken) Load(context.Context, selvage.ThreadID, selvage.LoadOptions) (selvage.Head, error) {
	return selvage.Head{}, b.err
}

func (b *broken) Unwrap() selvage.Store { return b.Store }

// script makes calls of every outcome, with a secret in everything that is
// content.
const secret = "s3cret"

func script(t *testing.T, s selvage.Store, b *broken) {
	t.Helper()
	set := selvage.ChangeSet{Messages: []selvage.Message{selvage.UserText("my password is " + secret)}}
	if _, err := s.Append(t.Context(), "t", set, selvage.New()); err != nil {
		t.Fatal(err)
	}
	bad := selvage.ChangeSet{Messages: []selvage.Message{{Role: secret, Content: selvage.Text("x")}}}
	if _, err := s.Append(t.Context(), "t", bad, selvage.Any()); !errors.Is(err, selvage.ErrInvalid) || !strings.Contains(err.Error(), secret) {
		t.Fatalf("a role of %q answers %v; want an error that quotes it", secret, err)
	}
	if _, err := s.Append(t.Context(), "t", set, selvage.Exact(7)); !errors.Is(err, selvage.ErrConflict) {
		t.Fatal(err)
	}
	if page, err := s.Changes(t.Context(), "t", selvage.ChangeQuery{}); err != nil || len(page.Items) != 1 {
		t.Fatal(err)
	}
	for _, class := range []error{selvage.ErrUnavailable, selvage.ErrCorrupt} {
		b.err = fmt.Errorf("disk 7 is gone: %w", class)
		if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); !errors.Is(err, class) {
			t.Fatal(err)
		}
	}
	b.err = errors.New("who knows, perhaps " + secret)
	if _, err := s.Load(t.Context(), "t", selvage.LoadOptions{}); err != b.err {
		t.Fatal(err)
	}
	leases, ok := selvage.As[selvage.Leaser](s)
	if !ok {
		t.Fatal("the layer hides leases")
	}
	l, err := leases.Acquire(t.Context(), "t", selvage.Owner{Name: "me", Token: secret}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := leases.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// TestRecords checks levels and attributes, and that nothing of the content is
// told.
func TestRecords(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b := &broken{Store: inmem.New(inmem.Options{})}
	s := watched(t, b, observe.Options{Name: "main", Logger: log})
	defer s.Close()
	script(t, s, b)
	text := out.String()
	if strings.Contains(text, secret) {
		t.Errorf("the records tell content:\n%s", text)
	}
	for _, want := range []string{
		`level=DEBUG msg="store call" store=main method=append code=ok`, "thread=t version=1 rows=1\n",
		"level=DEBUG msg=\"store call\" store=main method=append code=invalid", "method=append code=conflict", "method=changes code=ok",
		"level=WARN msg=\"store call\" store=main method=load code=unavailable", `err="disk 7 is gone: unavailable"`,
		"level=ERROR msg=\"store call\" store=main method=load code=corrupt", "level=ERROR msg=\"store call\" store=main method=load code=internal",
		"method=acquire code=ok", "method=release code=ok",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the records do not hold %q:\n%s", want, text)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	b := &broken{Store: inmem.New(inmem.Options{})}
	s := watched(t, b, observe.Options{Tracer: provider})
	defer s.Close()
	script(t, s, b)
	failed := 0
	for _, span := range recorder.Ended() {
		if text := fmt.Sprint(span.Name(), span.Attributes(), span.Events(), span.Status()); strings.Contains(text, secret) {
			t.Errorf("a span tells content: %s", text)
		}
		if span.Status().Code == codes.Error {
			failed++
		}
	}
	if got := len(recorder.Ended()); got != 9 || failed != 3 {
		t.Errorf("%d spans, %d of them failed; want 9 and 3: a refusal is no failure", got, failed)
	}
	if first := recorder.Ended()[0]; first.Name() != "selvage.store append" || !strings.Contains(fmt.Sprint(first.Attributes()), "{selvage.version") {
		t.Errorf("the first span is %s with %v; want the append and its version", first.Name(), first.Attributes())
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	b := &broken{Store: inmem.New(inmem.Options{})}
	s := watched(t, b, observe.Options{Name: "main", Metrics: registry})
	other := watched(t, inmem.New(inmem.Options{}), observe.Options{Name: "other", Metrics: registry})
	defer s.Close()
	defer other.Close()
	script(t, s, b)
	got := gather(t, registry)
	for series, want := range map[string]float64{
		`selvage_store_call_seconds{code="ok",method="append",store="main"}`:       1,
		`selvage_store_call_seconds{code="conflict",method="append",store="main"}`: 1,
		`selvage_store_call_seconds{code="invalid",method="append",store="main"}`:  1,
		`selvage_store_call_seconds{code="corrupt",method="load",store="main"}`:    1,
		`selvage_store_rows_total{method="append",store="main"}`:                   1,
		`selvage_store_bytes_total{method="append",store="main"}`:                  float64(len("my password is " + secret)),
		`selvage_store_calls_in_flight{method="append",store="main"}`:              0,
	} {
		if value, there := got[series]; !there || value != want {
			t.Errorf("%s = %v, %v; want %v", series, value, there, want)
		}
	}
	for series := range got {
		if strings.Contains(series, secret) || strings.Contains(series, `"t"`) {
			t.Errorf("%s tells content, or grows with the number of threads", series)
		}
	}
}

// gather returns the value of every series; of a histogram its count.
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			all[f.GetName()+"{"+labels(m)+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

func labels(m *dto.Metric) string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	return strings.Join(all, ",")
}

// TestTakenName checks that metrics of another program are not overwritten.
func TestTakenName(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "selvage_store_rows_total", Help: "Something else."}))
	if _, err := observe.New(inmem.New(inmem.Options{}), observe.Options{Metrics: registry}); err == nil {
		t.Error("a name that is taken is accepted")
	}
}
