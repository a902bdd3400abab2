-- SPDX-License-Identifier: Apache-2.0

-- +goose NO TRANSACTION
-- +goose Up
-- Messages are partitioned by id. An id begins with the millisecond in which it was made, so that a
-- partition holds the messages of a span of time, old ones can be dropped with it, and a message is
-- found by its id in one partition. The table of before becomes the first partition, with all ids
-- below a bound that lies one to two days ahead; the server makes the others. What belongs to none
-- of them goes to message_part_rest.
--
-- Each statement is a transaction of its own and does nothing if it was done before: a migration
-- that was interrupted begins again. The table is locked for moments only. A lock that is not there
-- within a second is given up and tried again, so that nobody waits behind this migration for a
-- long query.

-- From here on no id beyond the bound comes into the table. If some are there, they are moved at
-- the end, and the constraint is left to that as well.
-- +goose StatementBegin
DO $$
DECLARE
    bound BIGINT := ((extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC') + interval '2 days') * 1000)::BIGINT - 1602547200000) << 22;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'message'::regclass) = 'p' OR
            EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = 'message'::regclass AND conname = 'message_part_first_id') THEN
        RETURN;
    END IF;
    PERFORM set_config('lock_timeout', '1000', true);
    LOOP
        BEGIN
            LOCK TABLE message IN ACCESS EXCLUSIVE MODE;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(1);
        END;
    END LOOP;
    -- The statement of a process that was killed may have gone on and come first.
    IF (SELECT relkind FROM pg_class WHERE oid = 'message'::regclass) = 'p' OR
            EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = 'message'::regclass AND conname = 'message_part_first_id') OR
            (SELECT max(id) FROM message) >= bound THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE message ADD CONSTRAINT message_part_first_id CHECK (id < %s) NOT VALID', bound);
END $$;
-- +goose StatementEnd

-- This reads the whole table, while others read and write it.
-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = 'message'::regclass AND conname = 'message_part_first_id' AND NOT convalidated) THEN
        ALTER TABLE message VALIDATE CONSTRAINT message_part_first_id;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    bound BIGINT;
    name TEXT;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'message'::regclass) = 'p' THEN
        RETURN;
    END IF;
    PERFORM set_config('lock_timeout', '1000', true);
    LOOP
        BEGIN
            LOCK TABLE message IN ACCESS EXCLUSIVE MODE;
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(1);
        END;
    END LOOP;
    IF (SELECT relkind FROM pg_class WHERE oid = 'message'::regclass) = 'p' THEN
        RETURN;
    END IF;
    -- The bound is that of the constraint, or a new one if there is no constraint.
    SELECT substring(pg_get_constraintdef(oid) FROM '[0-9]{10,}')::BIGINT INTO bound
    FROM pg_constraint WHERE conrelid = 'message'::regclass AND conname = 'message_part_first_id';
    IF bound IS NULL THEN
        bound := ((extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC') + interval '2 days') * 1000)::BIGINT - 1602547200000) << 22;
    END IF;
    ALTER TABLE message RENAME TO message_part_first;
    ALTER TABLE message_part_first RENAME CONSTRAINT message_pkey TO message_part_first_pkey;
    FOREACH name IN ARRAY ARRAY['target_id', 'sender_id', 'delivery_date', 'kind', 'deletion_date', 'recall_date'] LOOP
        EXECUTE format('ALTER INDEX message_%s_idx RENAME TO message_part_first_%s_idx', name, name);
    END LOOP;
    CREATE TABLE message (LIKE message_part_first INCLUDING STORAGE INCLUDING COMPRESSION) PARTITION BY RANGE (id);
    ALTER TABLE message ADD CONSTRAINT message_pkey PRIMARY KEY (id);
    CREATE INDEX message_target_id_idx ON message (target_id, is_group_message, delivery_date);
    CREATE INDEX message_sender_id_idx ON message (sender_id, target_id, delivery_date);
    CREATE INDEX message_delivery_date_idx ON message (delivery_date, id);
    CREATE INDEX message_kind_idx ON message (is_group_message, is_system_message, delivery_date, sender_id);
    CREATE INDEX message_deletion_date_idx ON message (deletion_date) WHERE deletion_date IS NOT NULL;
    CREATE INDEX message_recall_date_idx ON message (recall_date) WHERE recall_date IS NOT NULL;
    CREATE TABLE message_part_rest PARTITION OF message DEFAULT;
    WITH moved AS (DELETE FROM message_part_first WHERE id >= bound RETURNING *)
    INSERT INTO message_part_rest SELECT * FROM moved;
    EXECUTE format('ALTER TABLE message ATTACH PARTITION message_part_first FOR VALUES FROM (MINVALUE) TO (%s)', bound);
    ALTER TABLE message_part_first DROP CONSTRAINT IF EXISTS message_part_first_id;
END $$;
-- +goose StatementEnd
