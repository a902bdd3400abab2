// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/config"
	"example.org/app/internal/telemetry"
)

// lastSpansTimeout is how long a stopping process waits for the collector.
const lastSpansTimeout = 2 * time.Second

// start starts sending spans to a collector, if configured.
func (p *spans) start(ctx context.Context) error {
	c := p.Process.opts.Config.Telemetry.Tracing
	if !c.Enabled {
		return nil
	}
	headers := make(map[string]string, len(c.Headers))
	for name, value := range c.Headers {
		headers[name] = value.Reveal()
	}
	tracer, err := telemetry.Open(ctx, telemetry.Options{
		Endpoint: c.Endpoint.Reveal(), Headers: headers, SampleRate: c.SampleRate,
		Timeout: time.Duration(c.TimeoutMillis) * time.Millisecond, MaxQueueSize: int(c.MaxQueueSize), Logger: p.Logs.logger,
		Resource: []attribute.KeyValue{
			attribute.String("service.name", p.Process.name()), attribute.String("service.version", version), attribute.String("service.instance.id", p.Process.id),
		},
	})
	if err != nil {
		return err
	}
	cancel := p.Process.live.Subscribe(func(_, now *config.Config) { tracer.Configure(now.Telemetry.Tracing.SampleRate) })
	p.Process.lifecycle.add(part{name: "spans", stop: func(ctx context.Context) error {
		cancel()
		ctx, end := context.WithTimeout(ctx, lastSpansTimeout)
		defer end()
		if err := tracer.Close(ctx); err != nil {
			p.Logs.logger.Warn("the last spans were dropped", "error", err)
		}
		return nil
	}})
	return nil
}
