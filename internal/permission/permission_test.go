// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"slices"
	"testing"
)

func TestTable(t *testing.T) {
	if len(all) != 98 || len(Groups) != 31 {
		t.Errorf("%d permissions in %d groups, want 98 in 31", len(all), len(Groups))
	}
	if len(index) != len(all) {
		t.Error("a permission is listed twice")
	}
	if len(all) > len(Set{}.bits)*64 {
		t.Error("Set is too small for the table")
	}
}

func TestExpand(t *testing.T) {
	tests := []struct {
		patterns []string
		want     int
	}{
		{nil, 0},
		{[]string{"*"}, 98},
		{[]string{"**"}, 98},
		{[]string{""}, 0},
		{[]string{"SHUTDOWN"}, 1},
		{[]string{"shutdown"}, 0},
		{[]string{"SHUTDOWN", "SHUTDOWN", "SHUT*"}, 1},
		{[]string{"ADMIN_*"}, 9},
		{[]string{"ADMIN_?????"}, 1},
		{[]string{"LOG_QUER?"}, 1},
		{[]string{"LOG_QUERY?"}, 0},
		{[]string{"PLUGIN_*", "NOTHING_*"}, 6},
		{[]string{"*_ROLE_*"}, 8},
	}
	for _, tt := range tests {
		if got := Expand(tt.patterns); len(got) != tt.want {
			t.Errorf("Expand(%q) = %v, want %d", tt.patterns, got, tt.want)
		}
	}
}

func TestSet(t *testing.T) {
	s := NewSet(AdminQuery, NodeHeapDumpQuery, "FROM_A_NEWER_SERVER")
	if !s.Has(AdminQuery) || !s.Has(NodeHeapDumpQuery) || s.Has(AdminUpdate) || s.Has("FROM_A_NEWER_SERVER") {
		t.Errorf("wrong set %v", s)
	}
	u := s.Union(NewSet(AdminUpdate))
	if !u.Has(AdminUpdate) || !u.Has(AdminQuery) {
		t.Error("the union lacks a permission")
	}
	if both := u.Intersect(NewSet(AdminUpdate, LogQuery)); !slices.Equal(both.Names(), []string{"ADMIN_UPDATE"}) {
		t.Errorf("Intersect = %v", both.Names())
	}
	if got := s.Missing([]Permission{AdminQuery, LogQuery, AdminUpdate}); !slices.Equal(got, []Permission{LogQuery, AdminUpdate}) {
		t.Errorf("Missing = %v", got)
	}
}
