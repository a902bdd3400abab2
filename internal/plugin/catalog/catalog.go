// SPDX-License-Identifier: Apache-2.0

// Package catalog manages the plugins of the whole cluster: their files and versions in SQL, which
// version is active, and the state on all nodes. A Catalog also keeps its own process in line: it
// loads, replaces, starts and removes plugins until they match the database. It does not
// communicate with other nodes; its owner notifies them of changes and requests their states.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// Options configure a Catalog.
type Options struct {
	Store   *store.DB
	Manager *plugin.Manager
	// Enabled is true if this process loads plugins of the cluster.
	Enabled bool
	// Settings returns the current settings.
	Settings func() config.Plugin
	// Granted receives the administrators' grants; nil if none are needed.
	Granted *plugin.Granted
	Logger  *slog.Logger
	// NodeIDs are the ids of the nodes of this process.
	NodeIDs []string
	// Act runs automatic decisions of the process, and records them in the audit trail under an
	// operation with its parameters; nil only runs them.
	Act func(ctx context.Context, operation string, params map[string]any, fn func(context.Context) error) error
	// Gather returns the rollout figures of all processes of the cluster, including this one; nil
	// means only this one.
	Gather func(ctx context.Context) []ProcessEvidence
	// Leads reports whether this process decides about rollouts by all figures; nil means yes.
	Leads func() bool
	// Changed notifies other nodes of a change by this one. It may be nil.
	Changed func()
	// Retry returns the pause after the n-th failed attempt to load a plugin; nil means back-off,
	// at most a minute.
	Retry func(n int) time.Duration
}

// A Catalog contains the plugins of the cluster as known to one process.
type Catalog struct {
	Rollouts *Rollouts

	opts Options
	// ctx ends with Stop, which waits for workers.
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu sync.Mutex
	// seen is the store's counter for the entries; -1 before the first read.
	seen    int64
	entries map[string]*entry
	// booting is true during the start of the server: calls of plugins that have not started fail.
	booting bool
	// moved is closed and replaced when an entry changes.
	moved chan struct{}
}

// A Plugin is a plugin of the cluster with its active version.
type Plugin struct {
	store.ClusterPlugin
	Active store.PluginVersion
	// Rollout is the rollout of another version that some nodes run instead of the active one, or
	// beside it; nil if there is none.
	Rollout *store.PluginRollout
	trial   store.PluginVersion
	// mine is the version that this process runs.
	mine store.PluginVersion
	// beside is true if this process runs trial beside it, for some users.
	beside bool
}

// servers returns the roles of the plugin.
func (p *Plugin) servers() []role.Role { return rolesOf(p.mine) }

// rolesOf returns the roles of a version.
func rolesOf(v store.PluginVersion) (roles []role.Role) {
	for _, name := range v.Servers {
		roles = append(roles, role.Role(name))
	}
	return roles
}

// New returns a catalog. Start or Refresh must be called next.
func New(o Options) *Catalog {
	c := &Catalog{opts: o, seen: -1, entries: map[string]*entry{}, moved: make(chan struct{})}
	c.Rollouts = &Rollouts{c}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Find returns the plugins of the cluster with the ids, or all without ids, in order.
func (c *Catalog) Find(ctx context.Context, ids ...string) (list []Plugin, err error) {
	err = c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		list, err = c.find(ctx, r)
		return err
	})
	if len(ids) > 0 {
		list = slices.DeleteFunc(list, func(p Plugin) bool { return !slices.Contains(ids, p.ID) })
	}
	return list, err
}

// Known returns the plugins of the cluster as known to this process, in order, after a short check
// for changes: it works without the store.
func (c *Catalog) Known(ctx context.Context) (list []Plugin) {
	ctx, cancel := context.WithTimeout(ctx, knownTimeout)
	defer cancel()
	if err := c.Refresh(ctx); err != nil {
		c.opts.Logger.Debug("plugins of the cluster are shown as they were", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if e.want != nil {
			list = append(list, *e.want)
		}
	}
	slices.SortFunc(list, func(a, b Plugin) int { return cmp.Compare(a.Place, b.Place) })
	return list
}

// knownTimeout bounds the check of Known.
const knownTimeout = time.Second

// find reads all plugins with their active versions.
func (c *Catalog) find(ctx context.Context, r store.Reader) ([]Plugin, error) {
	plugins, err := store.FindClusterPlugins(ctx, r)
	if err != nil {
		return nil, err
	}
	versions, err := store.FindActivePluginVersions(ctx, r)
	if err != nil {
		return nil, err
	}
	list := make([]Plugin, 0, len(plugins))
	for _, p := range plugins {
		i := slices.IndexFunc(versions, func(v store.PluginVersion) bool { return v.PluginID == p.ID && v.Number == p.Number })
		if i >= 0 { // Another statement of the same read may have seen a newer state.
			list = append(list, Plugin{ClusterPlugin: p, Active: versions[i], mine: versions[i]})
		}
	}
	return list, c.addRollouts(ctx, r, list)
}

// Versions returns the versions of the plugins with the ids, or of all without ids, each plugin's
// newest first.
func (c *Catalog) Versions(ctx context.Context, ids ...string) (list []store.PluginVersion, err error) {
	err = c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		list, err = store.FindPluginVersions(ctx, r, ids...)
		return err
	})
	return list, err
}

// current returns a plugin in a transaction, or the error ResourceNotFound.
func current(ctx context.Context, tx store.Tx, id string) (store.ClusterPlugin, error) {
	found, err := store.FindClusterPlugins(ctx, tx, id)
	if err == nil && len(found) == 0 {
		err = apierr.New(apierr.ResourceNotFound, "the cluster has no plugin %q", id)
	}
	if err != nil {
		return store.ClusterPlugin{}, err
	}
	return found[0], nil
}

// A Change describes the request of an administrator.
type Change struct {
	AdminID int64
	// IfRevision makes the change fail if the plugin's revision differs.
	IfRevision *int64
}

// preconditionFailed is the HTTP status of a conflicting change.
const preconditionFailed = 412

// check returns an error if the change was meant for another revision.
func (c Change) check(p store.ClusterPlugin) error {
	if c.IfRevision == nil || *c.IfRevision == p.Revision {
		return nil
	}
	return &apierr.Error{
		Code: apierr.IllegalArgument, Status: preconditionFailed,
		Reason: fmt.Sprintf("plugin %q is at revision %d, not %d: somebody changed it meanwhile", p.ID, p.Revision, *c.IfRevision),
	}
}

// apply sets the author of a plugin's change and stores it.
func (c Change) apply(ctx context.Context, tx store.Tx, p store.ClusterPlugin) (changed bool, err error) {
	p.Revision, p.AdminID, p.ChangeDate = p.Revision+1, c.AdminID, time.Now()
	return store.UpdateClusterPlugin(ctx, tx, p)
}

// Activate activates a version and reports whether another one was active before. It returns when
// this process has applied it, or cannot.
func (c *Catalog) Activate(ctx context.Context, id string, number int64, by Change) (changed bool, err error) {
	err = c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := current(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := by.check(p); err != nil {
			return err
		}
		versions, err := store.FindPluginVersions(ctx, tx, id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(versions, func(v store.PluginVersion) bool { return v.Number == number }) {
			return apierr.New(apierr.ResourceNotFound, "plugin %q has no version %d", id, number)
		}
		if err := noRollout(ctx, tx, id); err != nil {
			return err
		}
		p.Number = number
		changed, err = by.apply(ctx, tx, p)
		return err
	})
	if err != nil {
		return false, err
	}
	c.follow(ctx, id)
	return changed, nil
}

// steps maps statuses and hooks to the resulting status. Unlike a single extension, a cluster
// plugin can be started again after it was stopped: nodes reload it.
var steps = map[plugin.Hook]map[plugin.State]plugin.State{
	plugin.Start:  {plugin.Loaded: plugin.Started, plugin.Started: plugin.Started, plugin.Stopped: plugin.Started},
	plugin.Pause:  {plugin.Started: plugin.Paused, plugin.Paused: plugin.Paused},
	plugin.Resume: {plugin.Paused: plugin.Started, plugin.Started: plugin.Started},
	plugin.Stop:   {plugin.Loaded: plugin.Stopped, plugin.Started: plugin.Stopped, plugin.Paused: plugin.Stopped, plugin.Stopped: plugin.Stopped},
}

// Do changes the state of a plugin on all nodes and reports whether it was different before. It
// returns when this process has applied it, or cannot.
func (c *Catalog) Do(ctx context.Context, id string, h plugin.Hook, by Change) (changed bool, err error) {
	err = c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := current(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := by.check(p); err != nil {
			return err
		}
		next, ok := steps[h][plugin.State(p.Status)]
		if !ok {
			return apierr.New(apierr.IllegalArgument, "plugin %q: %s is not possible: the plugin is %s in the cluster", id, h, p.Status)
		}
		p.Status = string(next)
		changed, err = by.apply(ctx, tx, p)
		return err
	})
	if err != nil {
		return false, err
	}
	c.follow(ctx, id)
	return changed, nil
}

// Remove removes a plugin with all of its versions from all nodes. It returns when this process has
// removed it.
func (c *Catalog) Remove(ctx context.Context, id string) error {
	err := c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.DeleteClusterPlugin(ctx, tx, id)
		if err == nil && !found {
			err = apierr.New(apierr.ResourceNotFound, "the cluster has no plugin %q", id)
		}
		return err
	})
	if err != nil {
		return err
	}
	c.follow(ctx, id)
	return nil
}

// RemoveVersions deletes versions of a plugin and returns how many there were. The active one is an
// error.
func (c *Catalog) RemoveVersions(ctx context.Context, id string, numbers ...int64) (n int64, err error) {
	err = c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		p, err := current(ctx, tx, id)
		if err != nil {
			return err
		}
		if slices.Contains(numbers, p.Number) {
			return apierr.New(apierr.IllegalArgument, "version %d of plugin %q is active: activate another one first", p.Number, id)
		}
		if err := noRollout(ctx, tx, id); err != nil {
			return err
		}
		n, err = store.DeletePluginVersions(ctx, tx, id, numbers...)
		return err
	})
	return n, err
}

// write runs a change in a transaction that other nodes notice.
func (c *Catalog) write(ctx context.Context, fn store.WriteFunc) error {
	return c.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		// First, so that concurrent changes are serialised.
		if err := store.BumpRevision(ctx, tx, store.RevisionPlugin); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// follow notifies other nodes of a change and waits until this process has applied it, or cannot.
func (c *Catalog) follow(ctx context.Context, ids ...string) {
	if c.opts.Changed != nil {
		c.opts.Changed()
	}
	if err := c.Refresh(ctx); err != nil {
		c.opts.Logger.Warn("plugins of the cluster could not be read again after a change", "error", err)
		return
	}
	c.settle(ctx, ids...)
}

// cleanAge is the minimum age of an unreferenced file before it is deleted, because an upload may
// be in progress.
const cleanAge = 24 * time.Hour

// Clean deletes unreferenced files and returns how many there were.
func (c *Catalog) Clean(ctx context.Context, db store.Writer) (n int64, err error) {
	err = db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		n, err = store.DeletePluginFiles(ctx, tx, time.Now().Add(-cleanAge))
		return err
	})
	return n, err
}

// Stop stops applying changes and waits for running work until ctx ends. The plugins stay.
func (c *Catalog) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.cancel() // No worker begins from now on.
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for plugins of the cluster: %w", errors.Join(ctx.Err()))
	}
}
