// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/sleep"
)

// start triggers the black box on failures of the process as a whole.
func (p *watchdog) start(context.Context) error {
	p.Process.lifecycle.add(part{name: "watchdog", run: p.watch})
	// From now on, not only once the goroutine runs.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	p.Process.lifecycle.add(part{name: "SIGQUIT", run: func(ctx context.Context) error { return p.awaitQuit(ctx, quit) }})
	return nil
}

// watch monitors the health of the parts, and reports new failures.
func (p *watchdog) watch(ctx context.Context) error {
	failing := ""
	for {
		if sleep.For(ctx, time.Duration(p.Process.live.Current().HealthCheck.CheckIntervalSeconds)*time.Second) != nil {
			return nil
		}
		if !p.Process.live.Current().FlightRecorder.Continuous.Enabled {
			continue // Disabled.
		}
		var names []string
		for _, p := range p.Operating.health.Report(ctx).Failing() {
			names = append(names, p.Name)
		}
		now := strings.Join(names, ", ")
		if now != "" && now != failing && ctx.Err() == nil {
			event.Report(event.Incident{Reason: event.HealthCheckFailed, Detail: now})
		}
		failing = now
	}
}

// quitTime is how long the black box may delay the end of the process.
const quitTime = 10 * time.Second

// awaitQuit keeps the black box on SIGQUIT, and then restores the default action of Go: print the
// stacks of all goroutines and exit.
func (p *watchdog) awaitQuit(ctx context.Context, quit chan os.Signal) error {
	defer signal.Stop(quit)
	select {
	case <-ctx.Done():
		return nil
	case <-quit:
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		_, _ = p.Recordings.recorder.Keep(event.Incident{Reason: event.Quit}) // Errors are logged.
	}()
	select {
	case <-kept:
	case <-time.After(quitTime): // What makes the process hang may block the recorder, too.
	}
	signal.Reset(syscall.SIGQUIT)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGQUIT)
}
