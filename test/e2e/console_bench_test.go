// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// BenchmarkConsole measures latencies of the console in the browser.
func BenchmarkConsole(b *testing.B) {
	server := startConsole(b)
	p := openConsole(b, server.ConsoleURL(), server.URL(role.Service))
	p.login("app", "app")
	b.Run("settings search", func(b *testing.B) { benchSearch(b, p) })
	b.Run("log tail", func(b *testing.B) { benchTail(b, p, filepath.Join(server.Config().Current().Home(), "log")) })
	for _, users := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprintf("page of %d users", users), func(b *testing.B) {
			server := apptest.Start(b, role.All, "app.service.fake.enabled=true", fmt.Sprintf("app.service.fake.user-count=%d", users))
			p := openConsole(b, server.ConsoleURL(), server.URL(role.Service))
			p.login("app", "app")
			benchPage(b, p)
		})
	}
}

// await evaluates an expression whose value is a promise.
func await[T any](p *page, js string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", js, err)
	}
	return v
}

// report reports the median and the maximum of durations in milliseconds.
func report(b *testing.B, millis []float64, unit string) {
	slices.Sort(millis)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(millis[len(millis)/2], "p50-ms/"+unit)
	b.ReportMetric(millis[len(millis)-1], "max-ms/"+unit)
}

// benchSearch types into the search of the settings and waits for the frame with the results. A
// first round finds out what they are.
func benchSearch(b *testing.B, p *page) {
	p.open("cluster/settings")
	p.wait("document.querySelector('[data-setting-count]')")
	var times []float64
	for range b.N {
		times = append(times, await[[]float64](p, `(async () => {
			const input = document.querySelector('[name=setting-search]')
			const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
			const found = () => document.querySelector('[data-setting-count]').innerText
			const type = text => { set.call(input, text); input.dispatchEvent(new Event('input', { bubbles: true })) }
			const frame = () => new Promise(requestAnimationFrame)
			const wait = ms => new Promise(r => setTimeout(r, ms))
			const texts = [...'timeout'].map((_, i, all) => all.slice(0, i + 1).join('')).concat('rate', 'rate lim', 'plugin', 'plugin java', 'x')
			const want = {}
			for (const text of texts) { type(text); await wait(400); want[text] = found() }
			type('qqqq'); await wait(400)
			const times = []
			for (const text of texts) {
				if (found() === want[text]) continue
				await frame()
				const begin = performance.now()
				type(text)
				while (found() !== want[text]) await frame()
				times.push(performance.now() - begin)
				await wait(100)
			}
			return times
		})()`)...)
	}
	report(b, times, "key")
}

// benchTail writes 1,000 lines per second to a log that the page follows, and measures the frame
// times.
func benchTail(b *testing.B, p *page, folder string) {
	file, err := os.Create(filepath.Join(folder, "bench.log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	p.open("logs?path=bench.log")
	p.wait("document.querySelector('[role=log]')")
	var frames []float64
	lines := 0
	for range b.N {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			ticker := time.NewTicker(10 * time.Millisecond)
			defer ticker.Stop()
			w := bufio.NewWriter(file)
			for {
				select {
				case <-stop:
					return
				case now := <-ticker.C:
					for range 10 {
						lines++
						fmt.Fprintf(w, "time=%s level=INFO msg=\"a line of the log, as long as most of them are\" line=%d\n", now.Format(time.RFC3339Nano), lines)
					}
					_ = w.Flush()
				}
			}
		}()
		frames = append(frames, await[[]float64](p, `(async () => {
			const frames = []
			for (let last = performance.now(), end = last + 10000; last < end;) {
				await new Promise(requestAnimationFrame)
				frames.push(performance.now() - last)
				last = performance.now()
			}
			return frames
		})()`)...)
		close(stop)
		<-done
	}
	p.wait(fmt.Sprintf("[...document.querySelectorAll('.logline')].some(e => e.innerText.endsWith('line=%d'))", lines))
	b.ReportMetric(float64(lines)/float64(b.N)/10, "lines/s")
	report(b, frames, "frame")
}

// benchPage opens the list of users.
func benchPage(b *testing.B, p *page) {
	var times []float64
	for range b.N {
		for _, path := range []string{"users", "users?page=3", "users?isActive=true"} {
			p.open("groups")
			p.wait("document.querySelector('[data-resource=groups] [data-row]')")
			times = append(times, await[float64](p, fmt.Sprintf(`(async () => {
				const begin = performance.now()
				history.pushState({}, '', document.baseURI + %s)
				dispatchEvent(new PopStateEvent('popstate'))
				while (!document.querySelector('[data-resource=users] [data-row]')) await new Promise(requestAnimationFrame)
				return performance.now() - begin
			})()`, quote(path))))
		}
	}
	report(b, times, "page")
}
