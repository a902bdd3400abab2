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

// startWatchdog tells the black box of what goes wrong with the process as a whole.
func (a *App) startWatchdog(context.Context) error {
	a.lifecycle.add(part{name: "watchdog", run: a.watch})
	// From now on, not only when the goroutine runs.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	a.lifecycle.add(part{name: "SIGQUIT", run: func(ctx context.Context) error { return a.awaitQuit(ctx, quit) }})
	return nil
}

// watch looks at the health of the parts, and reports when one fails that did not before.
func (a *App) watch(ctx context.Context) error {
	failing := ""
	for {
		if sleep.For(ctx, time.Duration(a.live.Current().HealthCheck.CheckIntervalSeconds)*time.Second) != nil {
			return nil
		}
		if !a.live.Current().FlightRecorder.Continuous.Enabled {
			continue // Nobody wants to know.
		}
		var names []string
		for _, p := range a.health.Report(ctx).Failing() {
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
func (a *App) awaitQuit(ctx context.Context, quit chan os.Signal) error {
	defer signal.Stop(quit)
	select {
	case <-ctx.Done():
		return nil
	case <-quit:
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		_, _ = a.recorder.Keep(event.Incident{Reason: event.Quit}) // It is logged.
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
