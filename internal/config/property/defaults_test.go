// SPDX-License-Identifier: Apache-2.0

package property

import "testing"

// TestDefaultsAreNotShared proves that a list default belongs to its owner.
func TestDefaultsAreNotShared(t *testing.T) {
	tr := sampleTree(t)
	var a, b sample
	tr.SetDefaults(&a)
	a.Names[0], a.Levels[0].Times = "changed", 99
	tr.SetDefaults(&b)
	if b.Names[0] != "a" || b.Levels[0].Times != 5 {
		t.Error("a change reaches the defaults")
	}
}

func TestUnshare(t *testing.T) {
	s := sample{Labels: map[string]string{"a": "b"}, Plugins: []samplePlugin{{Tags: []string{"x"}}}}
	copied := s
	Unshare(&copied)
	copied.Labels["a"], copied.Plugins[0].Tags[0] = "c", "y"
	if s.Labels["a"] != "b" || s.Plugins[0].Tags[0] != "x" {
		t.Error("a change of the copy changes the original")
	}
}
