// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/store"
)

// maxBatch bounds how many messages are stored by one function of the store.
const maxBatch = 256

// A batch gathers private messages that are sent at the same time, so that they
// are checked and stored together. While some are being stored, the next ones
// gather; a single message is never delayed.
type batch struct {
	mu      sync.Mutex
	waiting []*posting
	running bool
}

// A posting is a message in a batch.
type posting struct {
	composed store.Message
	settings config.Message
	// begun is set by whoever decides the outcome: the batch that takes the message, or
	// the sender who gives up before that.
	begun atomic.Bool
	// sent and refusal are what one run of the transaction came to.
	sent    store.Message
	refusal error
	result  chan error
}

// errApart tells senders to store their messages alone because those of the batch
// could not be stored together: the error of one must not be that of another.
var errApart = errors.New("the messages cannot be stored together")

// mayJoin reports whether a message can be stored together with others.
func mayJoin(ctx context.Context, c Creation) bool {
	return !c.IsGroupMessage && !c.IsSystemMessage && c.ReferenceID == nil && c.ID == nil && !store.Guarded(ctx)
}

// join stores a private message together with those that others send.
func (d *Directory) join(ctx context.Context, composed store.Message, settings config.Message) (store.Message, error) {
	p := &posting{composed: composed, settings: settings, result: make(chan error, 1)}
	b := &d.batch
	b.mu.Lock()
	b.waiting = append(b.waiting, p)
	first := !b.running
	b.running = true
	b.mu.Unlock()
	if first {
		go d.runBatches()
	}
	var err error
	select {
	case err = <-p.result:
	case <-ctx.Done():
		if p.begun.CompareAndSwap(false, true) {
			return store.Message{}, ctx.Err()
		}
		err = <-p.result
	}
	if errors.Is(err, errApart) {
		return d.sendAlone(ctx, composed, settings)
	}
	return p.sent, err
}

// runBatches stores what waits until nothing does.
func (d *Directory) runBatches() {
	b := &d.batch
	for {
		b.mu.Lock()
		n := min(len(b.waiting), maxBatch)
		taken := b.waiting[:n:n]
		b.waiting = b.waiting[n:]
		if n == 0 {
			b.running, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		b.mu.Unlock()
		live := taken[:0]
		for _, p := range taken {
			if p.begun.CompareAndSwap(false, true) {
				live = append(live, p)
			}
		}
		if len(live) == 0 {
			continue
		}
		err := d.sendTogether(live)
		for _, p := range live {
			if err != nil {
				p.result <- err
			} else {
				p.result <- p.refusal
			}
		}
	}
}

// sendTogether stores messages, all that are not refused or none.
func (d *Directory) sendTogether(batch []*posting) (err error) {
	defer func() {
		if value := recover(); value != nil {
			// Whoever caused it meets it again alone.
			err = fmt.Errorf("%w: panic: %v", errApart, value)
		}
	}()
	// The transaction belongs to all senders. The store bounds its time.
	err = d.opts.Store.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
		return d.saveTogether(ctx, tx, batch)
	})
	if err == nil || errors.Is(err, store.ErrTimeout) || errors.Is(err, store.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", errApart, err)
}

// saveTogether is the transaction of a batch. It may run more than once.
func (d *Directory) saveTogether(ctx context.Context, tx store.Tx, batch []*posting) error {
	if err := d.checkTogether(ctx, tx, batch); err != nil {
		return err
	}
	kept := make([]store.Message, 0, len(batch))
	read := map[store.PrivateConversationKey]time.Time{}
	notes := d.notesRead()
	for _, p := range batch {
		if p.refusal != nil {
			continue
		}
		if err := number(ctx, tx, &p.sent, p.settings); err != nil {
			return err
		}
		if p.settings.PersistMessage {
			kept = append(kept, keptOf(p.sent, p.settings))
		}
		key := store.PrivateConversationKey{OwnerID: p.sent.SenderID, TargetID: p.sent.TargetID}
		if notes && read[key].Before(p.sent.DeliveryDate) {
			read[key] = p.sent.DeliveryDate
		}
	}
	if err := store.InsertMessages(ctx, tx, kept...); err != nil {
		return err
	}
	return store.PutConversations(ctx, tx, read, nil)
}

// checkTogether refuses messages that their senders may not send.
func (d *Directory) checkTogether(ctx context.Context, r store.Reader, batch []*posting) error {
	var routes []store.MessageRoute
	numbers := map[store.MessageRoute]int{}
	for _, p := range batch {
		p.sent, p.refusal = p.composed, nil
		route := routeOf(p.sent)
		if _, known := numbers[route]; !known && asksRecipient(p) {
			numbers[route] = len(routes)
			routes = append(routes, route)
		}
	}
	recipients, err := store.FindMessageRecipients(ctx, r, routes)
	if err != nil {
		return err
	}
	for _, p := range batch {
		if asksRecipient(p) {
			p.refusal = d.mayReach(recipients[numbers[routeOf(p.sent)]], p.settings)
		} else {
			_, p.refusal = d.maySend(ctx, r, p.sent, p.settings)
		}
	}
	return nil
}

// asksRecipient reports whether it depends on the recipient alone who may send the
// message.
func asksRecipient(p *posting) bool {
	return p.sent.SenderID != p.sent.TargetID && p.settings.AllowSendMessagesToStranger
}
