// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"slices"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/store"
)

func versionOperations(h pluginHandlers) []*admin.Operation {
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryPluginVersions", Method: http.MethodGet, Path: "/plugins/versions", Tag: pluginTag, Permission: permission.PluginQuery,
			Summary:     "List versions of plugins of the cluster",
			Description: "Lists the versions that the database has of the plugins of the cluster, each plugin's newest first. Unknown ids are skipped.",
		}, h.queryVersions),
		admin.Handle(admin.Operation{
			ID: "updatePluginVersion", Method: http.MethodPut, Path: "/plugins/versions", Tag: pluginTag, Permission: permission.PluginUpdate,
			Summary: "Activate a version of a plugin of the cluster",
			Description: "Lets a version that was uploaded before take the place of the active one on all nodes, in its state, without a call lost. " +
				"A node that cannot load or start it keeps the version that it has and says why. This node has finished when the answer comes; others may need a moment.",
			Errors: []apierr.Code{apierr.ResourceNotFound},
		}, h.activate),
		admin.Handle(admin.Operation{
			ID: "deletePluginVersions", Method: http.MethodDelete, Path: "/plugins/versions", Tag: pluginTag, Permission: permission.PluginDelete,
			Summary:     "Delete versions of a plugin of the cluster",
			Description: "Deletes versions of a plugin. Unknown numbers are skipped; the active version is refused.",
			Errors:      []apierr.Code{apierr.ResourceNotFound},
		}, h.deleteVersions),
	}
}

type versionRecord struct {
	PluginID   string     `json:"pluginId" doc:"Id of the plugin." example:"word-filter"`
	Number     int64      `json:"number" doc:"Number of the version; the versions of a plugin are counted from 1." example:"3"`
	Version    string     `json:"version,omitempty" doc:"Version that the plugin states."`
	Active     bool       `json:"active" doc:"Whether all nodes run this version."`
	Language   string     `json:"language" enum:"JAVA,JAVA_SCRIPT" doc:"Language."`
	FileName   string     `json:"fileName" doc:"Name of the file as it was given."`
	Digest     string     `json:"digest" doc:"SHA-256 digest of the file."`
	Size       int64      `json:"size" doc:"How many bytes the file has."`
	Servers    []string   `json:"servers" doc:"Roles that it is made for; none is every role."`
	AdminID    int64      `json:"adminId" doc:"Who uploaded it." example:"0"`
	UploadDate admin.Date `json:"uploadDate" doc:"When it was uploaded."`
}

type versionQuery struct {
	IDs []string `query:"ids" uniqueItems:"true" doc:"Ids of plugins; empty means all." example:"word-filter"`
}

func (h pluginHandlers) queryVersions(ctx context.Context, in *versionQuery) ([]versionRecord, error) {
	versions, err := h.Catalog.Versions(ctx, in.IDs...)
	if err != nil {
		return nil, err
	}
	plugins, err := h.Catalog.Find(ctx)
	if err != nil {
		return nil, err
	}
	return resource.Convert(versions, func(v store.PluginVersion) versionRecord {
		return versionRecord{
			PluginID: v.PluginID, Number: v.Number, Version: v.Version, Language: v.Language, FileName: v.FileName, Digest: v.Digest, Size: v.Size,
			Servers: v.Servers, AdminID: v.AdminID, UploadDate: admin.NewDate(v.UploadDate),
			Active: slices.ContainsFunc(plugins, func(p catalog.Plugin) bool { return p.ID == v.PluginID && p.Number == v.Number }),
		}
	}), nil
}

type versionActivation struct {
	ID      string `query:"id" required:"true" doc:"Id of the plugin." example:"word-filter"`
	IfMatch string `header:"If-Match" doc:"Revision of the plugin that the change is meant for." example:"\"3\""`
	Body    activeVersion
}

type activeVersion struct {
	Number int64 `json:"number" minimum:"1" doc:"Number of the version." example:"2"`
}

func (h pluginHandlers) activate(ctx context.Context, in *versionActivation) (clusterRecord, error) {
	change, err := newChange(ctx, in.IfMatch, 1)
	if err != nil {
		return clusterRecord{}, err
	}
	if _, err := h.Catalog.Activate(plugin.ForAdmin(ctx, change.AdminID), in.ID, in.Body.Number, change); err != nil {
		return clusterRecord{}, err
	}
	return h.clusterRecordOf(ctx, in.ID)
}

type versionDeletion struct {
	ID      string  `query:"id" required:"true" doc:"Id of the plugin." example:"word-filter"`
	Numbers []int64 `query:"numbers" required:"true" uniqueItems:"true" selector:"true" doc:"Numbers of versions; unknown ones are skipped." example:"[1,2]"`
}

func (h pluginHandlers) deleteVersions(ctx context.Context, in *versionDeletion) (admin.DeleteResult, error) {
	n, err := h.Catalog.RemoveVersions(ctx, in.ID, in.Numbers...)
	return admin.DeleteResult{DeletedCount: n}, err
}
