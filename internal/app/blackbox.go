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

// start tells the black box of what goes wrong with the process as a whole.
func (p *watchdog) start(context.Context) error {
	p.Process.lifecycle.add(part{name: "watchdog", run: p.watch})
	// From now on, not only when the goroutine runs.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	p.Process.lifecycle.add(part{name: "SIGQUIT", run: func(ctx context.Context) error { return p.awaitQuit(ctx, quit) }})
	return nil
}

// watch looks at the health of the parts, and reports when one fails that did not before.
func (p *watchdog) watch(ctx context.Context) error {
	failing := ""
	for {
		if sleep.For(ctx, time.Duration(p.Process.live.Current().HealthCheck.CheckIntervalSeconds)*time.Second) != nil {
			return nil
		}
		if !p.Process.live.Current().FlightRecorder.Continuous.Enabled {
			continue // Nobody wants to know.
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

// quitTime bounds how long the black box delays the end of the process.
const quitTime = 10 * time.Second

// awaitQuit keeps the black box on SIGQUIT, and then lets the signal do what it does in every Go program: print the stacks
// of all goroutines and end the process.
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
		_, _ = p.Recordings.recorder.Keep(event.Incident{Reason: event.Quit}) // It is logged.
	}()
	select {
	case <-kept:
	case <-time.After(quitTime): // What makes the process hang may hold the recorder too.
	}
	signal.Reset(syscall.SIGQUIT)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	return self.Signal(syscall.SIGQUIT)
}
