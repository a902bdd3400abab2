// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"sync"
	"time"

	"example.org/app/internal/recording/event"
)

// A probe measures one transaction for flight recordings. A nil probe does nothing.
type probe struct {
	start time.Time

	mu          sync.Mutex
	wait        time.Duration
	begun       bool
	statements  int
	slowest     string
	slowestTime time.Duration
}

// begin records the first time that the transaction got its turn or its connection.
func (p *probe) begin() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun {
		p.begun, p.wait = true, time.Since(p.start)
	}
}

// statement records the begin of a statement; end must be called at its end.
func (p *probe) statement(query string) (end func()) {
	if p == nil {
		return func() {}
	}
	begin := time.Now()
	return func() {
		took := time.Since(begin)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.statements++
		if took >= p.slowestTime {
			p.slowest, p.slowestTime = query, took
		}
	}
}

// record emits the event of the transaction, if it took longer than a recording's threshold.
func (p *probe) record(engine Engine, write bool, err error) {
	took := time.Since(p.start)
	if !event.Wants(event.KindSQLTransaction, took) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	event.Record(event.SQLTransaction{
		Span: event.Span{Start: p.start, Duration: took}, Engine: string(engine), Write: write,
		Statements: p.statements, Wait: p.wait, Slowest: p.slowest, SlowestTime: p.slowestTime, Error: err,
	})
}
