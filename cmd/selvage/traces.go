package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/selvagehq/selvage/runner"
	"github.com/selvagehq/selvage/telemetry"
)

// serviceName is what the process is called if OTEL_SERVICE_NAME does not say.
var serviceName = attribute.String("service.name", "selvage")

// flushTimeout bounds how long the end of a command waits for the collector.
const flushTimeout = 3 * time.Second

// traces returns the observers that send spans to the collector that the
// environment names, if it names one, and what sends the last of them. What
// goes wrong is told and does not keep a command from its work.
func traces(env func(string) string, errs io.Writer) ([]runner.Observer, func()) {
	named := env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
	if !named || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, func() {}
	}
	provider, err := newProvider(context.Background(), env)
	var o runner.Observer
	if err == nil {
		o, err = telemetry.New(telemetry.Options{Tracer: provider.Tracer("github.com/selvagehq/selvage")})
	}
	if err != nil {
		fmt.Fprintln(errs, "selvage: traces are not sent:", err)
		return nil, func() {}
	}
	return []runner.Observer{o}, func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			fmt.Fprintln(errs, "selvage: some traces were not sent:", err)
		}
	}
}

// newProvider makes what collects spans and sends them. The exporter reads the
// rest of its settings from the environment.
func newProvider(ctx context.Context, env func(string) string) (*trace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about := resource.Default()
	if env("OTEL_SERVICE_NAME") == "" {
		if named, err := resource.Merge(about, resource.NewSchemaless(serviceName)); err == nil {
			about = named
		}
	}
	return trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about)), nil
}
