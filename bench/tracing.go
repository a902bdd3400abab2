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

// tracedShare is the share of recorded requests in the measurements.
const tracedShare = 0.01

// splitPercentage is the percentage of callingUsers that use the candidate in the measurement of a
// split.
const splitPercentage, callingUsers = 10, 100

// benchTracing measures the cost of call tracing for plugins: enabled, with some calls recorded,
// and with another version for some users.
func benchTracing(ctx context.Context, duration time.Duration, rounds int) error {
	if _, err := tracingJS(ctx, rounds); err != nil {
		return err
	}
	_, err := tracingJava(ctx, duration, rounds)
	return err
}

// A tracedWay is a way to call plugins. The first of several is the baseline.
type tracedWay struct {
	name    string
	manager *plugin.Manager
	// share is the share of recorded requests.
	share float64
}

// tracedManagers are managers without call tracing, with it, and with two versions of a plugin.
type tracedManagers struct{ without, with, split *plugin.Manager }

// ways returns calls without tracing, with tracing but no recorded calls, with a share of recorded
// calls, and through a split.
func (m *tracedManagers) ways() []tracedWay {
	return []tracedWay{
		{"without a recorder", m.without, 0},
		{"nothing is recorded", m.with, 0},
		{"1 % of the requests are recorded", m.with, tracedShare},
		{"10 % of the users get another version", m.split, 0},
	}
}

// start starts a plugin in each manager. host returns a new host.
func (m *tracedManagers) start(ctx context.Context, host func() (plugin.Host, error), source plugin.Source) error {
	for _, one := range []struct {
		manager  **plugin.Manager
		recorder *trace.Recorder
	}{{&m.without, nil}, {&m.with, trace.NewRecorder(config.Default().Plugin.Traces)}, {&m.split, nil}} {
		h, err := host()
		if err != nil {
			return err
		}
		if *one.manager, err = managerOf(ctx, h, source, one.recorder); err != nil {
			return err
		}
		if one.manager == &m.split {
			if _, err := m.split.Trials.Try(ctx, h.Language(), source, plugin.Split{Percentage: splitPercentage}); err != nil {
				return err
			}
		}
	}
	return nil
}

// close closes the started managers.
func (m *tracedManagers) close(ctx context.Context) (err error) {
	for _, one := range []*plugin.Manager{m.without, m.with, m.split} {
		if one != nil {
			err = errors.Join(err, one.Close(context.WithoutCancel(ctx)))
		}
	}
	return err
}

// call returns a call of the plugin as the server makes it. Each call has a new request id and the
// next user.
func (w tracedWay) call(ctx context.Context) func() error {
	if r := w.manager.Calls.Traces(); r != nil {
		s := config.Default().Plugin.Traces
		s.SampleRate = w.share
		r.Configure(s)
	}
	var last atomic.Int64
	requests := make([]*plugin.ClientRequest, callingUsers)
	for i := range requests {
		requests[i] = javaRequest()
		requests[i].UserID = int64(i + 1)
	}
	return func() error {
		ctx, id := ctx, last.Add(1)
		request := requests[id%callingUsers]
		if w.manager.Calls.Recording() {
			ctx = plugin.ForRequest(ctx, request.UserID, id, wire.KindCreateMessage)
		}
		r, err := plugin.Pass(ctx, w.manager.Calls, plugin.TransformRequest, request)
		if err == nil && !strings.HasSuffix(r.Request.GetCreateMessageRequest().GetText(), "!") {
			err = errors.New("the plugin was passed by")
		}
		return err
	}
}

// compareTracing alternates between the ways, so that other load on the machine affects all alike,
// and returns for each the median ratio of CPU per call to that of the baseline in the same round.
func compareTracing(title string, ways []tracedWay, rounds int, measure func(tracedWay) (time.Duration, error)) ([]float64, error) {
	spent, ratios := make([][]time.Duration, len(ways)), make([][]float64, len(ways))
	for round := range rounds + 1 {
		for i, w := range ways {
			cpu, err := measure(w)
			if err != nil {
				return nil, err
			}
			if round == 0 { // The first round warms up.
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

// managerOf returns a manager with a host and a started plugin.
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

// tracedTurn is the number of calls per turn of a script, and tracedTurns the number of turns per
// round of other benchmarks.
const tracedTurn, tracedTurns = 4000, 20

// tracingJS measures the cost of tracing per call of a script.
func tracingJS(ctx context.Context, rounds int) (ratios []float64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // The server uses as high a percentage for small heaps.
	var m tracedManagers
	defer func() { err = errors.Join(err, m.close(ctx)) }()
	host := func() (plugin.Host, error) { return js.New(js.Options{Points: plugin.Points}) }
	if err := m.start(ctx, host, plugin.Source{Name: "bench.js", Data: pluginScript(1)}); err != nil {
		return nil, err
	}
	return compareTracing("Tracing of JavaScript plugins", m.ways(), rounds*tracedTurns, func(w tracedWay) (time.Duration, error) {
		took, err := repeat(tracedTurn, w.call(ctx))
		return took.cpu / tracedTurn, err
	})
}

// tracingJava measures the cost of tracing per call of a Java plugin, including the JVM's.
func tracingJava(ctx context.Context, duration time.Duration, rounds int) (ratios []float64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // The server uses as high a percentage for small heaps.
	before := runtime.GOMAXPROCS(runtime.NumCPU())     // The server runs in this process.
	defer runtime.GOMAXPROCS(before)
	jar, err := javaJar(ctx)
	if err != nil {
		return nil, err
	}
	host, err := java.New(java.Options{})
	if err != nil {
		return nil, err
	}
	var m tracedManagers
	defer func() { err = errors.Join(err, m.close(ctx), host.Close(context.WithoutCancel(ctx))) }()
	shared := func() (plugin.Host, error) { return sharedHost{host}, nil }
	if err := m.start(ctx, shared, plugin.Source{Name: "bench.jar", Data: jar}); err != nil {
		return nil, err
	}
	pid := host.Stats().PID
	return compareTracing("Tracing of Java plugins", m.ways(), 2*rounds, func(w tracedWay) (time.Duration, error) {
		r, err := callAll(pid, javaCostCallers, duration, w.call(ctx))
		return r.cpu + r.jvm, err
	})
}

// A sharedHost is a host that a manager does not close, because two JVMs would not compile the same
// code alike.
type sharedHost struct{ plugin.Host }

// Close does nothing.
func (sharedHost) Close(context.Context) error { return nil }
