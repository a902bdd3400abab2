// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/store"
)

func grantOperations(h pluginHandlers) []*admin.Operation {
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPluginGrants", Method: http.MethodGet, Path: "/plugins/grants", Tag: pluginTag, Permission: permission.PluginQuery,
			Summary:     "List what is granted to plugins",
			Description: "Lists what administrators granted to plugins, by the ids of the plugins, whether or not they are loaded. Plugins that were granted nothing are skipped.",
		}, h.queryGrants),
		admin.Handle(admin.Operation{
			ID: "updatePluginGrants", Method: http.MethodPut, Path: "/plugins/grants", Tag: pluginTag, Permission: permission.PluginCreate,
			Summary: "Change what is granted to a plugin",
			Description: "Replaces what is granted to the plugin with an id on all nodes; what is missing in the body is taken away. With `app.plugin.grants.mode=EXPLICIT` a plugin that waits for a grant " +
				"and was to be started is started as soon as it has all that it asks for, and one that loses a grant is called no more until it has it again. Grants belong to the id of a plugin and stay when it is removed. " +
				"Permissions that the requester lacks cannot be granted.",
		}, h.updateGrants),
	}
}

type grantRecord struct {
	PluginID    string     `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Permissions []string   `json:"permissions" doc:"Permissions of the admin interface." example:"[\"USER_QUERY\"]"`
	Hosts       []string   `json:"hosts" doc:"Hosts that a script may connect to, as in the descriptor." example:"[\"*.example.org\"]"`
	Java        bool       `json:"java" doc:"Whether a script may use classes of Java."`
	Revision    int64      `json:"revision" doc:"Revision of the grants, for If-Match; it increases with every change." example:"1"`
	AdminID     int64      `json:"adminId" doc:"Who changed it last." example:"0"`
	ChangeDate  admin.Date `json:"changeDate" doc:"When it was changed last."`
}

func newGrantRecord(g store.PluginGrant) grantRecord {
	return grantRecord{
		PluginID: g.PluginID, Permissions: g.Permissions, Hosts: g.Hosts, Java: g.Java,
		Revision: g.Revision, AdminID: g.AdminID, ChangeDate: admin.NewDate(g.ChangeDate),
	}
}

type grantQuery struct {
	IDs []string `query:"ids" uniqueItems:"true" doc:"Ids of plugins; empty means all." example:"word-filter"`
}

func (h pluginHandlers) queryGrants(ctx context.Context, in *grantQuery) ([]grantRecord, error) {
	list, err := h.Catalog.Grants(ctx, in.IDs...)
	return resource.Convert(list, newGrantRecord), err
}

type grantUpdate struct {
	ID      string `query:"id" required:"true" doc:"Id of the plugin." example:"word-filter"`
	IfMatch string `header:"If-Match" doc:"Expected revision of the grants; 0 means no grants." example:"\"1\""`
	Body    grantBody
}

type grantBody struct {
	Permissions []string `json:"permissions,omitempty" doc:"Permissions of the admin interface." example:"[\"USER_QUERY\"]"`
	Hosts       []string `json:"hosts,omitempty" doc:"Hosts that a script may connect to, as in the descriptor." example:"[\"*.example.org\"]"`
	Java        bool     `json:"java,omitempty" doc:"Whether a script may use classes of Java."`
}

func (h pluginHandlers) updateGrants(ctx context.Context, in *grantUpdate) (grantRecord, error) {
	change, err := newChange(ctx, in.IfMatch, 1)
	if err != nil {
		return grantRecord{}, err
	}
	grants, err := plugin.NewGrants(in.Body.Permissions, in.Body.Hosts, in.Body.Java)
	if err != nil {
		return grantRecord{}, apierr.New(apierr.IllegalArgument, "%v", err)
	}
	if err := mayGrant(ctx, grants); err != nil {
		return grantRecord{}, err
	}
	if err := h.Catalog.Grant(ctx, catalog.Granting{PluginID: in.ID, Grants: grants, Change: change}); err != nil {
		return grantRecord{}, err
	}
	list, err := h.Catalog.Grants(ctx, in.ID)
	if err == nil && len(list) == 0 {
		err = apierr.New(apierr.ResourceNotFound, "what is granted to plugin %q was removed meanwhile", in.ID)
	}
	if err != nil {
		return grantRecord{}, err
	}
	return newGrantRecord(list[0]), nil
}

// mayGrant refuses to grant permissions that the requester lacks.
func mayGrant(ctx context.Context, g plugin.Grants) error {
	if missing := admin.Requester(ctx).Permissions.Missing(g.Permissions); len(missing) > 0 {
		refusal := apierr.New(apierr.Unauthorized, "you cannot grant permissions that you lack: %v", missing)
		refusal.Status = http.StatusForbidden
		return refusal
	}
	return nil
}

// grantUploads grants checked plugins the permissions that they request, all or none of them. undo
// revokes the grants if the uploads are refused later.
func (h pluginHandlers) grantUploads(ctx context.Context, c pluginCreation, uploads []plugin.Upload, plugins []*plugin.Plugin, errs []error) (undo func() error, err error) {
	undo = func() error { return nil }
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		if c.DryRun {
			return undo, nil // The answer says what is wrong.
		}
		return undo, refusal(uploads, errs, nil)
	}
	var list []catalog.Granting
	for _, p := range plugins {
		if err := mayGrant(ctx, p.Requested); err != nil {
			return undo, err
		}
		if !p.Requested.IsEmpty() {
			list = append(list, catalog.Granting{PluginID: p.ID, Grants: p.Requested, Add: true, Change: catalog.Change{AdminID: admin.Requester(ctx).ID}})
		}
	}
	if c.DryRun || len(list) == 0 {
		return undo, nil
	}
	before, err := h.grantsOf(ctx, list)
	if err == nil {
		err = h.Catalog.Grant(ctx, list...)
	}
	return func() error {
		var errs []error
		for _, g := range before {
			// What another administrator changed meanwhile stays.
			if err := h.Catalog.Grant(context.WithoutCancel(ctx), g); err != nil {
				errs = append(errs, fmt.Errorf("what was granted to plugin %q is not taken back: %w", g.PluginID, err))
			}
		}
		return errors.Join(errs...)
	}, err
}

// grantsOf returns what brings plugins back to what is granted to them now, after one change.
func (h pluginHandlers) grantsOf(ctx context.Context, list []catalog.Granting) (before []catalog.Granting, err error) {
	for _, g := range list {
		found, err := h.Catalog.Grants(ctx, g.PluginID)
		if err != nil {
			return nil, err
		}
		next := int64(1)
		old := catalog.Granting{PluginID: g.PluginID, Change: catalog.Change{AdminID: g.AdminID, IfRevision: &next}}
		if len(found) > 0 {
			next += found[0].Revision
			if old.Grants, err = plugin.NewGrants(found[0].Permissions, found[0].Hosts, found[0].Java); err != nil {
				return nil, fmt.Errorf("read what is granted to plugin %q: %w", g.PluginID, err)
			}
		}
		before = append(before, old)
	}
	return before, nil
}

// grantsRecord is what a plugin requests, or what it was granted.
type grantsRecord struct {
	Permissions []string `json:"permissions" doc:"Permissions of the admin interface." example:"[\"USER_QUERY\"]"`
	Hosts       []string `json:"hosts" doc:"Hosts that a script connects to: names, addresses, *.name for all hosts below a name or * for all, with or without a port." example:"[\"*.example.org\"]"`
	Java        bool     `json:"java" doc:"Whether a script uses classes of Java."`
}

// newGrantsRecord returns nil for no grants.
func newGrantsRecord(g plugin.Grants) *grantsRecord {
	if g.IsEmpty() {
		return nil
	}
	r := &grantsRecord{Permissions: g.PermissionSet().Names(), Hosts: g.Hosts, Java: g.Java}
	if r.Hosts == nil {
		r.Hosts = []string{}
	}
	return r
}

// granted is what a plugin that is loaded may do; nil means everything.
func (h pluginHandlers) granted(p *plugin.Plugin) *grantsRecord {
	if h.Settings().Grants.Mode == config.GrantsOpen {
		return nil
	}
	if r := newGrantsRecord(p.Allowed()); r != nil {
		return r
	}
	return &grantsRecord{Permissions: []string{}, Hosts: []string{}}
}
