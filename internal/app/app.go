// SPDX-License-Identifier: Apache-2.0

// Package app assembles the parts of the server for the roles of a process, and starts and stops
// them in order. It is the only package that knows all others; it has no logic of its own.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/password"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/role"
	"example.org/app/internal/setting"
	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
)

// Options define what to run.
type Options struct {
	Roles  []role.Role
	Config *config.Config
	// OnlyPlugin is the name of the only file in the folder of plugins to load; "" means all.
	OnlyPlugin string
	// Log receives every record of the process logger, regardless of the configuration; nil means
	// none.
	Log slog.Handler
	// HoldSchedules prevents schedules of plugins from running by themselves, for tests of plugins.
	HoldSchedules bool
	// Scripts changes the options for plugins in JavaScript, for tests of plugins; nil changes
	// nothing.
	Scripts func(*js.Options)
	// IgnoreClusterSettings ignores the settings of the cluster.
	IgnoreClusterSettings bool
	// Ready is called once after the start. It may be nil.
	Ready func(*App)
}

// App is a running process.
type App struct {
	process *process
	units   *units
}

// process is the state shared by all units.
type process struct {
	opts    Options
	live    *config.Live
	started time.Time
	// id identifies the process, so that other nodes know which members belong to it.
	id string

	shutdown  chan struct{}
	asked     sync.Once
	status    atomic.Int32 // The status with which a plugin stopped the server.
	lifecycle lifecycle
}

// Run starts the roles, waits until ctx ends, a part fails or a shutdown is requested, and stops
// everything in reverse order. An error that prevented the start is one line.
func Run(ctx context.Context, opts Options) (err error) {
	p := &process{opts: opts, live: config.NewLive(opts.Config), started: time.Now(), id: rand.Text(), shutdown: make(chan struct{})}
	p.lifecycle.failed = make(chan error, 1)
	all := &units{}
	err = start(ctx, assemble(p, all))
	if err == nil {
		p.lifecycle.add(part{name: "release of the program", run: release})
		if opts.Ready != nil {
			opts.Ready(&App{p, all})
		}
		err = p.wait(ctx)
	}
	if _, exits := errors.AsType[*ExitError](err); all.Logs.logger != nil && (err == nil || exits) {
		all.Logs.logger.Info("stopping")
	}
	return errors.Join(err, p.stop())
}

// releaseAfter is how long the start of the server is left alone: whoever waited for it uses the
// pages that would be released.
const releaseAfter = 500 * time.Millisecond

// release gives the pages back that only the start of the server needed.
func release(ctx context.Context) error {
	if sleep.For(ctx, releaseAfter) == nil {
		_ = releaseProgram() // It costs memory if that fails.
	}
	return nil
}

// start starts units in order.
func start(ctx context.Context, list []unit) error {
	for _, u := range list {
		if err := u.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when the process must stop.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-p.shutdown:
		if n := p.status.Load(); n != 0 {
			return &ExitError{int(n)}
		}
		return nil
	case err := <-p.lifecycle.failed:
		return err
	}
}

// AskForShutdown makes Run stop everything and return. It does not wait.
func (a *App) AskForShutdown() { a.process.askForShutdown() }

func (p *process) askForShutdown() { p.asked.Do(func() { close(p.shutdown) }) }

// exit makes Run stop everything and return an error with the status, unless that is 0. It does not
// wait.
func (p *process) exit(status int) {
	p.status.CompareAndSwap(0, int32(status))
	p.askForShutdown()
}

// An ExitError means that a plugin stopped the server with a status.
type ExitError struct{ Status int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("a plugin stopped the server with status %d", e.Status)
}

// stop stops the parts within the configured time.
func (p *process) stop() error {
	c := p.live.Current().Shutdown
	graceful, cancel := context.WithTimeout(context.Background(), time.Duration(c.JobGracefulTimeoutMillis)*time.Millisecond)
	defer cancel()
	forced := time.NewTimer(time.Duration(c.JobForcedTimeoutMillis) * time.Millisecond)
	defer forced.Stop()
	done := make(chan error, 1)
	go func() { done <- p.lifecycle.stop(graceful) }()
	select {
	case err := <-done:
		return err
	case <-forced.C:
		return fmt.Errorf("the parts did not stop within %d ms", c.JobForcedTimeoutMillis)
	}
}

// start calls Ready.
func (p *units) start(context.Context) error {
	p.Logs.logger.Info("ready", "roles", role.Names(p.Process.opts.Roles), "version", version, "millis", time.Since(p.Process.started).Milliseconds())
	return nil
}

// start creates the home folder if necessary.
func (p *home) start(context.Context) error {
	home := p.Process.opts.Config.Home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("home folder %q cannot be created: %w", home, errors.Unwrap(err))
	}
	if _, err := os.ReadDir(home); err != nil {
		return fmt.Errorf("home folder %q cannot be read: %w", home, errors.Unwrap(err))
	}
	return nil
}

// name returns the replacement of @ROLE in file names.
func (p *process) name() string {
	if len(p.opts.Roles) == 1 {
		return "app-" + p.opts.Roles[0].Name()
	}
	return "app"
}

func (p *logFiles) start(context.Context) (err error) {
	c := p.Process.opts.Config.Logging
	named := func(path string) string { return strings.ReplaceAll(path, "@ROLE", p.Process.name()) }
	p.files, err = logs.Open(logs.Options{
		Console: logs.Console{Enabled: c.Console.Enabled, Level: logLevel(c.Console.Level), Format: logs.Format(c.Console.Format)},
		File: logs.File{
			Enabled: c.File.Enabled, Level: logLevel(c.File.Level), Path: named(c.File.FilePath),
			MaxFiles: int(c.File.MaxFiles), MaxSizeMB: int(c.File.MaxFileSizeMB), Compress: c.File.Compression.Enabled,
		},
		AuditPath: named(c.Audit.FilePath), ClientPath: named(c.Client.FilePath), Also: p.Process.opts.Log,
	})
	if err != nil {
		return err
	}
	p.logger = p.files.Logger()
	p.Process.lifecycle.add(part{name: "logs", stop: func(context.Context) error { return p.files.Close() }})
	return nil
}

func (p *database) start(ctx context.Context) (err error) {
	c := p.Process.opts.Config.Store
	if err := p.Process.checkStoreURL(); err != nil {
		return err
	}
	p.db, err = store.Open(ctx, store.Options{
		URL: c.URL.Reveal(), MaxConnections: p.Process.maxConnections(), Logger: p.Logs.logger,
		Timeout:     time.Duration(c.TimeoutMillis) * time.Millisecond,
		LockTimeout: time.Duration(c.LockTimeoutMillis) * time.Millisecond,
		Exclusive:   p.Process.exclusive(),
		ReplicaURL:  p.Process.replicaURL(), MaxReplicaLag: time.Duration(c.MaxReplicaLagMillis) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "store", stop: func(context.Context) error { return p.db.Close() }})
	return nil
}

// maxGatewayConnections is the number of connections of a process with only a gateway. It calls
// services for nearly everything and itself only reads settings, blocklists, administrators and
// plugins, a few statements a second.
const maxGatewayConnections = 2

// maxConnections returns the number of connections to PostgreSQL.
func (p *process) maxConnections() int {
	c := p.opts.Config
	if !p.runs(role.Service) && c.Source(property.Property{Name: "app.store.max-connections"}) == property.SourceDefault {
		return maxGatewayConnections
	}
	return int(c.Store.MaxConnections)
}

// replicaURL returns the replica for administrators' queries, which services serve.
func (p *process) replicaURL() string {
	if !p.runs(role.Service) {
		return ""
	}
	return p.opts.Config.Store.ReplicaURL.Reveal()
}

// checkStoreURL returns an error for a gateway that joins a cluster without its database: it would
// use an empty one of its own.
func (p *process) checkStoreURL() error {
	c := p.opts.Config
	const name = "app.store.url"
	if p.runs(role.Service) || c.Cluster.NATS.URL == "" {
		return nil
	}
	if c.Source(property.Property{Name: name}) == property.SourceDefault {
		return fmt.Errorf("%s: is not set: a gateway that joins the nodes at app.cluster.nats.url needs the database that they use", name)
	}
	return nil
}

// exclusive prevents a second service process on an SQLite file, because their caches would not be
// in sync in time.
func (p *process) exclusive() string {
	if p.runs(role.Service) {
		return role.Service.Name()
	}
	return ""
}

func (p *administrators) start(ctx context.Context) (err error) {
	c := p.Process.opts.Config.Security.Password
	p.startProvider()
	p.directory, err = administrator.NewDirectory(ctx, administrator.Options{
		Store: p.Database.db, IDs: p.Nodes.first().IDs(), Logger: p.Logs.logger,
		Hasher:    password.Hasher{Algorithm: password.Algorithm(c.AdminPasswordEncodingAlgorithm), Cost: int(c.BcryptCost)},
		Lifetimes: p.Process.tokenLifetimes, Client: p.Process.clientAddress, DefaultPassword: config.Default().Security.Password.InitialRootPassword.Reveal(),
	})
	if err != nil {
		return err
	}
	if p.Process.runs(role.Service) {
		created, err := p.directory.EnsureRoot(ctx, c.InitialRootPassword.Reveal())
		if err != nil {
			return err
		}
		if created {
			p.Logs.logger.Info("root administrator created", "loginName", administrator.RootLoginName)
		}
	}
	p.Process.lifecycle.add(part{name: "administrators", run: p.directory.Run})
	p.Process.lifecycle.add(part{name: "warning of the default password", run: p.warn})
	return nil
}

// warnAfter delays the check of the password, which takes as long as a quarter of the start.
const warnAfter = time.Second

// warn logs a warning if root has the default password.
func (p *administrators) warn(ctx context.Context) error {
	if sleep.For(ctx, warnAfter) == nil && p.directory.RootIsOpen() {
		p.Logs.logger.Warn("root has the default password: only this machine is served until it is changed", "loginName", administrator.RootLoginName)
	}
	return nil
}

// tokenLifetimes returns the configured lifetimes of administrators' tokens and sessions.
func (p *process) tokenLifetimes() administrator.Lifetimes {
	c := p.live.Current().Security
	return administrator.Lifetimes{
		Token:    time.Duration(c.AdminToken.LifetimeMillis) * time.Millisecond,
		MaxToken: time.Duration(c.AdminToken.MaxLifetimeMillis) * time.Millisecond,
		Session:  time.Duration(c.AdminSession.LifetimeMillis) * time.Millisecond,
		SignOn:   time.Duration(p.opts.Config.Security.OIDC.SessionLifetimeMillis) * time.Millisecond,
		Idle:     time.Duration(c.AdminSession.IdleTimeoutMillis) * time.Millisecond,
	}
}

func (p *settings) start(ctx context.Context) (err error) {
	p.cluster, err = setting.New(ctx, setting.Options{Store: p.Database.db, Live: p.Process.live, Logger: p.Logs.logger, Ignore: p.Process.opts.IgnoreClusterSettings})
	if err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "settings", run: p.cluster.Run})
	return nil
}

// clientAddress maps an address to the one that counts for limits.
func (p *process) clientAddress(addr netip.Addr) netip.Addr {
	return ratelimit.Client(addr, int(p.live.Current().Security.IPv6ClientPrefixLength))
}

func (p *blocklists) start(ctx context.Context) (err error) {
	options := func(pick func(config.Blocklists) config.Blocklist) blocklist.Options {
		c := func() config.Blocklist { return pick(p.Process.live.Current().Security.Blocklist) }
		return blocklist.Options{
			Store: p.Database.db, Logger: p.Logs.logger,
			Enabled:  func() bool { return c().Enabled },
			Interval: time.Duration(c().SyncBlocklistIntervalMillis) * time.Millisecond,
		}
	}
	ips := options(func(b config.Blocklists) config.Blocklist { return b.IP })
	ips.Client = p.Process.clientAddress
	if p.ips, err = blocklist.NewIPs(ctx, ips); err != nil {
		return err
	}
	if p.users, err = blocklist.NewUsers(ctx, options(func(b config.Blocklists) config.Blocklist { return b.UserID })); err != nil {
		return err
	}
	p.Process.lifecycle.add(part{name: "blocked addresses", run: p.ips.Run})
	p.Process.lifecycle.add(part{name: "blocked users", run: p.users.Run})
	return nil
}

func (p *measurements) start(context.Context) error {
	p.registry = metrics.New(metrics.BuildInfo{Version: version, Revision: commit})
	if err := p.registry.RegisterProcess(p.Process.opts.Config.Home()); err != nil {
		return err
	}
	p.registry.RegisterStore(storeReadings, func() map[string]float64 { return readReplica(readStore(p.Database.db.Stats()), p.Database.db) })
	return nil
}

func (p *process) runs(r role.Role) bool {
	return slices.Contains(p.opts.Roles, r)
}

// URL returns the address of a role's admin interface, or "" when it has none.
func (a *App) URL(r role.Role) string {
	if s := a.units.AdminPorts.servers[r]; s != nil {
		return s.URL()
	}
	return ""
}

// Roles returns the roles of the process.
func (a *App) Roles() []role.Role { return a.process.opts.Roles }

// Config returns the live configuration.
func (a *App) Config() *config.Live { return a.process.live }

// LogDir returns the folder of the log files.
func (a *App) LogDir() string { return a.units.Logs.files.Dir() }

// Engine returns the name of the storage engine.
func (a *App) Engine() string { return string(a.units.Database.db.Engine()) }

// StartTime returns how long the start took.
func (a *App) StartTime() time.Duration { return time.Since(a.process.started) }

// DefaultRootPassword reports whether root has the default password.
func (a *App) DefaultRootPassword() bool {
	return a.units.Administrators.directory.RootIsOpen()
}

func logLevel(l config.Level) slog.Level {
	level, err := logs.ParseLevel(string(l))
	if err != nil {
		return slog.LevelInfo // The configuration allows only known levels.
	}
	return level
}
