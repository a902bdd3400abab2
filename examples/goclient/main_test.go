// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"example.org/app/examples/plugins/exampletest"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestTwoUsersTalk runs the program for two users.
func TestTwoUsersTalk(t *testing.T) {
	s := apptest.Start(t, role.All)
	for _, user := range []string{`{"id":1,"name":"Ann","password":"123"}`, `{"id":2,"name":"Bob","password":"123"}`} {
		if status, body := exampletest.Admin(t, s, "POST", "/users", user); status != 200 {
			t.Fatal(body)
		}
	}
	url := s.ClientURLs()[0]
	ann, bob := start(t, url, 1, "123", 2), start(t, url, 2, "123", 1)
	ann.want("logged in as 1")
	bob.want("logged in as 2")
	ann.write("hello\n")
	bob.want("1: hello")
	bob.write("good morning\n")
	ann.want("2: good morning")
	ann.write(strings.Repeat("x", 501) + "\n")
	ann.want("not sent: 1102 ")

	stranger := start(t, url, 1, "wrong", 2)
	if err := <-stranger.ended; err == nil || !strings.Contains(err.Error(), "log in as user 1: 2011") {
		t.Errorf("a wrong password: %v", err)
	}
	ann.in.Close()
	if err := <-ann.ended; err != nil {
		t.Error(err)
	}
	if status, body := exampletest.Admin(t, s, "DELETE", "/users?ids=2", ""); status >= 300 {
		t.Fatal(body)
	}
	if err := <-bob.ended; err == nil || !strings.Contains(err.Error(), "with the status 700") {
		t.Errorf("the client of a deleted user ended with %v", err)
	}
}

// A program is a running client.
type program struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

func start(t *testing.T, url string, user int64, password string, to int64) *program {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	p := &program{t, stdin, make(chan string, 100), make(chan error, 1)}
	go func() {
		p.ended <- chat(t.Context(), url, user, password, to, in, out)
		in.Close()
		out.Close()
	}()
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { stdin.Close() })
	return p
}

func (p *program) write(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line); err != nil {
		p.t.Fatal(err)
	}
}

// want reads the next line, which must begin with a prefix.
func (p *program) want(prefix string) {
	p.t.Helper()
	if line, ok := <-p.lines; !ok || !strings.HasPrefix(line, prefix) {
		p.t.Fatalf("the program prints %q, want %q", line, prefix)
	}
}
