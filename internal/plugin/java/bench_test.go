// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// BenchmarkTransform measures calls of a plugin through the manager.
func BenchmarkTransform(b *testing.B) {
	w := newWorld(b, nil)
	settings := config.Default().Plugin
	manager := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Service}, Hosts: []plugin.Host{w.Host}, Logger: slog.New(slog.DiscardHandler), Settings: func() config.Plugin { return settings },
	})
	defer func() {
		if err := manager.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	p, err := manager.Load(b.Context(), plugin.Java, plugin.Source{Name: "a.jar", Data: faults(b, "a")})
	if err != nil {
		b.Fatal(err)
	}
	manager.Do(b.Context(), p, plugin.Start)
	request := &plugin.ClientRequest{UserID: 1, ClientIP: "192.0.2.1", Request: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{
		CreateMessageRequest: &wire.CreateMessageRequest{RecipientId: new(int64(3)), Text: new(strings.Repeat("message ", 30))},
	}}}
	for _, callers := range []int{1, 256} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			b.ReportAllocs()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := plugin.Pass(context.Background(), manager.Calls, plugin.TransformRequest, request); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
