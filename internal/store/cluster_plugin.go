// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// RevisionPlugin is the revision of the plugins of the cluster.
const RevisionPlugin = "plugin"

// A ClusterPlugin is a plugin of the whole cluster.
type ClusterPlugin struct {
	ID string
	// Place is its position in the order in which nodes call plugins.
	Place int64
	// Number is that of the active version.
	Number int64
	// Status is the state that all nodes apply.
	Status string
	// Revision grows with every change.
	Revision int64
	// AdminID is who changed it last, at ChangeDate.
	AdminID    int64
	ChangeDate time.Time
}

var clusterPlugins = newTable("cluster_plugin", "id place number status revision admin_id change_date", func(p *ClusterPlugin) []any {
	return []any{&p.ID, &p.Place, &p.Number, &p.Status, &p.Revision, &p.AdminID, (*millis)(&p.ChangeDate)}
})

// A PluginVersion is a version of a plugin of the cluster.
type PluginVersion struct {
	PluginID string
	// Number counts the versions of the plugin from 1.
	Number int64
	// Version is the version that the plugin declares.
	Version, Language, FileName string
	// Digest is the SHA-256 digest of the file in hexadecimal, Size how many bytes it has.
	Digest string
	Size   int64
	// Servers are its roles; empty means every role.
	Servers []string
	// Settings is the JSON Schema of its settings; "" means none.
	Settings string
	// AdminID is who uploaded it, at UploadDate.
	AdminID    int64
	UploadDate time.Time
}

var pluginVersions = newTable("plugin_version", "plugin_id number version language file_name digest size servers settings admin_id upload_date", func(v *PluginVersion) []any {
	return []any{
		&v.PluginID, &v.Number, &v.Version, &v.Language, &v.FileName, &v.Digest, &v.Size, (*list)(&v.Servers), &v.Settings, &v.AdminID, (*millis)(&v.UploadDate),
	}
})

// FindClusterPlugins returns the plugins of the cluster with the ids, or all without ids, by place.
func FindClusterPlugins(ctx context.Context, r Reader, ids ...string) ([]ClusterPlugin, error) {
	var c conditions
	anyOf(&c, "t.id", ids)
	found, err := clusterPlugins.find(ctx, r, c, Page{}, "t.place")
	if err != nil {
		return nil, fmt.Errorf("find plugins of the cluster: %w", err)
	}
	return found, nil
}

// InsertClusterPlugin stores a plugin in the last place. It returns ErrDuplicateKey if it exists.
func InsertClusterPlugin(ctx context.Context, tx Tx, p ClusterPlugin) error {
	err := sqldb.First(ctx, tx, sqldb.New("SELECT coalesce(max(place), 0) + 1 FROM cluster_plugin"), &p.Place)
	if err == nil {
		err = clusterPlugins.insert(ctx, tx, p)
	}
	if err != nil {
		return fmt.Errorf("insert plugin %q of the cluster: %w", p.ID, err)
	}
	return nil
}

// UpdateClusterPlugin changes the active version and the status of a plugin, and reports whether
// either changed.
func UpdateClusterPlugin(ctx context.Context, tx Tx, p ClusterPlugin) (bool, error) {
	var c columnChanges
	c.set("number", p.Number)
	c.set("status", p.Status)
	c.touch("revision", p.Revision)
	c.touch("admin_id", p.AdminID)
	c.touch("change_date", p.ChangeDate.UnixMilli())
	changed, err := c.update(ctx, tx, clusterPlugins.name, "revision", where("t.id = ?", p.ID))
	return len(changed) > 0, err
}

// DeleteClusterPlugin deletes a plugin with its versions and reports whether it existed. Files stay
// until DeletePluginFiles.
func DeleteClusterPlugin(ctx context.Context, tx Tx, id string) (bool, error) {
	if _, err := deleteRows(ctx, tx, pluginVersions.name, where("t.plugin_id = ?", id)); err != nil {
		return false, err
	}
	n, err := deleteRows(ctx, tx, clusterPlugins.name, where("t.id = ?", id))
	return n > 0, err
}

// FindPluginVersions returns the versions of the plugins with the ids, or of all without ids, each
// plugin's newest first.
func FindPluginVersions(ctx context.Context, r Reader, pluginIDs ...string) ([]PluginVersion, error) {
	var c conditions
	anyOf(&c, "t.plugin_id", pluginIDs)
	found, err := pluginVersions.find(ctx, r, c, Page{}, "t.plugin_id", "t.number DESC")
	if err != nil {
		return nil, fmt.Errorf("find versions of plugins: %w", err)
	}
	return found, nil
}

// FindActivePluginVersions returns the active versions of all plugins of the cluster.
func FindActivePluginVersions(ctx context.Context, r Reader) ([]PluginVersion, error) {
	found, err := pluginVersions.find(ctx, r, where("EXISTS (SELECT 1 FROM cluster_plugin p WHERE p.id = t.plugin_id AND p.number = t.number)"), Page{}, "t.plugin_id")
	if err != nil {
		return nil, fmt.Errorf("find active versions of plugins: %w", err)
	}
	return found, nil
}

// InsertPluginVersion stores a version. It returns ErrDuplicateKey if the version exists and
// ErrForeignKey if its file does not.
func InsertPluginVersion(ctx context.Context, tx Tx, v PluginVersion) error {
	if err := pluginVersions.insert(ctx, tx, v); err != nil {
		return fmt.Errorf("insert version %d of plugin %q: %w", v.Number, v.PluginID, err)
	}
	return nil
}

// DeletePluginVersions deletes versions of a plugin, except the active one, and returns how many
// there were.
func DeletePluginVersions(ctx context.Context, tx Tx, pluginID string, numbers ...int64) (int64, error) {
	if len(numbers) == 0 {
		return 0, nil
	}
	c := where("t.plugin_id = ?", pluginID)
	anyOf(&c, "t.number", numbers)
	c.when("NOT EXISTS (SELECT 1 FROM cluster_plugin p WHERE p.id = t.plugin_id AND p.number = t.number)")
	return deleteRows(ctx, tx, pluginVersions.name, c)
}

// PutPluginFile begins, or restarts, the upload of a file.
func PutPluginFile(ctx context.Context, tx Tx, digest string, size int64, date time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO plugin_file (digest, size, upload_date) VALUES (?, ?, ?) "+
		"ON CONFLICT (digest) DO UPDATE SET size = excluded.size, upload_date = excluded.upload_date", digest, size, date.UnixMilli()))
	if err != nil {
		return fmt.Errorf("store plugin file %s: %w", digest, err)
	}
	return nil
}

// PutPluginChunk stores or replaces a part of a file.
func PutPluginChunk(ctx context.Context, tx Tx, digest string, number int, data []byte) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO plugin_chunk (digest, number, data) VALUES (?, ?, ?) "+
		"ON CONFLICT (digest, number) DO UPDATE SET data = excluded.data", digest, number, bytesOf(data)))
	if err != nil {
		return fmt.Errorf("store chunk %d of plugin file %s: %w", number, digest, err)
	}
	return nil
}

// FindPluginChunk returns a part of a file. It returns ErrNotFound if there is none.
func FindPluginChunk(ctx context.Context, r Reader, digest string, number int) ([]byte, error) {
	var data blob
	err := sqldb.First(ctx, r, sqldb.New("SELECT data FROM plugin_chunk WHERE digest = ? AND number = ?", digest, number), &data)
	if err != nil {
		return nil, fmt.Errorf("find chunk %d of plugin file %s: %w", number, digest, err)
	}
	return data, nil
}

// FindPluginFileSize returns the total size of the chunks of a file.
func FindPluginFileSize(ctx context.Context, r Reader, digest string) (size int64, err error) {
	err = sqldb.First(ctx, r, sqldb.New("SELECT coalesce(sum(length(data)), 0) FROM plugin_chunk WHERE digest = ?", digest), &size)
	if err != nil {
		return 0, fmt.Errorf("measure plugin file %s: %w", digest, err)
	}
	return size, nil
}

// DeletePluginFiles deletes unreferenced files whose upload began before a date, and returns how
// many.
func DeletePluginFiles(ctx context.Context, tx Tx, before time.Time) (int64, error) {
	return deleteRows(ctx, tx, "plugin_file", where("t.upload_date < ? AND NOT EXISTS (SELECT 1 FROM plugin_version v WHERE v.digest = t.digest)", before.UnixMilli()))
}
