// SPDX-License-Identifier: Apache-2.0

package java

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestReportsAreLimited keeps more reports than allowed, in a folder with another file.
func TestReportsAreLimited(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "crashes[1]")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range maxReports {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("java-20250101T0000%02dZ-1.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path, err := keepReport(folder, []byte("the newest"))
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != maxReports+1 || left[0].Name() != "java-20250101T000001Z-1.txt" {
		t.Errorf("left are %v, %v", left, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "the newest" {
		t.Errorf("%s: %q, %v", path, data, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
