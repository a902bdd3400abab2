// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// TestTotals asks for pages of more than is counted at once.
func TestTotals(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		blocked := make([]store.GroupBlockedUser, store.CountLimit+7)
		for i := range blocked {
			blocked[i] = store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: 1, UserID: int64(i)}, BlockDate: time.UnixMilli(1)}
		}
		if err := h.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertGroupBlockedUsers(ctx, tx, blocked...)
		}); err != nil {
			t.Fatal(err)
		}
		const page = "/groups/blocked-users/page?size=1"
		exact, bound := fmt.Sprintf(`~"data":{"total":%d,`, store.CountLimit+7), fmt.Sprintf(`~"data":{"total":%d,`, store.CountLimit)
		lacks := func(r reply) {
			if strings.Contains(r.body, "totalIsExact") {
				t.Errorf("an exact total is said to be none: %s", r.body)
			}
		}
		h.play([]scenario{
			{name: "no budget", as: "app", method: "GET", target: page, status: 200, want: bound},
			{name: "no budget says so", as: "app", method: "GET", target: page, status: 200, want: `~"totalIsExact":false}`},
			{name: "on demand", as: "app", method: "GET", target: page + "&exactTotal=true", status: 200, want: exact},
		})
		lacks(h.call("app", "GET", page+"&exactTotal=true", ""))
		h.settings.TotalBudget = time.Hour
		h.play([]scenario{{name: "within the budget", as: "app", method: "GET", target: page, status: 200, want: exact}})
		lacks(h.call("app", "GET", page, ""))
		h.settings.TotalBudget = 1
		h.play([]scenario{
			{name: "budget is spent", as: "app", method: "GET", target: page, status: 200, want: bound},
			{name: "few", as: "app", method: "GET", target: page + "&userIds=1,2", status: 200, want: `~"total":2`},
		})
		lacks(h.call("app", "GET", page+"&userIds=1,2", ""))
	})
}
