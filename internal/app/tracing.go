// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/config"
	"example.org/app/internal/telemetry"
)

// lastSpansTimeout bounds how long a stopping process waits for the collector.
const lastSpansTimeout = 2 * time.Second

// startTracing lets the process send spans to a collector, if the configuration says so.
func (a *App) startTracing(ctx context.Context) error {
	c := a.opts.Config.Telemetry.Tracing
	if !c.Enabled {
		return nil
	}
	headers := make(map[string]string, len(c.Headers))
	for name, value := range c.Headers {
		headers[name] = value.Reveal()
	}
	tracer, err := telemetry.Open(ctx, telemetry.Options{
		Endpoint: c.Endpoint.Reveal(), Headers: headers, SampleRate: c.SampleRate,
		Timeout: time.Duration(c.TimeoutMillis) * time.Millisecond, MaxQueueSize: int(c.MaxQueueSize), Logger: a.logger,
		Resource: []attribute.KeyValue{
			attribute.String("service.name", a.name()), attribute.String("service.version", version), attribute.String("service.instance.id", a.processID),
		},
	})
	if err != nil {
		return err
	}
	cancel := a.live.Subscribe(func(_, now *config.Config) { tracer.Configure(now.Telemetry.Tracing.SampleRate) })
	a.lifecycle.add(part{name: "spans", stop: func(ctx context.Context) error {
		cancel()
		ctx, end := context.WithTimeout(ctx, lastSpansTimeout)
		defer end()
		if err := tracer.Close(ctx); err != nil {
			a.logger.Warn("the last spans were dropped", "error", err)
		}
		return nil
	}})
	return nil
}
