// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/config"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/store"
)

const pluginTag = "PluginController"

// Plugins are the parts that the operations on plugins work on.
type Plugins struct {
	Manager *plugin.Manager
	Folder  *plugin.Folder
	// Settings returns the current settings.
	Settings func() config.Plugin
	// ProcessID is that of the members that share the plugins; "" is not shown.
	ProcessID string
	// Catalog has the plugins of the cluster, and States requests their states from all nodes.
	Catalog *catalog.Catalog
	States  func(context.Context) []catalog.NodeStates
	// Traces gathers what all nodes have recorded.
	Traces func(ctx context.Context, f trace.Filter, offset, limit int) trace.Gathering
	// Samples gathers what the shadows of a plugin ended otherwise on all nodes.
	Samples func(ctx context.Context, pluginID string) []catalog.NodeSamples
}

type pluginHandlers struct{ Plugins }

func pluginOperations(p Plugins) []*admin.Operation {
	h := pluginHandlers{p}
	return append([]*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPlugins", Method: http.MethodGet, Path: "/plugins", Tag: pluginTag, Permission: permission.PluginQuery,
			Summary: "List plugins",
			Description: "Lists the plugins of this node and their extensions, and those of the cluster with the state on each node. Unknown ids are skipped. With `ids` the answer tells more of each. " +
				"With `includeRejected=true` files that could not be loaded are listed as well, each with the name of the file as its id and the reason.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "updatePlugins", Method: http.MethodPut, Path: "/plugins", Tag: pluginTag, Permission: permission.PluginUpdate,
			Summary: "Start, pause, resume or stop plugins",
			Description: "Leads the extensions of the plugins on this node into another state, those of a plugin of the cluster on all nodes; the same request again changes nothing and succeeds. Each plugin counts by itself: those that changed are counted, " +
				"and `failures` says which extensions could not follow and why. If nothing changed and something failed, the answer is an error: " +
				"1102 if no extension was in a state from which the step is possible, 1200 if a hook failed. An extension that was stopped cannot be started again, but a plugin of the cluster can: it is loaded anew. " +
				"`failures` of a plugin of the cluster are those of this node.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deletePlugins", Method: http.MethodDelete, Path: "/plugins", Tag: pluginTag, Permission: permission.PluginDelete,
			Summary: "Remove plugins",
			Description: "Stops plugins of this node and forgets them. Unknown ids are skipped. The files stay, unless they shall be deleted. " +
				"A plugin of the cluster is removed from all nodes, with all of its versions.",
		}, h.delete),
		admin.Handle(admin.Operation{
			ID: "createJsPlugins", Method: http.MethodPost, Path: "/plugins/js", Tag: pluginTag, Permission: permission.PluginCreate,
			Summary: "Add JavaScript plugins",
			Description: "The permission `PLUGIN_CREATE` means control of the host: a plugin is code that runs in the server. Loads plugins into this node, or with `scope=CLUSTER` into all nodes that they are made for. They are not started by that. All scripts are added or none: " +
				"if one is not accepted, the answer is an error that names the problem of each.",
			EmptyIsOK: true, Errors: []apierr.Code{apierr.DuplicateResource, apierr.JavaScriptPluginIsDisabled, apierr.SavingJavaScriptPluginIsDisabled},
		}, h.createScripts),
		admin.Handle(admin.Operation{
			ID: "queryJsPluginScripts", Method: http.MethodGet, Path: "/plugins/js", Tag: pluginTag, Permission: permission.PluginCreate,
			Summary: "Read the code of JavaScript plugins",
			Description: "Returns the code that this node runs, so that it can be changed and sent back with POST. Unknown ids and those of Java plugins are skipped. " +
				"Code may contain secrets, so reading it requires the permission to replace it.",
		}, h.queryScripts),
		admin.Handle(admin.Operation{
			ID: "createJavaPlugins", Method: http.MethodPost, Path: "/plugins/java", Tag: pluginTag, Permission: permission.PluginCreate,
			Summary: "Add Java plugins",
			Description: "The permission `PLUGIN_CREATE` means control of the host: a plugin is code that runs in the server. Loads plugins into this node, or with `scope=CLUSTER` into all nodes that they are made for. They are not started by that. Each part of the form is an archive; the name of its field is the name of the file, " +
				"or that of the part if the field's name does not end in `.jar`. All archives are added or none: " +
				"if one is not accepted, the answer is an error that names the problem of each.",
			EmptyIsOK: true, Errors: []apierr.Code{apierr.DuplicateResource, apierr.SavingJavaPluginIsDisabled},
		}, h.createArchives),
	}, concat(grantOperations(h), versionOperations(h), rolloutOperations(h), traceOperations(h), debugOperations(h))...)
}

type pluginRecord struct {
	ID          string            `json:"id" doc:"Id of the plugin; of a rejected file its name." example:"word-filter"`
	Version     string            `json:"version,omitempty" doc:"Version that the plugin states."`
	Provider    string            `json:"provider,omitempty" doc:"Provider that the plugin states."`
	License     string            `json:"license,omitempty" doc:"License that the plugin states."`
	Description string            `json:"description,omitempty" doc:"Description of the plugin."`
	Extensions  []extensionRecord `json:"extensions" doc:"Extensions."`
	Scope       string            `json:"scope,omitempty" enum:"NODE,CLUSTER" doc:"Whether it is a plugin of this node alone or of the cluster."`
	Excess      string            `json:"excess,omitempty" doc:"Limit of app.plugin.limits that it exceeds, and the measure taken; missing if it exceeds none."`
	Digest      string            `json:"digest,omitempty" doc:"SHA-256 digest of its file; missing if it is not loaded on this node."`
	Cluster     *clusterRecord    `json:"cluster,omitempty" doc:"What the cluster knows of the plugin with the id. A plugin of this node alone has it if it keeps one of the cluster out."`

	Requested *grantsRecord `json:"requestedGrants,omitempty" doc:"What its descriptor asks for; missing if that is nothing."`
	Granted   *grantsRecord `json:"granted,omitempty" doc:"Its grants; missing if it may do everything (app.plugin.grants.mode=OPEN), or is not loaded on this node."`

	Missing *grantsRecord `json:"missingGrants,omitempty" doc:"What it asks for and was not granted (app.plugin.grants.mode=EXPLICIT); it waits for them, and is then started if it should be. Missing if it waits for none."`

	Waiting *waitingRecord `json:"waitingVersion,omitempty" doc:"New version, uploaded to this node or put into its folder, that replaces this one as soon as it has the requested grants."`

	Rejected *rejectionRecord `json:"rejected,omitempty" doc:"Why the file could not be loaded; only of rejected files."`

	Language   string      `json:"language,omitempty" enum:"JAVA,JAVA_SCRIPT" doc:"Language. Only with ids, like the following fields."`
	ProcessID  string      `json:"processId,omitempty" doc:"Id of the process that runs it, as that of members (/cluster/members)." example:"VQ3XJ5"`
	FileName   string      `json:"fileName,omitempty" doc:"Name of the file in the folder of plugins, if it is in one."`
	LoadedDate *admin.Date `json:"loadedDate,omitempty" doc:"When it was loaded."`
	Memory     *int64      `json:"memory,omitempty" doc:"Bytes that it holds, if that is known."`
	CPU        *int64      `json:"cpuMillis,omitempty" doc:"Milliseconds for which it used a processor since it was loaded. Of a Java plugin that shares its JVM it is an estimate."`
	Allocated  *int64      `json:"allocated,omitempty" doc:"Bytes that it was given since it was loaded, whatever became of them, if that is known."`
	Renewals   *int32      `json:"renewals,omitempty" doc:"How often it died and was reloaded."`

	SettingsSchema map[string]any `json:"settingsSchema,omitempty" doc:"JSON Schema of its settings (/cluster/settings), if it has some."`
}

type extensionRecord struct {
	ExtensionClass        string   `json:"extensionClass" doc:"Name of its class." example:"WordFilter"`
	Started               bool     `json:"started" doc:"Whether it was started and not stopped."`
	Running               bool     `json:"running" doc:"Whether it is started, not paused, and can run."`
	ExtensionPointClasses []string `json:"extensionPointClasses" doc:"Names of the extension points that it implements."`
	Quarantine            string   `json:"quarantine,omitempty" doc:"Why it cannot run although it should: operations that its extension points could refuse are refused meanwhile. Missing if it can run, or should not."`

	State  string `json:"state" enum:"LOADED,WAITING,STARTED,PAUSED,STOPPED" doc:"State. WAITING means loaded, but without the requested grants."`
	Calls  int64  `json:"calls" doc:"How often it was called."`
	Errors int64  `json:"errors" doc:"How many calls failed."`

	Endpoints []endpointRecord `json:"endpoints,omitempty" doc:"Operations of the admin interface that it serves while it is started."`
	Schedules []scheduleRecord `json:"schedules,omitempty" doc:"Schedules of the extension on this node."`

	Delivery *deliveryRecord `json:"delivery,omitempty" doc:"State of the at-least-once delivery of events (DomainEventConsumer); missing if it receives none, or does not run on this node."`

	Functions   []string       `json:"functions,omitempty" doc:"Functions that the server calls. Only with ids, like the following fields."`
	Timeouts    *int64         `json:"timeouts,omitempty" doc:"How many calls took too long."`
	QueueLength *int32         `json:"queueLength,omitempty" doc:"How many calls are running or waiting."`
	LastError   *failureRecord `json:"lastError,omitempty" doc:"The last failure."`
}

type endpointRecord struct {
	Method      string `json:"method" doc:"HTTP method." example:"GET"`
	Path        string `json:"path" doc:"Path." example:"/plugins/endpoints/report/users"`
	OperationID string `json:"operationId" doc:"Id of the operation in the OpenAPI document and in audit records." example:"plugin_report_users"`
	Summary     string `json:"summary" doc:"What it does." example:"Count users"`
	Permission  string `json:"permission" doc:"Permission that callers need." example:"USER_QUERY"`
}

type scheduleRecord struct {
	Name         string      `json:"name" doc:"Name; that of the times if the plugin gave none." example:"nightly-report"`
	When         string      `json:"when" doc:"Cron expression or interval." example:"0 3 * * *"`
	LeaderOnly   bool        `json:"leaderOnly" doc:"Whether only one node of the cluster runs it."`
	Running      bool        `json:"running" doc:"Whether it runs on this node now."`
	NextDate     *admin.Date `json:"nextDate,omitempty" doc:"When it is due next; missing while the extension is not running. With leaderOnly another node may run it then."`
	LastDate     *admin.Date `json:"lastDate,omitempty" doc:"When the last run was due that ended, or that another node has run."`
	Runs         int64       `json:"runs" doc:"How often it ran on this node."`
	Failures     int64       `json:"failures" doc:"How many of these runs failed."`
	Skipped      int64       `json:"skipped" doc:"How often it was due while it ran, and was skipped."`
	LastDuration *int64      `json:"lastDurationMillis,omitempty" doc:"How long the last run on this node took."`
	LastError    string      `json:"lastError,omitempty" doc:"Why the last run on this node failed."`
}

func newScheduleRecord(s plugin.ScheduleInfo) scheduleRecord {
	r := scheduleRecord{
		Name: s.Name, When: s.When, LeaderOnly: s.LeaderOnly, Running: s.Running, Runs: s.Runs, Failures: s.Failures, Skipped: s.Skipped, LastError: s.LastError,
	}
	if !s.Next.IsZero() {
		r.NextDate = &admin.Date{Time: s.Next}
	}
	if !s.LastSlot.IsZero() {
		r.LastDate = &admin.Date{Time: s.LastSlot}
	}
	if s.Runs > 0 {
		millis := s.LastDuration.Milliseconds()
		r.LastDuration = &millis
	}
	return r
}

type deliveryRecord struct {
	NodeID    string      `json:"nodeId,omitempty" doc:"The node that delivers events to it; missing if there is none yet. The following fields are complete on that node only." example:"service-1"`
	Position  int64       `json:"position" doc:"Id of the last delivered event."`
	Waiting   int64       `json:"waiting" doc:"Upper bound of the number of waiting events at the last check."`
	Delivered int64       `json:"delivered" doc:"Number of events that this node has delivered."`
	Lost      int64       `json:"lost" doc:"Number of events that were deleted before they were delivered (app.plugin.events)."`
	Failures  int64       `json:"failures" doc:"Number of consecutive failed calls; later events wait until a call succeeds."`
	LastError string      `json:"lastError,omitempty" doc:"Why the last call failed."`
	NextDate  *admin.Date `json:"nextDate,omitempty" doc:"When a failed call is retried."`
}

func newDeliveryRecord(d *plugin.DeliveryInfo) *deliveryRecord {
	if d == nil {
		return nil
	}
	r := &deliveryRecord{
		NodeID: d.Node, Position: d.Position, Waiting: d.Waiting, Delivered: d.Delivered, Lost: d.Lost, Failures: d.Failures, LastError: d.LastError,
	}
	if !d.Next.IsZero() {
		r.NextDate = &admin.Date{Time: d.Next}
	}
	return r
}

type failureRecord struct {
	In     string     `json:"in" doc:"The function that failed." example:"ClientRequestHandler.transform"`
	Reason string     `json:"reason" doc:"What went wrong."`
	Date   admin.Date `json:"date" doc:"When."`
}

type rejectionRecord struct {
	Reason string     `json:"reason" doc:"Why it could not be loaded."`
	File   string     `json:"file,omitempty" doc:"Name of the file in the folder of plugins, if it is in it."`
	Date   admin.Date `json:"date" doc:"When that was tried."`
}

// waitingRecord is a version that waits for grants while the one before it goes on.
type waitingRecord struct {
	Version string        `json:"version" doc:"Version that the plugin states."`
	Digest  string        `json:"digest" doc:"SHA-256 digest of its file."`
	Missing *grantsRecord `json:"missingGrants,omitempty" doc:"What it asks for and was not granted; missing if it waits only for another plugin of the same request."`
	Date    admin.Date    `json:"date" doc:"Since when it waits."`
}

func (h pluginHandlers) waiting(id string) *waitingRecord {
	w, ok := h.Manager.Waiting.Find(id)
	if !ok {
		return nil
	}
	return &waitingRecord{w.Version, w.Digest, newGrantsRecord(w.Missing), admin.Date{Time: w.Since}}
}

type pluginQuery struct {
	IDs             []string `query:"ids" uniqueItems:"true" doc:"Ids of plugins; empty means all." example:"word-filter"`
	IncludeRejected bool     `query:"includeRejected" default:"false" doc:"Whether to list files that could not be loaded."`
}

func (h pluginHandlers) query(ctx context.Context, in *pluginQuery) ([]pluginRecord, error) {
	wanted := func(id string) bool { return len(in.IDs) == 0 || slices.Contains(in.IDs, id) }
	var list []pluginRecord
	for _, p := range h.Manager.Plugins() {
		if wanted(p.ID) {
			r := newPluginRecord(p, len(in.IDs) > 0)
			r.ProcessID, r.Granted, r.Waiting = h.ProcessID, h.granted(p), h.waiting(p.ID)
			list = append(list, r)
		}
	}
	list = h.withCluster(ctx, list, wanted)
	if !in.IncludeRejected {
		return list, nil
	}
	for _, r := range h.Manager.Rejections.All() {
		if wanted(r.Name) {
			list = append(list, pluginRecord{
				ID: r.Name, Extensions: []extensionRecord{}, Rejected: &rejectionRecord{Reason: r.Reason, File: baseName(r.Path), Date: admin.Date{Time: r.At}},
			})
		}
	}
	return list, nil
}

func baseName(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

func newPluginRecord(p *plugin.Plugin, detailed bool) pluginRecord {
	r := pluginRecord{ID: p.ID, Version: p.Version, Provider: p.Provider, License: p.License, Description: p.Description, Extensions: []extensionRecord{}, Scope: scopeNode, Excess: p.Excess(), Digest: p.Digest, Requested: newGrantsRecord(p.Requested)}
	if p.Shared() != nil {
		r.Scope = scopeCluster
	}
	missing := p.Missing()
	r.Missing = newGrantsRecord(missing)
	for _, e := range p.Extensions() {
		er := newExtensionRecord(e)
		if e.State == plugin.Loaded && !missing.IsEmpty() {
			er.State = stateWaiting
		}
		if detailed {
			er.detail(e)
		}
		r.Extensions = append(r.Extensions, er)
	}
	if detailed {
		r.Language, r.FileName, r.LoadedDate = string(p.Language), baseName(p.Path), &admin.Date{Time: p.LoadedAt}
		if bytes := p.Memory(); bytes > 0 {
			r.Memory = &bytes
		}
		if cpu := p.CPU().Milliseconds(); cpu > 0 {
			r.CPU = &cpu
		}
		if bytes := p.Allocated(); bytes > 0 {
			r.Allocated = &bytes
		}
		if s := p.Descriptor.Settings; s != nil {
			r.SettingsSchema = s.Document()
		}
		if n := int32(p.Renewals()); n > 0 {
			r.Renewals = &n
		}
	}
	return r
}

func newExtensionRecord(e plugin.ExtensionInfo) extensionRecord {
	r := extensionRecord{
		ExtensionClass: e.Class, Started: e.State == plugin.Started || e.State == plugin.Paused, Running: e.State == plugin.Started && e.Quarantine == "",
		ExtensionPointClasses: []string{}, Quarantine: e.Quarantine, State: string(e.State), Calls: e.Calls, Errors: e.Errors,
		Delivery: newDeliveryRecord(e.Delivery),
	}
	for _, p := range e.Points {
		r.ExtensionPointClasses = append(r.ExtensionPointClasses, p.FullName())
	}
	for _, served := range e.Endpoints {
		r.Endpoints = append(r.Endpoints, endpointRecord{
			Method: served.Method, Path: served.Path(), OperationID: served.OperationID(), Summary: served.Summary, Permission: string(served.Permission),
		})
	}
	for _, s := range e.Schedules {
		r.Schedules = append(r.Schedules, newScheduleRecord(s))
	}
	return r
}

// detail adds the fields that only responses about single plugins have.
func (r *extensionRecord) detail(e plugin.ExtensionInfo) {
	queue := int32(e.Queue)
	r.Functions, r.Timeouts, r.QueueLength = functionNames(e), &e.Timeouts, &queue
	if f := e.LastFailure; f != nil {
		r.LastError = &failureRecord{In: f.In, Reason: f.Error, Date: admin.Date{Time: f.At}}
	}
}

func functionNames(e plugin.ExtensionInfo) (names []string) {
	for _, m := range e.Methods {
		names = append(names, m.Point.Name+"."+m.Name)
	}
	return names
}

type pluginUpdate struct {
	IDs     []string `query:"ids" required:"true" uniqueItems:"true" doc:"Ids of plugins; unknown ones are skipped." example:"word-filter"`
	IfMatch string   `header:"If-Match" doc:"Revision of the plugin of the cluster that the change is meant for; with one id only." example:"\"3\""`
	Body    pluginStatus
}

type pluginStatus struct {
	Status string `json:"status,omitempty" enum:"STARTED,STOPPED,RESUMED,PAUSED" doc:"The step to take; none changes nothing." example:"STARTED"`
}

var hooksOfStatus = map[string]plugin.Hook{"STARTED": plugin.Start, "STOPPED": plugin.Stop, "RESUMED": plugin.Resume, "PAUSED": plugin.Pause}

// statesOfStatus are the states that an update leads to.
var statesOfStatus = map[string]plugin.State{"STARTED": plugin.Started, "STOPPED": plugin.Stopped, "RESUMED": plugin.Started, "PAUSED": plugin.Paused}

type pluginUpdateResult struct {
	MatchedCount  int64           `json:"matchedCount" doc:"How many of the plugins are known; one that already is in the wanted state counts." example:"1"`
	ModifiedCount int64           `json:"modifiedCount" doc:"How many of them changed." example:"1"`
	Failures      []updateFailure `json:"failures,omitempty" doc:"What failed."`
}

type updateFailure struct {
	ID        string `json:"id" doc:"Id of the plugin." example:"word-filter"`
	Extension string `json:"extension" doc:"Name of the extension's class." example:"WordFilter"`
	State     string `json:"state" enum:"LOADED,STARTED,PAUSED,STOPPED" doc:"State of the extension now."`
	Reason    string `json:"reason" doc:"What went wrong."`
}

func (h pluginHandlers) update(ctx context.Context, in *pluginUpdate) (pluginUpdateResult, error) {
	var result pluginUpdateResult
	hook, ok := hooksOfStatus[in.Body.Status]
	if !ok {
		return result, nil
	}
	change, err := newChange(ctx, in.IfMatch, len(in.IDs))
	if err != nil {
		return result, err
	}
	var found []*plugin.Plugin
	code := apierr.IllegalArgument
	for _, id := range in.IDs {
		p, ok := h.Manager.Find(id)
		if ok && p.Shared() == nil {
			found = append(found, p)
			continue
		}
		if err := h.lead(ctx, id, hook, change, &result, &code); err != nil {
			return result, err
		}
	}
	ctx = plugin.ForAdmin(ctx, admin.Requester(ctx).ID)
	steps := make([][]plugin.Step, len(found))
	before := make([]map[string]any, len(found))
	var wg sync.WaitGroup
	for i, p := range found {
		before[i] = extensionStates(p)
		wg.Go(func() { steps[i] = h.Manager.Do(ctx, p, hook) })
	}
	wg.Wait()
	for i, p := range found {
		if after := extensionStates(p); !maps.Equal(before[i], after) {
			audit.Note(ctx, store.Change{Record: auditedPlugin, Action: store.ActionUpdate, Key: store.Values{{Name: "id", Value: p.ID}}, Before: store.ValuesOf(before[i]), After: store.ValuesOf(after)})
		}
	}
	for i, p := range found {
		result.MatchedCount++
		if slices.ContainsFunc(steps[i], func(s plugin.Step) bool { return s.Changed }) {
			result.ModifiedCount++
		}
		for _, s := range steps[i] {
			if s.Err == nil || s.Impossible() && s.State == statesOfStatus[in.Body.Status] {
				continue // It did what was asked for, or is already where it should be.
			}
			if !s.Impossible() && !s.Waits() {
				code = apierr.ServerInternalError
			}
			result.Failures = append(result.Failures, updateFailure{ID: p.ID, Extension: s.Extension, State: string(s.State), Reason: s.Err.Error()})
		}
	}
	if result.ModifiedCount > 0 || len(result.Failures) == 0 {
		return result, nil
	}
	return result, apierr.New(code, "%s", result.failures())
}

// stateWaiting is the state of an extension that is loaded and whose plugin waits for grants.
const stateWaiting = "WAITING"

// auditedPlugin is what plugins are called in the audit trail.
const auditedPlugin = "plugin"

// extensionStates are the states of the extensions of a plugin, by their classes.
func extensionStates(p *plugin.Plugin) map[string]any {
	states := map[string]any{}
	for _, e := range p.Extensions() {
		states[e.Class] = string(e.State)
	}
	return states
}

// failures says in one sentence what failed.
func (r pluginUpdateResult) failures() string {
	var parts []string
	for _, f := range r.Failures {
		parts = append(parts, fmt.Sprintf("plugin %q, extension %q: %s", f.ID, f.Extension, f.Reason))
	}
	return strings.Join(parts, "; ")
}

type pluginDeletion struct {
	IDs              []string `query:"ids" uniqueItems:"true" selector:"true" doc:"Ids of plugins; unknown ones are skipped." example:"word-filter"`
	DeleteLocalFiles bool     `query:"deleteLocalFiles" default:"false" selector:"true" doc:"Whether to delete the files that they were loaded from."`
}

func (h pluginHandlers) delete(ctx context.Context, in *pluginDeletion) (admin.NoContent, error) {
	if len(in.IDs) == 0 {
		return admin.NoContent{}, apierr.New(apierr.IllegalArgument, "parameter \"ids\": is required")
	}
	ids := h.withCommas(in.IDs)
	ctx = plugin.ForAdmin(ctx, admin.Requester(ctx).ID)
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		p, known := h.Manager.Find(id)
		if !known || p.Shared() != nil {
			wg.Go(func() { errs[i] = h.Catalog.Remove(ctx, id) })
			continue
		}
		wg.Go(func() {
			errs[i] = h.Folder.Delete(ctx, id, in.DeleteLocalFiles)
			if known && errs[i] == nil {
				audit.Note(ctx, store.Change{
					Record: auditedPlugin, Action: store.ActionDelete, Key: store.Values{{Name: "id", Value: id}},
					Before: store.Values{{Name: "version", Value: p.Version}, {Name: "file", Value: baseName(p.Path)}},
				})
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && apierr.From(err).Code != apierr.ResourceNotFound {
			return admin.NoContent{}, err
		}
	}
	return admin.NoContent{}, nil
}

// withCommas adds the ids of loaded plugins that have commas, and that the query therefore came in
// pieces of. New plugins cannot have such ids, older ones can be removed like that.
func (h pluginHandlers) withCommas(ids []string) []string {
	all := "," + strings.Join(ids, ",") + ","
	for _, p := range h.Manager.Plugins() {
		if strings.Contains(p.ID, ",") && strings.Contains(all, ","+p.ID+",") {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
