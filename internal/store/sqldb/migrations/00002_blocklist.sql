-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Blocked clients: addresses in canonical form, and users. end_time is the end of the block, in
-- milliseconds since 1970. Unblocking keeps the row, so that other nodes are informed: it sets
-- end_time to the negated time of the unblocking, which is earlier than any time, and from which
-- the age of the row follows.
--
-- change_seq is the revision of the list after the change that wrote the row. Transactions that
-- increment a revision are serialized, so a reader that has seen a number has seen all smaller
-- ones. A list is emptied by storing the number of that change: rows with that number or a smaller
-- one are ignored.
CREATE TABLE blocked_ip (
    id TEXT NOT NULL PRIMARY KEY,
    end_time BIGINT NOT NULL,
    change_seq BIGINT NOT NULL
);

-- The index covers all columns, because nodes read the list by it.
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
