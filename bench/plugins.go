// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/bench/talk"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// swapRate is the number of requests per second while a plugin is replaced.
const swapRate = 5000

// pluginFunction is the function of the measured plugin and of the bare engine.
const pluginFunction = `
  transform(request) {
    const create = request.request.createMessageRequest;
    if (create?.text) create.text = create.text + '!';
    return request;
  }`

// pluginScript returns a plugin with that function.
func pluginScript(version int) []byte {
	return fmt.Appendf(nil, `
class Transformer extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }%s
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'bench', version: '%d' }; }
  getExtensions() { return [Transformer]; }
}`, pluginFunction, version)
}

// plugins measures the cost of plugins.
func plugins(ctx context.Context, o clientOptions) error {
	fmt.Println("\n## Plugins")
	if _, err := transform(ctx, o); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := buildApp(ctx, dir)
	if err != nil {
		return err
	}
	if err := withoutPlugins(ctx, app, dir, o); err != nil {
		return err
	}
	return hotSwap(ctx, app, dir, o)
}

// transform compares calls of ClientRequestHandler.transform through the whole request path, and of
// the host alone, with the same function on the bare engine. It returns the ratio of CPU of the
// former to the latter.
func transform(ctx context.Context, o clientOptions) (cost float64, err error) {
	text := "hello, this is a text message"
	request := &plugin.ClientRequest{
		UserID: 1234567890123456789, DeviceType: wire.DeviceType_ANDROID, ClientIP: "127.0.0.1", RequestID: 987654321,
		Request: &wire.AppRequest{
			RequestId: proto.Int64(987654321),
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
				MessageId: proto.Int64(55), RecipientId: proto.Int64(1234567890123456780), DeliveryDate: proto.Int64(1700000000000), Text: &text,
			}},
		},
	}
	manager, err := newManager(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, manager.Close(ctx)) }()
	bare, err := newBare()
	if err != nil {
		return 0, err
	}
	defer bare.close()
	host, err := js.New(js.Options{Points: plugin.Points})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, host.Close(ctx)) }()
	module, err := host.Load(ctx, plugin.Source{Name: "bench.js", Data: pluginScript(1)})
	if err != nil {
		return 0, err
	}
	calls := []struct {
		name string
		call func() (*plugin.ClientRequest, error)
	}{
		{"bare engine", func() (*plugin.ClientRequest, error) { return bare.transform(request), nil }},
		{"host alone", func() (r *plugin.ClientRequest, err error) {
			_, err = module.Extensions()[0].Call(ctx, plugin.TransformRequest, []any{request}, &r)
			return r, err
		}},
		{"whole mechanism", func() (*plugin.ClientRequest, error) {
			if !manager.Calls.Has(plugin.TransformRequest) {
				return nil, errors.New("the plugin is not there")
			}
			return plugin.Pass(ctx, manager.Calls, plugin.TransformRequest, request)
		}},
	}
	spent := make([]spending, len(calls))
	begin := time.Now()
	// Turns are short, so that other load on the machine affects all alike. The first second warms
	// up.
	for time.Since(begin) < time.Duration(o.rounds)*o.duration+time.Second {
		if time.Since(begin) < time.Second {
			clear(spent)
		}
		for i, c := range calls {
			took, err := repeat(turnCalls, func() error {
				r, err := c.call()
				if err == nil && len(r.Request.GetCreateMessageRequest().GetText()) != len(text)+1 {
					err = errors.New("the text was not changed")
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			spent[i].wall += took.wall
			spent[i].cpu += took.cpu
			spent[i].calls += turnCalls
		}
	}
	var rows [][]string
	for i, c := range calls {
		s := spent[i]
		rows = append(rows, []string{
			c.name, fmt.Sprint(s.calls), nanos(s.wall / time.Duration(s.calls)), nanos(s.cpu / time.Duration(s.calls)),
			fmt.Sprintf("%.2f", float64(s.cpu)/float64(spent[0].cpu)),
		})
	}
	table("ClientRequestHandler.transform with a text message", []string{"way", "calls", "time of one", "CPU of one", "ratio of CPU"}, rows)
	return float64(spent[len(calls)-1].cpu) / float64(spent[0].cpu), nil
}

// turnCalls is the number of calls per turn.
const turnCalls = 500

// newManager returns a manager with the started plugin, as in a server.
func newManager(ctx context.Context) (*plugin.Manager, error) {
	host, err := js.New(js.Options{Points: plugin.Points})
	if err != nil {
		return nil, err
	}
	live, registry := config.Default(), metrics.New(metrics.BuildInfo{})
	m := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Gateway, role.Service}, Hosts: []plugin.Host{host}, Logger: slog.New(slog.DiscardHandler),
		Settings: func() config.Plugin { return live.Plugin },
		Observe: func(p *plugin.Plugin, extension string, m *plugin.Method, d time.Duration, outcome string) {
			registry.Plugins().Observe(p.ID, extension, m.Point.Name, m.Name, outcome, d)
		},
	})
	p, err := m.Load(ctx, plugin.JavaScript, plugin.Source{Name: "bench.js", Data: pluginScript(1)})
	if err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	for _, s := range m.Do(ctx, p, plugin.Start) {
		if s.Err != nil {
			return nil, errors.Join(s.Err, m.Close(ctx))
		}
	}
	return m, nil
}

// spending is the cost of calls.
type spending struct {
	wall, cpu time.Duration
	calls     int
}

// repeat calls a function in a loop.
func repeat(times int, call func() error) (spending, error) {
	begin, used := time.Now(), ownCPU()
	for range times {
		if err := call(); err != nil {
			return spending{}, err
		}
	}
	return spending{wall: time.Since(begin), cpu: ownCPU() - used}, nil
}

// ownCPU returns the processor time of this process, with a higher resolution than process.CPU.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func nanos(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d.Nanoseconds())/1000) }

// withoutPlugins compares private messages on a server without plugins with one where plugins are
// disabled.
func withoutPlugins(ctx context.Context, app, dir string, o clientOptions) error {
	kinds := []struct{ name, enabled string }{{"plugins disabled", "false"}, {"no plugin loaded", "true"}}
	talks := make([]exchange, len(kinds))
	servers := make([]*server, len(kinds))
	for i, k := range kinds {
		home := filepath.Join(dir, "enabled-"+k.enabled)
		if err := fillClients(ctx, "sqlite:"+filepath.Join(home, "data", "app.db"), max(2*o.pairs, groupSize)); err != nil {
			return fmt.Errorf("make the users: %w", err)
		}
		s, err := startAll(ctx, app, home, "PASSWORD", "--set=app.plugin.enabled="+k.enabled)
		if err != nil {
			return err
		}
		defer s.stop()
		servers[i] = s
		if talks[i], err = newExchange(s, o.pairs); err != nil {
			return err
		}
		defer talks[i].close()
	}
	results := make([][]result, len(kinds))
	for round := range 2*o.rounds + 1 {
		for i := range kinds {
			r, err := talks[i].run(servers[i], o.window, 0, o.duration)
			if err != nil {
				return err
			}
			if round > 0 { // The first round warms up.
				results[i] = append(results[i], r)
			}
		}
	}
	var rows [][]string
	base := medianCPU(results[0])
	for i, k := range kinds {
		m := medianCPU(results[i])
		rows = append(rows, []string{k.name, fmt.Sprintf("%.0f", m.rate), micros(m.cpu), fmt.Sprintf("%.3f", float64(m.cpu)/float64(base.cpu))})
	}
	table("Private messages without plugins", []string{"server", "messages/s", "CPU per message", "ratio of CPU"}, rows)
	return nil
}

// medianCPU returns the round with the median CPU.
func medianCPU(results []result) result {
	slices.SortFunc(results, func(a, b result) int { return int(a.cpu - b.cpu) })
	return results[len(results)/2]
}

// hotSwap replaces a plugin repeatedly while it handles requests of clients. A failed request ends
// the measurement.
func hotSwap(ctx context.Context, app, dir string, o clientOptions) error {
	home := filepath.Join(dir, "swap")
	if err := fillClients(ctx, "sqlite:"+filepath.Join(home, "data", "app.db"), max(2*o.pairs, groupSize)); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(home, "plugins"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "plugins", "bench.js"), pluginScript(1), 0o600); err != nil {
		return err
	}
	s, err := startAll(ctx, app, home, "PASSWORD", "--set=app.service.admin-api.http.host=127.0.0.1",
		"--set=app.service.admin-api.rate-limiting.capacity=2000000000", "--set=app.service.admin-api.rate-limiting.initial-tokens=2000000000")
	if err != nil {
		return err
	}
	defer s.stop()
	address := regexp.MustCompile(`service +admin interface +(http://\S+)`).FindStringSubmatch(strings.Join(s.said, "\n"))
	if address == nil {
		return fmt.Errorf("the server did not say where its admin interface is: %q", s.said)
	}
	pairs, err := newExchange(s, o.pairs)
	if err != nil {
		return err
	}
	defer pairs.close()
	duration := time.Duration(o.rounds) * o.duration
	swaps, longest, stop, swapped := 0, time.Duration(0), make(chan struct{}), make(chan error, 1)
	go func() {
		for version := 2; ; version++ {
			select {
			case <-stop:
				swapped <- nil
				return
			default:
			}
			at := time.Now()
			if err := swap(ctx, address[1], version); err != nil {
				swapped <- err
				return
			}
			swaps, longest = swaps+1, max(longest, time.Since(at))
		}
	}()
	r, err := pairs.run(s, talk.MaxWindow, swapRate, duration)
	close(stop)
	if err := errors.Join(err, <-swapped); err != nil {
		return fmt.Errorf("after %d swaps and %d requests: %w", swaps, pairs.Acknowledged(), err)
	}
	table(fmt.Sprintf("Hot swap of a plugin under %d requests/s of clients, for %s", swapRate, duration),
		[]string{"swaps", "longest swap", "requests", "requests/s", "failed"},
		[][]string{{fmt.Sprint(swaps), longest.Round(time.Millisecond).String(), fmt.Sprint(pairs.Acknowledged()), fmt.Sprintf("%.0f", r.rate), "0"}})
	return checkStored(ctx, "sqlite:"+filepath.Join(home, "data", "app.db"), pairs.Acknowledged())
}

// swap replaces the plugin by another version.
func swap(ctx context.Context, address string, version int) error {
	body, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"code": string(pluginScript(version))}}})
	if err != nil {
		return err
	}
	if err := post(ctx, address+"/plugins/js?replace=true", body); err != nil {
		return fmt.Errorf("replace the plugin by version %d: %w", version, err)
	}
	return nil
}
