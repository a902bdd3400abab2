// SPDX-License-Identifier: Apache-2.0

// Command bench measures the server beside a baseline in the same run, so that
// the ratio says something even on a noisy machine. Servers run in processes of
// their own; the client is the same for both.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == "bare" {
		serveBare()
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "echo" {
		serveEcho(os.Args[2])
		return
	}
	// The client needs little; a second thread of it would only take a processor
	// from the server in the middle of an answer.
	runtime.GOMAXPROCS(1)
	duration := flag.Duration("duration", 3*time.Second, "length of one round")
	rounds := flag.Int("rounds", 3, "rounds of each server, taken in turns")
	only := flag.String("only", "", "the only part to measure: admin, audit, clients, debugging, domain, growth (only when it is named), java, plugins, recordings, tracing or websockets")
	sizes := flag.String("users", "10000,1000000", "numbers of users of the databases of the domain part, the smallest first")
	perUser := flag.Int("messages-per-user", 10, "number of messages for each user there")
	postgres := flag.String("postgres", "", "URL of an empty PostgreSQL database for the audit and clients parts, instead of SQLite, and for the writes of the domain part")
	packages := flag.String("packages", "", "folder whose node_modules the debugging part measures, each package in a plugin")
	load := clientOptions{}
	flag.StringVar(&load.app, "app", "", "server that the clients part measures; built from this tree if empty")
	flag.IntVar(&load.pairs, "pairs", 128, "number of pairs of users of the clients part")
	flag.IntVar(&load.window, "window", 8, "number of messages of each pair that are on their way there")
	flag.IntVar(&load.sessions, "sessions", 20_000, "number of idle sessions there, as far as open files are allowed")
	charts := flag.String("charts", "", "folder that the growth part draws its charts into")
	baseline := flag.String("check", "", "compare what the server costs with the baseline in this file, and measure nothing else")
	renew := flag.Bool("renew", false, "with -check: write the baseline anew")
	flag.Parse()
	users, err := parseSizes(*sizes)
	if err != nil {
		log.Fatalf("bench: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	o := domainOptions{users: users, messagesPerUser: *perUser, duration: *duration, rounds: *rounds, postgres: *postgres}
	load.duration, load.rounds, load.postgres = *duration, *rounds, *postgres
	parts := []struct {
		name string
		run  func() error
	}{
		{"admin", func() error { return adminAPI(ctx, *duration, *rounds) }},
		{"audit", func() error { return benchAudit(ctx, auditOptions{*duration, *rounds, *postgres}) }},
		{"clients", func() error { return clients(ctx, load) }},
		{"websockets", func() error { return webSockets(ctx, *duration, *rounds) }},
		{"plugins", func() error { return plugins(ctx, load) }},
		{"debugging", func() error { return benchDebugging(ctx, *packages, *rounds) }},
		{"recordings", func() error { return benchRecordings(ctx, load) }},
		{"java", func() error {
			_, err := benchJava(ctx, *duration, *rounds)
			return err
		}},
		{"tracing", func() error { return benchTracing(ctx, *duration, *rounds) }},
		{"domain", func() error { return benchDomain(ctx, o) }},
		{"growth", func() error { return benchGrowth(ctx, load, *charts) }},
	}
	if *baseline != "" {
		if err := check(ctx, checkOptions{baseline: *baseline, renew: *renew, load: load}); err != nil {
			log.Fatalf("bench: %v", err)
		}
		return
	}
	var names []string
	for _, part := range parts {
		names = append(names, part.name)
	}
	if *only != "" && !slices.Contains(names, *only) {
		log.Fatalf("bench: there is no part %q, only %s", *only, strings.Join(names, ", "))
	}
	for _, part := range parts {
		if *only != part.name && (*only != "" || part.name == "growth") { // Growth takes as long as all others.
			continue
		}
		if err := part.run(); err != nil {
			log.Fatalf("bench: %s: %v", part.name, err)
		}
	}
}

// table prints rows in Markdown, as docs/benchmarks.md shows them.
func table(title string, head []string, rows [][]string) {
	fmt.Printf("\n%s\n\n", title)
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Printf("| %s ", c)
		}
		fmt.Println("|")
	}
	line(head)
	for range head {
		fmt.Print("|---")
	}
	fmt.Println("|")
	for _, r := range rows {
		line(r)
	}
}
