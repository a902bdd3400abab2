-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- When the leader of the cluster last did each of its rare jobs, in milliseconds since 1970, so
-- that a time that passes while there is no leader is made up for.
CREATE TABLE job (
    name TEXT NOT NULL PRIMARY KEY,
    last_run BIGINT NOT NULL
);

-- +goose Down
DROP TABLE job;
