// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

// ReadGrants reads the administrators' grants unless they were read.
func (c *Catalog) ReadGrants(ctx context.Context) error {
	byID, err := c.granted(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.opts.Granted != nil && c.seen < 0 {
		c.opts.Granted.Set(byID)
	}
	return err
}

// granted reads the administrators' grants by plugin id, if they are needed.
func (c *Catalog) granted(ctx context.Context) (map[string]plugin.Grants, error) {
	if c.opts.Granted == nil {
		return nil, nil
	}
	list, err := c.Grants(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what is granted to plugins: %w", err)
	}
	byID := make(map[string]plugin.Grants, len(list))
	for _, g := range list {
		granted, err := plugin.NewGrants(g.Permissions, g.Hosts, g.Java)
		if err != nil { // Another version of the server wrote it.
			c.opts.Logger.Warn("what is granted to a plugin is not understood", "plugin", g.PluginID, "error", err)
		}
		byID[g.PluginID] = granted
	}
	return byID, nil
}

// Grants returns the grants of the plugins with the ids, or all without ids.
func (c *Catalog) Grants(ctx context.Context, ids ...string) (list []store.PluginGrant, err error) {
	err = c.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		list, err = store.FindPluginGrants(ctx, r, ids...)
		return err
	})
	return list, err
}

// A Granting is what an administrator grants to a plugin.
type Granting struct {
	PluginID string
	plugin.Grants
	// Add merges it into existing grants; otherwise it replaces them.
	Add bool
	Change
}

// Grant changes the grants of plugins, all or nothing. It returns when this process has applied it,
// or cannot.
func (c *Catalog) Grant(ctx context.Context, list ...Granting) error {
	ids := make([]string, len(list))
	err := c.write(ctx, func(ctx context.Context, tx store.Tx) error {
		for i, g := range list {
			ids[i] = g.PluginID
			if err := g.apply(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.follow(ctx, ids...)
	return nil
}

// apply stores the grants of one plugin.
func (g Granting) apply(ctx context.Context, tx store.Tx) error {
	found, err := store.FindPluginGrants(ctx, tx, g.PluginID)
	if err != nil {
		return err
	}
	var old store.PluginGrant
	if len(found) > 0 {
		old = found[0]
	}
	if g.IfRevision != nil && *g.IfRevision != old.Revision {
		return &apierr.Error{
			Code: apierr.IllegalArgument, Status: preconditionFailed,
			Reason: fmt.Sprintf("what is granted to plugin %q is at revision %d, not %d: somebody changed it meanwhile", g.PluginID, old.Revision, *g.IfRevision),
		}
	}
	granted := g.Grants
	if g.Add {
		before, err := plugin.NewGrants(old.Permissions, old.Hosts, old.Java)
		if err != nil {
			return fmt.Errorf("read what is granted to plugin %q: %w", g.PluginID, err)
		}
		granted = before.Union(granted)
	}
	return store.PutPluginGrant(ctx, tx, store.PluginGrant{
		PluginID: g.PluginID, Permissions: granted.PermissionSet().Names(), Hosts: granted.Hosts, Java: granted.Java,
		Revision: old.Revision + 1, AdminID: g.AdminID, ChangeDate: time.Now(),
	}, len(found) > 0)
}
