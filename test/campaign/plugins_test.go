// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/plugin/plugintest"
	"example.org/app/internal/role"
)

// A language is a language of faulty plugins.
type language struct {
	suffix, path string
	// logins and filter are the guards: a plugin that authenticates users, and one that refuses
	// messages with a word.
	logins, filter []byte
	// harmless is a plugin that does nothing, with the id of the faulty ones.
	harmless []byte
	corpus   []plugintest.Bad
	// engines and jvms are the maxima that the guards need: each gets its own JVM when it is
	// suspected of having ended one, and one is spare.
	engines, jvms int
	// hooks is the time limit of hooks in milliseconds. Plugins that are reloaded in a new JVM have
	// no more, also on a slow machine.
	hooks int
	// sample are the faults that are always tested, the first of them also at the start of the
	// server.
	sample []string
}

func scripts(testing.TB) language {
	return language{
		suffix: ".js", path: "/plugins/js", logins: []byte(scriptAuthenticator), filter: []byte(scriptFilter), corpus: plugintest.Scripts(), engines: 2, hooks: 2000,
		harmless: []byte(`
class Actor extends AppExtension { getExtensionPoints() { return ['ClientRequestHandler']; } transform() {} }
export default class extends AppPlugin { getDescriptor() { return { id: 'suite-bad', version: '0' }; } getExtensions() { return [Actor]; } }`),
		sample: []string{"loops in start", "loops", "joins without end", "leaks to its limit"},
	}
}

func archives(t testing.TB) language {
	javatest.Home(t)
	sources := javatest.Sources(t, filepath.Join("..", "..", "internal", "plugin", "java", "testdata", "suite"))
	jar := func(kind string) []byte {
		return javatest.Jar(t, javatest.Plugin{
			Descriptor: "id: suite-bad\nversion: 1\nclass: corpus.CorpusPlugin\n", Sources: sources, Only: "corpus", Files: map[string]string{"kind.txt": kind},
		})
	}
	l := language{
		suffix: ".jar", path: "/plugins/java", harmless: jar("nothing at all"), jvms: 4, hooks: 60_000,
		logins: javatest.Jar(t, javatest.Plugin{ID: "logins", Version: "1", Class: "logins.Logins", Sources: map[string]string{"logins/Logins.java": archiveAuthenticator}}),
		filter: javatest.Jar(t, javatest.Plugin{ID: "words", Version: "1", Class: "words.Words", Sources: map[string]string{"words/Words.java": archiveFilter}}),
		sample: []string{"start throw", "call spin", "call halt", "call outlive"},
	}
	if long() {
		l.hooks = 5000
	}
	for _, a := range plugintest.Archives {
		l.corpus = append(l.corpus, plugintest.Bad{Kind: a.Kind, Harmless: a.Harmless, Data: jar(a.Kind)})
	}
	return l
}

// install uploads a faulty plugin and removes it again. With swap, it replaces a harmless one that
// is being called.
func (g *guardedServer) install(bad plugintest.Bad, swap bool) {
	g.t.Helper()
	from := g.logged()
	defer g.remove()
	var load sync.WaitGroup
	loading := make(chan struct{})
	if swap {
		if a := g.upload(g.harmless, false); a.status != http.StatusOK {
			g.t.Errorf("%s: a harmless plugin is not accepted: %d %s", bad.Kind, a.status, a.body)
		}
		g.setStatus("STARTED")
		load.Go(func() {
			for {
				g.touch(10)
				select {
				case <-loading:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	a := g.upload(bad.Data, swap)
	if a.status == http.StatusOK {
		g.setStatus("STARTED")
		g.touch(9)
		// Measure as many other requests as without the plugin.
		for end := time.Now().Add(quietTime); long() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			g.touch(9)
		}
	}
	close(loading)
	load.Wait()
	if a.status == http.StatusOK {
		g.exercise(bad, from)
		return
	}
	mayBeRefused := strings.HasPrefix(bad.Kind, "load ") || strings.HasPrefix(bad.Kind, "extensions ") || swap && strings.HasPrefix(bad.Kind, "start ")
	if long() && g.suffix == ".jar" && !mayBeRefused {
		g.t.Errorf("%s is not accepted, which the one before may have done: %d %s", bad.Kind, a.status, a.body)
	}
	g.await("a log line of the refusal of "+bad.Kind, func() bool { return g.inLog(from) })
}

// setStatus changes the state of the faulty plugin, if possible.
func (g *guardedServer) setStatus(status string) {
	g.t.Helper()
	g.call(role.Service, http.MethodPut, "/plugins?ids=suite-bad", root, fmt.Sprintf(`{"status":%q}`, status))
}

// remove removes the faulty plugin, if it exists.
func (g *guardedServer) remove() {
	g.t.Helper()
	g.call(role.Service, http.MethodDelete, "/plugins?ids=suite-bad", root, "")
}

// exercise runs the other hooks of a loaded faulty plugin, and removes it. Meanwhile, the server
// must name it.
func (g *guardedServer) exercise(bad plugintest.Bad, from int64) {
	g.t.Helper()
	for _, status := range []string{"PAUSED", "RESUMED"} {
		g.setStatus(status)
	}
	listed := bad.Harmless != "" || g.inList()
	g.setStatus("STOPPED")
	if !listed {
		g.await("what GET /plugins says of "+bad.Kind, func() bool {
			if g.inList() {
				return true
			}
			// On an overloaded machine, a guard may have timed out before the faulty plugin was
			// called, or an earlier plugin may have ended the JVM that this one runs in. So it is
			// loaded once more, because stopped code does not resume, and stays for as long as code
			// that no call waits for may run.
			g.remove()
			g.upload(bad.Data, false)
			g.setStatus("STARTED")
			g.touch(9)
			for end := time.Now().Add(2 * turnLimit); !g.inList() && time.Now().Before(end); {
				time.Sleep(100 * time.Millisecond)
			}
			g.setStatus("STOPPED")
			return g.inList()
		})
	}
	g.remove()
	if bad.Harmless == "" {
		g.await("a log line that names "+bad.Kind, func() bool { return g.inLog(from) })
	}
}

// turnLimit is the time limit for code of JavaScript plugins that no call waits for.
const turnLimit = 5 * time.Second

// inList reports whether GET /plugins names the fault of the plugin.
func (g *guardedServer) inList() bool {
	a := g.call(role.Service, http.MethodGet, "/plugins?ids=suite-bad", root, "")
	return slices.ContainsFunc([]string{"quarantine", "lastError", "renewals", "excess"}, func(field string) bool { return strings.Contains(a.body, `"`+field+`":`) })
}

// inLog reports whether a line of the log warns of the faulty plugin or its file.
func (g *guardedServer) inLog(from int64) bool {
	data, err := os.ReadFile(g.log)
	if err != nil {
		g.t.Fatal(err)
	}
	if from > int64(len(data)) {
		from = 0 // The plugin logged so much that the log was rotated.
	}
	return slices.ContainsFunc(strings.Split(string(data[from:]), "\n"), func(line string) bool {
		return (strings.Contains(line, "suite-bad") || strings.Contains(line, "bad"+g.suffix)) && (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR"))
	})
}

// TestBadPlugins loads faulty plugins into a server with clients: from its folder at the start, by
// upload, and as a replacement of a plugin that is being called. The guards must never let through
// what they refuse, requests that do not involve the faulty plugin must never fail, the server must
// name the culprit, all resources must be released, and the server must stop.
func TestBadPlugins(t *testing.T) {
	for _, make := range []func(testing.TB) language{scripts, archives} {
		l := make(t)
		t.Run(l.suffix, func(t *testing.T) { l.run(t) })
	}
}

func (l language) run(t *testing.T) {
	corpus := l.corpus
	if !long() {
		corpus = slices.DeleteFunc(slices.Clone(corpus), func(b plugintest.Bad) bool { return !slices.Contains(l.sample, b.Kind) })
	}
	// The first server starts with a faulty plugin, and all others are uploaded to it.
	t.Run("uploads", func(t *testing.T) {
		l.startWith(t, corpus[0], func(g *guardedServer) {
			var f figures
			for _, swap := range []bool{false, true} {
				for _, bad := range corpus {
					name := bad.Kind
					if swap {
						name += " by swap"
					}
					t.Run(name, func(t *testing.T) { f.measure(g.with(t), name, bad, swap) })
				}
			}
			f.print(t)
		})
	})
	if long() {
		for _, bad := range corpus[1:] {
			t.Run(bad.Kind+" in the folder", func(t *testing.T) { l.startWith(t, bad, func(*guardedServer) {}) })
		}
	}
}

// startWith starts a server with a faulty plugin in its folder, and calls more.
func (l language) startWith(t *testing.T, first plugintest.Bad, more func(*guardedServer)) {
	g, leave := open(t, l, map[string][]byte{"bad" + l.suffix: first.Data})
	g.touch(9)
	loaded := false
	g.await("the bad plugin in the folder", func() bool {
		list := g.call(role.Service, http.MethodGet, "/plugins?includeRejected=true", root, "").body
		loaded = strings.Contains(list, `"suite-bad"`)
		return loaded || strings.Contains(list, `"rejected":{`)
	})
	if loaded {
		g.exercise(first, 0)
	} else {
		g.await("a log line of the refusal of "+first.Kind, func() bool { return g.inLog(0) })
	}
	more(g)
	leave()
	last := ""
	g.await("what bad plugins hold", func() bool {
		now := used()
		if why := now.over(g.before); why != last {
			t.Logf("held: %s", why)
			last = why
		}
		return last == ""
	})
	begin := time.Now()
	g.Stop()
	// An overloaded machine may take longer; the campaign has a machine of its own.
	if took := time.Since(begin); took > grace && (long() || took > maxWait) {
		t.Errorf("the server took %s to stop, %s are its grace time", took, grace)
	}
	t.Logf("%s: %d attempts to pass the guards, %d other requests", first.Kind, g.attempts.Load(), g.served.Load())
}

// grace is the time limit for stopping the server.
const grace = 30 * time.Second

// figures are the durations of requests that do not involve the faulty plugin, without and with
// one.
type figures struct {
	quiet, busy times
	// slower are the faults with which the 99th percentile was more than twice that of the quiet
	// time before.
	slower []string
}

// quietTime is how long requests are measured without a faulty plugin before each fault.
const quietTime = 3 * time.Second

// measure installs and removes a faulty plugin. In the campaign, it also measures.
func (f *figures) measure(g *guardedServer, name string, bad plugintest.Bad, swap bool) {
	if !long() {
		g.install(bad, swap)
		return
	}
	g.times()
	time.Sleep(quietTime)
	quiet := g.times()
	begin := time.Now()
	g.install(bad, swap)
	took := time.Since(begin)
	busy := g.times()
	f.quiet.admin, f.quiet.logins = append(f.quiet.admin, quiet.admin...), append(f.quiet.logins, quiet.logins...)
	f.busy.admin, f.busy.logins = append(f.busy.admin, busy.admin...), append(f.busy.logins, busy.logins...)
	g.t.Logf("%s took %s", name, took.Round(time.Millisecond))
	admin, logins := compare(g.t, "requests of an administrator", busy.admin, quiet.admin), compare(g.t, "logins", busy.logins, quiet.logins)
	if admin > 2 || logins > 2 {
		f.slower = append(f.slower, fmt.Sprintf("%s %.1f and %.1f", name, admin, logins))
	}
}

// compare prints the durations of requests with and without a faulty plugin, and returns the ratio
// of their 99th percentiles.
func compare(t *testing.T, what string, busy, quiet []time.Duration) float64 {
	ratio := float64(percentile(busy, 99)) / float64(max(percentile(quiet, 99), 1))
	t.Logf("%s: p50 %s and p99 %s of %d, without bad plugins %s and %s of %d: %.1f times",
		what, percentile(busy, 50), percentile(busy, 99), len(busy), percentile(quiet, 50), percentile(quiet, 99), len(quiet), ratio)
	return ratio
}

// most is the tolerated slowdown of requests on a shared machine.
const most = 8

// print prints the measurements. The campaign fails if requests are much slower; how much depends
// on the machine.
func (f *figures) print(t *testing.T) {
	if !long() {
		return
	}
	admin, logins := compare(t, "all requests of an administrator", f.busy.admin, f.quiet.admin), compare(t, "all logins", f.busy.logins, f.quiet.logins)
	t.Logf("more than twice, for administrators and logins: %d: %s", len(f.slower), strings.Join(f.slower, ", "))
	if ratio := max(admin, logins); ratio > most {
		t.Errorf("requests that touch no bad plugin are %.1f times slower, %d is the most", ratio, most)
	}
}

// percentile returns the n-th percentile of durations.
func percentile(list []time.Duration, n int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)*n/100, len(list)-1)].Round(10 * time.Microsecond)
}
