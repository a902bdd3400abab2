// SPDX-License-Identifier: Apache-2.0

// Package resource declares the common operations of resources: create, list, page, update and
// delete. A resource declares its names and permissions once; each operation adds its text and the
// function that implements it.
package resource

import (
	"context"
	"fmt"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// A Resource contains the common properties of the operations on one kind of records.
type Resource struct {
	Path string
	Tag  string
	// Name is the name of one record. The ids of operations derive from it: createName, queryNames,
	// queryNamePage, updateNames and deleteNames.
	Name string
	// Records is the plural in descriptions.
	Records string
	// Pages describes the page operation. If "", the description says that totals may be lower
	// bounds.
	Pages string
	// AnyAdmin is true if the operations need no permission; then none are set below.
	AnyAdmin                      bool
	Create, Query, Update, Delete permission.Permission
}

// complete sets the fields that derive from the resource.
func (r Resource) complete(op admin.Operation, verb, method string, p permission.Permission) admin.Operation {
	if op.ID = verb + r.Name; method != http.MethodPost {
		op.ID += "s"
	}
	op.Method, op.Path, op.Tag, op.Permission, op.Records = method, r.Path, r.Tag, p, r.Records
	if r.AnyAdmin {
		op.Access = admin.AnyAdmin
	}
	return op
}

// one declares a single operation.
func one[In, Out any](op admin.Operation, handler func(context.Context, *In) (Out, error)) []*admin.Operation {
	return []*admin.Operation{admin.Handle(op, handler)}
}

// Handle declares an additional operation of the resource. op defines everything except its tag.
func Handle[In, Out any](r Resource, op admin.Operation, handler func(context.Context, *In) (Out, error)) []*admin.Operation {
	op.Tag = r.Tag
	return one(op, handler)
}

// WithBody is an input that is only a body.
type WithBody[B any] struct{ Body B }

// Create declares the operation that creates a record from a body.
func Create[B, Out any](r Resource, op admin.Operation, create func(context.Context, B) (Out, error)) []*admin.Operation {
	return one(r.complete(op, "create", http.MethodPost, r.Create), func(ctx context.Context, in *WithBody[B]) (Out, error) {
		return create(ctx, in.Body)
	})
}

type listInput[F any] struct {
	Filter F `query:",inline"`
	admin.Paging
}

type pageInput[F any] struct {
	Filter F `query:",inline"`
	admin.PageRequest
}

// boundedTotal is the end of the description of page operations on potentially large data.
var boundedTotal = fmt.Sprintf(" `total` is exact as long as counting takes no longer than `app.service.admin-api.total-budget-millis`; "+
	"otherwise it is the number of records before the page plus %d, and `totalIsExact` is false. With `exactTotal=true` it is always exact.", store.CountLimit)

// List declares the two query operations: op returns a list, and one below its path returns pages.
// filter converts the caller's filter F; find and page return records, page also the number of
// matches; show converts a record to its public form.
func List[F, S, R, Out any](
	r Resource, op admin.Operation, filter func(F) (S, error),
	find func(ctx context.Context, filter S, limit, offset int) ([]R, error),
	page func(ctx context.Context, filter S, page store.Page) (total int64, found []R, err error),
	show func(R) Out,
) []*admin.Operation {
	op = r.complete(op, "query", http.MethodGet, r.Query)
	paged := op
	paged.ID, paged.Path, paged.EmptyIsOK = "query"+r.Name+"Page", r.Path+"/page", false
	paged.Summary += " by page"
	if paged.Description = r.Pages; paged.Description == "" {
		paged.Description = "Returns a page of " + r.Records + " and how many match." + boundedTotal
	}
	return []*admin.Operation{
		admin.Handle(op, func(ctx context.Context, in *listInput[F]) ([]Out, error) {
			f, err := filter(in.Filter)
			if err != nil {
				return nil, err
			}
			found, err := find(ctx, f, in.Limit(), 0)
			return Convert(found, show), err
		}),
		admin.Handle(paged, func(ctx context.Context, in *pageInput[F]) (admin.Page[Out], error) {
			f, err := filter(in.Filter)
			if err != nil {
				return admin.Page[Out]{}, err
			}
			return Page(in.PageRequest, show, func(p store.Page) (int64, []R, error) { return page(ctx, f, p) })
		}),
	}
}

// Same is the filter conversion for identical types.
func Same[F any](f F) (F, error) { return f, nil }

// Page returns the requested page. It counts the total for as long as the settings allow, unless
// the caller wants the exact number.
func Page[R, Out any](in admin.PageRequest, show func(R) Out, find func(store.Page) (total int64, found []R, err error)) (admin.Page[Out], error) {
	totals := store.Totals{Budget: in.TotalBudget(), Exact: in.ExactTotal}
	total, found, err := find(store.Page{Limit: in.Limit(), Offset: in.Offset(), Totals: &totals})
	page := admin.NewPage(total, Convert(found, show))
	if totals.Bounded() {
		page.TotalIsExact = new(false)
	}
	return page, err
}

// Convert converts each element of a list.
func Convert[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

type updateByID[B any] struct {
	IDs  []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of {records}." example:"[1]"`
	Body B
}

// UpdateByID declares the operation that updates records by id.
func UpdateByID[B any](
	r Resource, op admin.Operation, update func(ctx context.Context, ids []int64, body B) (store.UpdateResult, error),
) []*admin.Operation {
	return Update(r, op, func(ctx context.Context, in *updateByID[B]) (store.UpdateResult, error) {
		return update(ctx, in.IDs, in.Body)
	})
}

// Update declares the operation that updates records with special selectors.
func Update[In any](r Resource, op admin.Operation, update func(context.Context, *In) (store.UpdateResult, error)) []*admin.Operation {
	return one(r.complete(op, "update", http.MethodPut, r.Update), func(ctx context.Context, in *In) (admin.UpdateResult, error) {
		done, err := update(ctx, in)
		return admin.UpdateResult{MatchedCount: done.Matched, ModifiedCount: done.Modified}, err
	})
}

type deletionByID struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of {records}." example:"[1]"`
}

// DeleteByID declares the operation that deletes records by id; at least one is required.
func DeleteByID(r Resource, op admin.Operation, remove func(ctx context.Context, ids []int64) (int64, error)) []*admin.Operation {
	return Delete(r, op, func(ctx context.Context, in *deletionByID) (int64, error) { return remove(ctx, in.IDs) })
}

type deletion struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"all" doc:"Ids of {records}; absent: all {records}, if the settings allow that." example:"[1]"`
}

// DeleteByIDOrAll declares the operation that deletes records by id, or all without ids if the
// settings allow that.
func DeleteByIDOrAll(
	r Resource, op admin.Operation, remove func(ctx context.Context, ids []int64) (int64, error), removeAll func(context.Context) (int64, error),
) []*admin.Operation {
	return Delete(r, op, func(ctx context.Context, in *deletion) (int64, error) {
		if len(in.IDs) == 0 {
			return removeAll(ctx)
		}
		return remove(ctx, in.IDs)
	})
}

// Delete declares the operation that deletes records with special selectors, and returns how many.
func Delete[In any](r Resource, op admin.Operation, remove func(context.Context, *In) (int64, error)) []*admin.Operation {
	return one(r.complete(op, "delete", http.MethodDelete, r.Delete), func(ctx context.Context, in *In) (admin.DeleteResult, error) {
		n, err := remove(ctx, in)
		return admin.DeleteResult{DeletedCount: n}, err
	})
}
