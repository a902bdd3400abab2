// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// tracedShare is the share of the requests that are recorded where the cost of that is measured.
const tracedShare = 0.01

// benchTracing measures what it costs calls of plugins that they can be recorded, and that some are.
func benchTracing(ctx context.Context, duration time.Duration, rounds int) error {
	if _, err := tracingJS(ctx, rounds); err != nil {
		return err
	}
	_, err := tracingJava(ctx, duration, rounds)
	return err
}

// A tracedWay is how calls of a plugin are made. The first of several is the baseline.
type tracedWay struct {
	name    string
	manager *plugin.Manager
	// share is the share of the requests that are recorded.
	share float64
}

// tracedWays are calls without what records them, with it while nothing is recorded, and while a share is. managers are one
// without a recorder and one with one.
func tracedWays(without, with *plugin.Manager) []tracedWay {
	return []tracedWay{
		{"without a recorder", without, 0},
		{"nothing is recorded", with, 0},
		{"1 % of the requests are recorded", with, tracedShare},
	}
}

// call returns a call of the plugin as the server makes it. Each has another request id.
func (w tracedWay) call(ctx context.Context) func() error {
	if r := w.manager.Traces(); r != nil {
		s := config.Default().Plugin.Traces
		s.SampleRate = w.share
		r.Configure(s)
	}
	var id atomic.Int64
	request := javaRequest()
	return func() error {
		ctx := ctx
		if w.manager.Recording() {
			ctx = plugin.ForRequest(ctx, request.UserID, id.Add(1), wire.KindCreateMessage)
		}
		r, err := plugin.Pass(ctx, w.manager, plugin.TransformRequest, request)
		if err == nil && !strings.HasSuffix(r.Request.GetCreateMessageRequest().GetText(), "!") {
			err = errors.New("the plugin was passed by")
		}
		return err
	}
}

// compareTracing measures the ways in turns, so that what others do to the machine meets all alike, and returns for each the
// median ratio of CPU of a call to that of the baseline in the same round.
func compareTracing(title string, ways []tracedWay, rounds int, measure func(tracedWay) (time.Duration, error)) ([]float64, error) {
	spent, ratios := make([][]time.Duration, len(ways)), make([][]float64, len(ways))
	for round := range rounds + 1 {
		for i, w := range ways {
			cpu, err := measure(w)
			if err != nil {
				return nil, err
			}
			if round == 0 { // It warms up.
				continue
			}
			spent[i] = append(spent[i], cpu)
			ratios[i] = append(ratios[i], float64(cpu)/float64(spent[0][round-1]))
		}
	}
	var rows [][]string
	result := make([]float64, len(ways))
	for i, w := range ways {
		result[i] = mid(ratios[i])
		rows = append(rows, []string{w.name, nanos(mid(spent[i])), fmt.Sprintf("%.3f", result[i])})
	}
	table(title, []string{"calls", "CPU of one", "ratio of CPU"}, rows)
	return result, nil
}

// managerOf returns a manager with a host and a plugin that is started.
func managerOf(ctx context.Context, host plugin.Host, source plugin.Source, recorder *trace.Recorder) (*plugin.Manager, error) {
	settings := config.Default().Plugin
	m := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Gateway, role.Service}, Hosts: []plugin.Host{host}, Logger: slog.New(slog.DiscardHandler),
		Settings: func() config.Plugin { return settings }, Traces: recorder,
	})
	p, err := m.Load(ctx, host.Language(), source)
	if err != nil {
		return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
	}
	for _, s := range m.Do(ctx, p, plugin.Start) {
		if s.Err != nil {
			return nil, errors.Join(s.Err, m.Close(context.WithoutCancel(ctx)))
		}
	}
	return m, nil
}

// tracedTurn is how many calls of a script a turn has, and tracedTurns how many turns there are for each round of others.
const tracedTurn, tracedTurns = 4000, 20

// tracingJS measures what tracing costs a call of a script.
func tracingJS(ctx context.Context, rounds int) (ratios []float64, err error) {
	managers := make([]*plugin.Manager, 2)
	for i, recorder := range []*trace.Recorder{nil, trace.NewRecorder(config.Default().Plugin.Traces)} {
		host, err := js.New(js.Options{Points: plugin.Points})
		if err != nil {
			return nil, err
		}
		if managers[i], err = managerOf(ctx, host, plugin.Source{Name: "bench.js", Data: pluginScript(1)}, recorder); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, managers[i].Close(context.WithoutCancel(ctx))) }()
	}
	return compareTracing("Tracing of JavaScript plugins", tracedWays(managers[0], managers[1]), rounds*tracedTurns, func(w tracedWay) (time.Duration, error) {
		took, err := repeat(tracedTurn, w.call(ctx))
		return took.cpu / tracedTurn, err
	})
}

// tracingJava measures what tracing costs a call of a Java plugin, that of the JVM included.
func tracingJava(ctx context.Context, duration time.Duration, rounds int) (ratios []float64, err error) {
	before := runtime.GOMAXPROCS(runtime.NumCPU()) // Here the server itself is in this process.
	defer runtime.GOMAXPROCS(before)
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // The server gives a small heap as much room.
	jar, err := javaJar(ctx)
	if err != nil {
		return nil, err
	}
	host, err := java.New(java.Options{})
	if err != nil {
		return nil, err
	}
	source := plugin.Source{Name: "bench.jar", Data: jar}
	without, err := managerOf(ctx, host, source, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, without.Close(context.WithoutCancel(ctx))) }()
	with, err := managerOf(ctx, sharedHost{host}, source, trace.NewRecorder(config.Default().Plugin.Traces))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, with.Close(context.WithoutCancel(ctx))) }()
	pid := host.Stats().PID
	return compareTracing("Tracing of Java plugins", tracedWays(without, with), 2*rounds, func(w tracedWay) (time.Duration, error) {
		r, err := callAll(pid, javaCostCallers, duration, w.call(ctx))
		return r.cpu + r.jvm, err
	})
}

// A sharedHost is the host of another manager, which closes it: two JVMs would not have compiled the same code alike.
type sharedHost struct{ plugin.Host }

// Close does nothing.
func (sharedHost) Close(context.Context) error { return nil }
