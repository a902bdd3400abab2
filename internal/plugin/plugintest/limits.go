// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/test/need"
)

// A reasonHandler sends the log records of a manager that have a reason to a channel.
type reasonHandler struct {
	slog.Handler
	logged func(message, reason string)
}

func (h reasonHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h reasonHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h reasonHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "reason" {
			h.logged(r.Message, a.Value.String())
		}
		return true
	})
	return nil
}

// testLimits throttles a plugin that exceeds its CPU limit, and refuses the calls of one that
// exceeds its memory limit, as measured by its host.
func testLimits(t *testing.T, w *world) {
	need.Time(t)
	const (
		kept        = 20 // MiB
		cpuReason   = "percent of a processor, 1 are what app.plugin.limits.cpu-share allows"
		bytesReason = "app.plugin.limits.memory allows"
	)
	slowed, refused := make(chan string, 1), make(chan string, 1)
	first := func(ch chan<- string, reason string) {
		select {
		case ch <- reason:
		default: // A plugin in quarantine repeats the same.
		}
	}
	w.log = reasonHandler{slog.DiscardHandler, func(message, reason string) {
		switch message {
		case "a plugin uses more than it may, and its calls wait":
			// The limits change before the manager checks again: it would continue to refuse calls
			// of the plugin for its CPU usage, and a slow test would miss that.
			w.set(func(s *config.Plugin) { s.Limits.CPUShare, s.Limits.Memory = 0, kept/2<<20 })
			first(slowed, reason)
		case "a plugin uses more than it may, and its calls fail":
			first(refused, reason)
		}
	}}
	m := w.manager()
	p := w.start(m, Acts)
	ask := func(what string) error {
		_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command(what, 0))
		return err
	}
	for range kept {
		if err := ask("keep"); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the measured memory of the plugin", func() bool { return p.Memory() >= kept<<20 })
	if p.Excess() != "" {
		t.Errorf("it is said %q of a plugin without limits", p.Excess())
	}

	w.set(func(s *config.Plugin) { s.Limits.CPUShare = 1 })
	await(t, "a computing plugin to be throttled", func() bool {
		time.Sleep(20 * time.Millisecond) // Parallel tests need processors, too.
		if err := ask("compute"); err != nil && !strings.Contains(err.Error(), bytesReason) {
			t.Fatal(err)
		}
		return len(slowed) > 0
	})
	if reason := <-slowed; !strings.Contains(reason, cpuReason) {
		t.Errorf("a plugin that computes is slowed down because %s", reason)
	}
	if reason := receive(t, "refused calls of a plugin that uses too much memory", refused); !strings.Contains(reason, bytesReason) {
		t.Errorf("a plugin that holds memory is refused calls because %s", reason)
	}
	// On a slow machine it may be in quarantine by now, for the same reason.
	await(t, "calls that fail because of the memory", func() bool {
		err := ask("nothing")
		return err != nil && strings.Contains(err.Error(), bytesReason)
	})
}
