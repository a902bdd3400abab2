-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Small values stored by plugins, by the id of the plugin. They remain when the plugin is removed,
-- because it may be installed again.
CREATE TABLE plugin_storage (
    plugin_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (plugin_id, name)
);

-- +goose Down
DROP TABLE plugin_storage;
