// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimited logs a thousand lines per second for some seconds.
func TestLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, nil))
		var l Limited
		fail := func() {
			if log, ok := l.Take(t.Context(), logger); ok {
				log.Warn("no answer", "why", "outage")
			}
		}
		for range 3 {
			for range 1000 {
				fail()
			}
			time.Sleep(time.Second)
		}
		fail()
		text := out.String()
		for part, want := range map[string]int{
			`msg="no answer"`: 3*maxLimited + 1,
			`msg="more lines of this kind are omitted in this second"`: 3,
			`omitted=990 why=outage`:                                   3,
		} {
			if got := strings.Count(text, part); got != want {
				t.Errorf("%q is there %d times, not %d, in\n%s", part, got, want, text)
			}
		}
	})
}
