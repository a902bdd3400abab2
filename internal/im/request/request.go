// SPDX-License-Identifier: Apache-2.0

// Package request holds the rules common to all requests between users: state, expiry, response and
// selection. Friend requests, group invitations and join requests are parameters of it: a Kind
// describes each. Their packages decide who may create, answer or recall a request.
package request

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// A Head contains the common fields of requests, as pointers into the record.
type Head struct {
	ID           *int64
	Content      *string
	Status       *store.RequestStatus
	Reason       **string
	CreationDate *time.Time
	ResponseDate **time.Time
}

// An Edit contains the common fields of changes.
type Edit struct {
	Content      *string
	Status       *store.RequestStatus
	CreationDate *time.Time
}

// Settings are the configured rules of a kind.
type Settings struct {
	Lifetime Lifetime
	// MaxContent and MaxReason bound the texts of requests and answers, in characters.
	MaxContent, MaxReason int32
	// DeleteExpired enables DeleteExpired.
	DeleteExpired bool
}

// A Filter selects requests by their current status: all that Stored selects whose current status
// is one of Statuses, if there are any, and that expire in the range. ExpirationDate has no effect
// if requests do not expire.
type Filter[F any] struct {
	Stored         F
	Statuses       []store.RequestStatus
	ExpirationDate store.DateRange
}

// A Selection contains the common fields of filters, as pointers into the filter.
type Selection struct {
	IDs          *[]int64
	Status       *store.StatusFilter
	CreationDate *store.DateRange
}

// A Kind describes a kind of request: R is its record, V a request with its current status, F its
// filter and C a change of it.
type Kind[R, V, F any, C comparable] struct {
	Store    *store.DB
	IDs      *ids.Generator
	Now      func() time.Time
	Settings func() Settings

	Head func(*R) Head
	// View returns a request with its current status, which r contains.
	View      func(r R, expiration *time.Time) V
	Selection func(*F) Selection
	Edit      func(C) Edit
	// Respond sets the response date of a change; nil removes it.
	Respond func(c *C, at *time.Time)
	// Conclude returns the change that stores the status, the response date, the reason and the
	// responder of a record.
	Conclude func(R) C
	// After returns a record with the users and groups of a change.
	After func(R, C) R
	// AnyResponse allows administrators to give a new request a response date whatever its status
	// is.
	AnyResponse bool
	// Check returns an error for an invalid change of a record; it may be nil.
	Check func(R, C) error
	// Changed increments the versions of the affected lists, in the transaction.
	Changed func(ctx context.Context, tx store.Tx, now time.Time, records ...R) error

	Insert func(ctx context.Context, tx store.Tx, records ...R) error
	Find   func(ctx context.Context, r store.Reader, f F, p store.Page) ([]R, error)
	Count  func(ctx context.Context, r store.Reader, f F) (int64, error)
	Update func(ctx context.Context, tx store.Tx, ids []int64, c C) (modified []int64, err error)
	Delete func(ctx context.Context, tx store.Tx, ids []int64) error
}

// A Book manages the requests of one kind. Administrators use it directly; users use Ask and End
// under the rules of the kind.
type Book[R, V, F any, C comparable] struct{ kind Kind[R, V, F, C] }

// NewBook returns the book of a kind.
func NewBook[R, V, F any, C comparable](k Kind[R, V, F, C]) *Book[R, V, F, C] {
	return &Book[R, V, F, C]{k}
}

// batch bounds how many records one transaction deletes if the caller did not name them, so that
// other writers do not wait long.
const batch = 1000

// AsOf returns a request with its status at a time: without an answer in time it has expired,
// although that is not stored.
func (b *Book[R, V, F, C]) AsOf(r R, now time.Time) V {
	l := b.kind.Settings().Lifetime
	h := b.kind.Head(&r)
	*h.Status = l.Status(*h.Status, *h.CreationDate, now)
	return b.kind.View(r, l.End(*h.CreationDate))
}

// AllAsOf returns requests with their status at a time.
func (b *Book[R, V, F, C]) AllAsOf(stored []R, now time.Time) (found []V) {
	for _, r := range stored {
		found = append(found, b.AsOf(r, now))
	}
	return found
}

// check validates the texts and dates of a request.
func (b *Book[R, V, F, C]) check(content *string, creation, response *time.Time, now time.Time) error {
	if content != nil {
		if err := check.MaxLength("content", *content, b.kind.Settings().MaxContent); err != nil {
			return err
		}
	}
	if err := check.NotFuture("creationDate", creation, now); err != nil {
		return err
	}
	return check.NotFuture("responseDate", response, now)
}

// Create stores a request for an administrator, without further effects. A nil id is generated, a
// nil creation date means now.
func (b *Book[R, V, F, C]) Create(ctx context.Context, r R, id *int64, creation *time.Time) (v V, err error) {
	return b.create(ctx, r, id, creation, nil, nil)
}

// Ask stores a new request of a user unless may returns an error inside the transaction. The key is
// stored for repeated requests; nil means none.
func (b *Book[R, V, F, C]) Ask(ctx context.Context, r R, key *store.MessageKey, may func(ctx context.Context, tx store.Tx) error) (v V, err error) {
	return b.create(ctx, r, nil, nil, key, may)
}

func (b *Book[R, V, F, C]) create(
	ctx context.Context, r R, id *int64, creation *time.Time, key *store.MessageKey, may func(ctx context.Context, tx store.Tx) error,
) (v V, err error) {
	now, h := b.kind.Now(), b.kind.Head(&r)
	if err := b.check(h.Content, creation, *h.ResponseDate, now); err != nil {
		return v, err
	}
	if !b.kind.AnyResponse {
		*h.ResponseDate = ResponseDate(*h.Status, *h.ResponseDate, now)
	}
	*h.CreationDate = now
	if creation != nil {
		*h.CreationDate = *creation
	}
	if id != nil {
		*h.ID = *id
	} else if *h.ID, err = b.kind.IDs.NextContext(ctx); err != nil {
		return v, err
	}
	err = b.kind.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := key.Remember(ctx, tx, *h.ID); err != nil {
			return err
		}
		if may != nil {
			if err := may(ctx, tx); err != nil {
				return err
			}
		}
		if err := b.kind.Insert(ctx, tx, r); err != nil {
			return err
		}
		return b.kind.Changed(ctx, tx, now, r)
	})
	if err != nil {
		return v, err
	}
	return b.AsOf(r, now), nil
}

// Find returns requests by id, or by the first date that the filter has a range of.
func (b *Book[R, V, F, C]) Find(ctx context.Context, f Filter[F], limit, offset int) ([]V, error) {
	_, found, err := b.query(ctx, f, store.Page{Limit: limit, Offset: offset}, false)
	return found, err
}

// FindPage returns a page of requests and how many there are in all, as far as store.ForTotal
// counts.
func (b *Book[R, V, F, C]) FindPage(ctx context.Context, f Filter[F], page store.Page) (int64, []V, error) {
	return b.query(ctx, f, page, true)
}

func (b *Book[R, V, F, C]) query(ctx context.Context, filter Filter[F], page store.Page, total bool) (count int64, found []V, err error) {
	f := filter.Stored
	s := b.kind.Selection(&f)
	*s.Status = b.Status(filter.Statuses...)
	if *s.CreationDate, err = b.kind.Settings().Lifetime.Creation(*s.CreationDate, filter.ExpirationDate); err != nil {
		return 0, nil, err
	}
	var stored []R
	err = b.kind.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total {
			if count, err = b.kind.Count(ctx, store.ForTotal(r, page), f); err != nil || count == 0 {
				return err
			}
		}
		stored, err = b.kind.Find(ctx, r, f, page)
		return err
	})
	return count, b.AllAsOf(stored, b.kind.Now()), err
}

// Status returns the filter for requests with one of the current statuses.
func (b *Book[R, V, F, C]) Status(statuses ...store.RequestStatus) store.StatusFilter {
	return store.StatusFilter{Statuses: statuses, ExpiredBefore: b.kind.Settings().Lifetime.ExpiredBefore(b.kind.Now())}
}

// Update changes the requests with the ids, all or none. A response date takes effect only together
// with a status: an answer has one, by default now, and other statuses have none. A status has no
// further effects. An empty change matches nothing.
func (b *Book[R, V, F, C]) Update(ctx context.Context, requestIDs []int64, c C, response *time.Time) (result store.UpdateResult, err error) {
	now, edit := b.kind.Now(), b.kind.Edit(c)
	if err := b.check(edit.Content, edit.CreationDate, response, now); err != nil {
		return result, err
	}
	if edit.Status != nil {
		b.kind.Respond(&c, ResponseDate(*edit.Status, response, now))
	}
	if c == *new(C) {
		return result, nil
	}
	err = b.kind.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		before, err := b.kind.Find(ctx, tx, b.selection(requestIDs, store.StatusFilter{}), store.Page{})
		if err != nil {
			return err
		}
		for _, r := range before {
			if b.kind.Check == nil {
				break
			}
			if err := b.kind.Check(r, c); err != nil {
				return err
			}
		}
		modified, err := b.kind.Update(ctx, tx, requestIDs, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(before)), Modified: int64(len(modified))}
		slices.Sort(modified)
		var concerned []R
		for _, r := range before {
			if _, changed := slices.BinarySearch(modified, *b.kind.Head(&r).ID); changed {
				concerned = append(concerned, r, b.kind.After(r, c))
			}
		}
		return b.kind.Changed(ctx, tx, now, concerned...)
	})
	return result, err
}

// An Ending describes how a pending request ends.
type Ending[R any] struct {
	Status store.RequestStatus
	// Reason is the reason; nil leaves the stored one unchanged.
	Reason *string
	// May returns an error to forbid the ending; it gets nil if the request does not exist.
	May func(ctx context.Context, tx store.Tx, r *R) error
	// NotPending is the error if the request is no longer pending.
	NotPending apierr.Code
	// Then is called in the same transaction and may change the record before it is stored. It may
	// be nil.
	Then func(ctx context.Context, tx store.Tx, r *R, now time.Time) error
}

// End sets the final status of a pending request.
func (b *Book[R, V, F, C]) End(ctx context.Context, id int64, e Ending[R]) (ended V, err error) {
	now := b.kind.Now()
	err = b.kind.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := b.kind.Find(ctx, tx, b.selection([]int64{id}, store.StatusFilter{}), store.Page{})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			if err := e.May(ctx, tx, nil); err != nil {
				return err
			}
			return apierr.New(e.NotPending, "")
		}
		r := found[0]
		if err := e.May(ctx, tx, &r); err != nil {
			return err
		}
		h := b.kind.Head(&r)
		if b.kind.Settings().Lifetime.Status(*h.Status, *h.CreationDate, now) != store.RequestPending {
			return apierr.New(e.NotPending, "")
		}
		*h.Status, *h.ResponseDate = e.Status, ResponseDate(e.Status, nil, now)
		if e.Reason != nil {
			*h.Reason = e.Reason
		}
		if e.Then != nil {
			if err := e.Then(ctx, tx, &r, now); err != nil {
				return err
			}
		}
		if _, err := b.kind.Update(ctx, tx, []int64{id}, b.kind.Conclude(r)); err != nil {
			return err
		}
		ended = b.AsOf(r, now)
		return b.kind.Changed(ctx, tx, now, r)
	})
	if err != nil {
		return *new(V), err
	}
	return ended, nil
}

// CheckAnswer checks the answer to a request.
func (b *Book[R, V, F, C]) CheckAnswer(status store.RequestStatus, reason *string) error {
	if !status.Answered() {
		return apierr.New(apierr.IllegalArgument, "responseAction: must be ACCEPT, DECLINE or IGNORE")
	}
	return b.CheckReason(reason)
}

// CheckReason validates the reason of an answer.
func (b *Book[R, V, F, C]) CheckReason(reason *string) error {
	if reason == nil {
		return nil
	}
	return check.MaxLength("reason", *reason, b.kind.Settings().MaxReason)
}

// Delete deletes the requests with the ids.
func (b *Book[R, V, F, C]) Delete(ctx context.Context, requestIDs []int64) (deleted int64, err error) {
	err = b.kind.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = b.remove(ctx, tx, b.selection(requestIDs, store.StatusFilter{}), store.Page{})
		return err
	})
	return deleted, err
}

// DeleteAll deletes all requests, in several transactions.
func (b *Book[R, V, F, C]) DeleteAll(ctx context.Context) (int64, error) {
	return b.removeAll(ctx, b.kind.Store, store.StatusFilter{})
}

// DeleteExpired deletes the expired requests, in several transactions of db, if the settings say
// so, and returns how many. One node at a time should call it.
func (b *Book[R, V, F, C]) DeleteExpired(ctx context.Context, db store.Writer) (int64, error) {
	if !b.kind.Settings().DeleteExpired {
		return 0, nil
	}
	return b.removeAll(ctx, db, b.Status(store.RequestExpired))
}

// removeAll deletes in batches until a batch is not full.
func (b *Book[R, V, F, C]) removeAll(ctx context.Context, db store.Writer, status store.StatusFilter) (deleted int64, err error) {
	for {
		var gone int64
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			gone, err = b.remove(ctx, tx, b.selection(nil, status), store.Page{Limit: batch})
			return err
		})
		deleted += gone
		if err != nil || gone < batch {
			return deleted, err
		}
	}
}

func (b *Book[R, V, F, C]) remove(ctx context.Context, tx store.Tx, f F, page store.Page) (int64, error) {
	found, err := b.kind.Find(ctx, tx, f, page)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	list := make([]int64, len(found))
	for i := range found {
		list[i] = *b.kind.Head(&found[i]).ID
	}
	if err := b.kind.Delete(ctx, tx, list); err != nil {
		return 0, err
	}
	return int64(len(found)), b.kind.Changed(ctx, tx, b.kind.Now(), found...)
}

// selection returns a filter for the ids, if there are any, and the status.
func (b *Book[R, V, F, C]) selection(ids []int64, status store.StatusFilter) (f F) {
	s := b.kind.Selection(&f)
	*s.IDs, *s.Status = ids, status
	return f
}
