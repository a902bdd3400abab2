// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"example.org/app/internal/store/sqldb"
)

// FindPluginValue returns the value that a plugin stored under a name. It returns ErrNotFound if
// there is none.
func FindPluginValue(ctx context.Context, r Reader, pluginID, name string) ([]byte, error) {
	var value blob
	err := sqldb.First(ctx, r, sqldb.New("SELECT value FROM plugin_storage WHERE plugin_id = ? AND name = ?", pluginID, name), &value)
	if err != nil {
		return nil, fmt.Errorf("find value %q of plugin %q: %w", name, pluginID, err)
	}
	return value, nil
}

// FindPluginNames returns the names of a plugin's values with a prefix, sorted by bytes.
func FindPluginNames(ctx context.Context, r Reader, pluginID, prefix string) ([]string, error) {
	query := sqldb.New("SELECT name FROM plugin_storage WHERE plugin_id = ?", pluginID)
	if prefix != "" {
		query = query.And(" AND substr(name, 1, ?) = ?", utf8.RuneCountInString(prefix), prefix)
	}
	names, err := sqldb.List[string](ctx, r, query)
	if err != nil {
		return nil, fmt.Errorf("find names of plugin %q: %w", pluginID, err)
	}
	slices.Sort(names) // The engines sort text differently.
	return names, nil
}

// PluginStorageSize is the amount of data that a plugin stores.
type PluginStorageSize struct {
	Values int64
	Bytes  int64
}

// FindPluginStorageSize returns the amount of data that a plugin stores under names other than
// except.
func FindPluginStorageSize(ctx context.Context, r Reader, pluginID, except string) (PluginStorageSize, error) {
	var size PluginStorageSize
	err := sqldb.First(ctx, r, sqldb.New("SELECT count(*), coalesce(sum(length(value)), 0) FROM plugin_storage WHERE plugin_id = ? AND name <> ?",
		pluginID, except), &size.Values, &size.Bytes)
	if err != nil {
		return size, fmt.Errorf("measure what plugin %q keeps: %w", pluginID, err)
	}
	return size, nil
}

// PutPluginValue stores or replaces a value under a name.
func PutPluginValue(ctx context.Context, tx Tx, pluginID, name string, value []byte) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO plugin_storage (plugin_id, name, value) VALUES (?, ?, ?) "+
		"ON CONFLICT (plugin_id, name) DO UPDATE SET value = excluded.value", pluginID, name, bytesOf(value)))
	if err != nil {
		return fmt.Errorf("keep value %q of plugin %q: %w", name, pluginID, err)
	}
	return nil
}

// DeletePluginValue deletes a value and reports whether it existed.
func DeletePluginValue(ctx context.Context, tx Tx, pluginID, name string) (bool, error) {
	n, err := deleteRows(ctx, tx, "plugin_storage", where("t.plugin_id = ? AND t.name = ?", pluginID, name))
	return n > 0, err
}
