-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- When the leader of the cluster last ran each of its rare jobs, in milliseconds since 1970. A job
-- that was due while there was no leader is run later.
CREATE TABLE job (
    name TEXT NOT NULL PRIMARY KEY,
    last_run BIGINT NOT NULL
);

-- +goose Down
DROP TABLE job;
