// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/plugin"
)

// TestLines bounds the lines of each second, and says once in it that lines are missing, and later
// how many.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		limit := 3
		lines := plugin.NewLines(func() int { return limit })
		take := func() (n int) {
			for range 10 {
				if lines.Take(log) {
					n++
				}
			}
			return n
		}
		if n := take(); n != 3 {
			t.Errorf("%d of 10 lines are written", n)
		}
		if got := out.String(); strings.Count(got, "writes too many lines") != 1 || strings.Contains(got, "were dropped") {
			t.Errorf("the log has %s", got)
		}
		time.Sleep(time.Second)
		if n := take(); n != 3 {
			t.Errorf("%d of 10 lines are written in the next second", n)
		}
		if got := out.String(); strings.Count(got, "writes too many lines") != 2 || !strings.Contains(got, "were dropped\" lines=7") {
			t.Errorf("the log has %s", got)
		}
		limit = 0
		if n := take(); n != 10 {
			t.Errorf("%d of 10 lines are written without a limit", n)
		}
		if !plugin.NewLines(nil).Take(log) {
			t.Error("a line is dropped where nobody set a limit")
		}
	})
}
