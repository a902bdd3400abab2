// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// manage starts the plugin for faults with a manager that quarantines extensions after one
// failure. limit is the time limit of calls.
func (w *world) manage(id string, limit time.Duration) (m *plugin.Manager, p *plugin.Plugin) {
	w.t.Helper()
	settings := config.Default().Plugin
	settings.Quarantine = config.PluginQuarantine{Enabled: true, Failures: 1}
	settings.CallTimeoutMillis = int32(limit.Milliseconds())
	m = plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Gateway, role.Service}, Hosts: []plugin.Host{w.Host}, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Settings: func() config.Plugin { return settings },
	})
	w.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	p, err := m.Load(w.t.Context(), plugin.Java, plugin.Source{Name: id + ".jar", Data: faults(w.t, id)})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range m.Do(w.t.Context(), p, plugin.Start) {
		if s.Err != nil {
			w.t.Fatal(s.Err)
		}
	}
	return m, p
}

func ask(ctx context.Context, m *plugin.Manager, what string) error {
	_, _, err := plugin.Ask[*plugin.RequestHandlerResult](ctx, m.Calls, plugin.HandleRequest, &plugin.ClientRequest{DeviceType: wire.DeviceType_ANDROID, ClientIP: what})
	return err
}

// TestWaitingForAJVMIsNoFailure verifies that calls that time out while they wait for the next
// JVM do not quarantine their extension.
func TestWaitingForAJVMIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m, p := w.manage("late", 100*time.Millisecond)
	w.server.set("late", "on-start", "sleep")
	if err := syscall.Kill(w.Stats().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end of the JVM", func() bool { return w.Stats().Restarts == 1 })
	waitFor(t, "the next start", func() bool {
		if err := ask(t.Context(), m, "echo"); err == nil {
			t.Error("a call of an extension that has not started succeeds")
		}
		return w.server.get("late", "hooks") == "start start"
	})
	if err := ask(t.Context(), m, "echo"); err == nil {
		t.Error("a call of an extension that has not started succeeds")
	}
	if x := p.Extensions()[0]; x.Quarantine != "" || x.Timeouts == 0 {
		t.Errorf("the extension is %+v", x)
	}
}

// TestFrozenJVMIsNoFailure verifies that failed calls of an unresponsive JVM do not quarantine
// their extension.
func TestFrozenJVMIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m, p := w.manage("good", 7*time.Second)
	before := w.Stats().PID
	clustertest.Freeze(t, before)
	if err := ask(t.Context(), m, "echo"); err == nil {
		t.Error("a JVM that stands still answers")
	}
	waitFor(t, "another JVM", func() bool { s := w.Stats(); return s.Up && s.PID != before })
	if err := ask(t.Context(), m, "echo"); err != nil {
		t.Error(err)
	}
	if x := p.Extensions()[0]; x.Quarantine != "" || x.Timeouts+x.Errors == 0 {
		t.Errorf("the extension is %+v", x)
	}
	if err := ask(t.Context(), m, "throw"); err == nil || p.Extensions()[0].Quarantine == "" {
		t.Errorf("an extension that fails by itself is %+v after %v", p.Extensions()[0], err)
	}
}

// BenchmarkRecovery measures the time from the death of a JVM to the first successful call of
// its plugin, with and without a spare JVM.
func BenchmarkRecovery(b *testing.B) {
	for name, spare := range map[string]bool{"spare": true, "none": false} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, func(o *java.Options) {
				o.Spare, o.Crashes, o.Flags = spare, 1<<30, nil
			})
			m := w.load("login", faults(b, "login"))
			w.says(m, "echo", "echo")
			last := 0
			for b.Loop() {
				b.StopTimer()
				pid := w.Stats().PID
				if spare {
					last = w.spare(last)
				}
				b.StartTimer()
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					b.Fatal(err)
				}
				for {
					if s := w.Stats(); s.Up && s.PID != pid {
						break
					}
					time.Sleep(time.Millisecond)
				}
				w.says(m, "echo", "echo")
			}
		})
	}
}
