// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// terminal is a program that a test talks to.
type terminal struct {
	t   *testing.T
	in  io.WriteCloser
	out *logged
	at  int
}

// expect waits until the program has written a text after what was expected before.
func (n *terminal) expect(text string) {
	n.t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := n.out.String()[n.at:]
		if i := strings.Index(s, text); i >= 0 {
			n.at += i + len(text)
			return
		}
		if time.Now().After(limit) {
			n.t.Fatalf("%q is not there in %q", text, s)
		}
	}
}

func (n *terminal) say(line string) {
	n.t.Helper()
	if _, err := io.WriteString(n.in, line+"\n"); err != nil {
		n.t.Fatal(err)
	}
}

// TestDebugNodeInspect debugs a plugin with the debugger of Node.js, which knows nothing of us.
func TestDebugNodeInspect(t *testing.T) {
	h, s, _ := debugHost(t)
	m := load(t, h, plugin.Source{Name: "debugged.js", Data: []byte(debugged)})
	done := begin[int32](t.Context(), m, count, int64(5))
	eventually(t, "waiting", func() bool { return m.debug.target.Waiting() == 1 })

	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", "inspect", s.Addr())
	n := &terminal{t: t, out: &logged{}}
	cmd.Stdout, cmd.Stderr = n.out, n.out
	var err error
	if n.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	n.expect("Break on start in debugged.js:7")
	n.say("setBreakpoint('debugged.js', 16)")
	n.expect("debug>")
	n.say("cont")
	n.expect("break in debugged.js:16")
	n.say("backtrace")
	n.expect("#0 double debugged.js:16:4")
	n.expect("#1 count debugged.js:9:")
	n.say("exec('[x, factor, this.#secret].join()')")
	n.expect("'0,2,41'")
	n.say("exec('({ a: x, b: true })')")
	n.expect("{ a: 0, b: true }")
	n.say("out")
	n.expect("break in debugged.js:9")
	n.say("step")
	n.expect("break in debugged.js:15")
	n.say("next")
	n.expect(" in debugged.js:16")
	n.say("clearBreakpoint('debugged.js', 16)")
	n.expect("debug>")
	n.say("list(1)")
	n.expect(">16     return r")
	n.say("cont")
	if v := finish(t, done); v != int32(11) {
		t.Error(v)
	}
	n.say("exec('6 * 7')")
	n.expect("42")
	n.say(".exit")
}
