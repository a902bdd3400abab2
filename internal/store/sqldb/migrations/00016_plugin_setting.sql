-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- settings is the JSON Schema of the settings that a version has, '' for none: nodes that do not
-- load a plugin must know what can be set.
ALTER TABLE plugin_version ADD COLUMN settings TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE plugin_version DROP COLUMN settings;
