// SPDX-License-Identifier: Apache-2.0

// Package apptest runs the whole server inside a test.
package apptest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
)

// Server is a running server.
type Server struct {
	*app.App
	// Done is closed when the server has stopped.
	Done <-chan struct{}
	// Stop stops the server and waits for its end. The end of the test calls it, too.
	Stop func()
}

// usual are the default properties of servers in tests.
var usual = []string{
	"app.service.admin-api.http.port=0", "app.gateway.admin-api.http.port=0",
	"app.service.admin-api.http.host=127.0.0.1", "app.gateway.admin-api.http.host=127.0.0.1",
	"app.gateway.websocket.port=0", "app.gateway.tcp.port=0", "app.gateway.websocket.host=127.0.0.1", "app.gateway.tcp.host=127.0.0.1",
	"app.console.port=0", "app.console.host=127.0.0.1",
	"app.logging.console.enabled=false", "app.security.password.bcrypt-cost=4",
	"app.health-check.cpu.unhealthy-load-threshold-percentage=100", "app.health-check.overload.max-wait-millis=0", // Tests load the machine.
	// Tests poll, more often on a slow machine.
	"app.service.admin-api.rate-limiting.capacity=1000000000", "app.service.admin-api.rate-limiting.initial-tokens=1000000000",
	"app.gateway.admin-api.rate-limiting.capacity=1000000000", "app.gateway.admin-api.rate-limiting.initial-tokens=1000000000",
	"app.gateway.client-api.rate-limiting.capacity=1000000000", "app.gateway.client-api.rate-limiting.initial-tokens=1000000000",
	"app.plugin.java.class-cache-dir=" + javatest.ClassCache(),
	"app.plugin.java.spare=false",                         // A JVM takes a second of processor time to start.
	"app.plugin.java.jvm-options=-XX:TieredStopAtLevel=1", // It lives only seconds, see javatest.Quick.
}

// Start runs the roles on free ports of this machine, with their own home folder, until the test
// ends. set adds or replaces properties.
func Start(t testing.TB, roles []role.Role, set ...string) *Server {
	t.Helper()
	given := map[string]bool{}
	for _, property := range set {
		name, _, _ := strings.Cut(property, "=")
		given[name] = true
	}
	for _, property := range usual {
		if name, _, _ := strings.Cut(property, "="); !given[name] {
			set = append(slices.Clip(set), property)
		}
	}
	c, err := config.Load(config.Options{Home: t.TempDir(), Set: set})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan *app.App, 1), make(chan struct{})
	var failure error
	go func() {
		defer close(done)
		failure = app.Run(ctx, app.Options{Roles: roles, Config: c, Ready: func(a *app.App) { ready <- a }})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if failure != nil {
			t.Errorf("the server ended with: %v", failure)
		}
	})
	select {
	case a := <-ready:
		return &Server{App: a, Done: done, Stop: func() {
			cancel()
			<-done
		}}
	case <-done:
		t.Fatal("the server did not start")
		return nil
	}
}
