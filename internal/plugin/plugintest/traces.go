// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/wire"
)

// testTraces records the effects of two plugins on the requests of one user.
func testTraces(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	if _, err := plugin.Pass(t.Context(), m.Calls, plugin.TransformRequest, command("unseen", 5)); err != nil || m.Calls.Recording() {
		t.Fatal(err, m.Calls.Recording())
	}
	s := config.Default().Plugin.Traces
	s.UserIDs, s.IncludeText = []int64{5}, true
	w.traces.Configure(s)
	ctx := plugin.ForRequest(t.Context(), 5, 77, wire.KindCreateMessage)
	pass := func() {
		t.Helper()
		if _, err := plugin.Pass(ctx, m.Calls, plugin.TransformRequest, command("old", 5)); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	for _, what := range []string{"nothing", "refuse", "throw", "hello"} {
		_, _, _ = plugin.Ask[*plugin.RequestHandlerResult](ctx, m.Calls, plugin.HandleRequest, command(what, 5))
	}
	other := plugin.ForRequest(t.Context(), 6, 77, wire.KindCreateMessage)
	if _, err := plugin.Pass(other, m.Calls, plugin.TransformRequest, command("of another", 6)); err != nil {
		t.Fatal(err)
	}
	w.start(m, Echo)
	pass()

	total, page := w.traces.Find(trace.Filter{}, 0, 100)
	slices.Reverse(page)
	var got []string
	for _, r := range page {
		if *r.UserID != 5 || r.RequestID != "77" || r.Request != wire.KindCreateMessage.String() || r.Duration <= 0 || r.Start.IsZero() {
			t.Errorf("the record is %+v", r)
		}
		line := r.Point + "." + r.Method + " " + string(r.Outcome) + ":"
		for _, s := range r.Steps {
			line += fmt.Sprintf(" %s %s %s %s %d", s.Plugin, s.Version, simple(s.Extension), s.Outcome, s.Code)
			if s.Outcome == trace.Refused {
				line += " " + s.Reason
			}
			if s.Outcome == trace.Failed && !strings.Contains(s.Reason, "broken 👋") {
				t.Errorf("the reason of a failure is %q", s.Reason)
			}
			for _, c := range s.Changes {
				line += " " + c.Path + "=" + shown(c.Before) + ">" + shown(c.After)
			}
			line += ";"
		}
		got = append(got, line)
	}
	want := []string{
		"ClientRequestHandler.transform CHANGED: suite-acts 1 Actor CHANGED 0 clientIp=old>1;",
		"ClientRequestHandler.handle UNCHANGED: suite-acts 1 Actor UNCHANGED 0;",
		"ClientRequestHandler.handle REFUSED: suite-acts 1 Actor REFUSED 5010 not you 👋;",
		"ClientRequestHandler.handle ERROR: suite-acts 1 Actor ERROR 0;",
		"ClientRequestHandler.handle ANSWERED: suite-acts 1 Actor ANSWERED 0 code=->1000 reason=->hello;",
		"ClientRequestHandler.transform CHANGED: suite-acts 1 Actor CHANGED 0 clientIp=old>1; suite-echo 1.2.3 Serve UNCHANGED 0;",
	}
	if total != int64(len(want)) || !slices.Equal(got, want) {
		t.Errorf("recorded was\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// shown formats a value of a change, - if there is none.
func shown(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
