// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"
)

// TestGoldenKinds compares kinds.go with the kinds of AppRequest, and writes it if UPDATE_GOLDEN is
// set.
func TestGoldenKinds(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("// SPDX-License-Identifier: Apache-2.0\n\n// Code generated from proto by go test ./internal/wire -run Golden. DO NOT EDIT.\n\npackage wire\n\n")
	b.WriteString("// The kinds of requests.\nconst (\n")
	for _, k := range Kinds() {
		fmt.Fprintf(&b, "%s Kind = %d\n", constantOf(k), k)
	}
	b.WriteString(")\n")
	want, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile("kinds.go", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("kinds.go is stale: run UPDATE_GOLDEN=1 go test ./internal/wire -run Golden")
	}
}

// constantOf returns the Go name of a kind: KindCreateMessage for CREATE_MESSAGE.
func constantOf(k Kind) string {
	name := "Kind"
	for word := range strings.SplitSeq(k.String(), "_") {
		name += word[:1] + strings.ToLower(word[1:])
	}
	return name
}
