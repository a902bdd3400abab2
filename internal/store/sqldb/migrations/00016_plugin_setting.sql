-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- settings is the JSON Schema of the settings of a version, '' if it has none: nodes that do not
-- load the plugin need it, too.
ALTER TABLE plugin_version ADD COLUMN settings TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE plugin_version DROP COLUMN settings;
