// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// The limits of one plugin's storage. It is for settings, marks and counters; larger data belongs
// in a database.
const (
	maxKey     = 256 // bytes
	maxValue   = 64 << 10
	maxValues  = 10_000
	maxStorage = 16 << 20
)

// errStorageFull is the cause of an error about the limits of a plugin's storage.
var errStorageFull = errors.New("the storage is full")

// NewStorage returns the storage of plugins in the server's own store.
func NewStorage(db *store.DB) Storage { return storage{db} }

type storage struct{ db *store.DB }

func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsRune(key, 0) || !utf8.ValidString(key) {
		return apierr.New(apierr.IllegalArgument, "a key must have 1 to %d bytes of UTF-8 without U+0000", maxKey)
	}
	return nil
}

// Get implements Storage.
func (s storage) Get(ctx context.Context, pluginID, key string) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	err = s.db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		value, err = store.FindPluginValue(ctx, r, pluginID, key)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return value, err == nil, store.Code(err)
}

// Set implements Storage.
func (s storage) Set(ctx context.Context, pluginID, key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return apierr.New(apierr.IllegalArgument, "the value of %q has %d bytes, at most %d are allowed", key, len(value), maxValue)
	}
	return store.Code(s.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		size, err := store.FindPluginStorageSize(ctx, tx, pluginID, key)
		switch {
		case err != nil:
			return err
		case size.Values >= maxValues:
			return fullError("plugin %q keeps %d values, which is the most that is allowed", pluginID, size.Values)
		case size.Bytes+int64(len(value)) > maxStorage:
			return fullError("plugin %q keeps %d bytes; with %d more it would be more than the %d that are allowed", pluginID, size.Bytes, len(value), maxStorage)
		}
		return store.PutPluginValue(ctx, tx, pluginID, key, value)
	}))
}

func fullError(format string, args ...any) error {
	err := apierr.New(apierr.IllegalArgument, format, args...)
	err.Err = errStorageFull
	return err
}

// Delete implements Storage.
func (s storage) Delete(ctx context.Context, pluginID, key string) (deleted bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = store.DeletePluginValue(ctx, tx, pluginID, key)
		return err
	})
	return deleted, store.Code(err)
}

// Keys implements Storage.
func (s storage) Keys(ctx context.Context, pluginID, prefix string) (keys []string, err error) {
	if prefix != "" {
		if err := checkKey(prefix); err != nil {
			return nil, err
		}
	}
	err = s.db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		keys, err = store.FindPluginNames(ctx, r, pluginID, prefix)
		return err
	})
	return keys, store.Code(err)
}
