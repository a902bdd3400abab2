// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/js"
)

// dryHost returns a host for a dry run. A plugin in it has no side effects: no storage and no
// operation of the server; in JavaScript no network and no Java classes. Plugins in Java run
// in a separate JVM, which ends with the host.
func (p *Plugins) dryHost(l plugin.Language) (plugin.Host, error) {
	c, server := p.opts.Settings(), dryServer{p.opts.Server}
	if l == plugin.Java {
		return java.New(java.Options{
			Home: c.Java.Home, ClassCache: c.Java.ClassCacheDir, MaxHeap: c.Java.MaxHeap, Strict: c.Java.DuplicateClassLoadStrategy == config.DuplicateClassThrowException,
			Flags: strings.Fields(c.Java.JVMOptions), RefuseExit: !c.Java.AllowExit,
			Server: server, Log: p.opts.Logger,
		})
	}
	return js.New(js.Options{
		Points: plugin.Points, Log: p.opts.Logger, MemoryLimit: c.JavaScript.MemoryLimit, StackSize: c.JavaScript.StackSize,
		Server: server, HTTP: &http.Client{Transport: noNetwork{}}, Limited: p.limited(),
	})
}

var errDryRun = errors.New("a plugin in a dry run cannot do that")

// noNetwork refuses every request.
type noNetwork struct{}

// RoundTrip implements http.RoundTripper.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errDryRun }

// dryServer is the server of a plugin in a dry run: no storage, no functions with effects.
type dryServer struct{ plugin.Server }

// Storage implements plugin.Server.
func (dryServer) Storage() plugin.Storage { return nil }

// Call implements plugin.Server.
func (dryServer) Call(context.Context, plugin.Descriptor, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errDryRun
}

// Notify implements plugin.Server.
func (dryServer) Notify(context.Context, plugin.Descriptor, plugin.Notification) error {
	return errDryRun
}

// MeetingEnded implements plugin.Server.
func (dryServer) MeetingEnded(context.Context, plugin.Descriptor, int64, time.Time) error {
	return errDryRun
}

var _ plugin.Server = dryServer{}
