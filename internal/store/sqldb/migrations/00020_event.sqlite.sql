-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Events that plugins have not got yet. An event takes its id while its transaction holds what it
-- changed, so that the events of a user, a group or a message are in their order. Dates are
-- milliseconds since 1970.
CREATE TABLE event_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type TEXT NOT NULL,
    date BIGINT NOT NULL,
    user_id BIGINT,
    group_id BIGINT,
    message_id BIGINT,
    target_id BIGINT
);

-- The plugins that get every event at least once: position is the last event that an extension has
-- got, lost is how many were dropped before it got them, owner the node that brings events to it,
-- until lease_date.
CREATE TABLE event_consumer (
    plugin_id TEXT NOT NULL,
    extension TEXT NOT NULL,
    position BIGINT NOT NULL,
    lost BIGINT NOT NULL,
    owner TEXT NOT NULL,
    lease_date BIGINT NOT NULL,
    PRIMARY KEY (plugin_id, extension)
);

-- +goose Down
DROP TABLE event_consumer;
DROP TABLE event_outbox;
