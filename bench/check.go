// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.org/app/bench/process"
	"example.org/app/bench/websocket"
	"example.org/app/internal/plugin/java"
)

type checkOptions struct {
	baseline string
	renew    bool
	load     clientOptions
}

// A costFigure is a cost in the baseline. Less is better.
type costFigure struct {
	Value float64 `json:"value"`
	// Tolerance is the share by which a run may exceed it; 0 for counts.
	Tolerance float64 `json:"tolerance"`
}

// Tolerances of figures: of processor time relative to another one of the same run, and of memory.
const (
	exactly       = 0
	timeTolerance = 0.20
	fewTolerance  = 0.10
)

// costs are the figures of a run by name.
type costs map[string]costFigure

func (c costs) note(name string, value, tolerance float64) {
	c[name] = costFigure{round(value), tolerance}
}

// round rounds to three digits, which is as precise as measurements get.
func round(value float64) float64 {
	var rounded float64
	if _, err := fmt.Sscan(fmt.Sprintf("%.3g", value), &rounded); err != nil {
		return value
	}
	return rounded
}

// check measures the costs of the server and compares them with the baseline. Processor times are
// relative to a request to a bare net/http handler, which is measured alternately, so that they are
// comparable between machines.
func check(ctx context.Context, o checkOptions) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := o.load.app
	if app == "" {
		if app, err = buildApp(ctx, dir); err != nil {
			return err
		}
	}
	c := costs{}
	for _, part := range []func() error{
		func() error { return c.ofRequests(ctx, app, filepath.Join(dir, "requests"), o.load) },
		func() error { return c.counted(ctx, app, filepath.Join(dir, "counted"), o.load.duration) },
		func() error { return c.ofPlugins(ctx, o.load) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	if o.renew {
		return c.write(o.baseline)
	}
	return c.compare(o.baseline)
}

// fewSessions and manySessions are the numbers of idle sessions whose memory is compared. The first
// sessions make the server allocate memory for further ones.
const fewSessions, manySessions = 1000, 5000

// ofRequests measures requests of administrators and clients, sessions and starts.
func (c costs) ofRequests(ctx context.Context, app, dir string, o clientOptions) error {
	database := "sqlite:" + filepath.Join(dir, "data", "app.db")
	if err := fillClients(ctx, database, max(manySessions, 2*o.pairs, groupSize)); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	admin, bare, _, err := adminServers(ctx, app, filepath.Join(dir, "admin"), func(args ...string) []string { return args })
	if err != nil {
		return err
	}
	defer admin.stop()
	defer bare.stop()
	// unit returns the CPU of a request to the bare handler.
	unit := func() float64 { return float64(load(bare, adminRequest, 32, o.duration/2).cpu) }
	unit() // warm up

	var starts, startMemory []float64
	begin := func() (*server, error) {
		before := unit()
		s, err := startAll(ctx, app, dir, "PASSWORD", "--set=app.store.url="+database)
		if err != nil {
			return nil, err
		}
		used, _ := process.CPU(s.pid)
		memory, err := process.Resident(s.pid)
		starts, startMemory = append(starts, float64(used)/before), append(startMemory, float64(memory)/(1<<20))
		return s, err
	}
	for range max(o.rounds, 3) {
		s, err := begin()
		if err != nil {
			return err
		}
		s.stop()
	}
	s, err := begin()
	if err != nil {
		return err
	}
	defer s.stop()
	c.note("start, CPU in bare requests", mid(starts), timeTolerance)
	c.note("start, MB resident", mid(startMemory), fewTolerance)

	session, err := sessionMemory(s)
	if err != nil {
		return err
	}
	c.note(fmt.Sprintf("idle session of %d, KB resident", manySessions), session, timeTolerance)

	pairs, err := newExchange(s, o.pairs)
	if err != nil {
		return err
	}
	defer pairs.close()
	var requests, messages, deliveries []float64
	for round := range o.rounds + 1 {
		base := unit()
		request := load(admin, adminRequest, 32, o.duration/2)
		message, err := pairs.run(s, o.window, 0, o.duration)
		if err != nil {
			return err
		}
		if round == 0 { // warm-up
			continue
		}
		requests = append(requests, float64(request.cpu)/base)
		messages = append(messages, float64(message.cpu)/base)
	}
	// The members of the group are the same users, with one session each.
	for round := range o.rounds + 1 {
		base := unit()
		delivery, err := fanOut(s, o, groupID, groupSize)
		if err != nil {
			return err
		}
		if round > 0 {
			deliveries = append(deliveries, float64(delivery.cpu)/base)
		}
	}
	c.note("admin request, CPU in bare requests", mid(requests), timeTolerance)
	c.note("private message, CPU in bare requests", mid(messages), timeTolerance)
	c.note("delivery in a group, CPU in bare requests", mid(deliveries), timeTolerance)
	return nil
}

// sessionMemory returns the memory of an idle session in KB.
func sessionMemory(s *server) (float64, error) {
	var resident []int64
	var sockets []*websocket.Socket
	defer func() { disconnect(sockets) }()
	for _, n := range []int{fewSessions, manySessions} {
		more, err := connect(s, len(sockets), n-len(sockets), 64)
		sockets = append(sockets, more...)
		if err != nil {
			return 0, err
		}
		time.Sleep(settleTime)
		bytes, err := process.Resident(s.pid)
		if err != nil {
			return 0, err
		}
		resident = append(resident, bytes)
	}
	return float64(resident[1]-resident[0]) / (manySessions - fewSessions) / 1024, nil
}

// ofPlugins measures calls of plugins relative to the bare engine and the bare pipe.
func (c costs) ofPlugins(ctx context.Context, o clientOptions) error {
	cost, err := transform(ctx, o)
	if err != nil {
		return err
	}
	c.note("JavaScript call, CPU in calls of the bare engine", cost, timeTolerance)
	ratios, err := tracingJS(ctx, o.rounds)
	if err != nil {
		return err
	}
	c.noteTracing("JavaScript", ratios)
	if _, err := java.Find(ctx, ""); err != nil {
		fmt.Printf("\nNot measured: calls of Java plugins: %v\n", err)
		return nil
	}
	if cost, err = benchJava(ctx, o.duration/3, o.rounds); err != nil {
		return err
	}
	c.note("Java call, CPU in calls of the bare pipe", cost, timeTolerance)
	if ratios, err = tracingJava(ctx, o.duration/3, o.rounds); err != nil {
		return err
	}
	c.noteTracing("Java", ratios)
	return nil
}

// noteTracing records the cost of tracing and a split for calls of a language.
func (c costs) noteTracing(language string, ratios []float64) {
	c.note(language+" call with traces off, CPU in calls without a recorder", ratios[1], fewTolerance)
	c.note(language+" call with 1 % traced, CPU in calls without a recorder", ratios[2], fewTolerance)
	c.note(language+" call through a split, CPU in calls without one", ratios[3], fewTolerance)
}

func (c costs) write(path string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// errWorse means that a cost exceeds the baseline.
var errWorse = errors.New("the server costs more than the baseline allows")

// compare prints the figures next to those of the baseline.
func (c costs) compare(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	baseline := costs{}
	if err := json.Unmarshal(text, &baseline); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rows, worse := c.beside(baseline)
	table("What the server costs", []string{"figure", "baseline", "now", "ratio", "allowed", ""}, rows)
	if worse {
		return errWorse
	}
	return nil
}

// beside compares figures with those of a baseline, and reports whether one is worse.
func (c costs) beside(baseline costs) (rows [][]string, worse bool) {
	show := func(value float64) string { return fmt.Sprintf("%.3g", value) }
	for _, name := range slices.Sorted(maps.Keys(c)) {
		now := c[name]
		then, known := baseline[name]
		if !known {
			rows = append(rows, []string{name, "", show(now.Value), "", "", "new: write the baseline anew"})
			continue
		}
		verdict := ""
		switch {
		case now.Value > then.Value*(1+then.Tolerance):
			verdict, worse = "**worse**", true
		case now.Value < then.Value*(1-then.Tolerance):
			verdict = "better: write the baseline anew"
		}
		rows = append(rows, []string{
			name, show(then.Value), show(now.Value), fmt.Sprintf("%.2f", now.Value/then.Value), fmt.Sprintf("%.2f", 1+then.Tolerance), verdict,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(baseline)) {
		if _, measured := c[name]; !measured {
			rows = append(rows, []string{name, show(baseline[name].Value), "", "", "", "not measured"})
		}
	}
	return rows, worse
}

// mid returns the median.
func mid[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
