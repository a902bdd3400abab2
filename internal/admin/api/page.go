// SPDX-License-Identifier: Apache-2.0

package api

import (
	"example.org/app/internal/admin"
	"example.org/app/internal/store"
)

// newPage returns the page that a caller asks for. It counts what the page is a part of for as long as the settings allow,
// unless the caller wants the exact number.
func newPage[From, To any](
	in admin.PageRequest, f func(From) To, find func(page store.Page) (total int64, found []From, err error),
) (admin.Page[To], error) {
	totals := store.Totals{Budget: in.TotalBudget(), Exact: in.ExactTotal}
	total, found, err := find(store.Page{Limit: in.Limit(), Offset: in.Offset(), Totals: &totals})
	page := admin.NewPage(total, convert(found, f))
	if totals.Bounded() {
		page.TotalIsExact = new(false)
	}
	return page, err
}

// convert turns records of the store into those of the interface.
func convert[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
