// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/remote"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/plugin/js/inspector"
)

// newJavaHost returns the host for plugins in Java. It starts no JVM before the first of them
// is loaded.
func (p *Plugins) newJavaHost(c config.JavaPlugins) (*java.Host, error) {
	opts := java.Options{
		Home: c.Home, Data: c.DataDir, Isolation: java.Isolation(c.Isolation), MaxHeap: c.MaxHeap, MaxPending: int(c.MaxPendingCalls),
		Spare: c.Spare, Nice: int(c.Nice), ClassCache: c.ClassCacheDir, MakeClassCache: true,
		CrashReports: c.CrashReportDir,
		Strict:       c.DuplicateClassLoadStrategy == config.DuplicateClassThrowException,
		Flags:        strings.Fields(c.JVMOptions),
		Debug:        java.Debug{Port: int(c.Debug.Port), Suspend: c.Debug.Suspend},
		Server:       p.opts.Server, Log: p.opts.Logger, LogLines: p.logLines,
		HookTimeout: func() time.Duration { return time.Duration(p.opts.Settings().HookTimeoutMillis) * time.Millisecond },
		Broken: func(m plugin.Module, class, why string, again bool) {
			p.Recovery.QuarantineModule(m, class, why, again)
		},
		// Plugins may stop the server.
		Exit:       func(_ string, status int) { p.opts.Exit(status) },
		RefuseExit: !c.AllowExit,
		MaxMemory:  func() int64 { return p.opts.Settings().Limits.Memory },
	}
	if p.opts.Recorder != nil {
		opts.Chunks = p.opts.Recorder.Accept
	}
	host, err := java.New(opts)
	if err != nil {
		return nil, err
	}
	if p.opts.Recorder != nil {
		p.opts.Recorder.Join(host)
	}
	p.opts.Metrics.RegisterJava(func() metrics.JavaReading {
		s := host.Stats()
		return metrics.JavaReading{
			Up: s.Up, Processes: s.JVMs, Spares: min(s.Spare, 1), Restarts: s.Restarts, Resident: s.Resident, HeapUsed: s.HeapUsed, HeapCommitted: s.HeapCommitted, Metaspace: s.Metaspace, Calls: s.Calls,
		}
	})
	return host, nil
}

// limited reports whether plugins are limited to what their descriptors declare.
func (p *Plugins) limited() bool { return p.opts.Config.Plugin.Grants.Mode != config.GrantsOpen }

// logLines returns the maximum number of one plugin's log lines per second.
func (p *Plugins) logLines() int { return int(p.opts.Settings().Limits.LogLinesPerSecond) }

// newScriptHost returns the host for plugins in JavaScript, which may use Java classes.
func (p *Plugins) newScriptHost(ctx context.Context, c config.JavaScriptPlugins, java remote.Host) (plugin.Host, error) {
	opts := js.Options{
		Points: plugin.Points, Log: p.opts.Logger, LogLines: p.logLines, MemoryLimit: c.MemoryLimit, StackSize: c.StackSize, MaxFetches: int(c.MaxFetches), Lanes: int(c.MaxComputing), Server: p.opts.Server, Java: java,
		Limited: p.limited(),
		Inspect: p.inspect,
	}
	if p.opts.Granted != nil {
		opts.Waits = p.opts.Granted.Waits
	}
	if c.Debug.Enabled {
		debuggers, err := inspector.Listen(ctx, inspector.Options{Host: c.Debug.InspectHost, Port: int(c.Debug.InspectPort), Log: p.opts.Logger})
		if err != nil {
			return nil, err
		}
		p.debuggers, opts.Inspector = debuggers, debuggers
		opts.Debugged = c.Debug.Plugins
		opts.WaitToLoad = c.Debug.Wait == config.DebugWaitLoad
	}
	if p.opts.Scripts != nil {
		p.opts.Scripts(&opts)
	}
	return js.New(opts)
}

// inspect opens the local address where debuggers attach to plugins for which an administrator has
// enabled it.
func (p *Plugins) inspect(ctx context.Context) (*inspector.Server, error) {
	p.inspecting.Lock()
	defer p.inspecting.Unlock()
	if p.debuggers == nil {
		port := int(p.opts.Config.Plugin.JavaScript.Debug.InspectPort)
		debuggers, err := inspector.Listen(ctx, inspector.Options{Host: "127.0.0.1", Port: port, Log: p.opts.Logger})
		if err != nil {
			return nil, err
		}
		p.debuggers = debuggers
	}
	if !p.debuggers.IsLocal() {
		return nil, errors.New("other machines reach app.plugin.js.debug.inspect-host, so only the plugins that the configuration names can be debugged")
	}
	return p.debuggers, nil
}
