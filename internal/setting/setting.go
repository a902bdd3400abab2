// SPDX-License-Identifier: Apache-2.0

// Package setting keeps the cluster-wide settings: properties that an
// administrator changed while the cluster ran. They are stored in SQL, one
// revision for each change, and lie on top of what each node was started with.
// What a property means and which values it takes is known to package config, and
// for the settings of plugins to their schemas.
package setting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/store"
)

// The actions that make a revision.
const (
	ActionUpdate = "UPDATE"
	ActionReset  = "RESET"
	ActionRevert = "REVERT"
)

// keptRevisions is how many changes are remembered.
const keptRevisions = 1000

// Options are what a Settings is built from.
type Options struct {
	Store  *store.DB
	Live   *config.Live // the configuration that runs on this node; Settings changes it
	Logger *slog.Logger
	// Ignore leaves the configuration of this node as it was started: the way in
	// when a setting keeps everybody out.
	Ignore bool
}

// Settings are the cluster-wide settings as one node sees them.
type Settings struct {
	opts Options

	// refreshing is held by who reads a revision from the store and applies it. It comes before mu.
	refreshing sync.Mutex

	mu        sync.Mutex     // guards what follows and is held while the live configuration is replaced
	local     *config.Config // what this node was started with, and its own changes
	overrides map[string]any // values of the cluster, by path
	plugins   pluginValues   // values of the cluster for plugins
	revision  int64          // of overrides and plugins
	seen      int64          // counter of the store that belongs to revision
	changed   func()         // tells other nodes
	schemas   Schemas        // of the plugins of this node; nil is none
	applied   func()         // told when values of plugins may be new
}

// New applies the cluster-wide settings to the live configuration. Run must be
// called next.
func New(ctx context.Context, opts Options) (*Settings, error) {
	s := &Settings{opts: opts, local: opts.Live.Current().Clone(), seen: -1}
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Local returns the settings of this node without those of the cluster.
func (s *Settings) Local() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.local.Clone()
}

// Current returns the settings in force and the revision of the cluster's.
func (s *Settings) Current() (*config.Config, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Live.Current(), s.revision
}

// Overrides returns the settings of the cluster, by path, and their revision.
func (s *Settings) Overrides() (revision int64, values map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision, maps.Clone(s.overrides)
}

// Change is what one revision did to one property.
type Change struct {
	Property string `json:"property"`
	Before   any    `json:"before"`
	After    any    `json:"after"`
}

// Request asks for a change of the cluster-wide settings.
type Request struct {
	AdminID int64
	// Values are nested maps of what to change.
	Values map[string]any
	// Reset gives every changeable property its built-in default.
	Reset bool
	// RevertTo brings back what held after an earlier revision; 0 is before the
	// first one.
	RevertTo *int64
	// IfRevision refuses the change when the current revision is another one.
	IfRevision *int64
}

// Update changes the cluster-wide settings, all of it or nothing. The change is
// in force on this node when it returns.
func (s *Settings) Update(ctx context.Context, r Request) error {
	own, ofPlugins, err := splitPlugins(r.Values)
	if err != nil {
		return err
	}
	if !r.Reset && r.RevertTo == nil && len(r.Values) == 0 && r.IfRevision == nil {
		return nil
	}
	local := s.Local()
	changed := false
	r.Values = own
	schemas := s.pluginSchemas()
	err = s.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		changed = false
		current, err := newest(ctx, tx)
		if err != nil {
			return err
		}
		if r.IfRevision != nil && *r.IfRevision != current.Revision {
			return &apierr.Error{
				Code: apierr.IllegalArgument, Status: preconditionFailed,
				Reason: fmt.Sprintf("the settings are at revision %d, not %d: somebody changed them meanwhile", current.Revision, *r.IfRevision),
			}
		}
		next, action, err := r.apply(ctx, tx, current, local)
		if err != nil {
			return err
		}
		if err := schemas.apply(&next, current.plugins, ofPlugins, action); err != nil {
			return err
		}
		before, err := effective(local, current.overrides)
		if err != nil && action == ActionUpdate {
			return err
		}
		if err != nil {
			before = local // What is stored fits no node any more, which is a reason to go back.
		}
		after, err := effective(local, next.overrides)
		if err != nil {
			return err
		}
		if equalJSON(next.overrides, current.overrides) && equalJSON(next.plugins, current.plugins) {
			return nil
		}
		changed = true
		changes := append(differences(before, after), schemas.differences(current.plugins, next.plugins)...)
		return insert(ctx, tx, current.Revision+1, r.AdminID, action, next, changes)
	})
	if err != nil || !changed {
		return err
	}
	if err := s.Refresh(context.WithoutCancel(ctx)); err != nil {
		s.opts.Logger.Warn("settings could not be read again after a change", "error", err)
	}
	s.mu.Lock()
	tell := s.changed
	s.mu.Unlock()
	if tell != nil {
		tell()
	}
	return nil
}

// OnChange sets the function that tells other nodes of a change that was made
// on this one.
func (s *Settings) OnChange(tell func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = tell
}

// preconditionFailed is the HTTP status of a change that somebody else's change
// overtook.
const preconditionFailed = 412

// apply returns the values after the request, without changes of plugins.
func (r Request) apply(ctx context.Context, tx store.Tx, current stored, local *config.Config) (next values, action string, err error) {
	switch {
	case r.Reset:
		next.overrides = map[string]any{}
		for _, p := range config.Properties() {
			if p.Mutable && !strings.Contains(p.Name, "[?]") {
				next.overrides[p.JSONPath] = config.DefaultValue(p)
			}
		}
		return next, ActionReset, nil
	case r.RevertTo != nil && *r.RevertTo == 0:
		return values{overrides: map[string]any{}}, ActionRevert, nil
	case r.RevertTo != nil:
		old, err := store.FindSettingRevision(ctx, tx, *r.RevertTo)
		if errors.Is(err, store.ErrNotFound) {
			return next, "", apierr.New(apierr.ResourceNotFound, "there is no revision %d of the settings", *r.RevertTo)
		}
		if err != nil {
			return next, "", err
		}
		s, err := decode(old)
		return s.values, ActionRevert, err
	}
	merged, err := effective(local, current.overrides)
	if err != nil {
		return next, "", err
	}
	changed, err := mergeInto(merged, r.Values)
	if err != nil {
		return next, "", err
	}
	next = values{maps.Clone(current.overrides), current.plugins}
	maps.Copy(next.overrides, changed)
	return next, ActionUpdate, nil
}

// mergeInto checks values against a configuration and returns those of the
// properties that they name, by path.
func mergeInto(c *config.Config, values map[string]any) (map[string]any, error) {
	touched, err := config.Touched(values)
	if err == nil {
		err = c.Merge(values, config.MergeOptions{OnlyMutable: true})
	}
	if err != nil {
		return nil, illegal(err)
	}
	paths := map[string]any{}
	for _, p := range touched {
		paths[p.JSONPath] = c.Value(p)
	}
	return paths, nil
}

// illegal tells the caller which property is wrong and why.
func illegal(err error) error {
	return &apierr.Error{Code: apierr.IllegalArgument, Reason: err.Error(), Err: err}
}

// UpdateLocal changes the settings of this node only and remembers them for its
// next start.
func (s *Settings) UpdateLocal(values map[string]any) error {
	if _, ok := values[pluginsKey]; ok {
		return apierr.New(apierr.IllegalArgument, "%s: the settings of plugins are those of the whole cluster and cannot be changed for one node", pluginsKey)
	}
	if len(values) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	local := s.local.Clone()
	paths, err := mergeInto(local, values)
	if err != nil {
		return err
	}
	if err := local.Merge(nested(paths), config.MergeOptions{Source: property.SourceFile}); err != nil {
		return illegal(err)
	}
	next, err := effective(local, s.overrides)
	if err != nil {
		return illegal(err)
	}
	if err := config.SaveLatest(local.Home(), nested(paths)); err != nil {
		return err
	}
	s.local = local
	return s.replace(next)
}

// replace makes c the configuration that runs.
func (s *Settings) replace(c *config.Config) error {
	return s.opts.Live.Update(func(live *config.Config) error {
		*live = *c
		return nil
	})
}

// effective lays the values of the cluster on those of a node.
func effective(local *config.Config, overrides map[string]any) (*config.Config, error) {
	c := local.Clone()
	if err := c.Merge(overrides, config.MergeOptions{Source: property.SourceCluster}); err != nil {
		return nil, err
	}
	return c, nil
}

// differences lists what changed, in the order of declaration.
func differences(before, after *config.Config) []Change {
	var list []Change
	for _, p := range config.Properties() {
		if strings.Contains(p.Name, "[?]") {
			continue
		}
		b, a := before.Value(p), after.Value(p)
		if !equalJSON(a, b) {
			list = append(list, Change{p.JSONPath, b, a})
		}
	}
	return list
}

// equalJSON compares values as they are stored.
func equalJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// nested turns values by path into nested maps.
func nested(paths map[string]any) map[string]any {
	root := map[string]any{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		m := root
		segments := strings.Split(path, ".")
		for _, segment := range segments[:len(segments)-1] {
			inner, ok := m[segment].(map[string]any)
			if !ok {
				inner = map[string]any{}
				m[segment] = inner
			}
			m = inner
		}
		m[segments[len(segments)-1]] = paths[path]
	}
	return root
}

// Refresh applies what other nodes changed. It costs one cheap read when there
// is nothing new.
func (s *Settings) Refresh(ctx context.Context) error {
	counter, err := s.opts.Store.Revision(ctx, store.RevisionSetting)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	told, err := s.refresh(ctx, counter)
	if told != nil {
		told()
	}
	return err
}

// refresh reads the newest revision if the counter says that there is one. It returns who is to be told that values of
// plugins may be new, without the locks that refresh holds.
func (s *Settings) refresh(ctx context.Context, counter int64) (told func(), err error) {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	if !s.isNew(counter) {
		return nil, nil
	}
	var current stored
	err = s.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		current, err = newest(ctx, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plugins = current.plugins
	c, err := effective(s.local, current.overrides)
	if err == nil {
		err = s.replace(c)
	}
	if err != nil {
		// Another version of the program may know other properties. This node goes on
		// with what it has; the next change may fit again.
		s.opts.Logger.Error("cluster-wide settings do not fit this node", "revision", current.Revision, "error", err)
		s.seen = counter
		return s.applied, nil
	}
	s.overrides, s.revision, s.seen = current.overrides, current.Revision, counter
	if current.Revision > 0 {
		s.opts.Logger.Info("cluster-wide settings applied", "revision", current.Revision)
	}
	return s.applied, nil
}

// isNew reports whether the counter says that there is a revision to apply.
func (s *Settings) isNew(counter int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if counter <= s.seen {
		return false
	}
	if s.opts.Ignore {
		s.seen = counter
		s.opts.Logger.Warn("cluster-wide settings are ignored on this node")
		return false
	}
	return true
}

// pollInterval bounds how long a change made by another node stays unseen when
// nobody tells of it.
const pollInterval = time.Second

// Run looks for changes made by other nodes until ctx ends.
func (s *Settings) Run(ctx context.Context) error {
	return store.Watch(ctx, pollInterval, s.opts.Logger, "settings", s.Refresh)
}
