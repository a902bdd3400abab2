// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/test/need"
)

// told is a plugin whose handle runs the code that the request names.
func told(before string) plugin.Source {
	return script(before, `handle(request) { const v = (0, eval)(request.clientIp); return { code: 1000, reason: String(v) }; }`)
}

func tell(ctx context.Context, m *module, code string) (string, error) {
	var r *plugin.RequestHandlerResult
	ok, err := m.Extensions()[0].Call(ctx, handle, []any{&plugin.ClientRequest{ClientIP: code}}, &r)
	if err != nil || !ok {
		return "", err
	}
	return r.Reason, nil
}

// says checks what code returns.
func says(t testing.TB, m *module, code, want string) {
	t.Helper()
	if got, err := tell(t.Context(), m, code); err != nil || got != want {
		t.Errorf("%s: it is %q, not %q; %v", code, got, want, err)
	}
}

// fails checks what code throws.
func fails(t testing.TB, m *module, code, want string) {
	t.Helper()
	_, err := tell(t.Context(), m, code)
	if x, ok := errors.AsType[*plugin.Exception](err); !ok || !strings.Contains(x.Message, want) {
		t.Errorf("%s: it fails with %v, not %q", code, err, want)
	}
}

func TestJavaIsNotStartedForNothing(t *testing.T) {
	h, j := withJava(t)
	m := load(t, h, told("globalThis.kind = typeof app;"))
	says(t, m, "kind", "object")
	if m.java != nil || j.Stats().Up {
		t.Error("there is something of Java")
	}
	says(t, m, "typeof Java.type", "function")
	if j.Stats().Up {
		t.Error("a JVM runs before a class is used")
	}
	says(t, m, "Java.type('java.lang.Integer').MAX_VALUE", "2147483647")
	if !j.Stats().Up {
		t.Error("no JVM runs")
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if j.Stats().Up {
		t.Error("a JVM runs for nobody")
	}
}

func TestJavaCanBeReplaced(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, told("globalThis.Java = 7;"))
	says(t, m, "Java", "7")
}

func TestNoJava(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, told(""))
	fails(t, m, "Java.type('java.lang.Object')", `Java.type("java.lang.Object"): classes of Java cannot be used on this server: it runs no plugins in Java`)

	javatest.Home(t)
	j, err := java.New(java.Options{Home: t.TempDir(), Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(context.Background())
	h, _ = newHost(t, Options{Java: j})
	m = load(t, h, told(""))
	fails(t, m, "Java.type('java.lang.Object')", "app.plugin.java.home")
}

func TestJavaDies(t *testing.T) {
	h, j := withJava(t)
	m := load(t, h, told(`globalThis.list = new (Java.type('java.util.ArrayList'))(); globalThis.List = Java.type('java.util.ArrayList');
globalThis.sleep = () => Java.type('java.util.concurrent.CompletableFuture').supplyAsync(() => { globalThis.asleep?.(); return 1; }).thenApply(Java.type('java.util.function.Function').identity());`))
	says(t, m, "list.add('x'); list.size()", "1")

	// A function that the JVM calls ends the JVM while the plugin waits for it.
	kill := func() {
		if err := syscall.Kill(j.Stats().PID, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := tell(t.Context(), m, "new (Java.type('java.util.concurrent.CountDownLatch'))(1).await()")
		ended <- err
	}()
	waitForCalls(t, j, 1)
	kill()
	err := <-ended
	if x, ok := errors.AsType[*plugin.Exception](err); !ok || !strings.Contains(x.Message, "the Java host died before it answered") {
		t.Errorf("the call fails with %v", err)
	}
	const restarted = "the Java host was restarted and this object is gone; get its class anew with Java.type"
	fails(t, m, "list.size()", restarted)
	fails(t, m, "new List()", restarted)
	says(t, m, "const l = new (Java.type('java.util.ArrayList'))(); l.add(2); l.get(0)", "2")
	fails(t, m, "list.size()", restarted)
	fails(t, m, "new (Java.type('java.util.ArrayList'))().add(list)", restarted)
	fails(t, m, "list instanceof Java.type('java.util.List')", restarted)
	says(t, m, "globalThis.List = Java.type('java.util.ArrayList'); new List() instanceof List", "true")
}

// waitForCalls waits until the JVM works on so many requests.
func waitForCalls(t testing.TB, j *java.Host, n int64) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " calls of Java"), func() bool {
		s, err := j.Measure(t.Context(), false)
		return err == nil && s.Calls == n
	})
}

func TestJavaDiesTooOften(t *testing.T) {
	need.Time(t)
	javatest.Home(t)
	j, err := java.New(java.Options{Folder: t.TempDir(), ClassCache: javatest.ClassCache(), Crashes: 2, CrashWindow: patience * 100})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close(context.Background())
	h, _ := newHost(t, Options{Java: j})
	m, other := load(t, h, told("")), load(t, h, told(""))
	for range 2 {
		fails(t, m, "Java.type('java.lang.Runtime').getRuntime().halt(1)", "the Java host died before it answered")
	}
	fails(t, m, "Java.type('java.lang.Object')", "the Java host died 2 times")
	says(t, other, "Java.type('java.lang.Integer').MAX_VALUE", "2147483647")
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestJavaDeadline(t *testing.T) {
	h, j := withJava(t)
	m := load(t, h, told(""))
	says(t, m, "Java.type('java.lang.Integer').MAX_VALUE", "2147483647")
	for name, code := range map[string]string{
		"in Java":       "new (Java.type('java.util.concurrent.CountDownLatch'))(1).await()",
		"caught":        "for (;;) { try { new (Java.type('java.util.concurrent.CountDownLatch'))(1).await(); } catch (e) {} }",
		"in a function": "Java.type('java.util.Optional').of(1).map(() => { new (Java.type('java.util.concurrent.CountDownLatch'))(1).await(); })",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := tell(ctx, m, code)
				ended <- err
			}()
			eventually(t, "a call of Java", func() bool {
				s, err := j.Measure(t.Context(), false)
				return err == nil && s.Calls >= 1
			})
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the call fails with %v", err)
			}
			waitForCalls(t, j, 0)
			says(t, m, "Java.type('java.lang.Math').abs(-1)", "1")
		})
	}
	// A function that runs for ever ends with its call, too.
	ctx, cancel := context.WithCancel(t.Context())
	m.host.opts.Log.Info("wait")
	ended := make(chan error, 1)
	go func() {
		_, err := tell(ctx, m, "new (Java.type('java.util.ArrayList'))([1]).forEach(() => { for (;;); })")
		ended <- err
	}()
	waitForCalls(t, j, 1)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call fails with %v", err)
	}
	waitForCalls(t, j, 0)
	says(t, m, "Java.type('java.lang.Math').abs(-1)", "1")
}

// An answer that comes after the deadline holds an object that nobody gets: here the
// InterruptedException.
func TestJavaAnswersTooLate(t *testing.T) {
	h, j := withJava(t)
	m := load(t, h, told("globalThis.latch = new (Java.type('java.util.concurrent.CountDownLatch'))(1);"))
	before, _ := held(t, j)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := tell(ctx, m, "latch.await()")
			ended <- err
		}()
		waitForCalls(t, j, 1)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the call fails with %v", err)
		}
		waitForCalls(t, j, 0)
	}
	says(t, m, "latch.getCount()", "1")
	eventually(t, "the release of late answers", func() bool { n, _ := held(t, j); return n <= before+5 })
}

func TestJavaTurnLimit(t *testing.T) {
	j := newJava(t, &logged{})
	h, log := newHost(t, Options{Java: j, TurnLimit: 1})
	m := load(t, h, told("Java.type('java.lang.Object');"))
	says(t, m, "setTimeout(() => new (Java.type('java.util.concurrent.CountDownLatch'))(1).await()); 1", "1")
	eventually(t, "the end of the turn", func() bool { return strings.Contains(log.String(), "ran too long") })
	waitForCalls(t, j, 0)
}

func TestCloseWhileJavaWorks(t *testing.T) {
	h, j := withJava(t)
	keeper, m := load(t, h, told("Java.type('java.lang.Object');")), load(t, h, told(""))
	ended := make(chan error, 1)
	go func() {
		_, err := tell(t.Context(), m, "new (Java.type('java.util.concurrent.CountDownLatch'))(1).await()")
		ended <- err
	}()
	waitForCalls(t, j, 1)
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("the call fails with %v", err)
	}
	waitForCalls(t, j, 0)
	says(t, keeper, "Java.type('java.lang.Math').abs(-1)", "1")
}

// held asks how many objects and functions are held.
func held(t testing.TB, j *java.Host) (handles, functions int64) {
	t.Helper()
	s, err := j.Measure(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	return s.Handles, s.Functions
}

func TestJavaObjectsAreReleased(t *testing.T) {
	need.Time(t)
	h, j := withJava(t)
	m, other := load(t, h, told("globalThis.kept = [];")), load(t, h, told("globalThis.kept = [];"))
	says(t, m, `const A = Java.type('java.util.ArrayList'); for (let i = 0; i < 20000; i++) new A(); 1`, "1")
	eventually(t, "the release of objects", func() bool { n, _ := held(t, j); return n < 10 })

	says(t, m, `const A2 = Java.type('java.util.ArrayList'); for (let i = 0; i < 5000; i++) new A2([1]).forEach(() => 1); 1`, "1")
	eventually(t, "the release of functions", func() bool {
		_, n := held(t, j)
		m.owner.Lock()
		defer m.owner.Unlock()
		return n == 0 && len(m.java.functions) < 5000
	})
	eventually(t, "the release of functions here", func() bool {
		says(t, m, "Java.type('java.lang.Math').abs(-1)", "1")
		m.owner.Lock()
		defer m.owner.Unlock()
		return len(m.java.functions) == 0
	})

	for _, p := range []*module{m, other} {
		says(t, p, `const A3 = Java.type('java.util.ArrayList'); for (let i = 0; i < 1000; i++) kept.push(new A3([() => 1])); kept.length`, "1000")
	}
	if n, _ := held(t, j); n < 2000 {
		t.Errorf("%d objects are held", n)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the release of what the plugin had", func() bool { n, f := held(t, j); return n < 1010 && n >= 1000 && f == 1000 })
	says(t, other, "kept[999].size()", "1")
	says(t, other, "kept.length = 0", "0")
	eventually(t, "the release of the rest", func() bool { n, f := held(t, j); return n < 10 && f == 0 })
}

func TestJavaCallsLater(t *testing.T) {
	h, _ := withJava(t)
	m := load(t, h, told(`
globalThis.Future = Java.type('java.util.concurrent.CompletableFuture');
globalThis.begun = 0;`))
	says(t, m, "globalThis.f = Future.supplyAsync(() => { begun++; return 'now'; }); 1", "1")
	eventually(t, "a call from another thread", func() bool { s, err := tell(t.Context(), m, "f.isDone()"); return s == "true" && err == nil })
	says(t, m, "begun + f.join()", "1now")

	// A promise is waited for, by the thread in Java.
	says(t, m, `globalThis.latch = new (Java.type('java.util.concurrent.CountDownLatch'))(1);
globalThis.g = Future.runAsync(() => latch.countDown()).thenApplyAsync(async () => { await new Promise((done) => setTimeout(done)); return 'later'; }); 1`, "1")
	eventually(t, "the end of a promise", func() bool { s, err := tell(t.Context(), m, "g.isDone()"); return s == "true" && err == nil })
	says(t, m, "g.join()", "later")
	says(t, m, `globalThis.g = Future.supplyAsync(async () => { await new Promise((done) => setTimeout(done)); throw new Error('late'); }); 1`, "1")
	eventually(t, "the failure of a promise", func() bool { s, err := tell(t.Context(), m, "g.isDone()"); return s == "true" && err == nil })
	says(t, m, "g.exceptionNow().message", "late")
}

func TestJavaIsAwaited(t *testing.T) {
	h, _ := withJava(t)
	m := load(t, h, script("const Future = Java.type('java.util.concurrent.CompletableFuture'); class Mine extends Error {}", `
async handle() {
  const seen = [await Future.supplyAsync(() => 5), await Future.completedFuture('now')];
  for (const f of [() => { throw new Mine('no'); }, () => Java.type('java.lang.Integer').parseInt('x')]) {
    try { await Future.supplyAsync(f); } catch (e) { seen.push(e instanceof Mine, e.name, e.message); }
  }
  return { code: 1000, reason: seen.join() };
}`))
	const want = `5,now,true,Error,no,false,java.lang.NumberFormatException,For input string: "x"`
	if got, err := say(t.Context(), m); err != nil || got != want {
		t.Errorf("it is %q; %v", got, err)
	}
}

func TestJavaForManyCallers(t *testing.T) {
	h, j := withJava(t)
	m := load(t, h, told("globalThis.m = new (Java.type('java.util.concurrent.ConcurrentHashMap'))();"))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for k := range 20 {
				says(t, m, fmt.Sprintf("m.put('%d-%d', 1); m.computeIfAbsent('f%d-%d', (k) => k.length) > 0", i, k, i, k), "true")
			}
		})
	}
	wg.Wait()
	says(t, m, "m.size()", "640")
	waitForCalls(t, j, 0)
}

func TestJavaOnTheConsole(t *testing.T) {
	j := newJava(t, &logged{})
	h, log := newHost(t, Options{Java: j})
	m := load(t, h, told(""))
	says(t, m, "console.log('it is', new (Java.type('java.util.ArrayList'))([1, 2])); 1", "1")
	if !strings.Contains(log.String(), "it is [1, 2]") {
		t.Errorf("it logs %s", log)
	}
}

func TestJavaStaysSmall(t *testing.T) {
	need.Time(t)
	// What is deeper than the stack of the plugin fails there, and nowhere else.
	h, j := withJava(t)
	m := load(t, h, told("globalThis.Optional = Java.type('java.util.Optional'); globalThis.down = (n) => Optional.of(n).map((k) => down(k + 1)).get();"))
	if _, err := tell(t.Context(), m, "down(0)"); err == nil {
		t.Error("there is no end")
	}
	waitForCalls(t, j, 0)
	says(t, m, "Optional.of(7).get()", "7")
	// So does what does not fit into a frame.
	fails(t, m, "Optional.of('x'.repeat(17000000))", "at most 16777216 are allowed")
	says(t, m, "Optional.of(7).get()", "7")
}
