// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/setting"
)

const settingTag = "SettingController"

// settingSchemaVersion changes when the shape of the settings tree does.
const settingSchemaVersion = 1

type settingHandlers struct{ settings *setting.Settings }

func settingOperations(s *setting.Settings) []*admin.Operation {
	h := settingHandlers{s}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "querySettings", Method: http.MethodGet, Path: "/cluster/settings", Tag: settingTag, Permission: permission.ClusterSettingQuery,
			Summary: "Query the settings", Description: "Returns the settings in force as nested objects, with those of the plugins of this node and of the cluster below `plugins`. Sensitive values are masked. The ETag is the revision of the cluster-wide settings.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "querySettingMetadata", Method: http.MethodGet, Path: "/cluster/settings/metadata", Tag: settingTag, Permission: permission.ClusterSettingQuery,
			Summary: "Query the meaning of the settings", Description: "Returns type, limits and meaning of each setting, and with `withValue=true` its value and where that came from: default, file, environment, flag or cluster. Those of the plugins of this node and of the cluster are below `plugins`.",
		}, h.metadata),
		admin.Handle(admin.Operation{
			ID: "updateSettings", Method: http.MethodPut, Path: "/cluster/settings", Tag: settingTag, Permission: permission.ClusterSettingUpdate,
			Summary: "Change settings",
			Description: "Changes settings of the whole cluster, or with `updateLocalSettings=true` of this node only, all of them or none. " +
				"Groups are merged; lists and maps are replaced. Settings of plugins are below `plugins` and the id of the plugin, which must be one of this node or of the cluster; `null` removes the value. Every change creates a revision; with `If-Match` the change is refused with 412 when the settings are at another one.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "querySettingHistory", Method: http.MethodGet, Path: "/cluster/settings/history", Tag: settingTag, Permission: permission.ClusterSettingQuery,
			Summary: "Query the changes of the settings", Description: "Returns the changes of the cluster-wide settings, the newest first: who, when, what before, what after.",
		}, h.history),
		admin.Handle(admin.Operation{
			ID: "querySettingHistoryPage", Method: http.MethodGet, Path: "/cluster/settings/history/page", Tag: settingTag, Permission: permission.ClusterSettingQuery,
			Summary: "Query the changes of the settings by page", Description: "Returns a page of the changes and how many there are.",
		}, h.historyPage),
	}
}

// Settings are the settings as nested objects.
type Settings struct {
	SchemaVersion int32          `json:"schemaVersion" doc:"Version of the shape of this tree." example:"1"`
	Settings      map[string]any `json:"settings" doc:"Groups of settings and their values."`
}

type settingQuery struct {
	QueryLocalSettings bool `query:"queryLocalSettings" default:"false" doc:"Whether to return the settings of this node without those of the cluster."`
	OnlyMutable        bool `query:"onlyMutable" default:"false" doc:"Whether to return only what can be changed while the server runs."`
}

// config returns the settings that a query is about, and their revision.
func (h settingHandlers) config(in settingQuery) (*config.Config, string) {
	c, revision := h.settings.Current()
	if in.QueryLocalSettings {
		c = h.settings.Local()
	}
	return c, strconv.FormatInt(revision, 10)
}

// tree builds nested objects of the visible settings. leaf returns false for a
// setting that is left out; its groups stay.
func (in settingQuery) tree(leaf func(property.Property) (any, bool)) map[string]any {
	root := map[string]any{}
	for _, p := range config.Properties() {
		if p.Hidden || strings.Contains(p.Name, "[?]") {
			continue
		}
		group := root
		segments := strings.Split(p.JSONPath, ".")
		for _, s := range segments[:len(segments)-1] {
			inner, ok := group[s].(map[string]any)
			if !ok {
				inner = map[string]any{}
				group[s] = inner
			}
			group = inner
		}
		if in.OnlyMutable && !p.Mutable {
			continue
		}
		if v, ok := leaf(p); ok {
			group[segments[len(segments)-1]] = v
		}
	}
	return root
}

func (h settingHandlers) query(_ context.Context, in *settingQuery) (admin.Versioned[Settings], error) {
	c, version := h.config(*in)
	tree := in.tree(func(p property.Property) (any, bool) { return c.Value(p), !in.OnlyMutable || !p.Sensitive })
	h.addPlugins(tree, *in, func(x *plugin.Setting, v any, _ string) (any, bool) {
		if x.Sensitive {
			return plugin.Mask, v != nil && !in.OnlyMutable
		}
		return v, v != nil
	})
	return admin.Versioned[Settings]{Data: Settings{settingSchemaVersion, tree}, Version: version}, nil
}

// addPlugins adds the settings of the plugins that this node knows to a tree. leaf gets the value
// that holds, nil if there is none, and where it came from; it returns false for what is left out.
func (h settingHandlers) addPlugins(tree map[string]any, in settingQuery, leaf func(x *plugin.Setting, value any, source string) (any, bool)) {
	all := map[string]any{}
	for id, schema := range h.settings.PluginSchemas() {
		var set map[string]any
		if !in.QueryLocalSettings {
			set = h.settings.PluginValues(id)
		}
		root, values := map[string]any{}, schema.Effective(set)
		for _, x := range schema.Settings() {
			source := property.SourceDefault
			if _, ok := x.Value(set); ok {
				source = property.SourceCluster
			}
			group := root
			for _, name := range x.Path[:len(x.Path)-1] {
				inner, ok := group[name].(map[string]any)
				if !ok {
					inner = map[string]any{}
					group[name] = inner
				}
				group = inner
			}
			value, _ := x.Value(values)
			if v, ok := leaf(x, value, string(source)); ok {
				group[x.Path[len(x.Path)-1]] = v
			}
		}
		all[id] = root
	}
	if len(all) > 0 {
		tree["plugins"] = all
	}
}

// pluginTypes are the types of JSON Schema in the words that existing callers know.
var pluginTypes = map[string]string{
	"boolean": "boolean", "integer": "long", "number": "double", "string": "string", "array": "java.util.List", "object": "object",
}

func pluginMetadata(x *plugin.Setting) settingMetadata {
	m := settingMetadata{
		Global: true, Mutable: true, Sensitive: x.Sensitive, Deprecated: x.Deprecated, Type: pluginTypes[x.Type], Options: x.Options,
		Description: x.Description, Minimum: x.Minimum, Maximum: x.Maximum,
	}
	switch {
	case x.Options != nil:
		m.Type = "enum"
	case x.Type == "":
		m.Type = "object"
	case x.Type == "array":
		m.ElementType = pluginTypes[x.Items]
	}
	return m
}

type settingMetadataQuery struct {
	settingQuery
	WithValue bool `query:"withValue" default:"false" doc:"Whether to return values and where they came from."`
}

// settingMetadata describes one setting. Its words are those that existing
// callers know.
type settingMetadata struct {
	Value       any      `json:"value,omitempty"`
	Source      string   `json:"source,omitempty"`
	Deprecated  bool     `json:"deprecated"`
	Global      bool     `json:"global"`
	Mutable     bool     `json:"mutable"`
	Sensitive   bool     `json:"sensitive"`
	Type        string   `json:"type"`
	ElementType string   `json:"elementType,omitempty"`
	Options     []string `json:"options,omitempty"`
	Description string   `json:"description,omitempty"`
	Minimum     *int64   `json:"minimum,omitempty"`
	Maximum     *int64   `json:"maximum,omitempty"`
	Default     any      `json:"default,omitempty"` // only with values, and not of what is sensitive
	// Elements are the fields of the objects in a list, by their paths.
	Elements map[string]settingMetadata `json:"elements,omitempty"`
}

// settingElements returns the fields of the objects in a list.
func settingElements(list property.Property) map[string]settingMetadata {
	if list.Type != "list of object" {
		return nil
	}
	fields := map[string]settingMetadata{}
	for _, p := range config.Properties() {
		if name, inside := strings.CutPrefix(p.JSONPath, list.JSONPath+"[?]."); inside {
			fields[name] = newSettingMetadata(p)
		}
	}
	return fields
}

func newSettingMetadata(p property.Property) settingMetadata {
	m := settingMetadata{
		Global: p.Global, Mutable: p.Mutable, Sensitive: p.Sensitive,
		Type: p.Type, Options: p.Options, Description: p.Doc, Minimum: p.Min, Maximum: p.Max,
	}
	if element, isList := strings.CutPrefix(p.Type, "list of "); isList {
		m.Type, m.ElementType = "java.util.List", element
	} else if strings.HasPrefix(p.Type, "map") {
		m.Type = "java.util.Map"
	}
	return m
}

func (h settingHandlers) metadata(_ context.Context, in *settingMetadataQuery) (admin.Versioned[Settings], error) {
	c, version := h.config(in.settingQuery)
	defaults := config.Default()
	tree := in.tree(func(p property.Property) (any, bool) {
		m := newSettingMetadata(p)
		m.Elements = settingElements(p)
		if in.WithValue {
			m.Value, m.Default, m.Source = c.Value(p), defaults.Value(p), string(c.Source(p))
			if p.Sensitive {
				m.Value, m.Default = "", nil
			}
		}
		return m, true
	})
	h.addPlugins(tree, in.settingQuery, func(x *plugin.Setting, v any, source string) (any, bool) {
		m := pluginMetadata(x)
		if in.WithValue {
			m.Value, m.Default, m.Source = v, x.Default, source
			if x.Sensitive {
				m.Value = ""
			}
		}
		return m, true
	})
	return admin.Versioned[Settings]{Data: Settings{settingSchemaVersion, tree}, Version: version}, nil
}

type settingUpdate struct {
	Reset               bool           `query:"reset" default:"false" doc:"Whether to give every setting that can change its built-in default; the body is ignored."`
	RevertTo            *int64         `query:"revertTo" minimum:"0" doc:"Revision to go back to; 0 is before the first change; the body is ignored." example:"3"`
	UpdateLocalSettings bool           `query:"updateLocalSettings" default:"false" doc:"Whether to change this node only, now and for its next start."`
	IfMatch             string         `header:"If-Match" doc:"ETag of the settings that the change is meant for." example:"\"3\""`
	Body                *settingValues `doc:"Settings to change, as nested objects. Those of plugins stand below plugins and the id of the plugin."`
}

// settingValues are settings as nested objects.
type settingValues map[string]any

// Describe implements admin.Describer: which settings of plugins are secret only the node knows
// that has the plugin, so that their values are left out. The history of the settings has them.
func (v settingValues) Describe() any {
	shown := maps.Clone(map[string]any(v))
	if all, ok := shown["plugins"]; ok {
		shown["plugins"] = maskLeaves(all)
	}
	return shown
}

func maskLeaves(v any) any {
	group, ok := v.(map[string]any)
	if !ok {
		return plugin.Mask
	}
	masked := make(map[string]any, len(group))
	for name, inner := range group {
		masked[name] = maskLeaves(inner)
	}
	return masked
}

func (h settingHandlers) update(ctx context.Context, in *settingUpdate) (admin.Done, error) {
	r := setting.Request{AdminID: admin.Requester(ctx).ID, Reset: in.Reset, RevertTo: in.RevertTo}
	if in.Body != nil {
		r.Values = *in.Body
	}
	if in.IfMatch != "" && in.IfMatch != "*" {
		revision, err := strconv.ParseInt(strings.Trim(strings.TrimPrefix(in.IfMatch, "W/"), `"`), 10, 64)
		if err != nil {
			return admin.Done{}, apierr.New(apierr.IllegalArgument, "parameter \"If-Match\": %q is not an ETag of the settings", in.IfMatch)
		}
		r.IfRevision = &revision
	}
	if in.UpdateLocalSettings {
		if in.Reset || in.RevertTo != nil || r.IfRevision != nil {
			return admin.Done{}, apierr.New(apierr.IllegalArgument, "parameter \"updateLocalSettings\": cannot be combined with reset, revertTo or If-Match")
		}
		return admin.Done{}, h.settings.UpdateLocal(r.Values)
	}
	return admin.Done{}, h.settings.Update(ctx, r)
}

// SettingRevision is one change of the cluster-wide settings.
type SettingRevision struct {
	Revision int64           `json:"revision" doc:"Number of the revision." example:"3"`
	AdminID  int64           `json:"adminId" doc:"Who made it." example:"0"`
	Date     admin.Date      `json:"date" doc:"When it was made."`
	Action   string          `json:"action" enum:"UPDATE,RESET,REVERT" doc:"What was asked for." example:"UPDATE"`
	Changes  []SettingChange `json:"changes" doc:"What it changed."`
}

// SettingChange is what a revision did to one setting.
type SettingChange struct {
	Property string `json:"property" doc:"Path of the setting." example:"service.adminApi.rateLimiting.capacity"`
	Before   any    `json:"before" doc:"Value before."`
	After    any    `json:"after" doc:"Value after."`
}

func newSettingRevision(r setting.Revision) SettingRevision {
	return SettingRevision{
		Revision: r.Revision, AdminID: r.AdminID, Date: admin.NewDate(r.Date), Action: r.Action,
		Changes: resource.Convert(r.Changes, func(c setting.Change) SettingChange { return SettingChange(c) }),
	}
}

type settingHistoryQuery struct{ admin.Paging }

type settingHistoryPageQuery struct{ admin.PageRequest }

func (h settingHandlers) history(ctx context.Context, in *settingHistoryQuery) ([]SettingRevision, error) {
	_, found, err := h.settings.History(ctx, in.Limit(), 0)
	return resource.Convert(found, newSettingRevision), err
}

func (h settingHandlers) historyPage(ctx context.Context, in *settingHistoryPageQuery) (admin.Page[SettingRevision], error) {
	total, found, err := h.settings.History(ctx, in.Limit(), in.Offset())
	return admin.NewPage(total, resource.Convert(found, newSettingRevision)), err
}
