// SPDX-License-Identifier: Apache-2.0

package sqldb

import "context"

// A Journal records the changes of one run of a Write function. Repositories write to it.
type Journal interface {
	// Close is called in the transaction after the function has returned nil. An error rolls
	// everything back.
	Close(ctx context.Context, tx Tx) error
	// Committed is called when the transaction of the last closed journal is committed.
	Committed()
}

type journalKey struct{}

// WithJournal returns a context whose Write functions keep a journal. open is called for each run
// of a function, so that a retry begins with an empty one.
func WithJournal(ctx context.Context, open func() Journal) context.Context {
	return context.WithValue(ctx, journalKey{}, open)
}

// Journaled reports whether the Write functions of a context keep a journal, and so cannot be
// combined with others.
func Journaled(ctx context.Context) bool { return ctx.Value(journalKey{}) != nil }

// JournalOf returns the journal of a transaction, or nil.
func JournalOf(tx Tx) Journal { return tx.session().journal }

// journaling makes fn keep the journal of ctx. The second result must be called with the outcome of
// the transaction and returns it.
func journaling(ctx context.Context, fn WriteFunc) (WriteFunc, func(error) error) {
	open, ok := ctx.Value(journalKey{}).(func() Journal)
	if !ok {
		return fn, asItIs
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

// asItIs returns the outcome of a transaction without a journal.
func asItIs(err error) error { return err }

// Observe makes Write functions keep a second journal, for an observer of all transactions of this
// process. open is called for each run of a function; if it returns nil, later runs of the same
// Write have no journal either.
func (db *DB) Observe(open func() Journal) { db.observer.Store(&open) }

// ObserverOf returns the observer's journal of a transaction, or nil.
func ObserverOf(tx Tx) Journal { return tx.session().observer }

// observing is journaling for the observer of the database.
func (db *DB) observing(fn WriteFunc) (WriteFunc, func(error) error) {
	open := db.observer.Load()
	if open == nil {
		return fn, asItIs
	}
	if first := (*open)(); first != nil {
		return observed(fn, *open, first)
	}
	return fn, asItIs
}

// observed makes fn keep journals, the first of which is open already.
func observed(fn WriteFunc, open func() Journal, next Journal) (WriteFunc, func(error) error) {
	var last Journal
	run := func(ctx context.Context, tx Tx) error {
		if last, next = next, nil; last == nil {
			last = open()
		}
		if last == nil {
			return fn(ctx, tx)
		}
		s := tx.session()
		s.observer = last
		err := fn(ctx, tx)
		s.observer = nil
		if err != nil {
			return err
		}
		return last.Close(ctx, tx)
	}
	return run, func(err error) error {
		if err == nil && last != nil {
			last.Committed()
		}
		return err
	}
}
