// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// adding adds a number to the request's id.
func adding(n int64) functions {
	return transforms(func(_ context.Context, r *ClientRequest) (any, error) {
		changed := *r
		changed.RequestID += n
		return &changed, nil
	})
}

func (w *world) transform(id int64) (int64, error) {
	r, err := Pass(w.t.Context(), w.Calls, TransformRequest, &ClientRequest{RequestID: id})
	return r.RequestID, err
}

func (w *world) wantTransformed(want int64) {
	w.t.Helper()
	if got, err := w.transform(1); err != nil || got != want {
		w.t.Errorf("the request is %d, %v, want %d", got, err, want)
	}
}

func TestPipeline(t *testing.T) {
	w := newWorld(t)
	if w.Calls.Has(TransformRequest) {
		t.Error("nothing is loaded, yet something would be called")
	}
	w.wantTransformed(1)
	first := w.add("first", adding(10))
	w.add("silent", transforms(func(context.Context, *ClientRequest) (any, error) { return nil, nil }))
	w.add("other", functions{class: "Other", points: []*Point{ClientRequestHandler}}) // has no function
	w.add("last", transforms(func(_ context.Context, r *ClientRequest) (any, error) {
		return &ClientRequest{RequestID: r.RequestID * 2}, nil
	}))
	w.wantTransformed(22)
	if !w.Calls.Has(TransformRequest) || w.Calls.Has(HandleRequest) {
		t.Error("what would be called is wrong")
	}
	w.do(first, Pause)
	w.wantTransformed(2)
	w.do(first, Resume)
	w.wantTransformed(22)
	w.do(first, Stop)
	w.wantTransformed(2)
	if steps := w.Do(t.Context(), first, Start); steps[0].Err == nil || steps[0].Changed || steps[0].State != Stopped {
		t.Errorf("a stopped extension was started: %+v", steps)
	}
}

func TestFirstAnswer(t *testing.T) {
	w := newWorld(t)
	answers := func(answer any) functions {
		return functions{class: "A", points: []*Point{UserAuthenticator}, calls: map[*Method]func(context.Context, []any) (any, error){
			Authenticate: func(context.Context, []any) (any, error) { return answer, nil },
		}}
	}
	if _, ok, err := Ask[bool](t.Context(), w.Calls, Authenticate, &UserLoginInfo{}); ok || err != nil {
		t.Error(ok, err)
	}
	w.add("undecided", answers(nil))
	w.add("no", answers(false))
	w.add("yes", answers(true))
	if answer, ok, err := Ask[bool](t.Context(), w.Calls, Authenticate, &UserLoginInfo{}); answer || !ok || err != nil {
		t.Error(answer, ok, err)
	}
}

func TestFailures(t *testing.T) {
	w := newWorld(t)
	var fail error
	p := w.add("faulty", transforms(func(context.Context, *ClientRequest) (any, error) {
		if fail == nil {
			panic("host")
		}
		return nil, fail
	}))
	w.add("next", adding(1))

	fail = apierr.New(apierr.MessageIsIllegal, "that word!")
	if _, err := w.transform(1); apierr.From(err).Code != apierr.MessageIsIllegal || apierr.From(err).Reason != "that word!" {
		t.Errorf("the error is %v", err)
	}
	if got := w.saw(); !slices.Equal(got, []string{"faulty/Transformer transform refused"}) {
		t.Errorf("observed was %v", got)
	}
	fail = &Exception{Message: "TypeError: x", Location: "faulty.js:3:1"}
	_, err := w.transform(1)
	if e := apierr.From(err); e.Code != apierr.ServerInternalError || !strings.Contains(e.Error(), `ClientRequestHandler.transform of extension "Transformer" of plugin "faulty": TypeError: x (faulty.js:3:1)`) {
		t.Errorf("the error is %v", err)
	}
	if got := p.Extensions()[0]; got.Calls != 2 || got.Errors != 1 || got.LastFailure == nil || got.LastFailure.In != "ClientRequestHandler.transform" {
		t.Errorf("the record is %+v", got)
	}
	fail = nil
	if _, err := w.transform(1); err == nil {
		t.Error("a panic of the host was no failure")
	}
	w.set(func(s *config.Plugin) { s.ExtensionPoints.ClientRequestHandler.OnFailure = config.FailureIgnore })
	w.wantTransformed(2)
	fail = apierr.New(apierr.MessageIsIllegal, "still refused")
	if _, err := w.transform(1); apierr.From(err).Code != apierr.MessageIsIllegal {
		t.Errorf("the error is %v", err)
	}
}

func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var held bool
		p := w.add("slow", transforms(func(ctx context.Context, r *ClientRequest) (any, error) {
			if held {
				release := HeldOf(ctx).Hold()
				time.Sleep(time.Hour)
				release()
				return r, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		begin := time.Now()
		_, err := w.transform(1)
		if _, ok := errors.AsType[*TimeoutError](err); !ok || time.Since(begin) != 5*time.Second {
			t.Errorf("the error is %v after %s", err, time.Since(begin))
		}
		w.set(func(s *config.Plugin) { s.ExtensionPoints.ClientRequestHandler.TimeoutMillis = 100 })
		begin = time.Now()
		if _, err = w.transform(1); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 100*time.Millisecond {
			t.Errorf("the error is %v after %s", err, time.Since(begin))
		}
		if got := p.Extensions()[0]; got.Timeouts != 2 || got.Errors != 0 {
			t.Errorf("the record is %+v", got)
		}
		held = true
		if _, err := w.transform(1); err != nil {
			t.Errorf("a debugger held the call, and it failed: %v", err)
		}
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// TestQuarantineByHost proves that calls of extensions that their host cannot run fail, until
// somebody resumes them.
func TestQuarantineByHost(t *testing.T) {
	w := newWorld(t)
	p := w.add("broken", transforms(func(_ context.Context, r *ClientRequest) (any, error) { return r, nil }))
	w.Recovery.Quarantine("unknown", "", "why", false)
	w.Recovery.Quarantine("broken", "Other", "why", false)
	if got := p.Extensions()[0]; got.Quarantine != "" || got.LastFailure != nil || w.Unavailable() != "" {
		t.Errorf("the record is %+v", got)
	}
	w.Recovery.Quarantine("broken", "Transformer", "the host is down", false)
	if got := p.Extensions()[0]; got.State != Started || got.Quarantine != "the host is down" || got.LastFailure == nil || got.LastFailure.Error != "the host is down" {
		t.Errorf("the record is %+v", got)
	}
	w.wantRefused()
	if got, want := w.Unavailable(), `Transformer of plugin "broken": the host is down`; got != want {
		t.Errorf("unavailable is %q, want %q", got, want)
	}
	w.do(p, Resume)
	if got := p.Extensions()[0]; got.State != Started || got.Quarantine != "" {
		t.Errorf("the record is %+v", got)
	}
	w.wantTransformed(1)
	w.Recovery.Quarantine("broken", "", "down again", false)
	w.do(p, Pause) // The administrator's word: it is skipped.
	w.wantTransformed(1)
	w.do(p, Stop)
	w.Recovery.Quarantine("broken", "", "too late", true)
	if got := p.Extensions()[0]; got.State != Stopped || got.Quarantine != "" || got.LastFailure.Error != "too late" {
		t.Errorf("the record is %+v", got)
	}
}

// wantRefused checks that requests are refused because an extension cannot run.
func (w *world) wantRefused() {
	w.t.Helper()
	if _, err := w.transform(1); !w.Calls.Has(TransformRequest) || apierr.From(err).Code != apierr.ServerUnavailable {
		w.t.Errorf("a request passed an extension by that cannot run: %v", err)
	}
}

// TestStartIsRetried proves that an extension whose start fails refuses what it might have refused
// until it has started, and that the server starts it again by itself.
func TestStartIsRetried(t *testing.T) {
	for name, end := range map[string]func(w *world, p *Plugin){
		"it starts":        func(*world, *Plugin) {},
		"it is stopped":    func(w *world, p *Plugin) { w.do(p, Stop) },
		"it is removed":    func(w *world, p *Plugin) { _, _ = w.Remove(w.t.Context(), p.ID) },
		"the host lost it": func(w *world, p *Plugin) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				starts := 0
				f := adding(1)
				f.hooks = map[Hook]func(context.Context) error{Start: func(context.Context) error {
					if starts++; starts < 4 {
						return errors.New("no database")
					}
					return nil
				}}
				w.host.scripts["x"] = script{id: "x", extensions: []functions{f}}
				p, err := w.Load(t.Context(), JavaScript, Source{Name: "x.js", Data: []byte("x")})
				if err != nil {
					t.Fatal(err)
				}
				w.wantTransformed(1) // Nobody wants it to run yet.
				if step := w.Do(t.Context(), p, Start)[0]; step.Err == nil || step.State != Loaded {
					t.Errorf("the first start: %+v", step)
				}
				w.wantRefused()
				if got := p.Extensions()[0]; got.Quarantine != "start failed: no database" {
					t.Errorf("the record is %+v", got)
				}
				time.Sleep(1500 * time.Millisecond)
				if got := p.Extensions()[0]; starts != 2 || got.Quarantine != "start failed 2 times: no database" {
					t.Errorf("%d starts, the record is %+v", starts, got)
				}
				w.wantRefused()
				end(w, p)
				time.Sleep(time.Hour)
				if name == "it starts" || name == "the host lost it" {
					if got := p.Extensions()[0]; starts != 4 || got.State != Started || got.Quarantine != "" {
						t.Errorf("%d starts, the record is %+v", starts, got)
					}
					w.wantTransformed(2)
				} else {
					if starts != 2 {
						t.Errorf("%d starts", starts)
					}
					w.wantTransformed(1)
				}
				if name == "the host lost it" {
					w.Recovery.Quarantine("x", "", "lost", true)
					w.wantRefused()
					time.Sleep(2 * time.Second)
					w.wantTransformed(2)
				}
			})
		})
	}
}

func TestTell(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	sees := func(fails bool) functions {
		return functions{class: "A", points: []*Point{AdminActionHandler}, calls: map[*Method]func(context.Context, []any) (any, error){
			HandleAdminAction: func(_ context.Context, args []any) (any, error) {
				defer wg.Done()
				if args[0].(*AdminAction).Action != "x" {
					t.Error("the argument is wrong")
				}
				if fails {
					return nil, errors.New("no")
				}
				return nil, nil
			},
		}}
	}
	w.add("one", sees(true))
	w.add("two", sees(false))
	wg.Add(2)
	w.Calls.Tell(t.Context(), HandleAdminAction, &AdminAction{Action: "x"})
	wg.Wait()
}

func TestRejections(t *testing.T) {
	w := newWorld(t, role.Service)
	storage := functions{class: "S", points: []*Point{StorageServiceProvider}}
	w.addScript("good", script{id: "good", extensions: []functions{storage}})
	w.host.scripts["same"] = script{id: "good"}
	w.host.scripts["gateway"] = script{id: "gateway", servers: []role.Role{role.Gateway}}
	w.host.scripts["storage"] = script{id: "storage", extensions: []functions{storage}}
	f := w.folder(nil)
	load := func(source string) error {
		src := Source{Name: source + ".js", Data: []byte(source)}
		_, err := w.Load(t.Context(), JavaScript, src)
		return f.noted(src, err)
	}
	for source, want := range map[string]struct {
		code   apierr.Code
		reason string
	}{
		"nonsense": {apierr.IllegalArgument, "nonsense.js: line 1: this is not a plugin"},
		"same":     {apierr.DuplicateResource, `a plugin with the id "good" is loaded already`},
		"gateway":  {apierr.IllegalArgument, `gateway.js: plugin "gateway" is made for [GATEWAY], this server is [SERVICE]`},
		"storage":  {apierr.DuplicateResource, `plugin "storage" implements StorageServiceProvider, and so does "good": only one may`},
	} {
		err := load(source)
		if e := apierr.From(err); e.Code != want.code || e.Reason != want.reason {
			t.Errorf("%s: %v %q", source, e.Code, e.Reason)
		}
		if !slices.ContainsFunc(w.Rejections.All(), func(r Rejected) bool { return r.Name == source+".js" && r.Reason == want.reason }) {
			t.Errorf("%s is not among the rejected: %+v", source, w.Rejections.All())
		}
	}
	if _, err := w.Load(t.Context(), Java, Source{Name: "a.jar"}); apierr.From(err).Code != apierr.IllegalArgument {
		t.Errorf("a jar without a host: %v", err)
	}
	if !slices.Equal(w.ids(), []string{"good"}) || w.host.open != 1 {
		t.Errorf("loaded are %v, %d modules are open", w.ids(), w.host.open)
	}
	w.host.scripts["nonsense"] = script{id: "mended"}
	if err := load("nonsense"); err != nil || len(w.Rejections.All()) != 3 {
		t.Errorf("a mended plugin: %v, %+v", err, w.Rejections.All())
	}
}

// TestPointOfAnotherRole warns of an extension that this server never calls, at load and in a
// check.
func TestPointOfAnotherRole(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, role.Service)
	w.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.host.scripts["p"] = script{id: "p", extensions: []functions{{class: "G", points: []*Point{NotificationHandler}}, {class: "B", points: []*Point{AdminActionHandler}}}}
	const want = "G implements NotificationHandler, which this server never calls: it is called by app-gateway"
	src := Source{Name: "p.js", Data: []byte("p")}
	checked, err := w.Check(t.Context(), JavaScript, src, false)
	if err != nil || !slices.Equal(checked.Warnings(), []string{want}) {
		t.Errorf("%q, %v", checked.Warnings(), err)
	}
	p, err := w.Load(t.Context(), JavaScript, src)
	if err != nil || !slices.Equal(p.Warnings(), []string{want}) || !strings.Contains(log.String(), want) {
		t.Errorf("%q, %v, %s", p.Warnings(), err, log.String())
	}
}

// TestReplace swaps a plugin under load: no call fails, none is answered by both, and the old one
// ends.
func TestReplace(t *testing.T) {
	w := newWorld(t)
	var stopped atomic.Int32
	version := func(n int64) functions {
		f := adding(n)
		f.hooks = map[Hook]func(context.Context) error{Stop: func(context.Context) error {
			stopped.Add(1)
			return nil
		}}
		return f
	}
	w.add("swapped", version(1))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := w.transform(0)
				if err != nil || got < 1 || got > 21 {
					t.Errorf("a call gave %d, %v", got, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for n := int64(2); n <= 21; n++ {
		before := calls.Load()
		for calls.Load() < before+100 && !t.Failed() {
			time.Sleep(time.Microsecond)
		}
		w.host.mu.Lock()
		w.host.scripts["new"] = script{id: "swapped", version: "n", extensions: []functions{version(n)}}
		w.host.mu.Unlock()
		if _, err := w.Replace(t.Context(), JavaScript, Source{Name: "new.js", Data: []byte("new")}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.transform(0); got != n || err != nil {
			t.Errorf("after the swap a call gave %d, %v, want %d", got, err, n)
		}
	}
	cancel()
	wg.Wait()
	if stopped.Load() != 20 || w.host.open != 1 || len(w.Plugins()) != 1 {
		t.Errorf("%d versions were stopped, %d modules are open", stopped.Load(), w.host.open)
	}
}

func TestReplaceKeepsTheState(t *testing.T) {
	w := newWorld(t)
	p := w.add("p", adding(1))
	w.host.scripts["new"] = script{id: "p", extensions: []functions{adding(2)}}
	w.host.scripts["bad"] = script{id: "p", extensions: []functions{{class: "Transformer", hooks: map[Hook]func(context.Context) error{
		Start: func(context.Context) error { return errors.New("no database") },
	}}}}
	replace := func(source string) error {
		_, err := w.Replace(t.Context(), JavaScript, Source{Name: source, Data: []byte(source)})
		return err
	}
	if err := replace("bad"); apierr.From(err).Code != apierr.IllegalArgument || !strings.Contains(err.Error(), "no database") {
		t.Errorf("the error is %v", err)
	}
	if err := replace("nonsense"); err == nil {
		t.Error("nonsense took the place of a plugin")
	}
	w.wantTransformed(2)
	w.do(p, Pause)
	if err := replace("new"); err != nil {
		t.Fatal(err)
	}
	p, _ = w.Find("p")
	if got := p.Extensions()[0].State; got != Paused {
		t.Errorf("the state is %s", got)
	}
	w.do(p, Resume)
	w.wantTransformed(3)
	if _, err := w.Remove(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Remove(t.Context(), "p"); apierr.From(err).Code != apierr.ResourceNotFound {
		t.Errorf("the error is %v", err)
	}
	if err := replace("new"); err != nil {
		t.Fatal(err)
	}
	p, _ = w.Find("p")
	if got := p.Extensions()[0].State; got != Loaded {
		t.Errorf("the state is %s", got)
	}
}

// TestStoppedPluginsAreFreed proves that a plugin that can never run again holds nothing, and is
// still known.
func TestStoppedPluginsAreFreed(t *testing.T) {
	w := newWorld(t)
	p := w.addScript("two", script{id: "two", extensions: []functions{adding(1), {class: "Other", points: []*Point{ClientRequestHandler}}}})
	w.wantTransformed(2)
	w.do(p, Stop)
	if w.host.open != 0 || w.Calls.Has(TransformRequest) || !slices.Equal(w.ids(), []string{"two"}) || p.Memory() != 0 {
		t.Errorf("%d modules are open, loaded are %v", w.host.open, w.ids())
	}
	w.wantTransformed(1)
	for _, s := range w.Do(t.Context(), p, Stop) {
		if s.Err == nil || s.Changed || s.State != Stopped {
			t.Errorf("stopped twice: %+v", s)
		}
	}
	if p, err := w.Replace(t.Context(), JavaScript, Source{Name: "two.js", Data: []byte("two")}); err != nil || p.Extensions()[0].State != Loaded {
		t.Errorf("a stopped plugin could not be replaced: %v", err)
	}
	if _, err := w.Remove(t.Context(), "two"); err != nil || w.host.open != 0 {
		t.Errorf("%d modules are open, %v", w.host.open, err)
	}
}

// TestGone proves that whoever counts calls learns which extensions will make none any more.
func TestGone(t *testing.T) {
	w := newWorld(t)
	w.opts.Gone = func(p *Plugin, extension string) { w.note("gone " + p.ID + "/" + extension) }
	w.addScript("two", script{id: "two", extensions: []functions{adding(1), {class: "Other"}}})
	w.host.scripts["one"] = script{id: "two", extensions: []functions{adding(1)}}
	if _, err := w.Replace(t.Context(), JavaScript, Source{Name: "one.js", Data: []byte("one")}); err != nil {
		t.Fatal(err)
	}
	if got := w.saw(); !slices.Equal(got, []string{"gone two/Other"}) {
		t.Errorf("told was %v", got)
	}
	if _, err := w.Remove(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	if got := w.saw(); !slices.Equal(got, []string{"gone two/Transformer"}) {
		t.Errorf("told was %v", got)
	}
}

func TestQuarantine(t *testing.T) {
	w := newWorld(t)
	w.set(func(s *config.Plugin) { s.Quarantine.Enabled, s.Quarantine.Failures = true, 3 })
	fails := true
	failure := fmt.Errorf("lost: %w", ErrInterrupted)
	p := w.add("faulty", transforms(func(context.Context, *ClientRequest) (any, error) {
		if fails {
			return nil, failure
		}
		return nil, nil
	}))
	// Calls that were under way when the host ended say nothing of the plugin.
	for range 10 {
		if _, err := w.transform(1); err == nil {
			t.Error("it did not fail")
		}
	}
	if got := p.Extensions()[0]; got.Quarantine != "" || got.Errors != 10 {
		t.Errorf("the extension is %+v", got)
	}
	failure = errors.New("again")
	for range 3 {
		if _, err := w.transform(1); err == nil {
			t.Error("it did not fail")
		}
	}
	got := p.Extensions()[0]
	if got.State != Started || got.Quarantine != "quarantined after 3 failures in a row, the last: again" {
		t.Errorf("the extension is %+v", got)
	}
	w.wantRefused()
	fails = false
	w.do(p, Resume)
	if got := p.Extensions()[0]; got.State != Started || got.Quarantine != "" {
		t.Errorf("the extension is %+v", got)
	}
}

// TestStopping proves that what a plugin could have refused is refused while the server stops, and
// that what only watches is not missed.
func TestStopping(t *testing.T) {
	w := newWorld(t)
	w.add("filter", adding(1))
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.transform(1); !w.Calls.Has(TransformRequest) || apierr.From(err).Code != apierr.ServerUnavailable {
		t.Errorf("a request passed a plugin by: %v", err)
	}
	if w.Calls.Has(HandleRequest) || w.Calls.Has(HandleAdminAction) {
		t.Error("what no plugin took part in is refused")
	}
}

// TestDeadPlugins proves that a plugin that can run nothing any more is loaded anew, in its state.
func TestDeadPlugins(t *testing.T) {
	w := newWorld(t)
	var dead atomic.Bool
	dead.Store(true)
	old := w.add("fragile", transforms(func(_ context.Context, r *ClientRequest) (any, error) {
		if dead.Load() {
			return nil, fmt.Errorf("out of memory: %w", ErrDead)
		}
		return &ClientRequest{RequestID: r.RequestID + 1}, nil
	}))
	if _, err := w.transform(1); err == nil {
		t.Error("a call of a dead plugin succeeded")
	}
	dead.Store(false)
	w.tellers.Wait()
	if p, ok := w.Find("fragile"); !ok || p == old || p.Extensions()[0].State != Started || p.Renewals() != 1 {
		t.Error("it was not loaded anew, or not counted")
	}
	w.wantTransformed(2)
}

// stuckHost does not look at the context of a load.
type stuckHost struct {
	*goHost
	release chan struct{}
}

func (h stuckHost) Load(ctx context.Context, src Source) (Module, error) {
	if src.Name == "stuck.js" {
		<-h.release
	}
	return h.goHost.Load(ctx, src)
}

// TestHostThatLoadsForever proves that the manager answers in time even if a host does not, and
// that what the host makes later is closed.
func TestHostThatLoadsForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		stuck := stuckHost{w.host, make(chan struct{})}
		w.hosts.list = []Host{stuck}
		w.host.scripts["x"] = script{id: "x", extensions: []functions{adding(1)}}
		begin := time.Now()
		_, err := w.Load(t.Context(), JavaScript, Source{Name: "stuck.js", Data: []byte("x")})
		if e := apierr.From(err); e.Code != apierr.IllegalArgument || e.Reason != "stuck.js: loading took longer than 1m0s" {
			t.Errorf("the load ended with %v", err)
		}
		if took := time.Since(begin); took != time.Minute+loadGrace {
			t.Errorf("it took %s", took)
		}
		w.add("y", adding(1))
		close(stuck.release)
		synctest.Wait()
		if w.host.open != 1 {
			t.Errorf("%d modules are open", w.host.open)
		}
		if _, ok := w.Find("x"); ok {
			t.Error("a plugin is listed whose load had ended")
		}
	})
}

// TestPluginsThatEndThemselves proves that a plugin which removes, replaces or stops itself is
// answered at once, and is gone when its call has ended.
func TestPluginsThatEndThemselves(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, w *world, p *Plugin) error{
		"remove": func(ctx context.Context, w *world, p *Plugin) error {
			_, err := w.Remove(ctx, p.ID)
			return err
		},
		"stop": func(ctx context.Context, w *world, p *Plugin) error { return w.Do(ctx, p, Stop)[0].Err },
		"replace": func(ctx context.Context, w *world, _ *Plugin) error {
			_, err := w.Replace(ctx, JavaScript, Source{Name: "next.js", Data: []byte("next")})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.host.scripts["next"] = script{id: "self", version: "2", extensions: []functions{adding(1)}}
				var p *Plugin
				p = w.add("self", transforms(func(ctx context.Context, _ *ClientRequest) (any, error) {
					return nil, end(WithCaller(ctx, "self"), w, p)
				}))
				begin := time.Now()
				if _, err := w.transform(1); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if took := time.Since(begin); took != 0 {
					t.Errorf("it took %s", took)
				}
				if got, want := w.host.open, map[string]int{"replace": 1}[name]; got != want {
					t.Errorf("%d modules are open, want %d", got, want)
				}
			})
		})
	}
	// A hook cannot wait for another one of its own extension.
	w := newWorld(t)
	f := adding(1)
	var p *Plugin
	f.hooks = map[Hook]func(context.Context) error{Pause: func(ctx context.Context) error { return w.Do(WithCaller(ctx, "self"), p, Stop)[0].Err }}
	p = w.add("self", f)
	if step := w.Do(t.Context(), p, Pause)[0]; !errors.Is(step.Err, errOwnHook) || step.State != Paused {
		t.Errorf("the hook ended with %+v", step)
	}
}
