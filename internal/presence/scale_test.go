// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/rusage"
	"example.org/app/internal/wire"
)

// serviceVariable makes the test binary run as a service, with the URL of the server, its id and
// the number of partitions.
const serviceVariable = "APP_TEST_PRESENCE_SERVICE"

// A serviceReport is what such a service reports, one line of JSON for each command.
type serviceReport struct {
	// Heap is the live heap, Users how many users it knows, and Complete whether it has read all of
	// its partitions.
	Heap     int64
	Users    int
	Complete bool
	// Median, P99 and Longest are look-up times; Failed is how many look-ups omitted users.
	Median, P99, Longest time.Duration
	Failed, Lookups      int
	CPU                  time.Duration
}

// runService runs a service that executes commands from standard input until it ends.
func runService() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	parts := strings.Split(os.Getenv(serviceVariable), " ")
	partitions, err := strconv.Atoi(parts[2])
	fail(err)
	c, err := cluster.Connect(ctx, cluster.Options{URL: parts[0]})
	fail(err)
	n, err := c.Join(ctx, cluster.NodeOptions{ID: parts[1], Type: role.Service})
	fail(err)
	d, err := Start(ctx, n, Options{Partitions: partitions, KeepInterval: time.Second})
	fail(err)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var first, count, users int
		var limit time.Duration
		if _, err := fmt.Sscan(lines.Text(), &first, &count, &users, (*int64)(&limit)); err != nil {
			fail(err)
		}
		report := serviceReport{Complete: true, CPU: rusage.Total()}
		d.table.each(func(int64, *record) { report.Users++ })
		if partitions > 1 {
			o, _ := d.finder.owners()
			for p := range partitions {
				wanted := slices.Contains(o.of(n.ID()), p)
				report.Complete = report.Complete && wanted == d.table.complete[p].Load() && len(o.services) > 1
			}
		}
		if count > 0 {
			report.look(d, first, count, users, limit)
		} else {
			report.Heap = liveHeap()
		}
		line, err := json.Marshal(report)
		fail(err)
		fmt.Fprintln(os.Stdout, string(line))
	}
	os.Exit(0)
}

// look looks users up, count at a time, until the limit.
func (r *serviceReport) look(d *Directory, first, count, users int, limit time.Duration) {
	ids := make([]int64, count)
	var took []time.Duration
	for began := time.Now(); len(took) == 0 || time.Since(began) < limit; {
		for i := range ids {
			ids[i] = int64(1 + (first+i*7919)%users)
		}
		first += 7
		start := time.Now()
		found, unknown := d.finder.Locate(context.Background(), ids)
		took = append(took, time.Since(start))
		n := 0
		for _, at := range found {
			n += len(at.UserIDs)
		}
		if r.Lookups++; n != count || len(unknown) > 0 {
			r.Failed++
		}
	}
	slices.Sort(took)
	r.Median, r.P99, r.Longest = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
}

// A child is a service in a process of its own.
type child struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startChild(b *testing.B, url, id string, partitions int) *child {
	b.Helper()
	c := &child{Cmd: exec.Command(os.Args[0], "-test.run=^$")}
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d", serviceVariable, url, id, partitions))
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	return c
}

// ask sends a command and returns the report. A count of zero measures only memory.
func (c *child) ask(b *testing.B, first, count, users int, limit time.Duration) (r serviceReport) {
	b.Helper()
	fmt.Fprintln(c.in, first, count, users, int64(limit))
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkScale opens sessions at 20 gateways, which are in this process, while four services in
// processes of their own follow them, through a NATS server in another one. Then a service looks
// users up, 10,000 at a time, also while another one is killed.
func BenchmarkScale(b *testing.B) {
	for name, partitions := range map[string]int{"whole": 1, "partitioned": Partitions} {
		b.Run(name, func(b *testing.B) { scale(b, partitions) })
	}
}

func scale(b *testing.B, partitions int) {
	const gateways, services, workers, batch = 20, 4, 16, 10_000
	if b.N < batch {
		return // The benchmark measures how long it takes.
	}
	server := clustertest.StartServer(b)
	var nodes []*child
	for i := range services {
		nodes = append(nodes, startChild(b, server.URL(), fmt.Sprint("service-", i), partitions))
	}
	for _, n := range nodes {
		n.ask(b, 0, 0, 1, 0)
	}
	var doors []*Directory
	for i := range gateways {
		c := clustertest.Connect(b, cluster.Options{URL: server.URL()})
		d, err := Start(b.Context(), clustertest.Join(b, c, cluster.NodeOptions{ID: fmt.Sprint("gateway-", i), Type: role.Gateway}), Options{Partitions: partitions})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(d.Stop)
		doors = append(doors, d)
	}
	settled := func(among []*child) {
		for _, n := range among {
			for !n.ask(b, 0, 0, 1, 0).Complete {
				time.Sleep(200 * time.Millisecond)
			}
		}
	}
	settled(nodes)
	heap, before, cpu := liveHeap(), server.Usage(b), rusage.Total()
	empty := make([]serviceReport, services)
	for i, n := range nodes {
		empty[i] = n.ask(b, 0, 0, 1, 0)
	}
	b.ResetTimer()
	began := time.Now()
	var next, refused atomic.Int64
	var group sync.WaitGroup
	for _, d := range doors {
		for range workers {
			group.Go(func() {
				for user := next.Add(1); user <= int64(b.N) && !b.Failed(); user = next.Add(1) {
					s := Session{UserID: user, Device: wire.DeviceType_DESKTOP, ID: 1, LoginDate: time.Now()}
					for {
						if _, err := d.Open(b.Context(), s, wire.UserStatus_AVAILABLE, nil); err == nil {
							break
						}
						// A client would retry.
						refused.Add(1)
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
	}
	group.Wait()
	took := time.Since(began)
	b.StopTimer()
	if refused.Load() > 0 {
		b.Logf("%d logins had to be tried again", refused.Load())
	}
	b.ReportMetric(float64(b.N)/took.Seconds(), "logins/s")
	each := func(n float64) float64 { return n / float64(b.N) }
	b.ReportMetric(each(float64((rusage.Total()-cpu).Nanoseconds())/1000), "gateways-CPU-µs/login")
	for nodes[0].ask(b, 0, batch, b.N, 0).Failed > 0 {
		time.Sleep(100 * time.Millisecond)
	}
	after := server.Usage(b)
	b.ReportMetric(each(float64((after.CPU-before.CPU).Nanoseconds())/1000), "NATS-CPU-µs/login")
	b.ReportMetric(each(float64(after.Resident-before.Resident)), "NATS-resident-B/session")
	b.ReportMetric(each(float64(liveHeap()-heap)), "gateways-heap-B/session")
	most, users, spent := int64(0), 0, time.Duration(0)
	for i, n := range nodes {
		r := n.ask(b, 0, 0, 1, 0)
		most, users, spent = max(most, r.Heap-empty[i].Heap), max(users, r.Users), spent+r.CPU-empty[i].CPU
	}
	b.ReportMetric(each(float64(most)), "largest-service-heap-B/session")
	b.ReportMetric(each(float64(users)), "largest-service-share")
	b.ReportMetric(each(float64(spent.Nanoseconds())/1000), "services-CPU-µs/login")
	r := nodes[0].ask(b, 0, batch, b.N, 10*time.Second)
	b.Logf("%d look-ups of %d users: median %v, p99 %v, longest %v, %d not complete", r.Lookups, batch, r.Median, r.P99, r.Longest, r.Failed)
	b.ReportMetric(float64(r.P99.Microseconds())/1000, "p99-ms/look-up")
	// Another service is killed while this one looks users up.
	time.AfterFunc(2*time.Second, func() { _ = nodes[3].Process.Kill() })
	r = nodes[0].ask(b, 0, batch, b.N, 10*time.Second)
	b.Logf("while a service is killed: %d look-ups, median %v, longest %v, %d not complete", r.Lookups, r.Median, r.Longest, r.Failed)
	b.ReportMetric(float64(r.Longest.Milliseconds()), "longest-ms-after-kill")
	killed := time.Now()
	settled(nodes[:3])
	b.Logf("the others had read its partitions %v later", time.Since(killed).Round(100*time.Millisecond))
}
