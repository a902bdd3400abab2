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
	// userKey and gatewayKey begin the keys of the bucket. A user's key holds the entry; if the users are split, the number of the
	// partition stands before the id. A gateway's key says that it has announced all its sessions to this bucket.
	userKey    = "user."
	gatewayKey = "gateway."
	// partitionsLabel is the label of the bucket that says into how many partitions the users are split. Who makes the bucket
	// decides; a bucket without it has one.
	partitionsLabel = "partitions"

	// markerTTL is how long the bucket remembers that a key was removed.
	markerTTL = time.Minute
	// announcedTTL is how long it remembers that a gateway has announced its sessions. Only nodes that know sessions
	// of an earlier bucket look at that, and not for long.
	announcedTTL = 10 * time.Minute
	// operationTimeout bounds one operation on the bucket.
	operationTimeout = 5 * time.Second
)

// errConflict means that the key is not at the expected revision any more.
var errConflict = errors.New("the entry was changed meanwhile")

// A bucket is one life of the key-value bucket in memory: NATS may come back without it. All writes of users' keys
// compare and set.
type bucket struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	stream jetstream.Stream
	prefix string
	// created tells one life from the next, which have revisions of their own.
	created time.Time
	// epoch counts the lives that this process has seen, from one.
	epoch uint64
	// last is the highest revision when the bucket was opened.
	last uint64
	// partitions is into how many parts the users are split, one if they are not.
	partitions int
	// opened is when this process saw this life for the first time.
	opened time.Time
}

// openBucket finds the bucket, or makes one with so many partitions.
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

// lastRevision returns the highest revision of now.
func (b *bucket) lastRevision(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	info, err := b.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// lives reports whether NATS still has this life of the bucket.
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

// usersOf returns what the keys of the users of a partition begin with.
func usersOf(partition int) string { return userKey + strconv.Itoa(partition) + "." }

// gone reports whether an error means that there is no such bucket any more.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrBucketNotFound)
}

// keyOf returns the key of a user if the users are not split.
func keyOf(userID int64) string { return userKey + strconv.FormatInt(userID, 10) }

// userOf returns the user of a key.
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

// read returns the value of a key and its revision, which is that of the marker for a key that was removed, and zero
// for one that never was or is forgotten. The value of an absent key is nil.
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

// put replaces the value at the revision, which is zero for a key that is absent.
func (b *bucket) put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Data: value, Header: nats.Header{}},
		jetstream.WithExpectLastSequencePerSubject(revision))
}

// remove deletes the key at the revision and leaves a marker that vanishes by itself.
func (b *bucket) remove(ctx context.Context, key string, revision uint64) (uint64, error) {
	header := nats.Header{"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject}}
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Header: header},
		jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithMsgTTL(markerTTL))
}

// announce says that a gateway has announced all its sessions.
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
