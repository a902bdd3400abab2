// SPDX-License-Identifier: Apache-2.0

// Command bench measures the server against a baseline in the same run, so that the ratio is
// meaningful even on a noisy machine. Servers run in their own processes; both have the same
// client.
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
	// The client needs little; a second thread would only take a processor from the server while it
	// handles a request.
	runtime.GOMAXPROCS(1)
	duration := flag.Duration("duration", 3*time.Second, "length of one round")
	rounds := flag.Int("rounds", 3, "number of rounds of each server; servers alternate")
	only := flag.String("only", "", "measure only this part: admin, audit, clients, debugging, domain, growth (which only runs if named), java, plugins, recordings, tracing or websockets")
	sizes := flag.String("users", "10000,1000000", "numbers of users in the databases of the domain part, in ascending order")
	perUser := flag.Int("messages-per-user", 10, "number of messages per user in these databases")
	postgres := flag.String("postgres", "", "URL of an empty PostgreSQL database for the audit and clients parts (instead of SQLite) and for the writes of the domain part")
	packages := flag.String("packages", "", "folder with the node_modules that the debugging part measures, each package in its own plugin")
	load := clientOptions{}
	flag.StringVar(&load.app, "app", "", "program that the clients part measures; built from this tree if empty")
	flag.IntVar(&load.pairs, "pairs", 128, "number of pairs of users in the clients part")
	flag.IntVar(&load.window, "window", 8, "maximum number of unacknowledged messages per pair in the clients part")
	flag.IntVar(&load.sessions, "sessions", 20_000, "number of idle sessions in the clients part, bounded by the limit of open files")
	charts := flag.String("charts", "", "output folder for the charts of the growth part")
	baseline := flag.String("check", "", "only compare the costs of the server with the baseline in this file")
	renew := flag.Bool("renew", false, "with -check: rewrite the baseline")
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
		if *only != part.name && (*only != "" || part.name == "growth") { // Growth takes as long as all other parts.
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
