// SPDX-License-Identifier: Apache-2.0

package app

import (
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin/java"
)

// newJavaHost runs plugins in Java. Nothing is started before the first of them comes.
func (a *App) newJavaHost(c config.JavaPlugins) (*java.Host, error) {
	host, err := java.New(java.Options{
		Home: c.Home, MaxHeap: c.MaxHeap, MaxPending: int(c.MaxPendingCalls),
		Strict: c.DuplicateClassLoadStrategy == config.DuplicateClassThrowException,
		Debug:  java.Debug{Port: int(c.Debug.Port), Suspend: c.Debug.Suspend},
		Server: a.pluginServer(), Log: a.logger,
		HookTimeout: func() time.Duration { return time.Duration(a.pluginSettings().HookTimeoutMillis) * time.Millisecond },
		Broken:      func(id, class, why string) { a.plugins.manager.Quarantine(id, class, why) },
		// Plugins are trusted to stop the server.
		Exit: func(string, int) { a.AskForShutdown() },
	})
	if err != nil {
		return nil, err
	}
	a.metrics.RegisterJava(func() metrics.JavaReading {
		s := host.Stats()
		return metrics.JavaReading{
			Up: s.Up, Restarts: s.Restarts, Resident: s.Resident, HeapUsed: s.HeapUsed, HeapCommitted: s.HeapCommitted, Metaspace: s.Metaspace, Calls: s.Calls,
		}
	})
	return host, nil
}
