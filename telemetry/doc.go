// Package telemetry tells what runs do in traces and metrics. [New] makes a
// [runner.Observer]:
//
//	o, err := telemetry.New(telemetry.Options{Tracer: provider.Tracer("my-agent"), Registerer: prometheus.DefaultRegisterer})
//	r, err := runner.New(runner.Options{Observers: []runner.Observer{o}, ...})
//
// Spans follow the semantic conventions of OpenTelemetry for generative AI
// (version 1.37): a run is "invoke_agent NAME", a turn "turn N" inside of it, a
// request to a model "chat MODEL" and a call "execute_tool NAME" inside of that.
// No content of a conversation is in them: no messages, no arguments and no
// results, and of an error only its class. A store behind store/layer/observe
// with the same tracer puts its calls inside of these spans.
package telemetry
