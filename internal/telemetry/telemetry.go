// SPDX-License-Identifier: Apache-2.0

// Package telemetry records OpenTelemetry spans of the process's work for single requests and sends
// those that are sampled to a collector, by OTLP over HTTP. Requests never wait for the collector:
// spans are queued in a bounded queue, and dropped if it is full.
//
// A process has one tracer. Without a tracer, a span costs one atomic load. Packages recording and
// plugin/trace record data for administrators inside this process.
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

// Options configures a Tracer.
type Options struct {
	// Endpoint is the address of the collector for traces, such as http://localhost:4318/v1/traces.
	Endpoint string
	// Headers are sent with every export.
	Headers map[string]string
	// SampleRate is the share of the traces beginning here to send, from 0 to 1.
	SampleRate float64
	// Timeout is the time limit of an export.
	Timeout time.Duration
	// MaxQueueSize is the maximum number of queued spans. Further spans are dropped.
	MaxQueueSize int
	// Resource describes the process.
	Resource []attribute.KeyValue
	Logger   *slog.Logger
}

// A Tracer records spans and sends them.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
	sampler  *sampler
	// requested limits requests whose callers want to be traced.
	requested *rate.Limiter
}

// maxRequested is the number of requests per second that are traced because their callers want it.
const maxRequested = 50

// current is the tracer of the process; nil if there is none.
var current atomic.Pointer[Tracer]

// Open starts the tracer of the process, which runs until it is closed. It does not connect to the
// collector.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	client, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithHeaders(o.Headers), otlptracehttp.WithTimeout(o.Timeout),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("open the exporter of spans: %w", err)
	}
	t := &Tracer{exporter: newExporter(client, o.Logger), sampler: &sampler{}, requested: rate.NewLimiter(maxRequested, maxRequested)}
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

// maxBatch is the maximum number of spans in an export.
const maxBatch = 512

// Configure changes the sample rate.
func (t *Tracer) Configure(share float64) {
	s := sdk.TraceIDRatioBased(share)
	t.sampler.Store(&s)
}

// Close sends the queued spans until ctx ends, and drops the rest.
func (t *Tracer) Close(ctx context.Context) error {
	current.CompareAndSwap(t, nil)
	defer t.exporter.cancel()
	defer context.AfterFunc(ctx, t.exporter.cancel)()
	// The provider would leak its goroutine if its context ended.
	if err := errors.Join(t.provider.Shutdown(context.WithoutCancel(ctx)), ctx.Err()); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// sampler is a replaceable sampler.
type sampler struct{ atomic.Pointer[sdk.Sampler] }

// ShouldSample implements sdk.Sampler.
func (s *sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	return (*s.Load()).ShouldSample(p)
}

// Description implements sdk.Sampler.
func (s *sampler) Description() string { return (*s.Load()).Description() }

// On reports whether spans are recorded.
func On() bool { return current.Load() != nil }

// The kinds of spans: work for a request of another party, a request to another party, and internal
// work.
const (
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
	Internal = trace.SpanKindInternal
)

// A Span is a timed operation. The zero Span is not recorded; its methods do nothing.
type Span struct{ span trace.Span }

// Start starts a span, in a new trace if ctx belongs to none. The caller must end it.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := current.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Child starts a span if ctx belongs to a sampled trace. The caller must end it.
func Child(ctx context.Context, name string, kind trace.SpanKind) (context.Context, Span) {
	t := current.Load()
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	ctx, s := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Sampled reports whether ctx belongs to a sampled trace.
func Sampled(ctx context.Context) bool {
	return current.Load() != nil && trace.SpanContextFromContext(ctx).IsSampled()
}

// Join returns ctx in the trace of other.
func Join(ctx, other context.Context) context.Context {
	if current.Load() == nil {
		return ctx
	}
	if s := trace.SpanFromContext(other); s.SpanContext().IsValid() {
		return trace.ContextWithSpan(ctx, s)
	}
	return ctx
}

// On reports whether the span is recorded, so that its attributes are worth computing.
func (s Span) On() bool { return s.span != nil && s.span.IsRecording() }

// Rename changes the span's name.
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

// Event adds an event.
func (s Span) Event(name string, attributes ...attribute.KeyValue) {
	if s.span != nil {
		s.span.AddEvent(name, trace.WithAttributes(attributes...))
	}
}

// Fail marks the span as failed, with a reason that may leave the process.
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

// parent is the header that propagates traces between processes.
const parent = "Traceparent"

// propagator implements the headers of W3C Trace Context.
var propagator propagation.TraceContext

// Extract returns ctx in the trace that the headers of a request specify, if any.
func Extract(ctx context.Context, header http.Header) context.Context {
	if current.Load() == nil || len(header[parent]) == 0 {
		return ctx
	}
	return propagator.Extract(ctx, propagation.HeaderCarrier(header))
}

// Accept is Extract for the request of an unauthenticated caller. Anyone may request tracing, but
// at a limited rate: such traces must not displace those chosen by the sample rate.
func Accept(ctx context.Context, header http.Header) context.Context {
	ctx = Extract(ctx, header)
	t, c := current.Load(), trace.SpanContextFromContext(ctx)
	if t == nil || !c.IsSampled() || t.requested.Allow() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, c.WithTraceFlags(c.TraceFlags().WithSampled(false)))
}

// Inject adds the headers of ctx's trace to a request. Existing headers are kept.
func Inject(ctx context.Context, header http.Header) {
	if current.Load() == nil || len(header[parent]) > 0 {
		return
	}
	propagator.Inject(ctx, propagation.HeaderCarrier(header))
}

// Response returns the value of the traceresponse header, which tells a caller the trace of its
// request; "" if there is none.
func (s Span) Response() string {
	if s.span == nil || !s.span.SpanContext().IsValid() {
		return ""
	}
	c := s.span.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}
