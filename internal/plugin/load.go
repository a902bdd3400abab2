// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/telemetry"
)

// loadGrace is how long a host may take after the time limit of loading to report the plugin's
// location.
const loadGrace = 2 * time.Second

// load loads a plugin in a host: evaluate, construct and describe it. It returns when the time
// limit is over, the caller gives up or the manager is closed, whatever the host does; a module
// created later is closed.
func (hs *hosts) load(ctx context.Context, host Host, src Source) (_ Module, err error) {
	if !hs.enter() {
		return nil, errStopping()
	}
	ctx, span := telemetry.Start(ctx, "load plugin", telemetry.Internal)
	defer func() {
		if err != nil {
			span.Fail(err.Error())
		}
		span.End()
	}()
	if span.On() {
		span.Set(attribute.String("app.plugin.file", src.Name), attribute.String("app.plugin.language", string(host.Language())), attribute.Int("app.plugin.bytes", len(src.Data)))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(hs.ctx, cancel)()
	limited := withLimit(ctx, time.Duration(hs.settings().LoadTimeoutMillis)*time.Millisecond)
	defer limited.cancel()

	type result struct {
		module Module
		err    error
	}
	done, abandoned := make(chan result), make(chan struct{})
	go func() {
		defer hs.loads.Done()
		var r result
		defer func() {
			if value := recover(); value != nil {
				r.err = fmt.Errorf("the host panicked: %v", value)
			}
			select {
			case done <- r:
			case <-abandoned:
				if r.err == nil {
					hs.discard(context.WithoutCancel(ctx), &Plugin{Descriptor: r.module.Descriptor(), module: r.module})
				}
			}
		}()
		r.module, r.err = host.Load(limited, src)
	}()
	select {
	case r := <-done:
		return r.module, r.err
	case <-limited.Done():
	}
	grace := time.NewTimer(loadGrace)
	defer grace.Stop()
	err = fmt.Errorf("loading %w", causeOf(limited, limited.Err()))
	select {
	case r := <-done:
		if r.err == nil {
			return r.module, nil
		}
		if _, timedOut := errors.AsType[*TimeoutError](err); timedOut && !errors.Is(r.err, context.DeadlineExceeded) {
			err = r.err // It contains the plugin's location.
		}
	case <-grace.C:
		close(abandoned)
	}
	if hs.ctx.Err() != nil {
		return nil, errStopping()
	}
	return nil, err
}
