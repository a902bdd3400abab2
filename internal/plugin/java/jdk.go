// SPDX-License-Identifier: Apache-2.0

package java

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// oldestJava is the minimum version; goodJava the first in which a plugin waiting in a
	// synchronized block does not block others.
	oldestJava = 21
	goodJava   = 24
)

// A Runtime is a Java installation.
type Runtime struct {
	// Home is its folder, which contains bin/java.
	Home string
	// Version is its version, Feature the first number of it.
	Version string
	Feature int
}

// Java returns the path of its executable.
func (r Runtime) Java() string { return filepath.Join(r.Home, "bin", "java") }

// ErrNoJava reports that no suitable Java was found.
var ErrNoJava = errors.New("no Java that can run plugins was found")

// usualFolders are common installation folders.
var usualFolders = []string{
	"/usr/lib/jvm/*", "/usr/lib64/jvm/*", "/usr/local/lib/jvm/*", "/usr/java/*", "/opt/*jdk*", "/opt/*jre*", "/opt/java/*", "/opt/jvm/*",
	"~/.sdkman/candidates/java/*", "~/.jdks/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home",
	"/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
}

// Find returns the Java for plugins: only the one in home if that is given; else that of JAVA_HOME
// or of PATH if it is new enough, else the newest in the usual folders. The error lists what was
// found and where.
func Find(ctx context.Context, home string) (Runtime, error) {
	if Unsupported != "" {
		return Runtime{}, fmt.Errorf("%w: %s", ErrNoJava, Unsupported)
	}
	if home != "" {
		r, err := inspect(ctx, home)
		switch {
		case err != nil:
			return r, fmt.Errorf("app.plugin.java.home = %q: %w: %w", home, ErrNoJava, err)
		case r.Feature < oldestJava:
			return r, fmt.Errorf("app.plugin.java.home = %q: %w: it has Java %s, and plugins need %d or newer", home, ErrNoJava, r.Version, oldestJava)
		}
		return r, nil
	}
	return choose(ctx, candidates())
}

// A candidate is a folder that may contain a Java.
type candidate struct {
	home string
	// preferred is true if it takes precedence over newer ones.
	preferred bool
}

func candidates() []candidate {
	var list []candidate
	if home := os.Getenv("JAVA_HOME"); home != "" {
		list = append(list, candidate{home, true})
	}
	if program, err := exec.LookPath("java"); err == nil {
		if program, err = filepath.EvalSymlinks(program); err == nil {
			list = append(list, candidate{filepath.Dir(filepath.Dir(program)), true})
		}
	}
	user, _ := os.UserHomeDir()
	for _, pattern := range usualFolders {
		if rest, ok := strings.CutPrefix(pattern, "~"); ok {
			if user == "" {
				continue
			}
			pattern = user + rest
		}
		found, _ := filepath.Glob(pattern) // The patterns are well formed.
		for _, home := range found {
			list = append(list, candidate{home, false})
		}
	}
	return list
}

// choose returns the first suitable preferred candidate, else the newest.
func choose(ctx context.Context, list []candidate) (Runtime, error) {
	var best Runtime
	var old []string
	for _, c := range list {
		r, err := inspect(ctx, c.home)
		switch {
		case err != nil:
		case r.Feature < oldestJava:
			if text := fmt.Sprintf("Java %s in %s", r.Version, r.Home); !slices.Contains(old, text) {
				old = append(old, text)
			}
		case c.preferred:
			return r, nil
		case r.Feature > best.Feature:
			best = r
		}
	}
	switch {
	case best.Feature > 0:
		return best, nil
	case len(old) > 0:
		return best, fmt.Errorf("%w: plugins need Java %d or newer, and there is only %s; install a newer one, or say with app.plugin.java.home where it is",
			ErrNoJava, oldestJava, strings.Join(old, ", "))
	}
	return best, fmt.Errorf("%w: plugins need Java %d or newer, and there is none in JAVA_HOME, PATH or the usual folders; install one, or say with app.plugin.java.home where it is",
		ErrNoJava, oldestJava)
}

// inspect determines the Java in a folder.
func inspect(ctx context.Context, home string) (Runtime, error) {
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return Runtime{}, err
	}
	r := Runtime{Home: home}
	info, err := os.Stat(r.Java())
	switch {
	case err != nil:
		return r, err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return r, fmt.Errorf("%q is not a program", r.Java())
	}
	if r.Version = released(home); r.Version == "" {
		if r.Version, err = asked(ctx, r.Java()); err != nil {
			return r, err
		}
	}
	r.Feature = featureOf(r.Version)
	if r.Feature == 0 {
		return r, fmt.Errorf("%q says that its version is %q", r.Java(), r.Version)
	}
	return r, nil
}

// released reads the version from the release file of a JDK.
func released(home string) string {
	data, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "JAVA_VERSION="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

// asked runs the program to get its version, which is slow.
func asked(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %q: %w", program, err)
	}
	// openjdk version "21.0.1" 2023-10-17
	_, rest, _ := strings.Cut(string(out), `version "`)
	version, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return "", fmt.Errorf("%q -version does not say a version", program)
	}
	return version, nil
}

// featureOf returns the feature number of a version: 21 for 21.0.1, 8 for 1.8.0_292; else 0.
func featureOf(version string) int {
	version = strings.TrimPrefix(version, "1.")
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		version = version[:end]
	}
	n, _ := strconv.Atoi(version)
	return n
}
