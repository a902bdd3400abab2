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

// A reasonHandler passes on the lines of a manager that have a reason.
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

// testLimits slows a plugin down that computes more than it may, and refuses the calls of one that holds more, by what its
// host measures.
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
		default: // A plugin in quarantine goes through the same again.
		}
	}
	w.log = reasonHandler{slog.DiscardHandler, func(message, reason string) {
		switch message {
		case "a plugin uses more than it may, and its calls wait":
			// The limits change before the manager looks again: it would go on to refuse calls of the plugin for its use of
			// processors, and a test that is slow to see that it waits would miss it.
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
	await(t, "what the plugin holds", func() bool { return p.Memory() >= kept<<20 })
	if p.Excess() != "" {
		t.Errorf("it is said %q of a plugin without limits", p.Excess())
	}

	w.set(func(s *config.Plugin) { s.Limits.CPUShare = 1 })
	await(t, "a plugin that computes is slowed down", func() bool {
		time.Sleep(20 * time.Millisecond) // The tests beside this one need processors, too.
		if err := ask("compute"); err != nil && !strings.Contains(err.Error(), bytesReason) {
			t.Fatal(err)
		}
		return len(slowed) > 0
	})
	if reason := <-slowed; !strings.Contains(reason, cpuReason) {
		t.Errorf("a plugin that computes is slowed down because %s", reason)
	}
	if reason := receive(t, "a plugin that holds memory is refused calls", refused); !strings.Contains(reason, bytesReason) {
		t.Errorf("a plugin that holds memory is refused calls because %s", reason)
	}
	// On a slow machine it may be in quarantine by now, for the same reason.
	await(t, "calls fail because of the memory", func() bool {
		err := ask("nothing")
		return err != nil && strings.Contains(err.Error(), bytesReason)
	})
}
