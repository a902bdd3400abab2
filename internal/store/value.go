// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
)

type valueRow struct {
	Name  string `bun:"name,pk"`
	Value []byte `bun:"value"`
}

// GetOrCreate returns the value of the cluster with this name. If there is none yet, the result of create becomes the
// value, unless another node is faster: everybody gets the same bytes, for ever. create runs at most once, and its
// result is not used when another node's is.
func (db *DB) GetOrCreate(ctx context.Context, name string, create func() []byte) ([]byte, error) {
	var value []byte
	get := func(ctx context.Context, r Reader) error {
		return r.NewSelect().TableExpr("cluster_value").Column("value").Where("name = ?", name).Scan(ctx, &value)
	}
	err := db.Read(ctx, get)
	if errors.Is(err, ErrNotFound) {
		row := valueRow{Name: name, Value: bytesOf(create())}
		err = db.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.NewInsert().Model(&row).ModelTableExpr("cluster_value").On("CONFLICT (name) DO NOTHING").Exec(ctx)
			if err != nil {
				return err
			}
			return get(ctx, tx)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("get or create cluster value %q: %w", name, err)
	}
	return bytesOf(value), nil
}

// bytesOf keeps no bytes apart from NULL, which the schema does not allow.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
