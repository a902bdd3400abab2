-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Clients that may not connect: addresses in their canonical text, and users. end_time is when a
-- block ends, in milliseconds since 1970. A block that was lifted leaves a row, so that other nodes
-- learn of it: its end_time is the moment of the lifting, negated, which is before every moment and
-- still tells the age of the row.
--
-- change_seq is the value that the list's revision got from the change that wrote the row.
-- Revisions are bumped one transaction after the other, so that a reader who has seen one number
-- has seen all smaller ones. A list is emptied by noting the number of that change: rows with that
-- number or a smaller one count no more.
CREATE TABLE blocked_ip (
    id TEXT NOT NULL PRIMARY KEY,
    end_time BIGINT NOT NULL,
    change_seq BIGINT NOT NULL
);

-- The index holds the whole row, because it is how nodes read the list.
CREATE INDEX blocked_ip_change_seq_idx ON blocked_ip (change_seq, id, end_time);
CREATE INDEX blocked_ip_end_time_idx ON blocked_ip (end_time);

CREATE TABLE blocked_user (
    id BIGINT NOT NULL PRIMARY KEY,
    end_time BIGINT NOT NULL,
    change_seq BIGINT NOT NULL
);

CREATE INDEX blocked_user_change_seq_idx ON blocked_user (change_seq, id, end_time);
CREATE INDEX blocked_user_end_time_idx ON blocked_user (end_time);

-- +goose Down
DROP TABLE blocked_user;
DROP TABLE blocked_ip;
