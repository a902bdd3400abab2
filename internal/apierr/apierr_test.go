// SPDX-License-Identifier: Apache-2.0

package apierr

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestGeneratedFileIsFresh(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile("codes.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "codes.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "generate")
	if out, err := exec.Command("go", "build", "-o", exe, "./generate").CombinedOutput(); err != nil {
		t.Fatalf("build generator: %v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run generator: %v\n%s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "codes_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("codes_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("codes_gen.go is stale: run go generate ./internal/apierr")
	}
}

func TestTable(t *testing.T) {
	data, err := os.ReadFile("codes.json")
	if err != nil {
		t.Fatal(err)
	}
	var codes []struct {
		Name string
		Code Code
		HTTP int
		Text string
	}
	if err := json.Unmarshal(data, &codes); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	last := Code(0)
	for _, c := range codes {
		if c.Code <= last {
			t.Errorf("%s: code %d is not above its predecessor %d: numbers are unique and in order", c.Name, c.Code, last)
		}
		last = c.Code
		if names[c.Name] {
			t.Errorf("%s is listed twice", c.Name)
		}
		names[c.Name] = true
		if c.Text == "" || c.HTTP < 200 || c.HTTP > 599 {
			t.Errorf("%s: text %q, http %d", c.Name, c.Text, c.HTTP)
		}
	}
	if len(codes) != len(table) {
		t.Errorf("table has %d codes, codes.json %d", len(table), len(codes))
	}
}

func TestError(t *testing.T) {
	cause := errors.New("disk on fire")
	tests := []struct {
		name   string
		err    error
		code   Code
		http   int
		reason string
	}{
		{"default text", New(Unauthorized, ""), 1300, 401, "not authorised"},
		{"own text", New(IllegalArgument, "page: %d is negative", -1), 1102, 400, "page: -1 is negative"},
		{"own status", &Error{Code: IllegalArgument, Status: 413, Reason: "too large"}, 1102, 413, "too large"},
		{"wrapped deep", fmt.Errorf("outer: %w", New(ResourceNotFound, "no file")), 1302, 404, "no file"},
		{"foreign error tells nothing", cause, 1200, 500, "internal server error"},
		{"unknown code", New(Code(9999), "x"), 9999, 500, "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := From(tt.err)
			if e.Code != tt.code || e.HTTP() != tt.http || e.Reason != tt.reason {
				t.Errorf("got %d/%d %q, want %d/%d %q", e.Code, e.HTTP(), e.Reason, tt.code, tt.http, tt.reason)
			}
		})
	}
	if !errors.Is(From(cause), cause) {
		t.Error("the cause is lost")
	}
}
