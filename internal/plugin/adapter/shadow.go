// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/metrics"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
	"example.org/app/internal/scratch"
)

// shadowHost returns a host for a shadow. It has its own JVM, so that a shadow that crashes it
// affects no other plugin, and permits no changes through the server.
func (p *Plugins) shadowHost(l plugin.Language) (plugin.Host, error) {
	c := p.opts.Settings()
	server := shadowServer{p.opts.Server, map[string]bool{}}
	for _, op := range server.Operations() {
		server.reads[op.ID] = op.Reads
	}
	folder, err := scratch.Open("", "app-shadow-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the files of a candidate: %w", err)
	}
	jvm, err := java.New(java.Options{
		Home: c.Java.Home, ClassCache: c.Java.ClassCacheDir, CrashReports: c.Java.CrashReportDir, Data: folder.Path, MaxHeap: c.Java.MaxHeap, MaxPending: int(c.Java.MaxPendingCalls), Nice: int(c.Java.Nice),
		Strict: c.Java.DuplicateClassLoadStrategy == config.DuplicateClassThrowException,
		Flags:  append(strings.Fields(c.Java.JVMOptions), "-Dapp.plugin.shadow=true"), // for Context.shadow of the program in sdk/java
		Server: server, Log: p.opts.Logger, LogLines: p.logLines,
		HookTimeout: func() time.Duration { return time.Duration(p.opts.Settings().HookTimeoutMillis) * time.Millisecond },
		Broken: func(m plugin.Module, class, why string, again bool) {
			p.Recovery.QuarantineModule(m, class, why, again)
		},
		RefuseExit: true,
		MaxMemory:  func() int64 { return p.opts.Settings().Limits.Memory },
	})
	if err != nil {
		return nil, errors.Join(err, folder.Remove())
	}
	h := &shadowHost{Host: jvm, folder: folder}
	if l == plugin.JavaScript {
		opts := js.Options{
			Points: plugin.Points, Log: p.opts.Logger, LogLines: p.logLines, MemoryLimit: c.JavaScript.MemoryLimit, StackSize: c.JavaScript.StackSize,
			MaxFetches: int(c.JavaScript.MaxFetches), Server: server, Java: jvm, Limited: p.limited(),
		}
		if p.opts.Granted != nil {
			opts.Waits = p.opts.Granted.Waits
		}
		if p.opts.Scripts != nil {
			p.opts.Scripts(&opts)
		}
		scripts, err := js.New(opts)
		if err != nil {
			return nil, errors.Join(err, h.Close(context.Background()))
		}
		h.Host, h.jvm = scripts, jvm
	}
	return h, nil
}

// shadowHost is a host for one candidate.
type shadowHost struct {
	plugin.Host
	// jvm provides the Java classes of a script; nil if Host is a Java host.
	jvm plugin.Host
	// folder is for the files of the candidate.
	folder *scratch.Folder
}

// Close implements plugin.Host.
func (h *shadowHost) Close(ctx context.Context) error {
	err := h.Host.Close(ctx)
	if h.jvm != nil {
		err = errors.Join(err, h.jvm.Close(ctx))
	}
	return errors.Join(err, h.folder.Remove())
}

// shadowServer is the server for a shadow: read only.
type shadowServer struct {
	plugin.Server
	// reads are the operations without effects.
	reads map[string]bool
}

// errShadow returns the error for an action that only the active version may take.
func errShadow(what string) error {
	return apierr.New(apierr.Unauthorized, "%s is refused: this version of the plugin runs as a shadow, which changes nothing (see app.shadow)", what)
}

// Node implements plugin.Server.
func (s shadowServer) Node(r role.Role) plugin.Node {
	n := s.Server.Node(r)
	n.Shadow = true
	return n
}

// Call implements plugin.Server.
func (s shadowServer) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	if reads, known := s.reads[operation]; known && !reads {
		return nil, errShadow("the operation " + operation)
	}
	return s.Server.Call(ctx, by, operation, input)
}

// Notify implements plugin.Server.
func (shadowServer) Notify(context.Context, plugin.Descriptor, plugin.Notification) error {
	return errShadow("to notify users")
}

// MeetingEnded implements plugin.Server.
func (shadowServer) MeetingEnded(context.Context, plugin.Descriptor, int64, time.Time) error {
	return errShadow("to end a meeting")
}

// Storage implements plugin.Server.
func (s shadowServer) Storage() plugin.Storage {
	if own := s.Server.Storage(); own != nil {
		return shadowStorage{own}
	}
	return nil
}

// shadowStorage is the storage of the active version, read only.
type shadowStorage struct{ plugin.Storage }

// Set implements plugin.Storage.
func (shadowStorage) Set(context.Context, string, string, []byte) error {
	return errShadow("to write to the storage")
}

// Delete implements plugin.Storage.
func (shadowStorage) Delete(context.Context, string, string) (bool, error) {
	return false, errShadow("to write to the storage")
}

var (
	_ plugin.Host    = (*shadowHost)(nil)
	_ plugin.Server  = shadowServer{}
	_ plugin.Storage = shadowStorage{}
)

// shadows returns the counters of the shadows.
func (p *Plugins) shadows() (list []metrics.PluginShadow) {
	for _, loaded := range p.Manager.Plugins() {
		if c, ok := p.Trials.Shadow(loaded.ID); ok {
			list = append(list, metrics.PluginShadow{Plugin: loaded.ID, Equal: c.Equal, Different: c.Different, Failed: c.Failed, Dropped: c.Dropped})
		}
	}
	return list
}
