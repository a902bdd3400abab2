// SPDX-License-Identifier: Apache-2.0

package sqldb

import "context"

// A Journal belongs to one run of a Write function. Repositories note in it what they change.
type Journal interface {
	// Close is called when the function has returned nil, in its transaction. An error rolls everything back.
	Close(ctx context.Context, tx Tx) error
	// Committed is called when the transaction of the journal that was closed last is committed.
	Committed()
}

type journalKey struct{}

// WithJournal returns a context whose Write functions keep a journal. open is called at the beginning of each run of a
// function, so that a run that is repeated begins with an empty one.
func WithJournal(ctx context.Context, open func() Journal) context.Context {
	return context.WithValue(ctx, journalKey{}, open)
}

// JournalOf returns the journal of a transaction, nil if it keeps none.
func JournalOf(tx Tx) Journal { return tx.session().journal }

// journaling makes fn keep the journal that ctx asks for. The second result takes the outcome of the transaction and
// returns it.
func journaling(ctx context.Context, fn WriteFunc) (WriteFunc, func(error) error) {
	open, ok := ctx.Value(journalKey{}).(func() Journal)
	if !ok {
		return fn, func(err error) error { return err }
	}
	var last Journal
	run := func(ctx context.Context, tx Tx) error {
		last = open()
		s := tx.session()
		s.journal = last
		if err := fn(ctx, tx); err != nil {
			return err
		}
		s.journal = nil
		return last.Close(ctx, tx)
	}
	return run, func(err error) error {
		if err == nil && last != nil {
			last.Committed()
		}
		return err
	}
}
