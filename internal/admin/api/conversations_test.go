// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/im/imtest"
	"example.org/app/internal/store"
)

// keys spells a parameter that is a list of objects with two fields.
func keys(name, first, second string, pairs ...[2]int) string {
	var parts []string
	for i, pair := range pairs {
		parts = append(parts, fmt.Sprintf("%s[%d].%s=%d&%s[%d].%s=%d", name, i, first, pair[0], name, i, second, pair[1]))
	}
	return strings.Join(parts, "&")
}

func privateKeys(pairs ...[2]int) string {
	return keys("privateConversationKeys", "ownerId", "targetId", pairs...)
}

func memberKeys(pairs ...[2]int) string {
	return keys("groupConversationMemberKeys", "groupId", "memberId", pairs...)
}

func TestConversations(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		conversations := func(private, groups string) string {
			return ok(`{"privateConversations":[` + private + `],"groupConversations":[` + groups + `]}`)
		}
		private := func(owner, target int) string {
			return fmt.Sprintf(`{"key":{"ownerId":%d,"targetId":%d},"readDate":"DATE"}`, owner, target)
		}
		put := func(name, query, body string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "PUT", target: "/conversations?" + query, body: body, status: status, want: want}
		}
		get := func(name, query, want string) scenario {
			return scenario{name: name, as: "app", method: "GET", target: "/conversations?" + query, status: 200, want: want}
		}
		remove := func(name, query string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "DELETE", target: "/conversations?" + query, status: status, want: want}
		}
		at := func(seconds int) string {
			return fmt.Sprintf(`{"readDate":%d}`, imtest.Noon.UnixMilli()+int64(seconds)*1000)
		}
		h.play([]scenario{
			get("nothing", "", conversations("", "")),
			put("no key", "", `{}`, 200, done),
			put("several", privateKeys([2]int{1, 2}, [2]int{2, 1}, [2]int{1, 3})+"&"+memberKeys([2]int{7, 2}, [2]int{7, 1}, [2]int{8, 1}), at(-10), 200, done),
			get("by owner", "ownerIds=1,5", conversations(private(1, 2)+","+private(1, 3), "")),
			get("by key and owner, each once", "ownerIds=2&"+privateKeys([2]int{2, 1}, [2]int{1, 3}, [2]int{9, 9}), conversations(private(1, 3)+","+private(2, 1), "")),
			get("by group", "groupIds=7,8,9", conversations("", `{"groupId":7,"memberIdToReadDate":{"1":"DATE","2":"DATE"}},{"groupId":8,"memberIdToReadDate":{"1":"DATE"}}`)),

			put("later", privateKeys([2]int{1, 2}), at(-5), 200, done),
			put("the same", privateKeys([2]int{1, 2}), at(-5), 510, `~"code":4004`),
			put("one of several is not later", privateKeys([2]int{1, 3}, [2]int{1, 2}, [2]int{4, 4}), at(-6), 510, `~"code":4004`),
			get("nothing is half done", "ownerIds=4", conversations("", "")),
			put("a member's date goes back", memberKeys([2]int{7, 1}), at(-20), 200, done),
			put("now", privateKeys([2]int{1, 2})+"&"+memberKeys([2]int{7, 1}), `{"readDate":null}`, 200, done),
			put("now again", privateKeys([2]int{1, 2}), `{}`, 200, done),
			put("the future", privateKeys([2]int{1, 2}), at(1), 400, "~readDate"),
			put("no date", privateKeys([2]int{1, 2}), `{"readDate":"soon"}`, 400, "~readDate"),
			put("no body", privateKeys([2]int{1, 2}), ``, 400, "~body is empty"),
			put("unknown field", privateKeys([2]int{1, 2}), `{"x":1}`, 400, "~there is no field"),
			put("half a key", "privateConversationKeys[0].ownerId=1", `{}`, 400, `~\"targetId\" is required`),
			put("an unknown part of a key", "groupConversationMemberKeys[0].ownerId=1", `{}`, 400, "~there is no field"),
			put("a bad id", "privateConversationKeys[0].ownerId=x&privateConversationKeys[0].targetId=1", `{}`, 400, "~integer of 64 bits"),

			remove("no filter", "", 400, `~"code":1301`),
			remove("unknown ones", "ownerIds=99&groupIds=99&"+privateKeys([2]int{9, 9}), 200, deleted(0)),
			remove("by all means", "ownerIds=2&groupIds=7&"+privateKeys([2]int{1, 2}, [2]int{2, 1}), 200, deleted(3)),
			get("what is left", "ownerIds=1,2&groupIds=7,8", conversations(private(1, 3), `{"groupId":8,"memberIdToReadDate":{"1":"DATE"}}`)),
			remove("a bad id", "groupIds=x", 400, "~integer of 64 bits"),
			get("extremes", "ownerIds=-9223372036854775808,9223372036854775807", conversations("", "")),
		})
		h.settings.AllowDeleteWithoutFilter = true
		if r := h.call("app", "DELETE", "/conversations", ""); plain(r.body) != deleted(0) {
			t.Errorf("delete without a filter: %s", r.body)
		}
		h.Rules.Conversation.ReadReceipt.AllowMoveReadDateForward = true
		h.must("app", "PUT", "/conversations?"+privateKeys([2]int{1, 3}), at(-100))
		err := h.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			found, err := store.FindPrivateConversations(ctx, r, store.PrivateConversationFilter{OwnerIDs: []int64{1}})
			if len(found) != 1 || found[0].ReadDate.UnixMilli() != imtest.Noon.UnixMilli()-100_000 {
				t.Errorf("stored %v", found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
