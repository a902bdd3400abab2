// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/testkit"
)

type pluginTestCommand struct {
	Paths    []string      `arg:"" optional:"" help:"Test files, or folders to search for them (default: the current folder)."`
	Match    string        `name:"run" placeholder:"PATTERN" help:"Run only the tests whose names match a regular expression."`
	Coverage bool          `help:"Print the line coverage of the plugin."`
	LCOV     string        `name:"lcov" placeholder:"FILE" help:"Write the line coverage to a file in the lcov format."`
	Watch    bool          `help:"Rerun the tests when a source in their folder is saved, until Ctrl-C."`
	Timeout  time.Duration `default:"30s" placeholder:"TIME" help:"Time limit of each test, such as 10s."`
}

// Help implements kong.HelpProvider.
func (pluginTestCommand) Help() string {
	return `Runs the tests in files that end in .test.js, .test.mjs or .test.ts. Each file runs in an engine like that of a plugin. A test that calls
start() gets its own server with the plugin, and controls its clock and network. The exit code is 0 if all tests pass, otherwise 1.
See docs/plugins.md for how to write tests.

Examples:
  app plugin test
  app plugin test word-filter.test.js --run masks
  app plugin test --coverage --lcov coverage.info
  app plugin test --watch`
}

// Run implements the command.
func (c pluginTestCommand) Run() error {
	o := testkit.Options{Paths: c.Paths, Timeout: c.Timeout, Coverage: c.Coverage || c.LCOV != ""}
	if len(o.Paths) == 0 {
		o.Paths = []string{"."}
	}
	if c.Timeout <= 0 {
		return errors.New("--timeout must be more than 0")
	}
	if c.Match != "" {
		re, err := regexp.Compile(c.Match)
		if err != nil {
			return fmt.Errorf("--run %q: %w", c.Match, err)
		}
		o.Match = re
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if !c.Watch {
		return c.run(ctx, o)
	}
	for ctx.Err() == nil {
		stamp := testkit.Stamp(o.Paths)
		if err := c.run(ctx, o); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "app:", err)
		}
		fmt.Print("\nSave a source to rerun the tests; press Ctrl-C to stop.\n\n")
		for ctx.Err() == nil && testkit.Stamp(o.Paths) == stamp {
			select {
			case <-time.After(watchPause):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// watchPause is the polling interval of --watch.
const watchPause = 300 * time.Millisecond

// run runs the tests once.
func (c pluginTestCommand) run(ctx context.Context, o testkit.Options) error {
	r := testReport{out: os.Stdout}
	o.Done, o.Said = r.outcome, r.said
	sum, err := testkit.Run(ctx, o)
	if err != nil {
		return err
	}
	r.summary(sum)
	if c.Coverage {
		r.coverage(sum.Lines)
	}
	if c.LCOV != "" {
		if err := os.WriteFile(c.LCOV, lcov(sum.Lines), 0o644); err != nil {
			return fmt.Errorf("write the coverage: %w", err)
		}
	}
	if !sum.OK() {
		return errTestsFailed
	}
	return nil
}

var errTestsFailed = errors.New("tests failed")

// testReport prints the results of tests.
type testReport struct {
	out  io.Writer
	file string
}

// outcome prints the result of a test.
func (r *testReport) outcome(o testkit.Outcome) {
	r.head(o.File)
	took := fmt.Sprintf(" (%d ms)", o.Duration.Milliseconds())
	switch {
	case o.Test == "":
		fmt.Fprintln(r.out, "  FAIL  the file cannot be run")
	case o.Skipped:
		fmt.Fprintf(r.out, "  skip  %s\n", o.Test)
	case len(o.Problems) == 0:
		fmt.Fprintf(r.out, "  ok    %s%s\n", o.Test, took)
	default:
		fmt.Fprintf(r.out, "  FAIL  %s%s\n", o.Test, took)
	}
	for _, p := range o.Problems {
		fmt.Fprintln(r.out, "        "+strings.ReplaceAll(problemText(p), "\n", "\n        "))
	}
	for _, line := range o.Log {
		fmt.Fprintln(r.out, "        log: "+line)
	}
}

// said prints the output of a test.
func (r *testReport) said(file, text string) {
	r.head(file)
	fmt.Fprintln(r.out, "        | "+text)
}

// head prints the name of a file, before its first line of output.
func (r *testReport) head(file string) {
	if file != r.file {
		r.file = file
		fmt.Fprintln(r.out, shortPath(file))
	}
}

// problemText returns an error with the frames of its stack that are in the author's code.
func problemText(err error) string {
	x, ok := errors.AsType[*plugin.Exception](err)
	if !ok {
		return err.Error()
	}
	// The text before the exception says where it comes from.
	lines := []string{strings.TrimSuffix(err.Error(), x.Error()) + x.Message}
	found := false
	for line := range strings.SplitSeq(x.Stack, "\n") {
		if strings.Contains(line, ":") && !strings.Contains(line, testkit.Name) {
			lines, found = append(lines, "  "+strings.TrimSpace(line)), true
		}
	}
	if !found && x.Location != "" && !strings.Contains(x.Location, testkit.Name) {
		lines = append(lines, "  at "+x.Location)
	}
	return strings.Join(lines, "\n")
}

// summary prints the totals.
func (r *testReport) summary(s testkit.Summary) {
	parts := []string{fmt.Sprintf("%d passed", s.Passed)}
	for _, p := range []struct {
		n    int
		text string
	}{{s.Failed, "failed"}, {s.Skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if s.Broken > 0 {
		parts = append(parts, plural(s.Broken, "file")+" could not be run")
	}
	fmt.Fprintf(r.out, "\n%s in %s: %s (%.1f s)\n", plural(s.Passed+s.Failed+s.Skipped, "test"), plural(s.Files, "file"), strings.Join(parts, ", "), s.Duration.Seconds())
}

// coverage prints the line coverage.
func (r *testReport) coverage(files map[string]map[int]int) {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nfile\tlines\tran\tnot run")
	lines, ran := 0, 0
	for _, file := range slices.Sorted(maps.Keys(files)) {
		all, missed := files[file], missedLines(files[file])
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", shortPath(filepath.FromSlash(file)), len(all), share(len(all)-len(missed), len(all)), ranges(missed, all))
		lines, ran = lines+len(all), ran+len(all)-len(missed)
	}
	fmt.Fprintf(w, "all\t%d\t%s\t\n", lines, share(ran, lines))
	_ = w.Flush()
}

func share(part, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

func missedLines(lines map[int]int) (missed []int) {
	for line, count := range lines {
		if count == 0 {
			missed = append(missed, line)
		}
	}
	slices.Sort(missed)
	return missed
}

// ranges formats the numbers of missed lines. It joins those without a line that ran between them.
func ranges(missed []int, lines map[int]int) string {
	var list []string
	for i := 0; i < len(missed); {
		first, last := missed[i], missed[i]
		for i++; i < len(missed) && !ranBetween(lines, last, missed[i]); i++ {
			last = missed[i]
		}
		if first == last {
			list = append(list, strconv.Itoa(first))
		} else {
			list = append(list, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return strings.Join(list, ", ")
}

func ranBetween(lines map[int]int, from, to int) bool {
	for line := from + 1; line < to; line++ {
		if lines[line] > 0 {
			return true
		}
	}
	return false
}

// lcov returns the coverage in the format of the tool lcov.
func lcov(files map[string]map[int]int) []byte {
	var b bytes.Buffer
	for _, file := range slices.Sorted(maps.Keys(files)) {
		lines := files[file]
		fmt.Fprintf(&b, "TN:\nSF:%s\n", filepath.FromSlash(file))
		for _, line := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(&b, "DA:%d,%d\n", line, lines[line])
		}
		fmt.Fprintf(&b, "LF:%d\nLH:%d\nend_of_record\n", len(lines), len(lines)-len(missedLines(lines)))
	}
	return b.Bytes()
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// shortPath returns a path relative to the working directory, if the file is below it.
func shortPath(file string) string {
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	if r, err := filepath.Rel(dir, file); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return file
}
