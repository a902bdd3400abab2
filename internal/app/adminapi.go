// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/certificate"
	"example.org/app/internal/config"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// roleAPI returns the configuration of a role's admin interface.
func roleAPI(c *config.Config, r role.Role) config.AdminAPI {
	if r == role.Gateway {
		return c.Gateway.AdminAPI
	}
	return c.Service.AdminAPI.AdminAPI
}

// settingsOf converts the configuration for the framework.
func settingsOf(c *config.Config, r role.Role) *admin.Settings {
	common, service := roleAPI(c, r), c.Service.AdminAPI
	s := &admin.Settings{
		UseAuthentication: common.UseAuthentication,
		RateLimit: admin.RateLimit{
			Capacity:        int(common.RateLimiting.Capacity),
			InitialTokens:   int(common.RateLimiting.InitialTokens),
			TokensPerPeriod: int(common.RateLimiting.TokensPerPeriod),
			RefillInterval:  time.Duration(common.RateLimiting.RefillIntervalMillis) * time.Millisecond,
		},
		IPv6ClientBits: int(c.Security.IPv6ClientPrefixLength),
		MaxBodyBytes:   int64(common.HTTP.MaxRequestBodySizeBytes),
		Audit:          common.Log.Enabled,
		AuditParams:    common.Log.LogRequestParams,
		DefaultRecords: int(service.DefaultAvailableRecordsPerRequest),
		MaxRecords:     int(service.MaxAvailableRecordsPerRequest),
		TotalBudget:    time.Duration(service.TotalBudgetMillis) * time.Millisecond,
	}
	s.AllowDeleteWithoutFilter = r == role.Service && service.AllowDeleteWithoutFilter
	return s
}

// derived caches a value computed from the live configuration.
func derived[T any](live *config.Live, compute func(*config.Config) *T) func() *T {
	var current atomic.Pointer[T]
	current.Store(compute(live.Current()))
	live.Subscribe(func(_, now *config.Config) { current.Store(compute(now)) })
	return current.Load
}

// start opens the ports of all roles first, so that a port in use is reported before anything else
// happens. Callers wait until the unit admins starts.
func (p *adminPorts) start(ctx context.Context) error {
	p.servers = map[role.Role]*admin.Server{}
	for _, r := range p.Process.opts.Roles {
		c := roleAPI(p.Process.opts.Config, r)
		if !c.Enabled {
			continue
		}
		server, err := p.listen(ctx, r, c.HTTP)
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
		p.servers[r] = server
		p.Process.lifecycle.add(part{name: r.Name() + " admin port", stop: server.Shutdown})
	}
	return nil
}

// start creates the interfaces of all roles, even without port, because plugins use them.
func (p *operating) start(context.Context) error {
	p.apis = map[role.Role]*admin.API{}
	p.Held.used.apis = p.apis
	checks := []api.Check{
		{Name: "store", Do: p.Database.db.Ping},
		{Name: "cluster", Do: func(context.Context) error { return p.Nodes.cluster.Healthy() }},
		{Name: "machine", Do: p.Machine.vitals.report},
		{Name: "plugins", Do: p.Held.health},
	}
	if p.Process.replicaURL() != "" {
		checks = append(checks, api.Check{Name: "replica", Do: p.replicaHealth})
	}
	p.health = api.NewHealth(checks...)
	for _, r := range p.Process.opts.Roles {
		p.apis[r] = p.newAPI(r, p.Logs.logger.With("role", r.Name()))
	}
	return nil
}

// replicaHealth returns why queries do not use the replica of the database, or nil.
func (p *operating) replicaHealth(context.Context) error {
	if state, ok := p.Database.db.Replica(); ok && state.Fault != "" {
		return api.Degraded("the primary serves the queries of the replica: " + state.Fault)
	}
	return nil
}

// start answers requests.
func (p *admins) start(context.Context) error {
	for r, server := range p.AdminPorts.servers {
		handler, mount := p.Operating.apis[r], func(h http.Handler) http.Handler { return h }
		if r == role.Service {
			mount = p.Console.mount
		}
		p.Process.lifecycle.add(part{
			name: r.Name() + " admin interface",
			run:  func(context.Context) error { return server.Serve(handler, mount) },
			stop: server.Shutdown,
		})
	}
	return nil
}

func (p *adminPorts) listen(ctx context.Context, r role.Role, c config.AdminHTTP) (*admin.Server, error) {
	logger := p.Logs.logger.With("role", r.Name())
	opts := admin.ServerOptions{
		Host: c.Host, Port: int(c.Port), Logger: logger,
		HeaderTimeout: time.Duration(c.ConnectTimeoutMillis) * time.Millisecond,
		ReadTimeout:   time.Duration(c.RequestReadTimeoutMillis) * time.Millisecond,
		IdleTimeout:   time.Duration(c.IdleTimeoutMillis) * time.Millisecond,
	}
	if c.SSL.Enabled {
		loaded, err := certificate.Load(certificateFiles(c.SSL), logger)
		if err != nil {
			return nil, err
		}
		opts.Certificate = loaded.Get
	}
	return admin.Listen(ctx, opts)
}

func (p *operating) newAPI(r role.Role, logger *slog.Logger) *admin.API {
	networks := derived(p.Process.live, func(c *config.Config) *[]netip.Prefix {
		n := c.Metrics.Networks()
		return &n
	})
	enabled := derived(p.Process.live, func(c *config.Config) *bool {
		e := roleAPI(c, r).OpenAPI.Enabled
		return &e
	})
	opts := apiOptions(r)
	opts.Settings = derived(p.Process.live, func(c *config.Config) *admin.Settings { return settingsOf(c, r) })
	opts.Authenticator = p.Administrators.authenticator()
	opts.LocalOnly = p.Administrators.directory.RootIsOpen
	opts.Recorders = []admin.Recorder{admin.AuditLog(p.Logs.files.Audit().With("role", r.Name()))}
	opts.Trail = p.Audit.forAdmins()
	opts.Watcher = p.Held.plugins.AdminWatcher(r)
	opts.Dynamic = p.Held.plugins.Endpoints(r)
	opts.Observe = func(method, path string, status int, took time.Duration) { p.observe(r, method, path, status, took) }
	opts.Logger = logger
	opts.DocsEnabled = func() bool { return *enabled() }
	return admin.New(opts, operations(r, api.Common{
		Build: Build(), Logs: logs.OpenFolder(p.Logs.files.Dir()), Metrics: p.Measurements.registry, Health: p.health, Shutdown: p.Process.askForShutdown,
		Recorder: p.Recordings.recorder,
		Plugins: api.Plugins{
			Manager: p.Held.plugins.Manager, Folder: p.Held.plugins.Folder, Settings: p.Process.pluginSettings, ProcessID: p.Process.id,
			Catalog: p.Held.catalog, States: p.Held.peers.states, Traces: p.Held.peers.traces, Samples: p.Held.peers.shadowSamples,
		},
		MetricsOpenTo: func(addr netip.Addr) bool {
			return slices.ContainsFunc(*networks(), func(p netip.Prefix) bool { return p.Contains(addr) })
		},
	}, api.Gateway{Presence: p.Online.presence}, api.Service{
		Presence: p.Online.presence, NearbyLimits: p.Process.nearbyLimits, DetailsLifetime: p.Process.detailsLifetime,
		Administrators: p.Administrators.directory, Audit: p.Audit.trail, Cluster: p.Nodes.cluster, Settings: p.Settings.cluster,
		BlockedIPs: p.Blocklists.ips, BlockedUsers: p.Blocklists.users,
		Users: p.Rules.domain.users, Relationships: p.Rules.domain.relationships, Groups: p.Rules.domain.groups,
		Conversations: p.Rules.domain.conversations, Messages: p.Rules.domain.messages,
		StatisticsLimits: p.Process.statisticsLimits, MessageStatistics: p.Rules.domain.messages, GroupMessageStatistics: p.Rules.domain.messages,
	})...)
}

// observe counts a response. Undeclared paths share one name, so that callers cannot create series.
func (p *operating) observe(r role.Role, method, path string, status int, took time.Duration) {
	if path == "" {
		method, path = "OTHER", "UNKNOWN"
	}
	p.Measurements.registry.HTTP().Observe(r, method, path, status, took)
}

// operations returns the operations of a role.
func operations(r role.Role, common api.Common, gateway api.Gateway, service api.Service) []*admin.Operation {
	ops := api.CommonOperations(common)
	if r == role.Service {
		return append(ops, api.ServiceOperations(service)...)
	}
	return append(ops, api.GatewayOperations(gateway)...)
}

// apiOptions returns the options of a role's interface that affect the document.
func apiOptions(r role.Role) admin.Options {
	return admin.Options{
		Title:       "app - app-" + r.Name(),
		Description: "The administrative interface of " + roleDescriptions[r],
		Version:     version,
		Tags:        api.Tags,
		Translate:   store.Code,
		OnReplica:   store.WithReplica,
	}
}

var roleDescriptions = map[role.Role]string{
	role.Gateway: "app-gateway, which holds the users' connections.",
	role.Service: "app-service, which holds the rules and the data.",
}

// OpenAPI returns the OpenAPI 3.0 document of a role.
func OpenAPI(r role.Role) []byte {
	return admin.New(apiOptions(r), operations(r, api.Common{}, api.Gateway{}, api.Service{})...).Document()
}

// storeReadings declares the metrics of the store.
var storeReadings = []metrics.Reading{
	{Key: "transactions.committed", Type: metrics.TypeCounter, Description: "Transactions that were committed."},
	{Key: "transactions.rolled-back", Type: metrics.TypeCounter, Description: "Transactions that were rolled back."},
	{Key: "transactions.retried", Type: metrics.TypeCounter, Description: "Transactions that were run again."},
	{Key: "commits", Type: metrics.TypeCounter, Description: "Commits; several transactions may share one."},
	{Key: "queue", Type: metrics.TypeGauge, Description: "Transactions that wait for their turn."},
	{Key: "connections.open", Type: metrics.TypeGauge, Description: "Open connections of the pool."},
	{Key: "connections.used", Type: metrics.TypeGauge, Description: "Connections of the pool in use."},
	{Key: "connections.waited", Type: metrics.TypeCounter, Description: "How often somebody waited for a connection."},
	{Key: "replica.used", Type: metrics.TypeGauge, Description: "Whether the replica serves queries of administrators, 1 or 0."},
	{Key: "replica.lag", Type: metrics.TypeGauge, BaseUnit: metrics.UnitSeconds, Description: "How far the replica is behind, looked at each second."},
	{Key: "replica.queries", Type: metrics.TypeCounter, Description: "Queries of administrators that the replica served."},
	{Key: "replica.fallbacks", Type: metrics.TypeCounter, Description: "Queries of administrators that the primary served because the replica could not."},
}

// readReplica adds the readings of the replica, if there is one.
func readReplica(values map[string]float64, db *store.DB) map[string]float64 {
	state, ok := db.Replica()
	if !ok {
		return values
	}
	values["replica.used"] = 0
	if state.Fault == "" {
		values["replica.used"] = 1
	}
	values["replica.lag"] = state.Lag.Seconds()
	values["replica.queries"], values["replica.fallbacks"] = float64(state.Reads), float64(state.Fallbacks)
	return values
}

func readStore(s store.Stats) map[string]float64 {
	return map[string]float64{
		"transactions.committed":   float64(s.Committed),
		"transactions.rolled-back": float64(s.RolledBack),
		"transactions.retried":     float64(s.Retries),
		"commits":                  float64(s.Batches),
		"queue":                    float64(s.Queue),
		"connections.open":         float64(s.Readers.Open),
		"connections.used":         float64(s.Readers.InUse),
		"connections.waited":       float64(s.Readers.Waited),
	}
}
