-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Messages. Each is stored once for all its readers. target_id is the id of a group or a user,
-- depending on is_group_message. sender_ip has 4 or 16 bytes. records is a sequence of records,
-- each preceded by its length as a varint. The sender 0 is the server. There are no foreign keys:
-- messages may remain when users and groups are deleted.
CREATE TABLE message (
    id BIGINT NOT NULL PRIMARY KEY,
    conversation_id BYTEA,
    is_group_message BOOLEAN NOT NULL,
    is_system_message BOOLEAN NOT NULL,
    delivery_date BIGINT NOT NULL,
    modification_date BIGINT,
    deletion_date BIGINT,
    recall_date BIGINT,
    text TEXT,
    sender_id BIGINT NOT NULL,
    sender_ip BYTEA,
    target_id BIGINT NOT NULL,
    records BYTEA,
    burn_after INTEGER,
    reference_id BIGINT,
    sequence_id INTEGER,
    pre_message_id BIGINT
);

-- Clients read the newest messages of a target, from one sender or from all.
CREATE INDEX message_target_id_idx ON message (target_id, is_group_message, delivery_date);
CREATE INDEX message_sender_id_idx ON message (sender_id, target_id, delivery_date);
CREATE INDEX message_delivery_date_idx ON message (delivery_date, id);
-- For counting messages by kind without reading them.
CREATE INDEX message_kind_idx ON message (is_group_message, is_system_message, delivery_date, sender_id);
CREATE INDEX message_deletion_date_idx ON message (deletion_date) WHERE deletion_date IS NOT NULL;
CREATE INDEX message_recall_date_idx ON message (recall_date) WHERE recall_date IS NOT NULL;

-- The last sequence number of each conversation. A private conversation is identified by its two
-- users, the smaller id first; a group conversation by first_id, and second_id is 0.
CREATE TABLE message_sequence (
    is_group BOOLEAN NOT NULL,
    first_id BIGINT NOT NULL,
    second_id BIGINT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (is_group, first_id, second_id)
);

CREATE INDEX message_sequence_second_id_idx ON message_sequence (is_group, second_id);

-- The time up to which an owner has read the messages of the target.
CREATE TABLE private_conversation (
    owner_id BIGINT NOT NULL,
    target_id BIGINT NOT NULL,
    read_date BIGINT NOT NULL,
    PRIMARY KEY (owner_id, target_id)
);

-- The time up to which a member has read the messages of the group. The conversation of a group
-- consists of all its rows.
CREATE TABLE group_conversation (
    group_id BIGINT NOT NULL,
    member_id BIGINT NOT NULL,
    read_date BIGINT NOT NULL,
    PRIMARY KEY (group_id, member_id)
);

CREATE INDEX group_conversation_member_id_idx ON group_conversation (member_id);

-- +goose Down
DROP TABLE group_conversation;
DROP TABLE private_conversation;
DROP TABLE message_sequence;
DROP TABLE message;
