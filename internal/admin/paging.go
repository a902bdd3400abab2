// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"reflect"
	"time"
)

// Paging is embedded into the input of a list operation. Limit and Offset are
// set by the framework from what the caller asked for and the live settings.
type Paging struct {
	Size int32 `query:"size" doc:"How many records to return. Absent or not positive: the server's default; more than the server's maximum: the maximum." example:"10"`

	limit, offset int
}

// PageRequest is embedded into the input of a page operation.
type PageRequest struct {
	Page       int32 `query:"page" default:"0" minimum:"0" doc:"Number of the page; the first is 0."`
	ExactTotal bool  `query:"exactTotal" default:"false" doc:"Whether to count all records for the total, however long that takes."`
	Paging
}

// Limit returns how many records to return at most.
func (p Paging) Limit() int { return p.limit }

// Offset returns how many records to pass over.
func (p Paging) Offset() int { return p.offset }

var pagingType = reflect.TypeFor[Paging]()

func (p *Paging) resolve(page int32, s *Settings) {
	p.limit = int(p.Size)
	if p.limit <= 0 {
		p.limit = s.DefaultRecords
	}
	p.limit = min(p.limit, s.MaxRecords)
	p.offset = int(page) * p.limit
}

// withTotals prepares the context of an operation that returns a page. The
// function that it returns completes the result.
func (c *Settings) withTotals(ctx context.Context, in *input, dst reflect.Value, count Totals) (context.Context, func(any) any) {
	if count != nil {
		for _, index := range in.paging {
			if len(index) < 2 {
				continue
			}
			if pr, ok := dst.FieldByIndex(index[:len(index)-1]).Addr().Interface().(*PageRequest); ok {
				ctx, bounded := count(ctx, c.TotalBudget, pr.ExactTotal)
				return ctx, func(result any) any {
					if p, ok := result.(interface{ bounded() any }); ok && bounded() {
						return p.bounded()
					}
					return result
				}
			}
		}
	}
	return ctx, func(result any) any { return result }
}

// Totals returns a context in which the records of a page are counted for no
// longer than the budget, unless the count must be exact, and a function that
// reports whether the total is a lower bound.
type Totals func(ctx context.Context, budget time.Duration, exact bool) (context.Context, func() bool)

// resolvePaging turns page and size into limit and offset.
func (in *input) resolvePaging(dst reflect.Value, s *Settings) {
	for _, index := range in.paging {
		p := dst.FieldByIndex(index).Addr().Interface().(*Paging)
		page := int32(0)
		if len(index) > 1 {
			if pr, ok := dst.FieldByIndex(index[:len(index)-1]).Addr().Interface().(*PageRequest); ok {
				page = pr.Page
			}
		}
		p.resolve(page, s)
	}
}
