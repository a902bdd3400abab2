// SPDX-License-Identifier: Apache-2.0

// Package telemetry makes OpenTelemetry spans of what the process does for single requests and sends those that are
// sampled to a collector, by OTLP over HTTP. Nobody waits for the collector: spans wait in a bounded queue, and if it is
// full, they are dropped.
//
// A process has one tracer. While it has none, a span costs one atomic load. What is recorded for administrators in this
// process is the matter of packages recording and plugin/trace.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// Options say where spans go.
type Options struct {
	// Endpoint is the address of the collector for traces, such as http://localhost:4318/v1/traces.
	Endpoint string
	// Headers are sent with every export.
	Headers map[string]string
	// SampleRate is the share of the traces that begin here which are sent, from 0 to 1.
	SampleRate float64
	// Timeout bounds one export.
	Timeout time.Duration
	// MaxQueueSize is how many spans wait for the collector. More are dropped.
	MaxQueueSize int
	// Resource describes the process.
	Resource []attribute.KeyValue
	Logger   *slog.Logger
}

// A Tracer makes spans and sends them.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	sampler  *sampler
	// wishes are requests whose callers want spans.
	wishes *rate.Limiter
}

// maxWishes is for how many requests a second callers get the spans that they want.
const maxWishes = 50

// current is the tracer of the process; nil is none.
var current atomic.Pointer[Tracer]

// Open makes a tracer that of the process, until it is closed. It does not connect to the collector.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	client, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHeaders(o.Headers), otlptracehttp.WithTimeout(o.Timeout),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("open the exporter of spans: %w", err)
	}
	t := &Tracer{exporter: newExporter(client, o.Logger), sampler: &sampler{}, wishes: rate.NewLimiter(maxWishes, maxWishes)}
	t.Configure(o.SampleRate)
	t.provider = sdk.NewTracerProvider(
		sdk.WithSampler(sdk.ParentBased(t.sampler)), sdk.WithResource(resource.NewSchemaless(o.Resource...)),
		sdk.WithBatcher(t.exporter, sdk.WithMaxQueueSize(o.MaxQueueSize), sdk.WithMaxExportBatchSize(min(o.MaxQueueSize, maxBatch)),
			sdk.WithBatchTimeout(time.Second), sdk.WithExportTimeout(o.Timeout)),
	)
	t.tracer = t.provider.Tracer("example.org/app")
	current.Store(t)
	return t, nil
}

// maxBatch is how many spans are sent at once.
const maxBatch = 512

// Configure changes the share of the traces that are sent.
func (t *Tracer) Configure(share float64) {
	s := sdk.TraceIDRatioBased(share)
	t.sampler.Store(&s)
}

// Close sends what waits, until ctx ends. Then the rest is dropped.
func (t *Tracer) Close(ctx context.Context) error {
	current.CompareAndSwap(t, nil)
	defer t.exporter.cancel()
	defer context.AfterFunc(ctx, t.exporter.cancel)()
	// The provider would leave its goroutine behind if its context ended.
	if err := errors.Join(t.provider.Shutdown(context.WithoutCancel(ctx)), ctx.Err()); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// sampler is a sampler that can be replaced.
type sampler struct{ atomic.Pointer[sdk.Sampler] }

// ShouldSample implements sdk.Sampler.
func (s *sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	return (*s.Load()).ShouldSample(p)
}

// Description implements sdk.Sampler.
func (s *sampler) Description() string { return (*s.Load()).Description() }

// On reports whether spans are made.
func On() bool { return current.Load() != nil }

// The kinds of spans: the work for a request of somebody else, a request to somebody else, and anything in between.
const (
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
	Internal = trace.SpanKindInternal
)

// A Span is something that takes time. The zero Span is one that is not recorded; its methods do nothing.
type Span struct{ span trace.Span }

// Start begins a span, of a new trace if ctx belongs to none. The caller must end it.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := current.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Child begins a span if ctx belongs to a trace that is sampled. The caller must end it.
func Child(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := current.Load()
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Sampled reports whether ctx belongs to a trace that is sampled.
func Sampled(ctx context.Context) bool {
	return current.Load() != nil && trace.SpanContextFromContext(ctx).IsSampled()
}

// Join returns ctx in the trace that another context belongs to.
func Join(ctx, other context.Context) context.Context {
	if current.Load() == nil {
		return ctx
	}
	if s := trace.SpanFromContext(other); s.SpanContext().IsValid() {
		return trace.ContextWithSpan(ctx, s)
	}
	return ctx
}

// On reports whether the span is recorded, so that it is worth while to make attributes.
func (s Span) On() bool { return s.span != nil && s.span.IsRecording() }

// Rename gives the span another name.
func (s Span) Rename(name string) {
	if s.span != nil {
		s.span.SetName(name)
	}
}

// Set sets attributes.
func (s Span) Set(attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attributes...)
	}
}

// Event adds something that happened.
func (s Span) Event(name string, attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.AddEvent(name, trace.WithAttributes(attributes...))
	}
}

// Fail marks the span as failed, for a reason that may leave the process.
func (s Span) Fail(reason string) {
	if s.span != nil {
		s.span.SetStatus(codes.Error, reason)
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// parent is the header by which traces go from process to process.
const parent = "Traceparent"

// propagator reads and writes the headers of W3C Trace Context.
var propagator propagation.TraceContext

// Extract returns ctx in the trace that the headers of a request tell of, if they do.
func Extract(ctx context.Context, header http.Header) context.Context {
	if current.Load() == nil || len(header[parent]) == 0 {
		return ctx
	}
	return propagator.Extract(ctx, propagation.HeaderCarrier(header))
}

// Accept is Extract for the request of a caller who is not known yet. Anybody may ask for spans, but only so often: what is
// made for strangers must not push aside what the sample rate chooses.
func Accept(ctx context.Context, header http.Header) context.Context {
	ctx = Extract(ctx, header)
	t, c := current.Load(), trace.SpanContextFromContext(ctx)
	if t == nil || !c.IsSampled() || t.wishes.Allow() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, c.WithTraceFlags(c.TraceFlags().WithSampled(false)))
}

// Inject tells the receiver of a request which trace ctx belongs to. Headers that tell so already are left as they are.
func Inject(ctx context.Context, header http.Header) {
	if current.Load() == nil || len(header[parent]) > 0 {
		return
	}
	propagator.Inject(ctx, propagation.HeaderCarrier(header))
}

// Response returns the value of the header traceresponse, which tells a caller which trace its request belongs to; ""
// if it belongs to none.
func (s Span) Response() string {
	if s.span == nil || !s.span.SpanContext().IsValid() {
		return ""
	}
	c := s.span.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
