// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans. It logs when the collector starts failing and when it recovers, not every
// failure.
type exporter struct {
	sdk.SpanExporter
	logger *slog.Logger
	failed atomic.Bool
	// closing cancels running exports when the tracer is closed.
	closing context.Context
	cancel  context.CancelFunc
}

func newExporter(e sdk.SpanExporter, logger *slog.Logger) *exporter {
	x := &exporter{SpanExporter: e, logger: logger}
	x.closing, x.cancel = context.WithCancel(context.Background())
	return x
}

// ExportSpans implements sdk.SpanExporter. Spans that cannot be sent are dropped.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.closing, cancel)()
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch failed := err != nil; {
	case failed == e.failed.Swap(failed) || e.closing.Err() != nil:
	case failed:
		e.logger.WarnContext(ctx, "spans cannot be sent to the collector and are dropped", "error", err)
	default:
		e.logger.InfoContext(ctx, "the collector accepts spans again")
	}
	return nil
}

var _ sdk.SpanExporter = (*exporter)(nil)
