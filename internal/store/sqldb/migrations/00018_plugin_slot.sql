-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The last slot of each schedule that runs on one node of the cluster, in milliseconds since 1970.
-- The node that increases it runs the slot.
CREATE TABLE plugin_slot (
    plugin_id TEXT NOT NULL,
    extension TEXT NOT NULL,
    schedule TEXT NOT NULL,
    slot BIGINT NOT NULL,
    PRIMARY KEY (plugin_id, extension, schedule)
);

-- +goose Down
DROP TABLE plugin_slot;
