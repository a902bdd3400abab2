// SPDX-License-Identifier: Apache-2.0

// Package app assembles the parts of the server for the roles that a process
// runs, starts them and stops them in order. It is the only package that knows
// all others; it holds no logic of its own.
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

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/audit"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/console"
	"example.org/app/internal/gateway"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/oidc"
	"example.org/app/internal/password"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/presence"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/recording"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/setting"
	"example.org/app/internal/store"
)

// Options say what to run.
type Options struct {
	Roles  []role.Role
	Config *config.Config
	// OnlyPlugin is the name of the one file in the folder of plugins that is loaded; "" is all.
	OnlyPlugin string
	// Log gets every record of the process logger, whatever is configured; nil is nobody.
	Log slog.Handler
	// HoldSchedules keeps schedules of plugins from running by themselves, for tests of plugins.
	HoldSchedules bool
	// Scripts changes how plugins in JavaScript are run, for tests of plugins; nil changes nothing.
	Scripts func(*js.Options)
	// IgnoreClusterSettings leaves the configuration as it is, whatever settings the cluster has.
	IgnoreClusterSettings bool
	// Ready is called once when everything runs. It may be nil.
	Ready func(*App)
}

// App is a running process.
type App struct {
	opts    Options
	live    *config.Live
	started time.Time
	// processID tells other nodes which members are this process.
	processID string

	logs           *logs.Logs
	logger         *slog.Logger
	store          *store.DB
	cluster        *cluster.Cluster
	nodes          map[role.Role]*cluster.Node
	vitals         *vitals
	metrics        *metrics.Registry
	settings       *setting.Settings
	administrators *administrator.Directory
	audit          *audit.Trail
	provider       *oidc.Provider // Nil without single sign-on.
	blockedIPs     *blocklist.List[netip.Addr]
	blockedUsers   *blocklist.List[int64]
	presence       *presence.Directory
	notifier       *service.Notifier
	disconnector   *presence.Disconnector
	domain         domain
	health         *api.Health
	servers        map[role.Role]*admin.Server
	apis           map[role.Role]*admin.API
	plugins        *adapter.Plugins
	forPlugins     *adapter.Server
	catalog        *catalog.Catalog
	granted        *plugin.Granted // nil unless administrators grant plugins what they ask for
	slots          *plugin.StoredSlots
	events         *plugin.Events
	recorder       *recording.Recorder
	clientPorts    *gateway.Ports
	console        *console.Console
	consoleServer  *console.Server
	gateway        *gateway.Gateway

	shutdown  chan struct{}
	asked     sync.Once
	status    atomic.Int32 // What a plugin ended the server with.
	lifecycle lifecycle
}

// Run starts the roles, waits until ctx ends, a part fails or somebody asks for
// a shutdown, and stops everything in reverse order. An error that kept the
// process from starting fits into one line.
func Run(ctx context.Context, opts Options) (err error) {
	a := &App{
		opts: opts, live: config.NewLive(opts.Config), started: time.Now(), processID: rand.Text(),
		servers: map[role.Role]*admin.Server{}, apis: map[role.Role]*admin.API{}, nodes: map[role.Role]*cluster.Node{}, shutdown: make(chan struct{}),
	}
	a.lifecycle.failed = make(chan error, 1)
	err = a.start(ctx)
	if err == nil {
		if opts.Ready != nil {
			opts.Ready(a)
		}
		err = a.wait(ctx)
	}
	if _, exits := errors.AsType[*ExitError](err); a.logger != nil && (err == nil || exits) {
		a.logger.Info("stopping")
	}
	return errors.Join(err, a.stop())
}

// wait returns when the process shall stop.
func (a *App) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.shutdown:
		if n := a.status.Load(); n != 0 {
			return &ExitError{int(n)}
		}
		return nil
	case err := <-a.lifecycle.failed:
		return err
	}
}

// AskForShutdown makes Run stop everything and return. It returns at once.
func (a *App) AskForShutdown() { a.asked.Do(func() { close(a.shutdown) }) }

// exit makes Run stop everything and return an error with the status, unless that is 0. It returns at once.
func (a *App) exit(status int) {
	a.status.CompareAndSwap(0, int32(status))
	a.AskForShutdown()
}

// An ExitError is the end of a server that a plugin stopped with a status.
type ExitError struct{ Status int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("a plugin stopped the server with status %d", e.Status)
}

// stop stops the parts within the configured time.
func (a *App) stop() error {
	c := a.live.Current().Shutdown
	graceful, cancel := context.WithTimeout(context.Background(), time.Duration(c.JobGracefulTimeoutMillis)*time.Millisecond)
	defer cancel()
	forced := time.NewTimer(time.Duration(c.JobForcedTimeoutMillis) * time.Millisecond)
	defer forced.Stop()
	done := make(chan error, 1)
	go func() { done <- a.lifecycle.stop(graceful) }()
	select {
	case err := <-done:
		return err
	case <-forced.C:
		return fmt.Errorf("the parts did not stop within %d ms", c.JobForcedTimeoutMillis)
	}
}

// start builds and starts the parts, each after those that it needs: see graph.go.
func (a *App) start(ctx context.Context) error {
	for _, u := range order(process) {
		if err := u.start(a, ctx); err != nil {
			return err
		}
	}
	return nil
}

// announce says that everything runs.
func (a *App) announce(context.Context) error {
	a.logger.Info("ready", "roles", role.Names(a.opts.Roles), "version", version, "millis", time.Since(a.started).Milliseconds())
	return nil
}

// openHome creates the home folder if it is missing.
func (a *App) openHome(context.Context) error {
	home := a.opts.Config.Home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("home folder %q cannot be created: %w", home, errors.Unwrap(err))
	}
	if _, err := os.ReadDir(home); err != nil {
		return fmt.Errorf("home folder %q cannot be read: %w", home, errors.Unwrap(err))
	}
	return nil
}

// name is what stands for @ROLE in file names.
func (a *App) name() string {
	if len(a.opts.Roles) == 1 {
		return "app-" + a.opts.Roles[0].Name()
	}
	return "app"
}

func (a *App) startLogs(context.Context) (err error) {
	c := a.opts.Config.Logging
	named := func(path string) string { return strings.ReplaceAll(path, "@ROLE", a.name()) }
	a.logs, err = logs.Open(logs.Options{
		Console: logs.Console{Enabled: c.Console.Enabled, Level: logLevel(c.Console.Level), Format: logs.Format(c.Console.Format)},
		File: logs.File{
			Enabled: c.File.Enabled, Level: logLevel(c.File.Level), Path: named(c.File.FilePath),
			MaxFiles: int(c.File.MaxFiles), MaxSizeMB: int(c.File.MaxFileSizeMB), Compress: c.File.Compression.Enabled,
		},
		AuditPath: named(c.Audit.FilePath), ClientPath: named(c.Client.FilePath), Also: a.opts.Log,
	})
	if err != nil {
		return err
	}
	a.logger = a.logs.Logger()
	a.lifecycle.add(part{name: "logs", stop: func(context.Context) error { return a.logs.Close() }})
	return nil
}

func (a *App) startStore(ctx context.Context) (err error) {
	c := a.opts.Config.Store
	if err := a.checkStoreURL(); err != nil {
		return err
	}
	a.store, err = store.Open(ctx, store.Options{
		URL: c.URL.Reveal(), MaxConnections: a.maxConnections(), Logger: a.logger,
		Timeout:     time.Duration(c.TimeoutMillis) * time.Millisecond,
		LockTimeout: time.Duration(c.LockTimeoutMillis) * time.Millisecond,
		Exclusive:   a.exclusive(),
		ReplicaURL:  a.replicaURL(), MaxReplicaLag: time.Duration(c.MaxReplicaLagMillis) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "store", stop: func(context.Context) error { return a.store.Close() }})
	return nil
}

// maxGatewayConnections is how many connections a process has that is a gateway and nothing else. It asks services for
// nearly everything and reads settings, blocklists, administrators and plugins itself, a few statements a second.
const maxGatewayConnections = 2

// maxConnections returns how many connections to PostgreSQL the process has.
func (a *App) maxConnections() int {
	c := a.opts.Config
	if !a.runs(role.Service) && c.Source(property.Property{Name: "app.store.max-connections"}) == property.SourceDefault {
		return maxGatewayConnections
	}
	return int(c.Store.MaxConnections)
}

// replicaURL returns the replica for the queries of administrators, which services answer.
func (a *App) replicaURL() string {
	if !a.runs(role.Service) {
		return ""
	}
	return a.opts.Config.Store.ReplicaURL.Reveal()
}

// checkStoreURL refuses a gateway that joins others but was not told their database: it would use an empty one of its own.
func (a *App) checkStoreURL() error {
	c := a.opts.Config
	const name = "app.store.url"
	if a.runs(role.Service) || c.Cluster.NATS.URL == "" {
		return nil
	}
	if c.Source(property.Property{Name: name}) == property.SourceDefault {
		return fmt.Errorf("%s: is not set: a gateway that joins the nodes at app.cluster.nats.url needs the database that they use", name)
	}
	return nil
}

// exclusive keeps a second service process off an SQLite file: what one of them
// keeps in memory the other one would not know in time.
func (a *App) exclusive() string {
	if a.runs(role.Service) {
		return role.Service.Name()
	}
	return ""
}

func (a *App) startAdministrators(ctx context.Context) (err error) {
	c := a.opts.Config.Security.Password
	a.startProvider()
	a.administrators, err = administrator.NewDirectory(ctx, administrator.Options{
		Store: a.store, IDs: a.nodes[a.opts.Roles[0]].IDs(), Logger: a.logger,
		Hasher:    password.Hasher{Algorithm: password.Algorithm(c.AdminPasswordEncodingAlgorithm), Cost: int(c.BcryptCost)},
		Lifetimes: a.tokenLifetimes, Client: a.clientAddress, DefaultPassword: config.Default().Security.Password.InitialRootPassword.Reveal(),
	})
	if err != nil {
		return err
	}
	if a.runs(role.Service) {
		created, err := a.administrators.EnsureRoot(ctx, c.InitialRootPassword.Reveal())
		if err != nil {
			return err
		}
		if created {
			a.logger.Info("root administrator created", "loginName", administrator.RootLoginName)
		}
	}
	a.lifecycle.add(part{name: "administrators", run: a.runAdministrators})
	return nil
}

func (a *App) runAdministrators(ctx context.Context) error {
	if a.administrators.RootIsOpen() {
		a.logger.Warn("root has the default password: only this machine is served until it is changed", "loginName", administrator.RootLoginName)
	}
	return a.administrators.Run(ctx)
}

// tokenLifetimes says how long tokens and sessions of administrators are valid.
func (a *App) tokenLifetimes() administrator.Lifetimes {
	c := a.live.Current().Security
	return administrator.Lifetimes{
		Token:    time.Duration(c.AdminToken.LifetimeMillis) * time.Millisecond,
		MaxToken: time.Duration(c.AdminToken.MaxLifetimeMillis) * time.Millisecond,
		Session:  time.Duration(c.AdminSession.LifetimeMillis) * time.Millisecond,
		SignOn:   time.Duration(a.opts.Config.Security.OIDC.SessionLifetimeMillis) * time.Millisecond,
		Idle:     time.Duration(c.AdminSession.IdleTimeoutMillis) * time.Millisecond,
	}
}

func (a *App) startSettings(ctx context.Context) (err error) {
	a.settings, err = setting.New(ctx, setting.Options{Store: a.store, Live: a.live, Logger: a.logger, Ignore: a.opts.IgnoreClusterSettings})
	if err != nil {
		return err
	}
	a.lifecycle.add(part{name: "settings", run: a.settings.Run})
	return nil
}

// clientAddress returns the address that stands for the client with an address.
func (a *App) clientAddress(addr netip.Addr) netip.Addr {
	return ratelimit.Client(addr, int(a.live.Current().Security.IPv6ClientPrefixLength))
}

func (a *App) startBlocklists(ctx context.Context) (err error) {
	options := func(pick func(config.Blocklists) config.Blocklist) blocklist.Options {
		c := func() config.Blocklist { return pick(a.live.Current().Security.Blocklist) }
		return blocklist.Options{
			Store: a.store, Logger: a.logger,
			Enabled:  func() bool { return c().Enabled },
			Interval: time.Duration(c().SyncBlocklistIntervalMillis) * time.Millisecond,
		}
	}
	ips := options(func(b config.Blocklists) config.Blocklist { return b.IP })
	ips.Client = a.clientAddress
	if a.blockedIPs, err = blocklist.NewIPs(ctx, ips); err != nil {
		return err
	}
	if a.blockedUsers, err = blocklist.NewUsers(ctx, options(func(b config.Blocklists) config.Blocklist { return b.UserID })); err != nil {
		return err
	}
	a.lifecycle.add(part{name: "blocked addresses", run: a.blockedIPs.Run})
	a.lifecycle.add(part{name: "blocked users", run: a.blockedUsers.Run})
	return nil
}

func (a *App) startMetrics(context.Context) error {
	a.metrics = metrics.New(metrics.BuildInfo{Version: version, Revision: commit})
	if err := a.metrics.RegisterProcess(a.opts.Config.Home()); err != nil {
		return err
	}
	a.metrics.RegisterStore(storeReadings, func() map[string]float64 { return readReplica(readStore(a.store.Stats()), a.store) })
	return nil
}

func (a *App) runs(r role.Role) bool {
	return slices.Contains(a.opts.Roles, r)
}

// URL returns the address of a role's admin interface, or "" when it has none.
func (a *App) URL(r role.Role) string {
	if s := a.servers[r]; s != nil {
		return s.URL()
	}
	return ""
}

// Roles returns what the process runs.
func (a *App) Roles() []role.Role { return a.opts.Roles }

// Config returns the configuration that runs now.
func (a *App) Config() *config.Live { return a.live }

// LogDir returns the folder of the log files.
func (a *App) LogDir() string { return a.logs.Dir() }

// Engine returns the name of the storage engine.
func (a *App) Engine() string { return string(a.store.Engine()) }

// StartTime returns how long the start took.
func (a *App) StartTime() time.Duration { return time.Since(a.started) }

// DefaultRootPassword reports whether anybody who knows the product can log in
// as root.
func (a *App) DefaultRootPassword() bool {
	return a.administrators.RootIsOpen()
}

func logLevel(l config.Level) slog.Level {
	level, err := logs.ParseLevel(string(l))
	if err != nil {
		return slog.LevelInfo // The configuration allows known levels only.
	}
	return level
}
