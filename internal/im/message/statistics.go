// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"

	"example.org/app/internal/store"
)

// Statistics counts messages, their senders and their targets.
type Statistics struct{ store *store.DB }

// Count returns how many messages match the filter.
func (s *Statistics) Count(ctx context.Context, f store.MessageFilter) (n int64, err error) {
	err = s.store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		n, err = store.CountMessages(ctx, r, f)
		return err
	})
	return n, err
}

// CountOnAverage returns how many of the messages that match the filter a sender
// of any of them sent on average, rounded down.
func (s *Statistics) CountOnAverage(ctx context.Context, f store.MessageFilter) (n int64, err error) {
	err = s.store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		senders, err := store.CountMessageSenders(ctx, r, f)
		if err != nil || senders == 0 {
			return err
		}
		if n, err = store.CountMessages(ctx, r, f); err == nil {
			n /= senders
		}
		return err
	})
	return n, err
}

// CountSenders returns how many users sent at least one message, system messages excluded, in the
// range.
func (s *Statistics) CountSenders(ctx context.Context, sent store.DateRange) (n int64, err error) {
	err = s.store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		n, err = store.CountMessageSenders(ctx, r, store.MessageFilter{IsSystemMessage: new(false), DeliveryDate: sent})
		return err
	})
	return n, err
}

// CountAddressedGroups returns how many groups received at least one message in the range.
func (s *Statistics) CountAddressedGroups(ctx context.Context, sent store.DateRange) (n int64, err error) {
	err = s.store.Scan(ctx, func(ctx context.Context, r store.Reader) error {
		n, err = store.CountMessageTargets(ctx, r, store.MessageFilter{IsGroupMessage: new(true), DeliveryDate: sent})
		return err
	})
	return n, err
}
