// SPDX-License-Identifier: Apache-2.0

// Package setting manages the cluster-wide settings: properties that administrators change at run
// time. They are stored in SQL, one revision for each change, and override the configuration of
// each node. Package config defines the properties and their values, and the schemas of plugins
// their settings.
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

// keptRevisions is how many changes are kept.
const keptRevisions = 1000

// Options configure a Settings.
type Options struct {
	Store  *store.DB
	Live   *config.Live // the configuration of this node, which Settings changes
	Logger *slog.Logger
	// Ignore leaves the configuration of this node unchanged: the way out if a setting locks
	// everybody out.
	Ignore bool
}

// Settings are the cluster-wide settings on one node.
type Settings struct {
	opts Options

	// refreshing is held while a revision is read from the store and applied. It comes before mu.
	refreshing sync.Mutex

	mu        sync.Mutex     // guards the following fields; held while the live configuration is replaced
	local     *config.Config // the initial configuration of this node, and its own changes
	overrides map[string]any // values of the cluster, by path
	plugins   pluginValues   // values of the cluster for plugins
	revision  int64          // of overrides and plugins
	seen      int64          // counter of the store that belongs to revision
	changed   func()         // notifies other nodes
	schemas   Schemas        // of the plugins of this node; nil is none
	applied   func()         // called when values of plugins may have changed
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

// Local returns the settings of this node without the cluster's.
func (s *Settings) Local() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.local.Clone()
}

// Current returns the effective settings and the revision of the cluster's.
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

// Change is the change of one property by a revision.
type Change struct {
	Property string `json:"property"`
	Before   any    `json:"before"`
	After    any    `json:"after"`
}

// Request is a change of the cluster-wide settings.
type Request struct {
	AdminID int64
	// Values are the values to change, as nested maps.
	Values map[string]any
	// Reset resets every changeable property to its built-in default.
	Reset bool
	// RevertTo restores the values after an earlier revision; 0 means before the first one.
	RevertTo *int64
	// IfRevision makes the change fail if the current revision differs.
	IfRevision *int64
}

// Update changes the cluster-wide settings, all or nothing. The change is effective on this node
// when it returns.
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
			before = local // The stored values are invalid on all nodes, which is a reason to revert.
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

// OnChange sets the function that notifies other nodes of a change by this one.
func (s *Settings) OnChange(tell func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = tell
}

// preconditionFailed is the HTTP status of a conflicting change.
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

// mergeInto validates values against a configuration and returns those of the named properties, by
// path.
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

// illegal returns the caller's error, which names the property and the reason.
func illegal(err error) error {
	return &apierr.Error{Code: apierr.IllegalArgument, Reason: err.Error(), Err: err}
}

// UpdateLocal changes the settings of this node only and stores them for its next start.
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

// replace makes c the live configuration.
func (s *Settings) replace(c *config.Config) error {
	return s.opts.Live.Update(func(live *config.Config) error {
		*live = *c
		return nil
	})
}

// effective applies the values of the cluster to those of a node.
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

// nested converts values by path to nested maps.
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

// Refresh applies changes of other nodes. Without changes it costs one cheap read.
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

// refresh reads the newest revision if the counter has changed. It returns the function to call,
// without the locks, if values of plugins may have changed.
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
		// Another version of the program may have other properties. This node keeps its values; the
		// next change may be valid again.
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

// isNew reports whether the counter indicates a new revision.
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

// pollInterval bounds the delay until a change of another node is visible without a notification.
const pollInterval = time.Second

// Run polls for changes of other nodes until ctx ends.
func (s *Settings) Run(ctx context.Context) error {
	return store.Watch(ctx, pollInterval, s.opts.Logger, "settings", s.Refresh)
}
