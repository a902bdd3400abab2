// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"reflect"
	"time"
)

// Paging is embedded in the input of a list operation. The framework sets Limit and Offset from the
// request and the live settings.
type Paging struct {
	Size int32 `query:"size" doc:"How many records to return. Absent or not positive: the server's default; more than the server's maximum: the maximum." example:"10"`

	limit, offset int
}

// PageRequest is embedded into the input of a page operation.
type PageRequest struct {
	Page       int32 `query:"page" default:"0" minimum:"0" doc:"Number of the page; the first is 0."`
	ExactTotal bool  `query:"exactTotal" default:"false" doc:"Whether to count all records for the total, however long that takes."`
	Paging

	budget time.Duration
}

// TotalBudget returns how long to count the total before it is a lower bound.
func (p PageRequest) TotalBudget() time.Duration { return p.budget }

// Limit returns how many records to return at most.
func (p Paging) Limit() int { return p.limit }

// Offset returns how many records to skip.
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

// resolvePaging converts page and size to limit and offset, and sets the time for counting.
func (in *input) resolvePaging(dst reflect.Value, s *Settings) {
	for _, index := range in.paging {
		p := dst.FieldByIndex(index).Addr().Interface().(*Paging)
		page := int32(0)
		if len(index) > 1 {
			if pr, ok := dst.FieldByIndex(index[:len(index)-1]).Addr().Interface().(*PageRequest); ok {
				page, pr.budget = pr.Page, s.TotalBudget
			}
		}
		p.resolve(page, s)
	}
}
