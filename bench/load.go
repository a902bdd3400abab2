// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is what one round of load measured.
type result struct {
	rate     float64 // answers a second
	p50, p99 time.Duration
}

// load sends the same request over a number of connections, one at a time on
// each, for a while. The client does little, so that it leaves the processors
// to the server.
func load(addr, request string, connections int, duration time.Duration) result {
	var wg sync.WaitGroup
	times := make([][]time.Duration, connections)
	start := time.Now()
	end := start.Add(duration)
	for i := range connections {
		wg.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			for {
				sent := time.Now()
				if sent.After(end) {
					return
				}
				if _, err := io.WriteString(conn, request); err != nil {
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
	all := slices.Concat(times...)
	slices.Sort(all)
	return result{
		rate: float64(len(all)) / time.Since(start).Seconds(),
		p50:  all[len(all)/2], p99: all[len(all)*99/100],
	}
}

// readAnswer reads one answer with a Content-Length and demands success.
func readAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if first && !strings.HasPrefix(text, "HTTP/1.1 200") {
			return fmt.Errorf("answer %q", text)
		}
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ": "); ok && strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		}
	}
	_, err := r.Discard(max(length, 0))
	return err
}

// median returns the round with the middle rate.
func median(results []result) result {
	slices.SortFunc(results, func(a, b result) int { return int(a.rate - b.rate) })
	return results[len(results)/2]
}
