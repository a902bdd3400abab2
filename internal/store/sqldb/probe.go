// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"sync"
	"time"

	"example.org/app/internal/recording/event"
)

// A probe watches one transaction for flight recordings. A nil probe does nothing.
type probe struct {
	start time.Time

	mu          sync.Mutex
	wait        time.Duration
	begun       bool
	statements  int
	slowest     string
	slowestTime time.Duration
}

// begin notes that the transaction has its turn or its connection. Only the first time counts.
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

// statement notes that a statement begins; the result is called when it ends.
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

// record tells recordings of the transaction, if it took long enough for one of them.
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
