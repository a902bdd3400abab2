// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// result is the measurements of one round of load.
type result struct {
	rate     float64 // responses per second
	p50, p99 time.Duration
	cpu      time.Duration // processor time of the server's process per response; 0 if unknown
	jvm      time.Duration // processor time of the JVM per response
}

// load sends the same request over several connections, one at a time on each, for a duration. The
// client does little and allocates nothing per response, so that it leaves the processors to the
// server.
func load(s *server, request string, connections int, duration time.Duration) result {
	out := []byte(request)
	return loadEach(s, func(int, int) []byte { return out }, connections, duration)
}

// loadEach is like load, with a separate request for each connection and round.
func loadEach(s *server, request func(connection, n int) []byte, connections int, duration time.Duration) result {
	var wg sync.WaitGroup
	times := make([][]time.Duration, connections)
	used, known := s.cpuTime()
	start := time.Now()
	end := start.Add(duration)
	for i := range connections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", s.addr)
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			for n := 0; ; n++ {
				out := request(i, n)
				sent := time.Now()
				if sent.After(end) {
					return
				}
				if _, err := conn.Write(out); err != nil {
					panic(err)
				}
				if err := readAnswer(r); err != nil {
					panic(err)
				}
				times[i] = append(times[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	all := slices.Concat(times...)
	slices.Sort(all)
	res := result{
		rate: float64(len(all)) / took.Seconds(),
		p50:  all[len(all)/2], p99: all[len(all)*99/100],
	}
	if now, ok := s.cpuTime(); ok && known {
		res.cpu = (now - used) / time.Duration(len(all))
	}
	return res
}

var (
	success       = []byte("HTTP/1.1 200 ")
	noContent     = []byte("HTTP/1.1 204 ")
	contentLength = []byte("Content-Length")
)

// readAnswer reads one response, which has a Content-Length or no content, and must be a success.
func readAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && bytes.HasPrefix(line, noContent) {
			length = 0
		} else if first && !bytes.HasPrefix(line, success) {
			return fmt.Errorf("answer %q", line)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(name, contentLength) {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("answer without Content-Length")
	}
	_, err := r.Discard(length)
	return err
}

// median returns the median of each figure over rounds.
func median(rounds []result) result {
	return result{
		rate: middle(rounds, func(r result) float64 { return r.rate }),
		p50:  middle(rounds, func(r result) time.Duration { return r.p50 }),
		p99:  middle(rounds, func(r result) time.Duration { return r.p99 }),
		cpu:  middle(rounds, func(r result) time.Duration { return r.cpu }),
		jvm:  middle(rounds, func(r result) time.Duration { return r.jvm }),
	}
}

// medianRatio returns the median of ratios and its 95 % confidence interval.
func medianRatio(ratios []float64) (median, interval string) {
	slices.Sort(ratios)
	n := len(ratios)
	// The number of rounds below the true median has a binomial distribution, whatever the
	// distribution of the ratios is.
	margin := int(math.Ceil(0.98*math.Sqrt(float64(n)))) + 1
	low, high := max(n/2-margin, 0), min((n-1)/2+margin, n-1)
	return fmt.Sprintf("%.3f", (ratios[n/2]+ratios[(n-1)/2])/2), fmt.Sprintf("%.3f to %.3f", ratios[low], ratios[high])
}

func middle[T cmp.Ordered](rounds []result, figure func(result) T) T {
	var all []T
	for _, r := range rounds {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
