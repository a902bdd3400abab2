// SPDX-License-Identifier: Apache-2.0

// Package event is the interface through which parts of the server report events to flight
// recordings. A part first calls [On] or [Wants], which cost one or two atomic loads, and only then
// creates an event for [Record]. Without a recording nothing else happens.
//
// The package does not know recordings: they subscribe to events.
package event

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Kind is a type of events.
type Kind uint8

// The kinds.
const (
	KindAdminRequest Kind = iota
	KindClientRequest
	KindPluginCall
	KindSQLTransaction
	KindNodeCall
	KindSessionOpened
	KindSessionClosed
	Kinds // how many there are
)

// An Event is a value of one of the types below. The tags of their fields define how recordings
// show them: jfr is the name of the field, after a comma its unit or the treatment of the value,
// and label is shown to readers of the recording.
type Event interface {
	Kind() Kind
	When() Span
}

// Span is the time of an event.
type Span struct {
	Start    time.Time
	Duration time.Duration
}

// When implements Event.
func (s Span) When() Span { return s }

// AdminRequest is a request of the admin API. It contains no parameters, which may be secret.
type AdminRequest struct {
	Span
	// Operation is the id of the operation, "" if none matched.
	Operation string `jfr:"operation" label:"Operation"`
	Method    string `jfr:"method" label:"Method"`
	Path      string `jfr:"path" label:"Path"`
	Status    int    `jfr:"status" label:"HTTP Status"`
	Code      int32  `jfr:"code" label:"Status Code"`
	AdminID   int64  `jfr:"adminId" label:"Administrator"`
	RequestID string `jfr:"requestId" label:"Request ID"`
}

// ClientRequest is a request of a client, in one role.
type ClientRequest struct {
	Span
	Request string `jfr:"request" label:"Request"`
	// Role is "gateway" or "service".
	Role      string `jfr:"role" label:"Role"`
	UserID    int64  `jfr:"userId" label:"User"`
	Device    string `jfr:"device" label:"Device"`
	RequestID int64  `jfr:"requestId" label:"Request ID"`
	Code      int32  `jfr:"code" label:"Status Code"`
	// Bytes is the size of the request.
	Bytes int `jfr:"size,bytes" label:"Size"`
}

// PluginCall is a call of an extension.
type PluginCall struct {
	Span
	Plugin    string `jfr:"plugin" label:"Plugin"`
	Version   string `jfr:"version" label:"Version"`
	Extension string `jfr:"extension" label:"Extension"`
	Point     string `jfr:"point" label:"Extension Point"`
	Method    string `jfr:"method" label:"Method"`
	// Outcome is ok, refused, error or timeout.
	Outcome string `jfr:"outcome" label:"Outcome"`
}

// SQLTransaction is a transaction, or a group of queries that only read.
type SQLTransaction struct {
	Span
	Engine string `jfr:"engine" label:"Engine"`
	Write  bool   `jfr:"write" label:"Writes"`
	// Statements counts the statements, including those of retries.
	Statements int `jfr:"statements" label:"Statements"`
	// Wait is how long the transaction waited for its turn or its connection.
	Wait time.Duration `jfr:"wait" label:"Wait"`
	// Slowest is the text of the slowest statement, SlowestTime its duration. The text may contain
	// values, which must be removed before it is shown.
	Slowest     string        `jfr:"slowestStatement,sql" label:"Slowest Statement"`
	SlowestTime time.Duration `jfr:"slowestDuration" label:"Slowest Duration"`
	// Error is nil if the transaction was committed.
	Error error `jfr:"outcome" label:"Outcome"`
}

// NodeCall is a call of another node, or of one in the same process.
type NodeCall struct {
	Span
	Call    string `jfr:"call" label:"Call"`
	Subject string `jfr:"subject" label:"Subject"`
	Local   bool   `jfr:"local" label:"Local"`
	Error   error  `jfr:"outcome" label:"Outcome"`
}

// SessionOpened is a successful login.
type SessionOpened struct {
	Span
	UserID    int64  `jfr:"userId" label:"User"`
	Device    string `jfr:"device" label:"Device"`
	SessionID int32  `jfr:"sessionId" label:"Session"`
	WebSocket bool   `jfr:"webSocket" label:"WebSocket"`
}

// SessionClosed is the end of a session. Its duration is that of the session.
type SessionClosed struct {
	Span
	UserID    int64  `jfr:"userId" label:"User"`
	Device    string `jfr:"device" label:"Device"`
	SessionID int32  `jfr:"sessionId" label:"Session"`
	Status    int32  `jfr:"status" label:"Close Status"`
}

func (AdminRequest) Kind() Kind   { return KindAdminRequest }
func (ClientRequest) Kind() Kind  { return KindClientRequest }
func (PluginCall) Kind() Kind     { return KindPluginCall }
func (SQLTransaction) Kind() Kind { return KindSQLTransaction }
func (NodeCall) Kind() Kind       { return KindNodeCall }
func (SessionOpened) Kind() Kind  { return KindSessionOpened }
func (SessionClosed) Kind() Kind  { return KindSessionClosed }

// Labels of goroutines that attribute samples of the CPU profile to plugins.
const (
	// LabelPlugin is the id of the plugin.
	LabelPlugin = "plugin"
	// LabelFunction is the running class and function, separated by #.
	LabelFunction = "function"
)

// profilers counts running CPU profiles.
var profilers atomic.Int32

// Profiling reports whether a CPU profile is running, so that labels of goroutines are useful.
func Profiling() bool { return profilers.Load() > 0 }

// BeginProfiling makes Profiling report true until end is called.
func BeginProfiling() (end func()) {
	profilers.Add(1)
	return sync.OnceFunc(func() { profilers.Add(-1) })
}

// Never is the threshold of an unwanted kind.
const Never = time.Duration(math.MaxInt64)

// A Subscription is a receiver of events.
type Subscription struct {
	record     func(Event)
	thresholds [Kinds]time.Duration
}

var (
	// wanted has a bit for each kind with a subscriber.
	wanted atomic.Uint32
	// least has the lowest threshold of each kind.
	least [Kinds]atomic.Int64
	// granted is how many events of each kind may still be recorded.
	granted [Kinds]atomic.Int64

	mu            sync.Mutex
	subscriptions []*Subscription
	// current is an immutable copy of subscriptions.
	current atomic.Pointer[[]*Subscription]
)

// On reports whether events of a kind are wanted. A part that needs more than the duration, such as
// a count, calls it before it begins.
func On(k Kind) bool { return wanted.Load()&(1<<k) != 0 }

// Wants reports whether an event of a kind with the duration d is wanted. If so, the event counts
// against what [Allow] granted.
func Wants(k Kind, d time.Duration) bool {
	return On(k) && int64(d) >= least[k].Load() && granted[k].Load() > 0 && granted[k].Add(-1) >= 0
}

// Allow grants events of a kind until the next call. The subscriber calls it once a second, so that
// a slow server does not become slower by recording everything.
func Allow(k Kind, events int64) { granted[k].Store(events) }

// Record passes an event to its subscribers, in this goroutine.
func Record(e Event) {
	list := current.Load()
	if list == nil {
		return
	}
	for _, s := range *list {
		s.record(e)
	}
}

// Subscribe makes record a receiver of events whose duration reaches the threshold of their kind.
// Shorter ones may come as well, if others want them. record is called concurrently and must not
// block.
func Subscribe(thresholds [Kinds]time.Duration, record func(Event)) *Subscription {
	s := &Subscription{record: record, thresholds: thresholds}
	mu.Lock()
	defer mu.Unlock()
	subscriptions = append(subscriptions, s)
	publish()
	return s
}

// Cancel ends the subscription. Running calls continue.
func (s *Subscription) Cancel() {
	mu.Lock()
	defer mu.Unlock()
	for i, other := range subscriptions {
		if other == s {
			subscriptions = append(subscriptions[:i:i], subscriptions[i+1:]...)
			break
		}
	}
	publish()
}

// publish makes the current subscriptions effective. mu is held.
func publish() {
	list := append([]*Subscription(nil), subscriptions...)
	current.Store(&list)
	var mask uint32
	for k := range Kinds {
		lowest := Never
		for _, s := range list {
			lowest = min(lowest, s.thresholds[k])
		}
		least[k].Store(int64(lowest))
		if lowest != Never {
			mask |= 1 << k
		}
	}
	wanted.Store(mask)
}
