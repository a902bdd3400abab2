// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"testing"

	"example.org/app/internal/admin/api"
)

// TestReplicaOperations checks which queries a replica may serve: those of what users have, not
// those that say who may administer, what is set or who is blocked.
func TestReplicaOperations(t *testing.T) {
	primary := []string{
		"AdminController", "AdminRoleController", "AdminTokenController", "MemberController", "SettingController",
		"IpBlocklistController", "UserBlocklistController",
	}
	for _, op := range api.ServiceOperations(api.Service{}) {
		if want := op.Method == http.MethodGet && !slices.Contains(primary, op.Tag); op.Replica != want {
			t.Errorf("%s: Replica is %v, want %v", op.ID, op.Replica, want)
		}
	}
	for _, op := range api.CommonOperations(api.Common{}) {
		if op.Replica {
			t.Errorf("%s may be served by a replica", op.ID)
		}
	}
}
