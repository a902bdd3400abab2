// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// An entry is a plugin of the cluster with its state in this process.
type entry struct {
	// want is the state in the store; nil means that the plugin was removed.
	want *Plugin
	// busy is true while a worker applies the entry.
	busy bool
	// tried is the store's counter up to which the entry was applied, or failed to be.
	tried int64
	// failure is why the last attempt failed, or ""; attempts counts successive failures, and next
	// is the time of the next attempt.
	failure  string
	failed   action // what was attempted
	waits    bool   // the failure is that it waits for grants
	attempts int
	next     time.Time
	// watch contains the observations of a rollout's version, and evidence its figures; nil if this
	// process does not take part.
	watch    watch
	evidence *Evidence
}

// An action applies an entry.
type action int

const (
	none action = iota
	remove
	load
	lead
	// try loads the candidate of a rollout, resplit changes its users, promote makes it the active
	// version, and endTrial ends it.
	try
	resplit
	promote
	endTrial
)

// Refresh reads changes and starts applying them. Without changes it costs one cheap read.
func (c *Catalog) Refresh(ctx context.Context) error {
	counter, err := c.opts.Store.Revision(ctx, store.RevisionPlugin)
	if err != nil {
		return fmt.Errorf("read plugins of the cluster: %w", err)
	}
	c.mu.Lock()
	isNew := counter > c.seen
	c.mu.Unlock()
	if isNew {
		list, err := c.Find(ctx)
		if err != nil {
			return fmt.Errorf("read plugins of the cluster: %w", err)
		}
		granted, err := c.granted(ctx)
		if err != nil {
			return err
		}
		c.accept(counter, list, granted)
		c.opts.Manager.Regrant()
	}
	c.reconcile()
	return nil
}

// accept takes over the state of the store.
func (c *Catalog) accept(counter int64, list []Plugin, granted map[string]plugin.Grants) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counter <= c.seen {
		return // Another goroutine was faster.
	}
	c.seen = counter
	if c.opts.Granted != nil {
		c.opts.Granted.Set(granted)
	}
	before := map[string]*Plugin{}
	for id, e := range c.entries {
		before[id], e.want = e.want, nil
		e.attempts, e.next = 0, time.Time{} // The cause of the failure may have been removed.
	}
	for _, p := range list {
		e := c.entries[p.ID]
		if e == nil {
			e = &entry{tried: -1}
			c.entries[p.ID] = e
		}
		if old := before[p.ID]; old == nil || old.Revision != p.Revision || old.mine.Number != p.mine.Number || !old.mine.UploadDate.Equal(p.mine.UploadDate) || old.rolloutID() != p.rolloutID() {
			e.failure = "" // That was another version.
		}
		e.want = &p
	}
}

// reconcile starts workers for the entries that must be applied.
func (c *Catalog) reconcile() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	for id, e := range c.entries {
		if e.busy || time.Now().Before(e.next) {
			continue
		}
		what := c.due(id, e.want)
		switch {
		case what != none:
			e.busy = true
			want, counter := e.want, c.seen
			c.workers.Go(func() { c.work(id, what, want, counter) })
		case e.want == nil:
			delete(c.entries, id)
		default:
			e.tried, e.failure, e.attempts = c.seen, "", 0
		}
	}
	c.move()
}

// move signals that entries changed. The lock is held.
func (c *Catalog) move() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// due returns the next action for an entry.
func (c *Catalog) due(id string, want *Plugin) action {
	p, loaded := c.opts.Manager.Find(id)
	candidate, split, trying := c.opts.Manager.Trials.Find(id)
	shared := loaded && p.Shared() != nil
	switch {
	case want == nil || !c.loads(want):
		if shared {
			return remove
		}
		return none
	case loaded && !shared && !trying:
		return none // The node's own plugin takes precedence.
	case loaded && !shared:
		return endTrial
	case shared && !want.is(p) && trying && !split.Shadow && want.is(candidate) && healthy(candidate):
		return promote
	case !shared || !want.is(p):
		return load
	case want.Status == string(plugin.Started) && slices.ContainsFunc(p.Extensions(), func(e plugin.ExtensionInfo) bool { return e.State == plugin.Stopped }):
		return load
	case !inState(p, plugin.State(want.Status)):
		return lead
	case trying && !want.wantsTrial():
		return endTrial
	case want.wantsTrial() && (!trying || !runs(candidate, want.trial) || split.Shadow != want.split().Shadow):
		return try
	case want.wantsTrial() && !split.Equal(want.split()):
		return resplit
	}
	return none
}

// wantsTrial reports whether this process runs the version of a rollout beside the active one,
// which it does only while the plugin is started.
func (p *Plugin) wantsTrial() bool { return p.beside && p.Status == string(plugin.Started) }

// split returns the users of a rollout's version.
func (p *Plugin) split() plugin.Split {
	return plugin.Split{Percentage: int(p.Rollout.Percentage), UserIDs: p.Rollout.UserIDs, Shadow: p.Rollout.Mode == store.RolloutShadow}
}

// rolloutID returns the id of the rollout; 0 if there is none.
func (p *Plugin) rolloutID() int64 {
	if p.Rollout == nil {
		return 0
	}
	return p.Rollout.ID
}

// healthy reports whether all extensions of a plugin can run.
func healthy(p *plugin.Plugin) bool {
	state, _ := summary(p)
	return state == string(plugin.Started)
}

// loads reports whether this process loads the plugin.
func (c *Catalog) loads(p *Plugin) bool { return c.opts.Enabled && c.opts.Manager.Fits(p.servers()) }

// is reports whether a loaded plugin is the version that this process should run.
func (p *Plugin) is(loaded *plugin.Plugin) bool { return runs(loaded, p.mine) }

// runs reports whether a loaded plugin is a version of the cluster.
func runs(loaded *plugin.Plugin, v store.PluginVersion) bool {
	s := loaded.Shared()
	return s != nil && s.Number == v.Number && s.UploadDate.Equal(v.UploadDate) && loaded.Digest == v.Digest
}

// inState reports whether the extensions of a plugin are in the wanted state. The manager restores
// those that should run and cannot.
func inState(p *plugin.Plugin, want plugin.State) bool {
	if want == plugin.Loaded {
		return true // It came with a further state.
	}
	return !slices.ContainsFunc(p.Extensions(), func(e plugin.ExtensionInfo) bool {
		return e.State != want && (e.Quarantine == "" || want == plugin.Stopped)
	})
}

// work applies one entry.
func (c *Catalog) work(id string, what action, want *Plugin, counter int64) {
	err := c.do(c.ctx, id, what, want)
	c.note(id, what, counter, err)
	c.reconcile() // The store may have changed meanwhile.
}

// note records the result of the work for an entry.
func (c *Catalog) note(id string, what action, counter int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	e.busy, e.failure, e.failed = false, "", what
	if err != nil {
		e.tried = counter // Otherwise it does when there is no further action.
	}
	_, e.waits = errors.AsType[*plugin.WaitingError](err)
	if err != nil && c.ctx.Err() == nil {
		refusal, told := errors.AsType[*apierr.Error](err)
		if e.failure = err.Error(); told {
			e.failure = refusal.Reason
		}
		switch {
		case e.attempts > 0:
		case e.waits: // An administrator must act.
			c.opts.Logger.Warn("a plugin of the cluster waits for a grant", "plugin", id, "error", err)
		default:
			c.opts.Logger.Error("a plugin of the cluster could not be brought into line", "plugin", id, "error", err)
		}
		e.next = time.Now().Add(c.pause(e.attempts, told))
		e.attempts++
	}
	c.move()
}

// pause returns the pause after the n-th failure. Failures of the store are retried soon.
func (c *Catalog) pause(n int, refused bool) time.Duration {
	switch {
	case c.opts.Retry != nil:
		return c.opts.Retry(n)
	case !refused:
		return pollInterval
	}
	return min(time.Second<<min(n, 10), time.Minute)
}

// do executes an action. Replacing a plugin loses no call: see plugin.Manager.Replace.
func (c *Catalog) do(ctx context.Context, id string, what action, want *Plugin) error {
	m := c.opts.Manager
	switch what {
	case remove:
		if err := m.Withdraw(ctx, id); err != nil && apierr.From(err).Code != apierr.ResourceNotFound {
			return err
		}
		return nil
	case lead:
		p, ok := m.Find(id)
		if !ok || p.Shared() == nil {
			return nil // Another goroutine was faster.
		}
		return c.lead(ctx, p, plugin.State(want.Status))
	case endTrial:
		m.Trials.End(ctx, id)
		return nil
	case resplit:
		m.Trials.Resplit(id, want.split())
		return nil
	case promote:
		_, err := m.Trials.Promote(ctx, id)
		return err
	case try:
		src, err := c.source(ctx, want, want.trial)
		if err == nil {
			_, err = m.Trials.Try(ctx, plugin.Language(want.trial.Language), src, want.split())
		}
		return err
	}
	src, err := c.source(ctx, want, want.mine)
	if err != nil {
		return err
	}
	if want.Status == string(plugin.Loaded) && c.isAhead(id) {
		// The plugin was removed and added again, unnoticed by the node.
		if err := c.do(ctx, id, remove, nil); err != nil {
			return err
		}
	}
	p, err := m.Replace(ctx, plugin.Language(want.mine.Language), src)
	if err != nil {
		return err
	}
	c.mu.Lock()
	booting := c.booting
	c.mu.Unlock()
	if booting && want.Status == string(plugin.Started) {
		return m.Boot(ctx, p)
	}
	return c.lead(ctx, p, plugin.State(want.Status))
}

// source reads a version from the store.
func (c *Catalog) source(ctx context.Context, want *Plugin, v store.PluginVersion) (plugin.Source, error) {
	data, err := c.fetch(ctx, v)
	return plugin.Source{
		Name: v.FileName, Data: data, Shared: &plugin.Shared{Number: v.Number, Place: want.Place, UploadDate: v.UploadDate},
	}, err
}

// isAhead reports whether the node has a cluster plugin whose extensions were started.
func (c *Catalog) isAhead(id string) bool {
	p, ok := c.opts.Manager.Find(id)
	return ok && p.Shared() != nil && slices.ContainsFunc(p.Extensions(), func(e plugin.ExtensionInfo) bool { return e.State != plugin.Loaded })
}

// hooks are the hooks that lead to a state from any other of a cluster plugin.
var hooks = map[plugin.State][]plugin.Hook{
	plugin.Started: {plugin.Start, plugin.Resume},
	plugin.Paused:  {plugin.Start, plugin.Pause},
	plugin.Stopped: {plugin.Stop},
}

// lead brings the extensions of a plugin to a state.
func (c *Catalog) lead(ctx context.Context, p *plugin.Plugin, state plugin.State) (err error) {
	if inState(p, state) {
		return nil
	}
	for _, h := range hooks[state] {
		for _, s := range c.opts.Manager.Do(ctx, p, h) {
			if s.Waits() {
				return &apierr.Error{Code: apierr.IllegalArgument, Reason: s.Err.Error(), Err: s.Err}
			}
			if s.Err != nil && !s.Impossible() {
				err = errors.Join(err, apierr.New(apierr.IllegalArgument, "%s of extension %q failed: %v", h, s.Extension, s.Err))
			}
		}
	}
	switch {
	case inState(p, state):
		return nil // The manager retries failed starts.
	case err == nil:
		return apierr.New(apierr.IllegalArgument, "an extension of plugin %q cannot become %s", p.ID, state)
	}
	return err
}

// settle waits until the process has applied the state of plugins, or failed.
func (c *Catalog) settle(ctx context.Context, ids ...string) {
	c.mu.Lock()
	counter := c.seen
	c.mu.Unlock()
	for {
		c.mu.Lock()
		moved := c.moved
		waits := slices.ContainsFunc(ids, func(id string) bool {
			e := c.entries[id]
			return e != nil && id != plugin.Caller(ctx) && (e.tried < counter || e.busy && e.failure == "")
		})
		c.mu.Unlock()
		if !waits {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
}

// Start loads the plugins of the cluster at the start of the server, and starts those that should
// run. The error joins those of single plugins.
func (c *Catalog) Start(ctx context.Context) error {
	c.mu.Lock()
	c.booting = true
	c.mu.Unlock()
	for {
		err := c.Refresh(ctx)
		if err == nil {
			break
		}
		c.opts.Logger.Warn("the server waits for the plugins of the cluster", "error", err)
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return nil
		}
	}
	ids := c.ids()
	c.settle(ctx, ids...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.booting = false
	var errs []error
	for _, id := range ids {
		if e := c.entries[id]; e != nil && e.failure != "" && !e.waits { // The server starts without what waits for an administrator.
			errs = append(errs, apierr.New(apierr.IllegalArgument, "plugin %q of the cluster: %s", id, e.failure))
		}
	}
	return errors.Join(errs...)
}

// ids returns the known plugins.
func (c *Catalog) ids() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.entries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Loading returns the plugins that are being loaded or started.
func (c *Catalog) Loading() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.entries {
		if e.busy {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// pollInterval bounds the delay until a change of another node is visible without a notification.
const pollInterval = time.Second

// Run follows changes of other nodes until ctx ends.
func (c *Catalog) Run(ctx context.Context) error {
	return store.Watch(ctx, pollInterval, c.opts.Logger, "plugins of the cluster", func(ctx context.Context) error {
		if err := c.Refresh(ctx); err != nil {
			return err
		}
		return c.Rollouts.judge(ctx)
	})
}
