// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"errors"
	"fmt"
)

// GetOrCreate returns the value of the cluster with this name. If there is none, the result of
// create becomes the value unless another node is faster: all nodes get the same bytes, for ever.
// create runs at most once; its result is dropped if another node's is used.
func (db *DB) GetOrCreate(ctx context.Context, name string, create func() []byte) ([]byte, error) {
	var value []byte
	get := func(ctx context.Context, r Reader) error {
		return First(ctx, r, New("SELECT value FROM cluster_value WHERE name = ?", name), &value)
	}
	err := db.Read(ctx, get)
	if errors.Is(err, ErrNotFound) {
		created := create()
		if created == nil {
			created = []byte{}
		}
		err = db.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := Exec(ctx, tx, New("INSERT INTO cluster_value (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, created))
			if err != nil {
				return err
			}
			return get(ctx, tx)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("get or create cluster value %q: %w", name, err)
	}
	if value == nil {
		value = []byte{}
	}
	return value, nil
}
