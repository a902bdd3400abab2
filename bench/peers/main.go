// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command peers compares the server with other messengers, and with the limit of what the machine
// can do. It starts all of them on this machine, those that support PostgreSQL on one PostgreSQL
// server with durable commits, and puts the same load on each in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options configure the comparison.
type options struct {
	app, other, nakama, tinode, tinodeDB, pocketBase string // paths of programs; "" means none

	// only selects the measured figures, and servers the participants; nil means all.
	only, servers *regexp.Regexp

	rounds   int
	duration time.Duration // of a phase
	limit    time.Duration // of the whole run
	pairs    int
	members  int
	sessions int
	starts   int
	settle   time.Duration // how long sessions are idle before their memory is measured
	disturb  float64       // the share of the processors that other processes may use in a phase
}

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == limitCommand {
		if err := serveLimit(os.Args[2:]); err != nil {
			log.Fatalf("peers: %v", err)
		}
		return
	}
	o := options{}
	flag.StringVar(&o.app, "app", "", "program of our server; built from this tree if empty")
	flag.StringVar(&o.other, "other", "", "program of another build of our server, treated as another product")
	expression := func(name string, into **regexp.Regexp, usage string) {
		flag.Func(name, usage, func(text string) (err error) {
			*into, err = regexp.Compile(text)
			return err
		})
	}
	expression("only", &o.only, "measure only figures whose names match this `expression`")
	expression("servers", &o.servers, "measure only servers whose names match this `expression`, such as /SQLite")
	flag.StringVar(&o.nakama, "nakama", "", "the program nakama")
	flag.StringVar(&o.tinode, "tinode", "", "the program of Tinode's server, built with -tags postgres")
	flag.StringVar(&o.tinodeDB, "tinode-db", "", "the program tinode-db, built with -tags postgres")
	flag.StringVar(&o.pocketBase, "pocketbase", "", "the program pocketbase")
	flag.IntVar(&o.rounds, "rounds", 9, "number of rounds of each server; servers alternate")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "length of a phase of a round")
	flag.DurationVar(&o.limit, "limit", 20*time.Minute, "time after which no further round starts")
	flag.IntVar(&o.pairs, "pairs", 128, "number of pairs of users")
	flag.IntVar(&o.members, "members", 500, "number of members of the group")
	flag.IntVar(&o.sessions, "sessions", 8000, "number of idle sessions, bounded by the limit of open files")
	flag.IntVar(&o.starts, "starts", 5, "number of starts of each server")
	flag.DurationVar(&o.settle, "settle", 15*time.Second, "how long sessions are idle before their memory is measured")
	flag.Float64Var(&o.disturb, "disturbance", 0.15, "share of the processors that other processes may use during a measurement")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Fatalf("peers: unexpected argument %q", flag.Arg(0))
	}
	// The client needs little; a second thread would only take a processor from the server while it
	// handles a request.
	runtime.GOMAXPROCS(1)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := compare(ctx, o, os.Stdout); err != nil {
		log.Fatalf("peers: %v", err)
	}
}

// compare runs the whole comparison and prints the result.
func compare(ctx context.Context, o options, out io.Writer) (err error) {
	end := time.Now().Add(o.limit)
	// The context kills a server that hangs, and its waiters get an error.
	ctx, cancel := context.WithTimeout(ctx, o.limit+o.limit/2)
	defer cancel()
	if (o.tinode == "") != (o.tinodeDB == "") {
		return errors.New("-tinode and -tinode-db are given together or not at all")
	}
	var open syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &open); err != nil {
		return err
	}
	o.sessions = min(o.sessions, int(min(open.Cur, 1<<20))-2*(2*o.pairs+o.members)-200)
	dir, err := os.MkdirTemp("", "app-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.app == "" {
		o.app = filepath.Join(dir, "app")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.app, "example.org/app/cmd/app").CombinedOutput(); err != nil {
			return fmt.Errorf("build the server: %w\n%s", err, out)
		}
	}
	db, err := startDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.stop()) }()
	all, missing := servers(o, dir, db)
	r := newRun(o, db, end)
	defer r.stopAll()
	for _, s := range all {
		if err := r.begin(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
	}
	if err := r.rounds(ctx); err != nil {
		return err
	}
	if err := r.fresh(ctx); err != nil {
		return err
	}
	r.report(out)
	if len(missing) > 0 {
		fmt.Fprintf(out, "\nNot given, and left out: %s. docs/benchmarks.md says how to build them.\n", strings.Join(missing, ", "))
	}
	return r.checkStored(ctx, out)
}

// servers returns the configured servers, and the names of the missing ones.
func servers(o options, dir string, db *database) (given []server, missing []string) {
	add := func(path, name string, s server) {
		if path == "" {
			missing = append(missing, name)
		} else {
			given = append(given, s)
		}
	}
	add(o.nakama, "Nakama", newNakama(o.nakama, db, dir))
	add(o.tinode, "Tinode", newTinode(o.tinode, o.tinodeDB, db, dir))
	add(o.pocketBase, "PocketBase", newPocketBase(o.pocketBase, dir))
	if o.other != "" {
		given = append(given, newApp(o.other, otherBuild, "PostgreSQL", db, dir), newApp(o.other, otherBuild, "SQLite", nil, dir))
	}
	given = append(given, newApp(o.app, thisBuild, "PostgreSQL", db, dir), newApp(o.app, thisBuild, "SQLite", nil, dir))
	given = append(given, newBound("PostgreSQL", db, dir, o.members), newBound("SQLite", nil, dir, o.members))
	given = slices.DeleteFunc(given, func(s server) bool { return o.servers != nil && !o.servers.MatchString(s.name()) })
	return given, missing
}
