-- SPDX-License-Identifier: Apache-2.0

-- +goose NO TRANSACTION
-- +goose Up
-- Partitions messages by id. An id begins with the millisecond in which it was created: a partition
-- contains the messages of a period, so that old messages can be dropped with their partition, and
-- a message is found by its id in one partition. The existing table becomes the first partition,
-- with all ids below a bound one to two days ahead; the server creates the others.
-- message_part_rest contains rows outside of all other partitions.
--
-- Each statement is a transaction of its own and has no effect if it was already run: an
-- interrupted migration starts again. Locks of the whole table are short. If a lock is not granted
-- within a second, the statement is cancelled and retried, so that other transactions do not wait
-- for a long query together with this migration.

-- Keeps ids beyond the bound out of the table. If it has some already, they are moved at the end,
-- and the constraint is added then.
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
    -- The statement of a killed process may have continued and finished first.
    IF (SELECT relkind FROM pg_class WHERE oid = 'message'::regclass) = 'p' OR
            EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = 'message'::regclass AND conname = 'message_part_first_id') OR
            (SELECT max(id) FROM message) >= bound THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE message ADD CONSTRAINT message_part_first_id CHECK (id < %s) NOT VALID', bound);
END $$;
-- +goose StatementEnd

-- This scans the whole table while others read and write it.
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
    -- Uses the bound of the constraint, or a new one if there is none.
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
