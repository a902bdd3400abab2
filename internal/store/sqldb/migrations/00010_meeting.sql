-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Meetings of two users or of a group: either user_id or group_id is NULL. Dates are milliseconds
-- since 1970; NULL means none. A pending meeting is being created and not visible yet.
--
-- There are no foreign keys: users and groups can be deleted.
CREATE TABLE meeting (
    id BIGINT NOT NULL PRIMARY KEY,
    creator_id BIGINT NOT NULL,
    user_id BIGINT,
    group_id BIGINT,
    name TEXT,
    intro TEXT,
    password TEXT,
    access_token TEXT,
    creation_date BIGINT NOT NULL,
    start_date BIGINT NOT NULL,
    end_date BIGINT,
    cancel_date BIGINT,
    pending BOOLEAN NOT NULL
);

CREATE INDEX meeting_creator_id_idx ON meeting (creator_id, creation_date);
CREATE INDEX meeting_user_id_idx ON meeting (user_id, creation_date);
CREATE INDEX meeting_group_id_idx ON meeting (group_id, creation_date);
CREATE INDEX meeting_creation_date_idx ON meeting (creation_date);

-- +goose Down
DROP TABLE meeting;
