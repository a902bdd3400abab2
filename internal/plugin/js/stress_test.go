// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// TestManyCallers lets callers call, cancel and give up at random while functions answer at once,
// later, or never, and closes the plugin in between: every call ends, and each answer belongs to
// its call.
func TestManyCallers(t *testing.T) {
	h, _ := newHost(t, Options{QueueLength: 64, TurnLimit: 50 * time.Millisecond})
	m := load(t, h, script("let n = 0;", `
  async handle(request) {
    switch (n++ % 5) {
      case 0: await null; break;
      case 1: await new Promise((resolve) => setTimeout(resolve, Number(request.userId) % 3)); break;
      case 2: if (Number(request.userId) % 7 === 0) await new Promise(() => {}); break;
      case 3: if (Number(request.userId) % 11 === 0) for (;;) {} break;
    }
    return { code: 1000, reason: request.userId };
  }
  transform(request) { request.clientIp = request.userId; return request; }`))
	x := m.Extensions()[0]
	rounds := 200
	if raceDetector {
		rounds = 20
	}
	var wg sync.WaitGroup
	var answered atomic.Int64
	for caller := range 8 {
		wg.Go(func() {
			for i := range rounds {
				id := int64(caller*rounds + i)
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rand.IntN(20))*time.Millisecond)
				var reason string
				var ok bool
				var err error
				if i%2 == 0 {
					var r *plugin.RequestHandlerResult
					if ok, err = x.Call(ctx, handle, []any{&plugin.ClientRequest{UserID: id}}, &r); ok {
						reason = r.Reason
					}
				} else {
					var r plugin.ClientRequest
					ok, err = x.Call(ctx, transform, []any{plugin.ClientRequest{UserID: id}}, &r)
					reason = r.ClientIP
				}
				cancel()
				switch {
				case ok && reason == fmt.Sprint(id):
					answered.Add(1)
				case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrBusy), errors.Is(err, errClosed):
				default:
					t.Errorf("call %d: %v %q %v", id, ok, reason, err)
				}
			}
		})
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for answered.Load() < int64(rounds) && t.Context().Err() == nil {
			// On a starved machine few calls are answered in time, so one without a limit is made
			// beside them.
			var r plugin.ClientRequest
			if ok, err := x.Call(context.Background(), transform, []any{plugin.ClientRequest{UserID: 1}}, &r); ok {
				answered.Add(1)
			} else if !errors.Is(err, ErrBusy) {
				t.Error(err)
				return
			}
		}
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	wg.Wait()
}
