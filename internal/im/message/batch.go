// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
	"example.org/app/internal/telemetry"
)

const (
	// maxBatch is the maximum number of messages per batch.
	maxBatch = 256
	// postgresRunners is the maximum number of concurrent transactions on PostgreSQL.
	postgresRunners = 4
	// crowd is how many waiting messages start another transaction: few large ones take less
	// processor time than many small ones.
	crowd = maxBatch / 2
	// patience is how long a transaction may take before messages of other conversations stop
	// waiting for it.
	patience = 50 * time.Millisecond
)

// A batch collects messages that are sent concurrently, to check and store them together, in the
// order of arrival. While some are being stored, the next ones wait; a single message is never
// delayed. The messages of a conversation are in at most one transaction at a time, which keeps
// their order, so that no two transactions write the same read date.
type batch struct {
	mu      sync.Mutex
	waiting []*posting
	// begun has, for each possible runner, the start of its transaction; zero if it is not running.
	begun []time.Time
	// running is the number of runners.
	running int
	// busy has the conversations of the messages being stored, if several runners are possible.
	busy map[uint64]bool
	// closed is true once no message may join.
	closed bool
	// latest is the latest date of a message.
	latest time.Time
}

// wants reports whether to start another runner. The caller holds b.mu.
func (b *batch) wants(now time.Time) bool {
	switch {
	case len(b.waiting) == 0 || b.running == len(b.begun):
		return false
	case b.running == 0 || b.slow(now):
		return true
	default:
		return len(b.waiting)%crowd == 0
	}
}

// slow reports whether a transaction exceeds patience. The caller holds b.mu.
func (b *batch) slow(now time.Time) bool {
	return slices.ContainsFunc(b.begun, func(t time.Time) bool { return !t.IsZero() && now.Sub(t) >= patience })
}

// take returns the next messages for a runner, or none if the runner must end.
func (b *batch) take(runner int) (taken []*posting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.begun[runner] = time.Time{}
	if len(b.busy) == 0 {
		n := min(len(b.waiting), maxBatch)
		taken, b.waiting = b.waiting[:n:n], b.waiting[n:]
	} else {
		taken = b.takeFree(b.slow(now))
	}
	if len(taken) == 0 {
		b.running--
		if len(b.waiting) == 0 {
			b.waiting = nil
		}
		return nil
	}
	b.begun[runner] = now
	if len(b.begun) > 1 {
		for _, p := range taken {
			b.busy[conversationNumber(p.composed)] = true
		}
	}
	return taken
}

// takeFree takes the messages of conversations that are not busy, if there is a crowd of them or
// few suffice. The caller holds b.mu.
func (b *batch) takeFree(few bool) (taken []*posting) {
	free := func(p *posting) bool { return !b.busy[conversationNumber(p.composed)] }
	n := 0
	for _, p := range b.waiting {
		if free(p) {
			n++
		}
	}
	if n < crowd && !few {
		return nil
	}
	left := make([]*posting, 0, len(b.waiting))
	for _, p := range b.waiting {
		if len(taken) < maxBatch && free(p) {
			taken = append(taken, p)
		} else {
			left = append(left, p)
		}
	}
	b.waiting = left
	return taken
}

// release ends the transaction of messages: others of their conversations may be taken.
func (b *batch) release(taken []*posting) {
	if len(b.begun) == 1 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range taken {
		delete(b.busy, conversationNumber(p.composed))
	}
}

// conversationNumber identifies the conversation of a message. Few conversations share a number.
func conversationNumber(m store.Message) uint64 {
	if m.IsGroupMessage {
		return uint64(m.TargetID)
	}
	return uint64(m.TargetID) ^ uint64(m.SenderID)
}

// A posting is a message in a batch.
type posting struct {
	composed store.Message
	settings config.Message
	key      *Key
	// begun is set by whoever decides the outcome: the batch when it takes the message, or the
	// sender when it gives up before that.
	begun atomic.Bool
	// sent, isMember and refusal are the result of one run of the transaction. isMember is true if
	// the sender is a member of the message's group.
	sent     store.Message
	isMember bool
	refusal  error
	// existed is true if sent was created by an earlier request with the same key.
	existed bool
	// doubtful is true if a failed batch may have stored the message.
	doubtful bool
	result   chan error
	// ctx is the sender's context, and deadline its deadline; zero means none.
	ctx      context.Context
	deadline time.Time
}

// expired reports whether the sender has given up.
func (p *posting) expired(now time.Time) bool { return !p.deadline.IsZero() && !now.Before(p.deadline) }

// errExpired means that a sender has given up while its message was being stored.
var errExpired = errors.New("a sender has given up")

// errApart means that the messages of a batch must be stored one by one, because storing them
// together failed: the error of one must not affect others.
var errApart = errors.New("the messages cannot be stored together")

// mayJoin reports whether a message can be stored together with others.
func mayJoin(ctx context.Context, c Creation) bool {
	return !c.IsSystemMessage && c.ID == nil && !store.Journaled(ctx)
}

// alone reports whether a message is ordered with the others but needs its own transaction: it
// refers to a message that is read there, or probably exists.
func (p *posting) alone() bool {
	return p.composed.ReferenceID != nil || p.key != nil && p.key.Repeated
}

// join stores a message in a batch, after those that joined before, unless one with its key exists.
func (d *Directory) join(ctx context.Context, composed store.Message, settings config.Message, c Creation) (sent store.Message, existed bool, err error) {
	ctx, span := telemetry.Child(ctx, "store message", telemetry.Internal)
	defer span.End()
	p := &posting{composed: composed, settings: settings, key: c.Key, result: make(chan error, 1), ctx: ctx}
	p.deadline, _ = ctx.Deadline()
	joined, err := d.enqueue(p)
	if c.Key == nil || !c.Key.Repeated { // It may have to join again, before those after it.
		c.Turn.pass()
	}
	switch {
	case err != nil:
		return store.Message{}, false, err
	case !joined:
		return d.settle(ctx, p.composed, settings, c.Key, false)
	}
	select {
	case err = <-p.result:
	case <-ctx.Done():
		if p.begun.CompareAndSwap(false, true) {
			return store.Message{}, false, ctx.Err()
		}
		err = <-p.result
	}
	return p.sent, p.existed, err
}

// enqueue adds a message to the batch. It sets its id and date together with its position, so that
// their orders agree. joined is false if the directory is stopping.
func (d *Directory) enqueue(p *posting) (joined bool, err error) {
	b := &d.batch
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := d.stamp(p.ctx, &p.composed, p.settings, b.latest); err != nil || b.closed {
		return false, err
	}
	if p.settings.TimeType != config.MessageClientTime {
		b.latest = p.composed.DeliveryDate
	}
	b.waiting = append(b.waiting, p)
	d.help()
	return true, nil
}

// help starts another runner if the batch wants one. The caller holds the lock of the batch.
func (d *Directory) help() {
	b := &d.batch
	if now := time.Now(); b.wants(now) {
		runner := slices.IndexFunc(b.begun, time.Time.IsZero)
		b.running++
		b.begun[runner] = now
		d.runners.Go(func() { d.runBatches(runner) })
	}
}

// Stop waits until the current batches are stored, or ctx ends. Later messages are stored one by
// one.
func (d *Directory) Stop(ctx context.Context) error {
	d.batch.mu.Lock()
	d.batch.closed = true
	d.batch.mu.Unlock()
	done := make(chan struct{})
	go func() {
		d.runners.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("store the last messages: %w", ctx.Err())
	}
}

// runBatches stores waiting messages until the runner is no longer needed.
func (d *Directory) runBatches(runner int) {
	b := &d.batch
	var late *time.Timer
	if len(b.begun) > 1 {
		// Messages that arrived before the transaction became slow do not wait for another message.
		late = time.AfterFunc(patience, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !b.closed {
				d.help()
			}
		})
		defer late.Stop()
	}
	for {
		taken := b.take(runner)
		if len(taken) == 0 {
			return
		}
		if late != nil {
			late.Reset(patience)
		}
		d.store(taken)
		b.release(taken)
	}
}

// store stores messages, except those whose senders have given up.
func (d *Directory) store(taken []*posting) {
	live, now := make([]*posting, 0, len(taken)), time.Now()
	for _, p := range taken {
		// A sender that has given up, or is about to, learns it from its context.
		if !p.expired(now) && p.begun.CompareAndSwap(false, true) {
			live = append(live, p)
		}
	}
	for len(live) > 0 {
		n := slices.IndexFunc(live, (*posting).alone)
		switch n {
		case -1:
			n = len(live)
			d.runTogether(live, nil)
		case 0:
			n = 1
			d.runAlone(live[0], live[1:])
		default:
			d.runTogether(live[:n], live[n:])
		}
		live = live[n:]
	}
}

// runTogether stores messages together, or one by one if that fails. rest are the messages after
// them, which precede those waiting.
func (d *Directory) runTogether(together, rest []*posting) {
	err := d.sendTogether(together)
	for i, p := range together {
		switch {
		case errors.Is(err, errApart):
			p.doubtful = p.refusal == nil && errors.Is(err, store.ErrOutcomeUnknown)
			d.runAlone(p, slices.Concat(together[i+1:], rest))
		case err != nil:
			p.result <- err
		default:
			p.result <- p.refusal
		}
	}
}

// runAlone stores a message in its own transaction. Later ones wait for its outcome, which keeps
// the order.
func (d *Directory) runAlone(p *posting, rest []*posting) {
	var err error
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("store a message: panic: %v", value)
		}
		p.result <- err
	}()
	if p.sent, p.existed, err = d.settle(p.ctx, p.composed, p.settings, p.key, p.doubtful); p.existed && p.sent.ID > p.composed.ID {
		d.renumber(p, rest)
	}
}

// laterPause is the pause before checking for greater ids after one from a machine whose clock is
// ahead; laterLimit is the number of checks.
const laterPause, laterLimit = 5 * time.Millisecond, 100

// renumber gives new ids and dates to the messages after one in its conversation: another process
// has stored that one, because it was sent there too, and its id may be greater than theirs.
func (d *Directory) renumber(stored *posting, rest []*posting) {
	b := &d.batch
	for range laterLimit {
		if id, err := d.opts.IDs.NextContext(stored.ctx); err != nil || id > stored.sent.ID || sleep.For(stored.ctx, laterPause) != nil {
			break
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.latest.Before(stored.sent.DeliveryDate) && stored.settings.TimeType != config.MessageClientTime {
		b.latest = stored.sent.DeliveryDate
	}
	for _, p := range slices.Concat(rest, b.waiting) {
		if sameConversation(p.composed, stored.sent) {
			// Without a new id the message keeps its id.
			_ = d.stamp(p.ctx, &p.composed, p.settings, b.latest)
		}
	}
}

func sameConversation(a, b store.Message) bool {
	if a.IsGroupMessage || b.IsGroupMessage {
		return a.IsGroupMessage && b.IsGroupMessage && a.TargetID == b.TargetID
	}
	return a.SenderID == b.SenderID && a.TargetID == b.TargetID || a.SenderID == b.TargetID && a.TargetID == b.SenderID
}

// sendTogether stores messages, all that are valid or none.
func (d *Directory) sendTogether(batch []*posting) (err error) {
	defer func() {
		if value := recover(); value != nil {
			// The cause will fail again in a transaction of its own.
			err = fmt.Errorf("%w: panic: %v", errApart, value)
		}
	}()
	// The transaction belongs to all senders. The store bounds its time.
	ctx := context.Background()
	if i := slices.IndexFunc(batch, func(p *posting) bool { return telemetry.Sampled(p.ctx) }); i >= 0 {
		ctx = telemetry.Join(ctx, batch[i].ctx) // It is shown once, in the first trace that it belongs to.
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
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
	var keys []store.MessageKey
	read := store.ReadDates{Private: map[store.PrivateConversationKey]time.Time{}, Members: map[store.GroupUserKey]time.Time{}}
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
		if p.key != nil {
			// An existing key fails the transaction, and its message is found when stored alone.
			keys = append(keys, d.remembered(p.sent, p.key))
		}
		switch {
		case !notes:
		case !p.sent.IsGroupMessage:
			raise(read.Private, store.PrivateConversationKey{OwnerID: p.sent.SenderID, TargetID: p.sent.TargetID}, p.sent.DeliveryDate)
		case p.isMember:
			// Guests of a group have no read date.
			raise(read.Members, speakerOf(p.sent), p.sent.DeliveryDate)
		}
	}
	if err := store.SaveMessages(ctx, tx, kept, read, keys); err != nil {
		return err
	}
	// If the process was paused, senders may have given up meanwhile; their messages must not be
	// stored.
	now := time.Now()
	for _, p := range batch {
		if p.expired(now) {
			return errExpired
		}
	}
	return nil
}

// raise sets a date unless a later one is set.
func raise[K comparable](dates map[K]time.Time, key K, date time.Time) {
	if dates[key].Before(date) {
		dates[key] = date
	}
}

// checkTogether sets the refusals of messages that their senders may not send.
func (d *Directory) checkTogether(ctx context.Context, r store.Reader, batch []*posting) error {
	var routes []store.MessageRoute
	var keys []store.GroupUserKey
	numbers, asked := map[store.MessageRoute]int{}, map[store.GroupUserKey]bool{}
	for _, p := range batch {
		p.sent, p.isMember, p.refusal = p.composed, false, nil
		route, key := routeOf(p.sent), speakerOf(p.sent)
		if _, known := numbers[route]; !known && asksRecipient(p) {
			numbers[route] = len(routes)
			routes = append(routes, route)
		}
		if p.sent.IsGroupMessage && !asked[key] {
			asked[key] = true
			keys = append(keys, key)
		}
	}
	recipients, err := store.FindMessageRecipients(ctx, r, routes)
	if err != nil {
		return err
	}
	var speakers map[store.GroupUserKey]group.Speaker
	if len(keys) > 0 {
		if speakers, err = d.opts.Members.Speakers(ctx, r, keys); err != nil {
			return err
		}
	}
	for _, p := range batch {
		switch {
		case p.sent.IsGroupMessage:
			speaker := speakers[speakerOf(p.sent)]
			p.isMember, p.refusal = speaker.Member != nil, speaker.MaySend(p.settings.CheckIfTargetActiveAndNotDeleted)
		case asksRecipient(p):
			p.refusal = d.mayReach(recipients[numbers[routeOf(p.sent)]], p.settings)
		default:
			_, p.refusal = d.maySend(ctx, r, p.sent, p.settings)
		}
	}
	return nil
}

// speakerOf names who speaks in which group.
func speakerOf(m store.Message) store.GroupUserKey {
	return store.GroupUserKey{GroupID: m.TargetID, UserID: m.SenderID}
}

// asksRecipient reports whether only the recipient decides who may send the message.
func asksRecipient(p *posting) bool {
	return !p.sent.IsGroupMessage && p.sent.SenderID != p.sent.TargetID && p.settings.AllowSendMessagesToStranger
}
