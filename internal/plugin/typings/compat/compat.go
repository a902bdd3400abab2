// SPDX-License-Identifier: Apache-2.0

// Package compat compares the types for plugins in JavaScript and TypeScript with those of the last
// release, which are in the source tree without comments. Check reports what breaks plugins that
// were written against that release, using the TypeScript compiler. It compares types only, not
// behaviour.
package compat

import (
	"bytes"
	"context"
	_ "embed" // For the baseline and the comparison.
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	sdk "example.org/app/sdk/js"
)

// File is the file with the types of the last release, relative to the source tree.
const File = "internal/plugin/typings/compat/baseline.d.ts"

// Compiler is the folder of the compiler, relative to the source tree. make test installs it.
const Compiler = "sdk/js/node_modules/typescript"

//go:embed baseline.d.ts
var baseline string

//go:embed compare.mjs
var comparison []byte

// Types are the types of a version.
type Types struct{ Version, Text string }

const header = `// SPDX-License-Identifier: Apache-2.0
// The types for plugins in JavaScript, as of version %s.
// go run ./internal/plugin/typings/compat/renew writes it, for a release. DO NOT EDIT.
`

var versionLine = regexp.MustCompile(`(?m)^// The types for plugins in JavaScript, as of version (\S+)\.$`)

// Baseline returns the types of the last release.
func Baseline() (Types, error) {
	m := versionLine.FindStringSubmatch(baseline)
	if m == nil {
		return Types{}, fmt.Errorf("%s: it does not say of which version it is", File)
	}
	return Types{m[1], baseline}, nil
}

// Current returns the types of this program.
func Current(version string) (Types, error) {
	names, err := fs.Glob(sdk.Types, "*.d.ts")
	if err != nil {
		return Types{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, header, version)
	for _, name := range names {
		data, err := sdk.Types.ReadFile(name)
		if err != nil {
			return Types{}, err
		}
		b.WriteString(bare(string(data)))
	}
	return Types{version, b.String()}, nil
}

// bare removes comments on their own lines from declarations, except deprecations.
func bare(text string) string {
	var b strings.Builder
	comment, indent := "", ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case comment != "" || strings.HasPrefix(trimmed, "/*"):
			if comment == "" {
				indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
			}
			comment += line
			if strings.HasSuffix(trimmed, "*/") {
				if strings.Contains(comment, "@deprecated") {
					b.WriteString(indent + "/** @deprecated */\n")
				}
				comment = ""
			}
		case trimmed != "" && !strings.HasPrefix(trimmed, "//"):
			b.WriteString(line)
		}
	}
	return b.String()
}

// Check returns what breaks plugins that were written against old types, one sentence each. What
// was deprecated may be removed in a new major version. compiler is the folder of the TypeScript
// compiler, which runs in Node.js.
func Check(ctx context.Context, compiler string, old, now Types) ([]string, error) {
	results, err := compare(ctx, compiler, []pair{{old, now}})
	if err != nil {
		return nil, err
	}
	if r := results[0]; r.Error != "" {
		return nil, fmt.Errorf("compare types: %s", r.Error)
	}
	return results[0].Found, nil
}

// A pair is two versions to compare.
type pair struct{ old, now Types }

// A result is the output of compare.mjs for a pair.
type result struct {
	Found []string
	Error string
}

// compare compares pairs in one process.
func compare(ctx context.Context, compiler string, pairs []pair) (results []result, err error) {
	if compiler, err = filepath.Abs(compiler); err != nil {
		return nil, err
	}
	input := make([]map[string]any, len(pairs))
	for i, p := range pairs {
		input[i] = map[string]any{"old": p.old.Text, "now": p.now.Text, "free": major(p.old.Version) != major(p.now.Version)}
	}
	data, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "app-compare-*.mjs")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(comparison)
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", file.Name(), compiler)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("compare types: %w\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out, &results); err != nil {
		return nil, fmt.Errorf("compare types: %w", err)
	}
	if len(results) != len(pairs) {
		return nil, fmt.Errorf("compare types: %d results of %d", len(results), len(pairs))
	}
	return results, nil
}

func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}
