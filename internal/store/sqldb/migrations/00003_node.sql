-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- One row for each node number that was ever used. expires is a time of the database's clock.
-- high_water is a time of the id clock: the holder creates only ids below it, and the next holder
-- of the number only ids at or above it.
CREATE TABLE node_number (
    number INTEGER NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    expires BIGINT NOT NULL,
    high_water BIGINT NOT NULL
);

-- The fencing number of the cluster's leader, which only increases. holder is empty after the last
-- leader has resigned.
CREATE TABLE leader_fence (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL,
    holder TEXT NOT NULL
);

-- +goose Down
DROP TABLE leader_fence;
DROP TABLE node_number;
