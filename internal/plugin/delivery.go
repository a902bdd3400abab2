// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/telemetry"
)

// A DeliveryInfo is the state, on this node, of the delivery of events to an extension that
// receives each at least once.
type DeliveryInfo struct {
	// Node is the node that delivers events to the extension; "" if there is none yet.
	Node string
	// Position is the last delivered event, Waiting the maximum number of events after it, Lost the
	// number of events dropped before delivery.
	Position, Waiting, Lost int64
	// Delivered is how many events this node has delivered, Failures how many calls have failed in
	// a row.
	Delivered, Failures int64
	// LastError is why the last call failed, and Next when it is retried; both are zero if it
	// succeeded.
	LastError string
	Next      time.Time
}

// deliveries are the states of the consumers of this process.
type deliveries struct {
	mu   sync.Mutex
	info map[store.EventConsumer]DeliveryInfo
}

func (d *deliveries) note(c store.EventConsumer, info DeliveryInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info == nil {
		d.info = map[store.EventConsumer]DeliveryInfo{}
	}
	d.info[c] = info
}

func (d *deliveries) forget(c store.EventConsumer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.info, c)
}

// of returns the state of an extension's delivery, or nil if it is not being served.
func (d *deliveries) of(b *member) *DeliveryInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	if info, ok := d.info[b.consumer()]; ok {
		return &info
	}
	return nil
}

// consumer returns the key of the extension in the store.
func (m *member) consumer() store.EventConsumer {
	return store.EventConsumer{PluginID: m.plugin.ID, Extension: m.Class()}
}

// consumers returns the started extensions that receive events at least once.
func (cs *Calls) consumers() (list []store.EventConsumer) {
	for _, b := range (*cs.table.Load())[DomainEventConsumer] {
		if !b.candidate && b.started.Load() && b.Implements(ConsumeDomainEvents) {
			list = append(list, b.consumer())
		}
	}
	return list
}

// consumes reports whether an extension is started.
func (cs *Calls) consumes(c store.EventConsumer) bool { return cs.findConsumer(c) != nil }

func (cs *Calls) findConsumer(c store.EventConsumer) *member {
	for _, b := range (*cs.table.Load())[DomainEventConsumer] {
		if !b.candidate && b.consumer() == c && b.started.Load() {
			return b.member
		}
	}
	return nil
}

// consume delivers events to an extension.
func (cs *Calls) consume(ctx context.Context, c store.EventConsumer, events []DomainEvent) error {
	b := cs.findConsumer(c)
	if b == nil {
		return errRetired
	}
	return cs.tellOne(InRole(ctx, role.Service), b, ConsumeDomainEvents, cs.boundsOf(ConsumeDomainEvents), []any{events})
}

// TellEvents delivers events to the extensions that receive them at most once, without waiting.
func (cs *Calls) TellEvents(ctx context.Context, events []DomainEvent) {
	ctx, span := startDelivery(ctx, "AT_MOST_ONCE", len(events))
	defer span.End()
	cs.Tell(ctx, HandleDomainEvents, events)
}

// startDelivery begins the root span of a delivery of events. It has no parent, because it may
// contain the transactions of many requests.
func startDelivery(ctx context.Context, mode string, events int) (context.Context, telemetry.Span) {
	ctx, span := telemetry.Start(ctx, "deliver events", telemetry.Internal)
	if span.On() {
		span.Set(attribute.String("app.events.mode", mode), attribute.Int("app.events.count", events))
	}
	return ctx, span
}
