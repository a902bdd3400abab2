// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A PluginGrant contains the permissions granted to a plugin.
type PluginGrant struct {
	PluginID           string
	Permissions, Hosts []string
	Java               bool
	// Revision grows with every change, from 1.
	Revision int64
	// AdminID is who changed it last, at ChangeDate.
	AdminID    int64
	ChangeDate time.Time
}

var pluginGrants = newTable("plugin_grant", "plugin_id permissions hosts java revision admin_id change_date", func(g *PluginGrant) []any {
	return []any{&g.PluginID, (*list)(&g.Permissions), (*list)(&g.Hosts), &g.Java, &g.Revision, &g.AdminID, (*millis)(&g.ChangeDate)}
})

// FindPluginGrants returns the grants of the plugins with the ids, or all without ids, by id.
func FindPluginGrants(ctx context.Context, r Reader, pluginIDs ...string) ([]PluginGrant, error) {
	var c conditions
	anyOf(&c, "t.plugin_id", pluginIDs)
	found, err := pluginGrants.find(ctx, r, c, Page{}, "t.plugin_id")
	if err != nil {
		return nil, fmt.Errorf("find grants of plugins: %w", err)
	}
	return found, nil
}

// PutPluginGrant stores or replaces a plugin's grant. exists tells whether there was one.
func PutPluginGrant(ctx context.Context, tx Tx, g PluginGrant, exists bool) error {
	var err error
	if exists {
		var c columnChanges
		c.set("permissions", strings.Join(g.Permissions, ","))
		c.set("hosts", strings.Join(g.Hosts, ","))
		c.set("java", g.Java)
		c.touch("revision", g.Revision)
		c.touch("admin_id", g.AdminID)
		c.touch("change_date", g.ChangeDate.UnixMilli())
		_, err = c.update(ctx, tx, pluginGrants.name, "revision", where("t.plugin_id = ?", g.PluginID))
	} else {
		err = pluginGrants.insert(ctx, tx, g)
	}
	if err != nil {
		return fmt.Errorf("store what is granted to plugin %q: %w", g.PluginID, err)
	}
	return nil
}
