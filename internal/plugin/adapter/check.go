// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
)

// CheckOptions configure a check.
type CheckOptions struct {
	// Roles are the roles of the server that the plugin is for.
	Roles  []role.Role
	Config *config.Config
	// File is the path of the plugin.
	File string
	// Operations are the operations of the admin interface that plugins may call, and Version is
	// the server's.
	Operations []plugin.Operation
	Version    string
	// Logger receives the plugin's output while it is loaded.
	Logger *slog.Logger
}

// Check loads a plugin as a server does, but calls no hook and no method. The error is a
// sentence for the plugin's author.
func Check(ctx context.Context, o CheckOptions) (_ *plugin.Plugin, err error) {
	path, err := filepath.Abs(o.File)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", o.File, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plugin: %w", err)
	}
	server, opts := o.server()
	c := o.Config.Plugin
	// A JVM is started only if the plugin uses Java classes while it is loaded.
	javaHost, err := java.New(java.Options{Home: c.Java.Home, ClassCache: c.Java.ClassCacheDir, MaxHeap: c.Java.MaxHeap, Flags: strings.Fields(c.Java.JVMOptions), Server: server, Log: o.Logger})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, javaHost.Close(context.WithoutCancel(ctx))) }()
	host, err := js.New(js.Options{
		Points: plugin.Points, Log: o.Logger, MemoryLimit: c.JavaScript.MemoryLimit, StackSize: c.JavaScript.StackSize, Server: server, Java: javaHost,
		Limited: c.Grants.Mode != config.GrantsOpen,
	})
	if err != nil {
		return nil, err
	}
	return check(ctx, opts, host, plugin.Source{Name: filepath.Base(path), Path: path, Data: data})
}

// server returns a simulated server and the options for a manager.
func (o CheckOptions) server() (*checkServer, plugin.Options) {
	c := o.Config.Plugin
	server := &checkServer{config: o.Config, node: plugin.Node{ID: "check", Role: o.Roles[0], Version: o.Version}, operations: o.Operations}
	opts := plugin.Options{Roles: o.Roles, Settings: func() config.Plugin { return c }, Logger: o.Logger}
	return server, opts
}

// check loads a plugin in a host and closes the host.
func check(ctx context.Context, opts plugin.Options, host plugin.Host, src plugin.Source) (_ *plugin.Plugin, err error) {
	opts.Hosts = []plugin.Host{host}
	manager := plugin.NewManager(opts)
	defer func() { err = errors.Join(err, manager.Close(context.WithoutCancel(ctx))) }()
	return manager.Check(ctx, host.Language(), src, false)
}

// checkServer simulates a server for a check: it has a configuration, but no functions.
type checkServer struct {
	config     *config.Config
	node       plugin.Node
	operations []plugin.Operation
}

// Node implements plugin.Server.
func (s *checkServer) Node(role.Role) plugin.Node { return s.node }

// Operations implements plugin.Server.
func (s *checkServer) Operations() []plugin.Operation { return s.operations }

// Config implements plugin.Server.
func (s *checkServer) Config(prefix string) (map[string]any, error) { return s.config.Foreign(prefix) }

// Settings implements plugin.Server.
func (s *checkServer) Settings(by plugin.Descriptor) (map[string]any, error) {
	return plugin.SettingsOf(by, nil)
}

// Storage implements plugin.Server.
func (s *checkServer) Storage() plugin.Storage { return nil }

// Call implements plugin.Server.
func (s *checkServer) Call(context.Context, plugin.Descriptor, string, json.RawMessage) (json.RawMessage, error) {
	return nil, errNoServer
}

// Notify implements plugin.Server.
func (s *checkServer) Notify(context.Context, plugin.Descriptor, plugin.Notification) error {
	return errNoServer
}

// MeetingEnded implements plugin.Server.
func (s *checkServer) MeetingEnded(context.Context, plugin.Descriptor, int64, time.Time) error {
	return errNoServer
}

var errNoServer = apierr.New(apierr.ServerUnavailable, "a plugin that is only checked has no server")

var _ plugin.Server = (*checkServer)(nil)
