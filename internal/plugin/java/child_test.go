// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// childJar is the environment variable that makes the test binary run as a server to be
// killed.
const childJar = "APP_TEST_JAVA_CHILD"

// worlds is the minimum number of parallel tests; most of them mostly wait.
const worlds = 3

// TestMain verifies that no test leaks a goroutine.
func TestMain(m *testing.M) {
	if jar := os.Getenv(childJar); jar != "" {
		if err := serve(jar); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if runtime.GOMAXPROCS(0) < worlds {
		if err := flag.Set("test.parallel", strconv.Itoa(worlds)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// serve loads a plugin, prints the process ids of the JVM, the spare JVM and a child of the
// plugin, and waits to be killed.
func serve(jar string) error {
	data, err := os.ReadFile(jar)
	if err != nil {
		return err
	}
	h, err := java.New(java.Options{Folder: filepath.Dir(jar), Server: newServer(), ClassCache: javatest.ClassCache(), Spare: true, SpareDelay: time.Millisecond})
	if err != nil {
		return err
	}
	m, err := h.Load(context.Background(), plugin.Source{Name: "a.jar", Data: data})
	if err != nil {
		return err
	}
	started, err := tell(context.Background(), m, "child")
	if err != nil {
		return err
	}
	for h.Stats().Spare == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := fmt.Fprintln(os.Stdout, h.Stats().PID, h.Stats().Spare, started); err != nil {
		return err
	}
	select {}
}

// startChild starts the test binary as a server, and returns the process ids of its JVMs and
// of its plugin's child.
func startChild(t *testing.T) (child *exec.Cmd, pids string) {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "a.jar")
	if err := os.WriteFile(jar, faults(t, "child"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child = exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), childJar+"="+jar)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return child, strings.TrimSpace(line)
}
