// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/plugin"
	"example.org/app/internal/store"
)

type pluginCreation struct {
	Save    bool `query:"save" default:"false" doc:"Whether to keep the plugins in the folder of plugins, so that they are there after the next start."`
	DryRun  bool `query:"dryRun" default:"false" doc:"Whether to load and check only: the response describes each plugin and its problems, and nothing is stored."`
	Replace bool `query:"replace" default:"false" doc:"Whether a plugin may take the place of one with the same id. It gets its state, and no call is lost."`

	Grant bool `query:"grant" default:"false" doc:"Whether to grant the plugins what their descriptors ask for, which a dry run shows, in addition to what is granted already. Permissions that the requester lacks cannot be granted."`

	Scope    string `query:"scope" default:"NODE" enum:"NODE,CLUSTER" doc:"NODE adds the plugins to this node alone. CLUSTER keeps them in the database, and all nodes that they are made for load them, now and when they start."`
	Activate bool   `query:"activate" default:"true" doc:"Whether the version of a plugin of the cluster becomes the active one. Without that it is only kept, for POST /plugins/rollouts or PUT /plugins/versions."`
	IfMatch  string `header:"If-Match" doc:"Revision of the plugin of the cluster that is replaced; with one plugin only." example:"\"3\""`
}

type scriptCreation struct {
	pluginCreation
	Body scriptList
}

type scriptList struct {
	Scripts []script `json:"scripts,omitempty" doc:"The scripts."`
}

type script struct {
	FileName *string `json:"fileName,omitempty" doc:"Name of the file, for messages and for saving; without it a hash of the code." example:"word-filter"`
	Code     string  `json:"code" secret:"true" doc:"The plugin, an ECMAScript module." example:"class Hello extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } handleAdminAction({ action }) { app.log.info(action); } } export default class extends AppPlugin { getDescriptor() { return { id: 'hello' }; } getExtensions() { return [Hello]; } }"`
}

type scriptQuery struct {
	IDs []string `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of plugins." example:"word-filter"`
}

// scriptRecord is the code of a plugin.
type scriptRecord struct {
	ID       string `json:"id" doc:"Id of the plugin." example:"word-filter"`
	FileName string `json:"fileName" doc:"Name of its file." example:"word-filter.js"`
	Code     string `json:"code" doc:"The plugin, an ECMAScript module."`
	Digest   string `json:"digest" doc:"SHA-256 digest of the code."`
}

func (h pluginHandlers) queryScripts(_ context.Context, in *scriptQuery) ([]scriptRecord, error) {
	list := []scriptRecord{}
	for _, id := range in.IDs {
		if p, ok := h.Manager.Find(id); ok && p.Language == plugin.JavaScript {
			file, code := p.File()
			list = append(list, scriptRecord{ID: p.ID, FileName: file, Code: string(code), Digest: p.Digest})
		}
	}
	return list, nil
}

type archiveCreation struct {
	pluginCreation
	Form admin.Form
}

// pluginOutcome is what became of one plugin.
type pluginOutcome struct {
	FileName    string             `json:"fileName,omitempty" doc:"Name of the file as it was given."`
	ID          string             `json:"id,omitempty" doc:"Id of the plugin, if it is one." example:"word-filter"`
	Version     string             `json:"version,omitempty" doc:"Version that the plugin states."`
	Provider    string             `json:"provider,omitempty" doc:"Provider that the plugin states."`
	License     string             `json:"license,omitempty" doc:"License that the plugin states."`
	Description string             `json:"description,omitempty" doc:"Description of the plugin."`
	Extensions  []extensionOutcome `json:"extensions,omitempty" doc:"Extensions."`
	Replaced    bool               `json:"replaced,omitempty" doc:"Whether it took the place of another version."`
	SavedAs     string             `json:"savedAs,omitempty" doc:"Name of its file in the folder of plugins."`
	Warnings    []string           `json:"warnings,omitempty" doc:"What its author should know though it can be loaded, as an extension point that it names and has no function of."`
	Requested   *grantsRecord      `json:"requestedGrants,omitempty" doc:"What its descriptor asks for; missing if that is nothing."`
	Missing     *grantsRecord      `json:"missingGrants,omitempty" doc:"Requested grants that are missing (app.plugin.grants.mode=EXPLICIT); missing if there are none."`
	Waits       bool               `json:"waits,omitempty" doc:"Whether it waits for grants: it replaces the version that runs on this node as soon as all plugins of the request have the requested grants. Nothing is saved before, and a restart discards it."`
	Digest      string             `json:"digest,omitempty" doc:"SHA-256 digest of the file; only with scope=CLUSTER, like the following fields."`
	Number      int64              `json:"number,omitempty" doc:"Number of the version."`
	Nodes       []nodeStateRecord  `json:"nodes,omitempty" doc:"Progress of the nodes. This node has finished; others may still be loading the plugin."`
	Problem     *pluginProblem     `json:"problem,omitempty" doc:"Why it was not accepted; it is missing if it was."`
}

type extensionOutcome struct {
	ExtensionClass        string   `json:"extensionClass" doc:"Name of its class." example:"WordFilter"`
	ExtensionPointClasses []string `json:"extensionPointClasses" doc:"Names of the extension points that it implements."`
	Functions             []string `json:"functions,omitempty" doc:"Functions that the server calls."`
}

type pluginProblem struct {
	Code   apierr.Code `json:"code" doc:"Business status code." example:"1102"`
	Reason string      `json:"reason" doc:"What is wrong."`
}

func (h pluginHandlers) createScripts(ctx context.Context, in *scriptCreation) ([]pluginOutcome, error) {
	switch s := h.Settings(); {
	case !s.Enabled:
		return nil, apierr.New(apierr.JavaScriptPluginIsDisabled, "plugins are disabled on this server (app.plugin.enabled)")
	case !h.Manager.Runs(plugin.JavaScript):
		return nil, apierr.New(apierr.JavaScriptPluginIsDisabled, "")
	case in.Save && !s.JavaScript.AllowSave:
		return nil, apierr.New(apierr.SavingJavaScriptPluginIsDisabled, "saving JavaScript plugins is disabled on this server (app.plugin.js.allow-save)")
	}
	uploads := make([]plugin.Upload, len(in.Body.Scripts))
	for i, s := range in.Body.Scripts {
		uploads[i] = plugin.Upload{Language: plugin.JavaScript, Data: []byte(s.Code)}
		if s.FileName != nil {
			uploads[i].Name = *s.FileName
		}
	}
	return h.create(ctx, in.pluginCreation, uploads)
}

func (h pluginHandlers) createArchives(ctx context.Context, in *archiveCreation) ([]pluginOutcome, error) {
	switch s := h.Settings(); {
	case !s.Enabled:
		return nil, apierr.New(apierr.IllegalArgument, "plugins are disabled on this server (app.plugin.enabled)")
	case !h.Manager.Runs(plugin.Java):
		return nil, apierr.New(apierr.IllegalArgument, "this server cannot run Java plugins: it has no Java host")
	case in.Save && !s.Java.AllowSave:
		return nil, apierr.New(apierr.SavingJavaPluginIsDisabled, "saving Java plugins is disabled on this server (app.plugin.java.allow-save)")
	}
	uploads := make([]plugin.Upload, len(in.Form.Files))
	for i, f := range in.Form.Files {
		data, err := f.ReadAll()
		if err != nil {
			return nil, fmt.Errorf("read the file %q of a form: %w", f.Field, err)
		}
		uploads[i] = plugin.Upload{Language: plugin.Java, Name: archiveName(f), Data: data}
	}
	return h.create(ctx, in.pluginCreation, uploads)
}

// archiveName is what an archive is called: by its field, as callers of such servers do, or by its
// file, as browsers and tools do.
func archiveName(f admin.File) string {
	isArchive := func(name string) bool {
		ext := strings.ToLower(filepath.Ext(name))
		return ext == ".jar" || ext == ".zip"
	}
	if f.Field == "" || !isArchive(f.Field) && isArchive(f.FileName) {
		return f.FileName
	}
	return f.Field
}

// create adds all plugins or none of them, or checks them.
func (h pluginHandlers) create(ctx context.Context, c pluginCreation, uploads []plugin.Upload) ([]pluginOutcome, error) {
	if c.Scope == scopeCluster {
		return h.publish(ctx, c, uploads)
	}
	if !c.Activate {
		return nil, apierr.New(apierr.IllegalArgument, "parameter \"activate\": false is for scope=CLUSTER")
	}
	for i := range uploads {
		uploads[i].Save, uploads[i].Replace = c.Save, c.Replace
	}
	undo := func() error { return nil }
	if c.Grant {
		checked, errs := h.Folder.Check(plugin.ForAdmin(ctx, admin.Requester(ctx).ID), uploads...)
		plugins := make([]*plugin.Plugin, len(checked))
		var ids []string
		for i := range checked {
			if plugins[i] = checked[i].Plugin; plugins[i] != nil {
				ids = append(ids, plugins[i].ID)
			}
		}
		defer h.Manager.Waiting.Hold(ids...)()
		var err error
		if undo, err = h.grantUploads(ctx, c, uploads, plugins, errs); err != nil {
			return nil, err
		}
	}
	do := h.Folder.AddAll
	if c.DryRun {
		do = h.Folder.Check
	}
	added, errs := do(plugin.ForAdmin(ctx, admin.Requester(ctx).ID), uploads...)
	if !c.DryRun && errs != nil {
		return nil, refusal(uploads, errs, undo())
	}
	outcomes := make([]pluginOutcome, len(uploads))
	for i, u := range uploads {
		outcomes[i] = newPluginOutcome(u, added[i])
		if !c.DryRun {
			noteUpload(ctx, outcomes[i])
		}
		if c.DryRun && errs[i] != nil { // What is wrong is the answer of a dry run.
			e := apierr.From(store.Code(errs[i]))
			outcomes[i].Problem = &pluginProblem{Code: e.Code, Reason: e.Reason}
		}
	}
	return outcomes, nil
}

// noteUpload adds a new plugin to the audit record.
func noteUpload(ctx context.Context, o pluginOutcome) {
	change := store.Change{
		Record: auditedPlugin, Action: store.ActionCreate, Key: store.Values{{Name: "id", Value: o.ID}},
		After: store.Values{{Name: "version", Value: o.Version}, {Name: "file", Value: o.FileName}, {Name: "savedAs", Value: o.SavedAs}},
	}
	if o.Replaced || o.Waits {
		change.Action = store.ActionUpdate
	}
	if o.Waits {
		change.After = append(change.After, store.Value{Name: "waits", Value: true})
	}
	audit.Note(ctx, change)
}

func newPluginOutcome(u plugin.Upload, added plugin.Added) pluginOutcome {
	out := pluginOutcome{FileName: u.Name}
	p := added.Plugin
	if p == nil {
		return out
	}
	out.ID, out.Version, out.Provider, out.License, out.Description = p.ID, p.Version, p.Provider, p.License, p.Description
	out.Requested, out.Missing, out.Waits = newGrantsRecord(p.Requested), newGrantsRecord(p.Missing()), added.Waits
	out.Replaced, out.SavedAs, out.Warnings = added.Replaced, baseName(p.Path), p.Warnings()
	for _, e := range p.Extensions() {
		out.Extensions = append(out.Extensions, extensionOutcome{
			ExtensionClass: e.Class, ExtensionPointClasses: newExtensionRecord(e).ExtensionPointClasses, Functions: functionNames(e),
		})
	}
	return out
}

// refusal is the error of uploads of which at least one was not accepted. It names the problem of
// each. That of a single upload keeps its code, as a caller of one knows what it is about. What is
// left is an error of what was to be undone.
func refusal(uploads []plugin.Upload, errs []error, left error) error {
	var reasons, exceptions []string
	single := &apierr.Error{Code: apierr.IllegalArgument}
	for i, err := range errs {
		if err == nil {
			continue
		}
		e := apierr.From(store.Code(err))
		reason := e.Reason
		if len(uploads) == 1 {
			*single = *e
		} else if name := uploads[i].Name; name != "" {
			reason = fmt.Sprintf("plugin %d (%s): %s", i+1, name, reason)
		} else {
			reason = fmt.Sprintf("plugin %d: %s", i+1, reason)
		}
		reasons = append(reasons, reason)
		exceptions = append(exceptions, e.Code.Name()+": "+reason)
	}
	single.Reason = strings.Join(reasons, "; ")
	if len(uploads) > 1 {
		single.Reason += "; none of the plugins was added"
	}
	if left != nil {
		single.Reason += "; " + left.Error()
	}
	single.Exception = strings.Join(exceptions, "\n")
	return single
}
