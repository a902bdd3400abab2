// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

const (
	// eventInterval is how often each node polls for consumers, and for events of other nodes.
	eventInterval = time.Second
	// eventBatch is the maximum number of events per call of a consumer.
	eventBatch = 100
	// eventLease is the duration of a node's lease of a consumer, in addition to the time of a
	// call; it is renewed after half of it.
	eventLease = 15 * time.Second
	// eventSettling is the first pause while events wait for the end of transactions; each further
	// one is twice as long, up to eventInterval.
	eventSettling = 5 * time.Millisecond
)

// Events delivers changes to extensions: at most once, right after the commit, and at least once,
// from the outbox in the store, which is only written while the cluster has a consumer.
type Events struct {
	db      *store.DB
	manager *Manager
	// owner returns the id of this node.
	owner    func() string
	settings func() config.PluginEvents
	logger   *slog.Logger
	// kept is true if there may be consumers, here or on other nodes.
	kept atomic.Bool

	mu sync.Mutex
	// news is closed and replaced when there are new events.
	news    chan struct{}
	workers map[store.EventConsumer]*eventWorker
	work    sync.WaitGroup
}

// eventWorker delivers events to one consumer.
type eventWorker struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewEvents returns the event delivery for the extensions of a manager. Until Run has read the
// consumers, events are stored.
func NewEvents(db *store.DB, m *Manager, owner func() string, settings func() config.PluginEvents, logger *slog.Logger) *Events {
	e := &Events{
		db: db, manager: m, owner: owner, settings: settings, logger: logger,
		news: make(chan struct{}), workers: map[store.EventConsumer]*eventWorker{},
	}
	e.kept.Store(true)
	return e
}

// Wants implements store.EventSink.
func (e *Events) Wants() (committed, kept bool) {
	return e.manager.Calls.Has(HandleDomainEvents), e.kept.Load()
}

// Committed implements store.EventSink.
func (e *Events) Committed(events []store.Event) {
	if e.manager.Calls.Has(HandleDomainEvents) {
		e.manager.Calls.TellEvents(InRole(context.Background(), role.Service), domainEvents(events))
	}
	if e.kept.Load() {
		e.mu.Lock()
		defer e.mu.Unlock()
		close(e.news)
		e.news = make(chan struct{})
	}
}

func domainEvents(events []store.Event) []DomainEvent {
	list := make([]DomainEvent, len(events))
	for i, e := range events {
		list[i] = DomainEvent{Type: string(e.Type), Date: e.Date, UserID: e.UserID, GroupID: e.GroupID, MessageID: e.MessageID, TargetID: e.TargetID}
		if e.ID != 0 {
			list[i].ID = &e.ID
		}
	}
	return list
}

// Run delivers events to consumers until ctx ends, and then releases its leases.
func (e *Events) Run(ctx context.Context) error {
	ticker := time.NewTicker(eventInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		e.look(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	e.work.Wait()
	return nil
}

// look reads the consumers, and starts serving those of this process.
func (e *Events) look(ctx context.Context) {
	mine := e.manager.Calls.consumers()
	err := e.db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		kept, err := store.HasEventConsumers(ctx, r)
		e.kept.Store(kept || err != nil || len(mine) > 0) // Unneeded events are deleted later.
		return err
	})
	if err != nil && ctx.Err() == nil {
		e.logger.Warn("consumers of events cannot be looked for; events are kept", "error", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range mine {
		if e.workers[c] != nil || ctx.Err() != nil {
			continue
		}
		w := &eventWorker{done: make(chan struct{})}
		var serving context.Context
		serving, w.cancel = context.WithCancel(ctx)
		e.workers[c] = w
		e.work.Go(func() {
			defer close(w.done)
			defer w.cancel()
			e.serve(serving, c)
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.workers, c)
		})
	}
}

// serve delivers events to a consumer while it is started, and then releases the lease.
func (e *Events) serve(ctx context.Context, c store.EventConsumer) {
	d := &delivery{Events: e, consumer: c}
	defer d.release(ctx)
	for ctx.Err() == nil && e.manager.Calls.consumes(c) {
		e.mu.Lock()
		news := e.news
		e.mu.Unlock()
		wait, err := d.step(ctx)
		switch {
		case errors.Is(err, errRetired):
			d.pause(ctx, eventSettling, nil) // Another version is there, or none.
			continue
		case err != nil:
			if ctx.Err() == nil {
				e.logger.Warn("events could not be brought to a plugin; they are brought again", "plugin", c.PluginID, "extension", c.Extension, "failures", d.failures+1, "error", err)
			}
			wait, news = retryDelay(d.failures), nil
			d.failures++
		case wait < eventInterval:
			news = nil // They do not affect events that wait for the end of transactions.
		}
		e.manager.deliveries.note(c, d.info(time.Now().Add(wait), err))
		d.pause(ctx, wait, news)
	}
	e.manager.deliveries.forget(c)
}

// delivery is the progress of delivering events to a consumer.
type delivery struct {
	*Events
	consumer store.EventConsumer
	// lease is the end of this node's lease; zero without one.
	lease time.Time
	// claimed is true if this node may have a lease in the store.
	claimed bool
	place   store.EventPosition
	mark    store.EventMark
	// settling is how often the outbox was incomplete at the mark.
	settling  int
	failures  int
	delivered int64
}

// step delivers the next events to the consumer, if this node has the lease. It returns how long to
// wait.
func (d *delivery) step(ctx context.Context) (wait time.Duration, err error) {
	if mine, err := d.hold(ctx); err != nil || !mine {
		return eventInterval, err
	}
	if d.failures > 0 {
		d.mark = store.EventMark{} // More may have arrived meanwhile.
	}
	var events []store.Event
	complete := false
	err = d.db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		if d.mark.Last <= d.place.Position {
			if d.mark, err = store.MarkEvents(ctx, r, d.place.Position); err != nil || d.mark.Last <= d.place.Position {
				return err
			}
		}
		if complete, err = d.mark.IsComplete(ctx, r); complete && err == nil {
			events, err = store.FindEvents(ctx, r, d.place.Position, d.mark.Last, eventBatch)
		}
		return err
	})
	switch {
	case err != nil:
		return 0, store.Code(err)
	case len(events) == 0 && d.mark.Last > d.place.Position && !complete:
		d.settling++
		return min(eventSettling<<min(d.settling-1, 10), eventInterval), nil
	case len(events) == 0:
		d.mark, d.settling = store.EventMark{}, 0
		return eventInterval, nil
	}
	d.settling = 0
	return 0, d.deliver(ctx, events)
}

// deliver delivers events to the consumer and advances its position.
func (d *delivery) deliver(ctx context.Context, events []store.Event) error {
	last := events[len(events)-1].ID
	ctx, span := startDelivery(ctx, "AT_LEAST_ONCE", len(events))
	defer span.End()
	if span.On() {
		span.Set(attribute.String("app.plugin.id", d.consumer.PluginID), attribute.String("app.plugin.extension", d.consumer.Extension),
			attribute.Int64("app.events.last", last), attribute.Int("app.events.failures", d.failures))
	}
	if err := d.manager.Calls.consume(ctx, d.consumer, domainEvents(events)); err != nil {
		span.Fail("the events are brought again")
		return err
	}
	d.failures = 0
	d.delivered += int64(len(events))
	return d.move(ctx, last)
}

// hold acquires or renews the lease of the consumer, and reports whether this node has it.
func (d *delivery) hold(ctx context.Context) (bool, error) {
	now := time.Now()
	if d.lease.Sub(now) >= eventLease/2 {
		return true, nil
	}
	before := d.place
	var found bool
	read := func(ctx context.Context, r store.Reader) (err error) {
		d.place, found, err = store.FindEventPosition(ctx, r, d.consumer)
		return err
	}
	if err := d.db.Read(ctx, read); err != nil {
		d.lease = time.Time{}
		return false, store.Code(err)
	}
	if found && d.place.Owner != d.owner() && !d.place.LeaseDate.Before(now) {
		d.lease, d.claimed = time.Time{}, false
		return false, nil // Another node has it.
	}
	until, mine := d.until(now), false
	d.claimed = true
	err := d.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		mine, err = store.ClaimEvents(ctx, tx, d.consumer, d.owner(), now, until)
		return err
	})
	if err == nil && mine {
		err = d.db.Read(ctx, read)
	}
	if err != nil || !mine || !found {
		d.lease = time.Time{}
		return false, store.Code(err)
	}
	if d.lease = until; d.place.Position != before.Position {
		d.mark = store.EventMark{}
	}
	return true, nil
}

// until returns the end of a new lease.
func (d *delivery) until(now time.Time) time.Time {
	return now.Add(eventLease + d.manager.Calls.boundsOf(ConsumeDomainEvents).time)
}

// move advances the position of the consumer.
func (d *delivery) move(ctx context.Context, position int64) error {
	until, mine := d.until(time.Now()), false
	err := d.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		mine, err = store.MoveEvents(ctx, tx, d.consumer, d.owner(), position, until)
		return err
	})
	if err != nil || !mine { // The position is read again.
		d.lease = time.Time{}
		return store.Code(err)
	}
	d.place.Position, d.lease = position, until
	return nil
}

// pause waits for a time, or until there is news, ctx ends or the extension is stopped. It renews
// the lease meanwhile, so that other nodes do not retry sooner.
func (d *delivery) pause(ctx context.Context, wait time.Duration, news <-chan struct{}) {
	for end := time.Now().Add(wait); ; {
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil || !d.manager.Calls.consumes(d.consumer) {
			return
		}
		timer := time.NewTimer(min(left, eventInterval))
		select {
		case <-timer.C:
		case <-news:
			end = time.Now()
		case <-ctx.Done():
		}
		timer.Stop()
		if !d.lease.IsZero() {
			if _, err := d.hold(ctx); err != nil {
				return // The next step reports it.
			}
		}
	}
}

// release ends the lease of the consumer.
func (d *delivery) release(ctx context.Context) {
	if !d.claimed {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventLease/2)
	defer cancel()
	err := d.db.Write(last, func(ctx context.Context, tx store.Tx) error {
		return store.ReleaseEvents(ctx, tx, d.consumer, d.owner(), time.Now())
	})
	if err != nil {
		d.logger.Warn("other nodes must wait before they bring events to a plugin", "plugin", d.consumer.PluginID, "error", err)
	}
}

// info returns the state of the delivery. next is the time of the next step.
func (d *delivery) info(next time.Time, err error) DeliveryInfo {
	info := DeliveryInfo{
		Node: d.place.Owner, Position: d.place.Position, Lost: d.place.Lost, Waiting: max(d.mark.Last-d.place.Position, 0),
		Delivered: d.delivered, Failures: int64(d.failures),
	}
	if !d.lease.IsZero() {
		info.Node = d.owner()
	}
	if err != nil {
		info.LastError, info.Next = err.Error(), next
	}
	return info
}

// Removed deletes the position of a removed extension, so that events need not be kept for it.
func (e *Events) Removed(p *Plugin, extension string) {
	i := slices.IndexFunc(p.members, func(b *member) bool { return b.Class() == extension && b.Implements(ConsumeDomainEvents) })
	if i < 0 {
		return
	}
	c := p.members[i].consumer()
	ctx, cancel := context.WithTimeout(context.Background(), eventLease)
	defer cancel()
	e.mu.Lock()
	w := e.workers[c]
	e.mu.Unlock()
	if w != nil { // It must not claim the deleted consumer.
		w.cancel()
		select {
		case <-w.done:
		case <-ctx.Done():
		}
	}
	gone := false
	err := e.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		gone, err = store.DeleteEventConsumer(ctx, tx, c, e.owner(), time.Now())
		return err
	})
	if err == nil && gone {
		_, err = e.Trim(ctx, e.db)
	}
	if err != nil {
		e.logger.Warn("the position of a plugin that is gone could not be forgotten; it is kept for some days", "plugin", c.PluginID, "extension", extension, "error", err)
	}
}

// Trim deletes events that all consumers have received, or that exceed the retention, and returns
// how many.
func (e *Events) Trim(ctx context.Context, db store.Writer) (int64, error) {
	s := e.settings()
	deleted, lost, err := store.TrimEvents(ctx, e.db, db, store.EventRetention{Since: time.Now().AddDate(0, 0, -int(s.RetentionDays)), Most: s.MaxEvents})
	if lost > 0 {
		e.logger.Warn("events were dropped before plugins got them; see app.plugin.events", "events", lost)
	}
	return deleted, store.Code(err)
}

var _ store.EventSink = (*Events)(nil)
