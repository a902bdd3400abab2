// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/uptrace/bun"
)

type pluginStorageRow struct {
	bun.BaseModel `bun:"table:plugin_storage,alias:p"`
	PluginID      string `bun:"plugin_id,pk"`
	Name          string `bun:"name,pk"`
	Value         []byte `bun:"value"`
}

// FindPluginValue returns what a plugin keeps under a name. A name that it does not use is an ErrNotFound.
func FindPluginValue(ctx context.Context, r Reader, pluginID, name string) ([]byte, error) {
	var rows []pluginStorageRow
	err := r.NewSelect().Model(&rows).Where("p.plugin_id = ?", pluginID).Where("p.name = ?", name).Scan(ctx)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find value %q of plugin %q: %w", name, pluginID, err)
	}
	return rows[0].Value, nil
}

// FindPluginNames returns the names that begin with a prefix under which a plugin keeps values, sorted by their bytes.
func FindPluginNames(ctx context.Context, r Reader, pluginID, prefix string) ([]string, error) {
	names := []string{}
	query := r.NewSelect().Model((*pluginStorageRow)(nil)).Column("name").Where("p.plugin_id = ?", pluginID)
	if prefix != "" {
		query = query.Where("substr(p.name, 1, ?) = ?", utf8.RuneCountInString(prefix), prefix)
	}
	if err := query.Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("find names of plugin %q: %w", pluginID, err)
	}
	slices.Sort(names) // Engines differ in how they sort text.
	return names, nil
}

// PluginStorageSize is how much a plugin keeps.
type PluginStorageSize struct {
	Values int64
	Bytes  int64
}

// FindPluginStorageSize returns how much a plugin keeps under other names than one.
func FindPluginStorageSize(ctx context.Context, r Reader, pluginID, except string) (PluginStorageSize, error) {
	var size PluginStorageSize
	err := r.NewSelect().Model((*pluginStorageRow)(nil)).ColumnExpr("count(*), coalesce(sum(length(p.value)), 0)").
		Where("p.plugin_id = ?", pluginID).Where("p.name <> ?", except).Scan(ctx, &size.Values, &size.Bytes)
	if err != nil {
		return size, fmt.Errorf("measure what plugin %q keeps: %w", pluginID, err)
	}
	return size, nil
}

// PutPluginValue keeps a value under a name, in the place of one that is there.
func PutPluginValue(ctx context.Context, tx Tx, pluginID, name string, value []byte) error {
	row := pluginStorageRow{PluginID: pluginID, Name: name, Value: bytesOf(value)}
	if _, err := tx.NewInsert().Model(&row).On("CONFLICT (plugin_id, name) DO UPDATE").Set("value = excluded.value").Exec(ctx); err != nil {
		return fmt.Errorf("keep value %q of plugin %q: %w", name, pluginID, err)
	}
	return nil
}

// DeletePluginValue forgets a value and reports whether there was one.
func DeletePluginValue(ctx context.Context, tx Tx, pluginID, name string) (bool, error) {
	result, err := tx.NewDelete().Model((*pluginStorageRow)(nil)).Where("plugin_id = ?", pluginID).Where("name = ?", name).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("delete value %q of plugin %q: %w", name, pluginID, err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
