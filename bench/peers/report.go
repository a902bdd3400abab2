// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// A figure is a compared measurement.
type figure string

const (
	messages1      figure = "private messages/s, 1 in flight"
	messagesMany   figure = "private messages/s, 8 in flight"
	cpu1           figure = "CPU µs per message with the database, 1 in flight"
	cpuMany        figure = "CPU µs per message with the database, 8 in flight"
	serverCPU1     figure = "CPU µs per message of the server, 1 in flight"
	serverCPUMany  figure = "CPU µs per message of the server, 8 in flight"
	deliveries1    figure = "deliveries/s in the group, 1 in flight"
	deliveriesMany figure = "deliveries/s in the group, 8 in flight"
	spread1        figure = "p99 / p50 of deliveries, 1 in flight"
	spreadMany     figure = "p99 / p50 of deliveries, 8 in flight"
	deliveryCPU1   figure = "CPU µs per delivery with the database, 1 in flight"
	deliveryCPU    figure = "CPU µs per delivery with the database, 8 in flight"
	loginRate      figure = "logins/s, 64 at a time"
	loginCPU       figure = "CPU µs per login with the database"
	sessionMemory  figure = "KB for an idle session"
	startTime      figure = "ms from start to first login"
	startCPU       figure = "CPU ms from start to first login"
	startMemory    figure = "MB after the start"
	getRate        figure = "admin: user by id, requests/s"
	pageRate       figure = "admin: page of 50 users, requests/s"
	getCPU         figure = "admin: user by id, CPU µs with the database"
	pageCPU        figure = "admin: page of 50 users, CPU µs with the database"
)

// shown are the figures in order, and whether less is better.
var shown = []struct {
	figure
	less bool
}{
	{messages1, false},
	{messagesMany, false},
	{cpu1, true},
	{cpuMany, true},
	{serverCPU1, true},
	{serverCPUMany, true},
	{deliveries1, false},
	{deliveriesMany, false},
	{deliveryCPU1, true},
	{deliveryCPU, true},
	{spread1, true},
	{spreadMany, true},
	{loginRate, false},
	{loginCPU, true},
	{sessionMemory, true},
	{startTime, true},
	{startCPU, true},
	{startMemory, true},
	{getRate, false},
	{pageRate, false},
	{getCPU, true},
	{pageCPU, true},
}

// report prints the medians of all servers in Markdown, with our share of the best of the others
// and of the limit.
func (r *run) report(w io.Writer) {
	head, line := []string{"figure"}, []string{"---"}
	var ours []*side
	for _, s := range r.sides {
		head = append(head, s.name())
		if s.own() {
			ours = append(ours, s)
		}
	}
	for _, s := range ours {
		head = append(head, s.name()+" / best of the others")
	}
	for _, s := range ours {
		head = append(head, s.name()+" / limit")
	}
	for range head[1:] {
		line = append(line, "---")
	}
	fmt.Fprintf(w, "\n| %s |\n|%s|\n", strings.Join(head, " | "), strings.Join(line, "|"))
	for _, f := range shown {
		if !r.wants(f.figure) {
			continue
		}
		cells, best := []string{string(f.figure)}, math.NaN()
		for _, s := range r.sides {
			values := s.figures[f.figure]
			if len(values) == 0 {
				cells = append(cells, "")
				continue
			}
			value := middle(values)
			cells = append(cells, number(value))
			if s.rival() && (math.IsNaN(best) || f.less == (value < best)) {
				best = value
			}
		}
		for _, s := range ours {
			ratio := ""
			if values := s.figures[f.figure]; len(values) > 0 && !math.IsNaN(best) {
				ratio = fmt.Sprintf("%.2f", middle(values)/best)
			}
			cells = append(cells, ratio)
		}
		for _, s := range ours {
			cells = append(cells, r.share(s, f.figure))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

// share returns a figure of ours relative to that of the limit.
func (r *run) share(own *side, f figure) string {
	for _, s := range r.sides {
		if values := s.figures[f]; s.limits(own) && len(values) > 0 && len(own.figures[f]) > 0 {
			return fmt.Sprintf("%.2f", middle(own.figures[f])/middle(values))
		}
	}
	return ""
}

// number formats a value with three digits or more.
func number(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
