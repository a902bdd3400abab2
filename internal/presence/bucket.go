// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/app/internal/cluster"
)

const (
	// userKey and gatewayKey are prefixes of the keys of the bucket. A user's key holds the entry;
	// if the users are partitioned, the number of the partition precedes the id. A gateway's key
	// says that it has announced all its sessions to this bucket.
	userKey    = "user."
	gatewayKey = "gateway."
	// partitionsLabel is the label of the bucket with the number of partitions, which its creator
	// chooses. A bucket without the label has one partition.
	partitionsLabel = "partitions"

	// markerTTL is how long the bucket keeps the marker of a removed key.
	markerTTL = time.Minute
	// announcedTTL is how long the bucket keeps that a gateway has announced its sessions. Only
	// nodes that know sessions of an earlier bucket need that, and not for long.
	announcedTTL = 10 * time.Minute
	// operationTimeout bounds one operation on the bucket.
	operationTimeout = 5 * time.Second
)

// errConflict means that the key is no longer at the expected revision.
var errConflict = errors.New("the entry was changed meanwhile")

// A bucket is one incarnation of the in-memory key-value bucket: NATS may come back without it. All
// writes of users' keys are compare-and-set.
type bucket struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	stream jetstream.Stream
	prefix string
	// created identifies the incarnation; each has revisions of its own.
	created time.Time
	// epoch numbers the incarnations that this process has seen, from one.
	epoch uint64
	// last is the highest revision when the bucket was opened.
	last uint64
	// partitions is the number of partitions of the users, at least one.
	partitions int
	// opened is when this process first saw this incarnation.
	opened time.Time
}

// openBucket opens the bucket and creates it, with so many partitions, if necessary.
func openBucket(ctx context.Context, c *cluster.Cluster, partitions int) (*bucket, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	js := c.JetStream()
	config := jetstream.KeyValueConfig{
		Bucket: "app_" + c.ID() + "_presence", Description: "Who is online, and where", History: 1,
		Storage: jetstream.MemoryStorage, LimitMarkerTTL: markerTTL, Replicas: c.Replicas(),
	}
	if partitions > 1 {
		config.Metadata = map[string]string{partitionsLabel: strconv.Itoa(partitions)}
	}
	kv, err := js.CreateKeyValue(ctx, config)
	if errors.Is(err, jetstream.ErrBucketExists) {
		kv, err = js.KeyValue(ctx, config.Bucket)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket of the sessions: %w", err)
	}
	stream, err := js.Stream(ctx, "KV_"+config.Bucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of the sessions: %w", err)
	}
	info := stream.CachedInfo()
	b := &bucket{
		js: js, kv: kv, stream: stream, prefix: "$KV." + config.Bucket + ".", created: info.Created, last: info.State.LastSeq,
		partitions: 1, opened: time.Now(),
	}
	if label := info.Config.Metadata[partitionsLabel]; label != "" {
		b.partitions, err = strconv.Atoi(label)
		if err != nil || b.partitions < 1 || b.partitions > shardCount || b.partitions&(b.partitions-1) != 0 {
			return nil, fmt.Errorf("open the bucket of the sessions: %q is no number of partitions that this program knows", label)
		}
	}
	return b, nil
}

// lastRevision returns the highest revision now.
func (b *bucket) lastRevision(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	info, err := b.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// lives reports whether NATS still has this incarnation of the bucket.
func (b *bucket) lives(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	info, err := b.stream.Info(ctx)
	if err != nil {
		return false, err
	}
	return info.Created.Equal(b.created), nil
}

// keyOf returns the key of a user.
func (b *bucket) keyOf(userID int64) string {
	if b.partitions == 1 {
		return keyOf(userID)
	}
	return usersOf(partitionOf(userID, b.partitions)) + strconv.FormatInt(userID, 10)
}

// usersOf returns the prefix of the keys of a partition's users.
func usersOf(partition int) string { return userKey + strconv.Itoa(partition) + "." }

// gone reports whether the error means that the bucket no longer exists.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// keyOf returns the key of a user if the users are not partitioned.
func keyOf(userID int64) string { return userKey + strconv.FormatInt(userID, 10) }

// userOf returns the user of a key; ok is false if it is not a user's key.
func userOf(key string) (int64, bool) {
	text, ok := strings.CutPrefix(key, userKey)
	if !ok {
		return 0, false
	}
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		text = text[i+1:]
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil
}

// read returns the value of a key and its revision. The value of an absent key is nil; the revision
// is that of the marker of a removed key, and zero if there is none.
func (b *bucket) read(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	msg, err := b.stream.GetLastMsgForSubject(ctx, b.prefix+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if msg.Header.Get("KV-Operation") != "" || msg.Header.Get(jetstream.MarkerReasonHeader) != "" {
		return nil, msg.Sequence, nil
	}
	return msg.Data, msg.Sequence, nil
}

// put replaces the value at the revision; zero means that the key is absent.
func (b *bucket) put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Data: value, Header: nats.Header{}},
		jetstream.WithExpectLastSequencePerSubject(revision))
}

// remove deletes the key at the revision and leaves a marker that expires.
func (b *bucket) remove(ctx context.Context, key string, revision uint64) (uint64, error) {
	header := nats.Header{"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}}
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Header: header},
		jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithMsgTTL(markerTTL))
}

// announce writes that a gateway has announced all its sessions.
func (b *bucket) announce(ctx context.Context, g *gateway) error {
	_, err := b.publish(ctx, &nats.Msg{Subject: b.prefix + gatewayKey + g.id, Data: []byte(g.incarnation), Header: nats.Header{}},
		jetstream.WithMsgTTL(announcedTTL))
	return err
}

func (b *bucket) publish(ctx context.Context, msg *nats.Msg, options ...jetstream.PublishOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, msg, options...)
	if err == nil {
		return ack.Sequence, nil
	}
	if apiErr, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch apiErr.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return 0, errConflict
		}
	}
	return 0, err
}
