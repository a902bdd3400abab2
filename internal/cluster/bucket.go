// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// leaderKey and memberKey are keys of the bucket; see also claimKey.
	leaderKey = "leader"
	memberKey = "member."

	// markerTTL is how long the bucket remembers that a key was deleted or has expired.
	markerTTL = time.Minute
)

var (
	// errConflict means that the key is no longer at the expected revision.
	errConflict = errors.New("the record was changed meanwhile")
	// errAbsent means that the key does not exist.
	errAbsent = errors.New("there is no such record")
)

// A bucket is the in-memory key-value bucket that holds the records and the lease. All writes are
// compare-and-set.
type bucket struct {
	cluster *Cluster
	kv      jetstream.KeyValue
	name    string
	// age is the age of the bucket when it was opened, at the time opened. A key that is missing in
	// an old bucket does not exist; nodes may not have written theirs to a young one yet.
	age    time.Duration
	opened time.Time
}

// openBucket opens the bucket and creates it if necessary.
func openBucket(ctx context.Context, c *Cluster) (*bucket, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	config := jetstream.KeyValueConfig{
		Bucket: "app_" + c.options.ClusterID, Description: "Members and leader of the cluster", History: 1,
		Storage: jetstream.MemoryStorage, LimitMarkerTTL: markerTTL, Replicas: max(c.options.Replicas, 1),
	}
	kv, err := c.js.CreateKeyValue(ctx, config)
	if errors.Is(err, jetstream.ErrBucketExists) {
		kv, err = c.js.KeyValue(ctx, config.Bucket)
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket of the member records: %w", err)
	}
	stream, err := c.js.Stream(ctx, "KV_"+config.Bucket)
	if err != nil {
		return nil, fmt.Errorf("open the bucket of the member records: %w", err)
	}
	info := stream.CachedInfo()
	return &bucket{
		cluster: c, kv: kv, name: config.Bucket, age: max(info.TimeStamp.Sub(info.Created), 0), opened: time.Now(),
	}, nil
}

// existed returns the minimum age of the bucket.
func (b *bucket) existed() time.Duration { return b.age + time.Since(b.opened) }

// now returns the time of the server, whose clock also sets the timestamps of the entries.
func (b *bucket) now(ctx context.Context) (time.Time, error) {
	stream, err := b.cluster.js.Stream(ctx, "KV_"+b.name)
	if err != nil {
		return time.Time{}, b.failure(err)
	}
	return stream.CachedInfo().TimeStamp, nil
}

// failure translates an error and causes the bucket to be reopened if it no longer exists.
func (b *bucket) failure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		return errAbsent
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch), errors.Is(err, jetstream.ErrKeyExists):
		return errConflict
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrBucketNotFound):
		b.cluster.directory.resynchronise()
	}
	if apiErr, ok := errors.AsType[*jetstream.APIError](err); ok {
		switch apiErr.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return errConflict
		}
	}
	return err
}

func (b *bucket) get(ctx context.Context, key string, value any) (revision uint64, created time.Time, err error) {
	entry, err := b.kv.Get(ctx, key)
	if err != nil {
		return 0, time.Time{}, b.failure(err)
	}
	if err := json.Unmarshal(entry.Value(), value); err != nil {
		return 0, time.Time{}, fmt.Errorf("decode the record %q: %w", key, err)
	}
	return entry.Revision(), entry.Created(), nil
}

// create adds the key, which must be absent. A ttl of zero means none.
func (b *bucket) create(ctx context.Context, key string, value any, ttl time.Duration) (uint64, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	var options []jetstream.KVCreateOpt
	if ttl > 0 {
		options = append(options, jetstream.KeyTTL(wholeSeconds(ttl)))
	}
	revision, err := b.kv.Create(ctx, key, data, options...)
	return revision, b.failure(err)
}

// update replaces the value at the revision and restarts its ttl, which the library's own Update
// cannot do.
func (b *bucket) update(ctx context.Context, key string, value any, ttl time.Duration, revision uint64) (uint64, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	options := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(revision)}
	if ttl > 0 {
		options = append(options, jetstream.WithMsgTTL(wholeSeconds(ttl)))
	}
	ack, err := b.cluster.js.PublishMsg(ctx, &nats.Msg{Subject: "$KV." + b.name + "." + key, Data: data, Header: nats.Header{}}, options...)
	if err != nil {
		return 0, b.failure(err)
	}
	return ack.Sequence, nil
}

// remove deletes the key at the revision.
func (b *bucket) remove(ctx context.Context, key string, revision uint64) error {
	return b.failure(b.kv.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markerTTL)))
}

// wholeSeconds rounds up to the resolution of the server.
func wholeSeconds(d time.Duration) time.Duration {
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

// memberID returns the id in the key of a member record.
func memberID(key string) (string, bool) { return strings.CutPrefix(key, memberKey) }
