-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Small values that plugins keep, each plugin in a space of its own. They outlive the plugin: it
-- may come back.
CREATE TABLE plugin_storage (
    plugin_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (plugin_id, name)
);

-- +goose Down
DROP TABLE plugin_storage;
