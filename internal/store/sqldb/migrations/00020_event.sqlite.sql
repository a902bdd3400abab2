-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Events that are not delivered to all plugins yet. The id of an event is assigned while its
-- transaction locks the changed rows, so the events of a user, a group or a message are in order.
-- Dates are milliseconds since 1970.
CREATE TABLE event_outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    type TEXT NOT NULL,
    date BIGINT NOT NULL,
    user_id BIGINT,
    group_id BIGINT,
    message_id BIGINT,
    target_id BIGINT
);

-- The extensions that receive every event at least once: position is the last delivered event, lost
-- the number of events dropped before delivery, and owner the node that delivers events to the
-- extension until lease_date.
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
