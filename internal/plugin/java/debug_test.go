// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// debugger is a running jdb.
type debugger struct {
	t   *testing.T
	in  io.WriteCloser
	out *journal
}

// attach starts jdb and attaches it to a port.
func attach(t *testing.T, port int) *debugger {
	t.Helper()
	d := &debugger{t: t, out: &journal{}}
	jdb := exec.CommandContext(t.Context(), filepath.Join(javatest.Home(t), "bin", "jdb"), "-attach", fmt.Sprint("localhost:", port))
	jdb.Stdout, jdb.Stderr = d.out, d.out
	var err error
	if d.in, err = jdb.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := jdb.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.in.Close()
		_ = jdb.Wait() // It ends with its input.
	})
	return d
}

// do repeats a command until jdb has written the wanted texts.
func (d *debugger) do(command string, want ...string) {
	d.t.Helper()
	d.repeat(command, command+": "+fmt.Sprint(want), func() bool { return d.out.has(want...) })
}

// goOn resumes the JVM until a condition holds.
func (d *debugger) goOn(what string, is func() bool) {
	d.t.Helper()
	d.repeat("cont", what, is)
}

// repeat repeats a command until a condition holds, because jdb ignores commands while it
// handles an event, or does not know the current thread yet.
func (d *debugger) repeat(command, what string, is func() bool) {
	d.t.Helper()
	next := time.Now()
	waitFor(d.t, what, func() bool {
		if is() {
			return true
		}
		if time.Now().After(next) {
			next = time.Now().Add(2 * time.Second)
			if _, err := io.WriteString(d.in, command+"\n"); err != nil {
				d.t.Fatal(err)
			}
		}
		return false
	})
}

// TestDebugger pauses a plugin at a breakpoint, inspects it and resumes it after more than the
// time limit of the call. The limit does not apply, because the clock of a call stands still as
// soon as the JVM has it; it is long enough for the way there on a machine under load.
func TestDebugger(t *testing.T) {
	t.Parallel()
	port := need.Port(t)
	w := newWorld(t, func(o *java.Options) { o.Debug = java.Debug{Port: port} })
	settings := config.Default().Plugin
	manager := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Service}, Hosts: []plugin.Host{w.Host}, Logger: slog.New(slog.DiscardHandler), Settings: func() config.Plugin { return settings },
	})
	defer func() {
		if err := manager.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	p, err := manager.Load(t.Context(), plugin.Java, plugin.Source{Name: "debugged.jar", Data: faults(t, "debugged")})
	if err != nil {
		t.Fatal(err)
	}
	const limit = 2 * time.Second
	settings.CallTimeoutMillis = int32(limit.Milliseconds())
	for _, s := range manager.Do(t.Context(), p, plugin.Start) {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	d := attach(t, port)
	waitFor(t, "the debugger", func() bool { return d.out.has("Initializing jdb") })
	d.do("stop in faults.Faults.transform", "Set breakpoint faults.Faults.transform")
	type answer struct {
		r   *plugin.ClientRequest
		err error
	}
	answers := make(chan answer, 1)
	called := time.Now()
	go func() {
		r, err := plugin.Pass(context.Background(), manager.Calls, plugin.TransformRequest, &plugin.ClientRequest{UserID: 4711, ClientIP: "debugged"})
		answers <- answer{r, err}
	}()
	waitFor(t, "the breakpoint", func() bool { return d.out.has("Breakpoint hit", "faults.Faults.transform") })
	d.do("locals", "request =")
	d.do("dump request", "userId: 4711", "debugged")
	d.do("clear faults.Faults.transform", "Removed: breakpoint faults.Faults.transform")
	time.Sleep(time.Until(called.Add(limit + limit/4)))
	select {
	case a := <-answers:
		t.Fatalf("the call did not wait: %+v", a)
	default:
	}
	d.goOn("the answer", func() bool { return len(answers) > 0 })
	if a := <-answers; a.err != nil || a.r.ClientIP != "debugged!" {
		t.Errorf("it is %+v", a)
	}
	if t.Failed() || strings.Contains(d.out.String(), "Exception") {
		t.Log(d.out.String())
	}
}

// TestSuspended starts a JVM that waits for a debugger which never attaches. The load can be
// cancelled, and the host can be closed.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Debug = java.Debug{Port: need.Port(t), Suspend: true} })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	loaded := make(chan error, 1)
	jar := faults(t, "suspended")
	go func() {
		_, err := w.Load(ctx, plugin.Source{Name: "suspended.jar", Data: jar})
		loaded <- err
	}()
	waitFor(t, "the port", func() bool { return w.log.has("Listening for transport dt_socket") })
	cancel()
	if err := <-loaded; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
