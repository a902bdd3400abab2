// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

// faults describes the faults of tests under load.
var faults = map[string]string{
	"TestOrder":                "nothing; 20 users write as fast as they can",
	"TestTrafficBetweenNodes":  "nothing; users of two gateways",
	"TestServiceDoesNotAnswer": "a service is paused, the other is killed",
	"TestThawedService":        "the only service is paused for longer than calls take",
	"TestOnce":                 "a service is paused, one is killed during a commit",
	"TestDelivery":             "a service ends, NATS restarts empty, a gateway is paused",
	"TestLateDelivery":         "services are paused, NATS restarts empty, twice",
	"TestNATSIsPaused":         "NATS is paused for 8 s and 15 s",
	"TestNATSServerIsLost":     "each of three NATS servers is killed",
	"TestDatabaseStops":        "PostgreSQL is stopped and started",
	"TestPgBouncerRestarts":    "PgBouncer, then PostgreSQL is killed and started",
	"TestDatabaseFailsOver":    "the primary is killed, its standby promoted",
	"TestPatroniFailsOver":     "the primary is killed under Patroni",
	"TestChaos":                "services and gateways are killed",
	"TestRollingUpgrade":       "an earlier program is replaced, process by process",
	"TestKills/SQLite":         "the only process is killed, again and again",
	"TestKills/PostgreSQL":     "services and a gateway are killed, again and again",
}

// unknown stands for a figure that a test does not measure.
const unknown = -1

// counted formats a figure.
func counted(n int) string {
	if n == unknown {
		return "-"
	}
	return strconv.Itoa(n)
}

// A row has the figures of a test.
type row struct {
	figures
	fault string
	// told is how many sessions were told to reconnect, and stop the longest time without an
	// acknowledgement.
	told int
	stop time.Duration
}

// table contains the rows of all tests of a run.
var table struct {
	mu   sync.Mutex
	rows []row
}

// record adds a row to the table that the campaign prints.
func record(t *testing.T, f figures, told int, stop time.Duration) {
	table.mu.Lock()
	defer table.mu.Unlock()
	table.rows = append(table.rows, row{f, cmp.Or(faults[t.Name()], t.Name()), told, stop})
}

// printTable prints the figures of all tests.
func printTable(out io.Writer) error {
	table.mu.Lock()
	defer table.mu.Unlock()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tacknowledged\tlost\tdoubled\tinverted\tundelivered\tdelivered again\tstored though failed\ttold to reconnect\tlongest stop")
	for _, r := range table.rows {
		inverted := r.inverted + r.disagreements
		if r.inverted == unknown {
			inverted = unknown
		}
		fmt.Fprint(w, r.fault)
		for _, n := range []int{r.acknowledged, r.lost, r.doubled, inverted, r.undelivered, r.repeated, r.late, r.told} {
			fmt.Fprint(w, "\t", counted(n))
		}
		fmt.Fprintln(w, "\t"+r.stop.Round(time.Millisecond).String())
	}
	return w.Flush()
}

// A stopwatch measures the longest time between two acknowledgements.
type stopwatch struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

// acknowledge records an acknowledgement.
func (s *stopwatch) acknowledge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.last.IsZero() {
		s.longest = max(s.longest, now.Sub(s.last))
	}
	s.last = now
}

// stop returns the longest time so far.
func (s *stopwatch) stop() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest
}
