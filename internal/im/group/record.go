// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"example.org/app/internal/store"
)

type (
	finder[F, T any] func(ctx context.Context, r store.Reader, filter F, page store.Page) ([]T, error)
	counter[F any]   func(ctx context.Context, r store.Reader, filter F) (int64, error)
)

// records finds the records of one kind.
type records[F, T any] struct {
	store *store.DB
	find  finder[F, T]
	count counter[F]
}

// Find returns the records that match in the order of their keys, or of the first date that the
// filter asks for.
func (q records[F, T]) Find(ctx context.Context, f F, limit, offset int) (found []T, err error) {
	err = q.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = q.find(ctx, r, f, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return found, err
}

// FindPage returns a page of what Find finds and how many there are in all, as far as
// store.ForTotal counts.
func (q records[F, T]) FindPage(ctx context.Context, f F, page store.Page) (total int64, found []T, err error) {
	err = q.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = q.count(ctx, store.ForTotal(r, page), f); err != nil || total == 0 {
			return err
		}
		found, err = q.find(ctx, r, f, page)
		return err
	})
	return total, found, err
}

func convert[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
