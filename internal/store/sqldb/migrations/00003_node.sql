-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- A row per node number that was ever used. expires is a moment of the database's clock. high_water
-- is a moment of the id clock: the holder makes no id at or above it, whoever takes the number next
-- makes none below it.
CREATE TABLE node_number (
    number INTEGER NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    expires BIGINT NOT NULL,
    high_water BIGINT NOT NULL
);

-- The fencing number of the cluster's leader. It only grows. holder is empty when the last leader
-- has resigned.
CREATE TABLE leader_fence (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL,
    holder TEXT NOT NULL
);

-- +goose Down
DROP TABLE leader_fence;
DROP TABLE node_number;
