// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strings"
	"testing"
)

// TestCategories wants each kind in a category of actions, and each except meetings and sessions in
// a category of objects, whose name the kind must contain.
func TestCategories(t *testing.T) {
	words := map[Category]string{
		CategoryStorage: "RESOURCE|ATTACHMENT", CategoryConversation: "CONVERSATION|TYPING", CategoryMessage: "MESSAGE", CategoryUser: "USER",
		CategoryUserRelationship: "RELAT|FRIEND", CategoryGroup: "GROUP", CategoryGroupBlocklist: "GROUP_BLOCKED",
		CategoryGroupEnrollment: "GROUP_INVITATION|GROUP_JOIN", CategoryGroupMember: "GROUP_MEMBER",
	}
	verbs := []Category{CategoryCreate, CategoryDelete, CategoryUpdate, CategoryQuery}
	for _, k := range Kinds() {
		if !k.In(CategoryAll) {
			t.Errorf("%s is not in ALL", k)
		}
		var done, with []Category
		for _, c := range Categories[1:] {
			switch {
			case !k.In(c):
			case slices.Contains(verbs, c):
				done = append(done, c)
			default:
				with = append(with, c)
			}
		}
		if len(done) != 1 {
			t.Errorf("%s is in %v, want one of %v", k, done, verbs)
		}
		if name := k.String(); len(with) == 0 && !strings.Contains(name, "MEETING") && !strings.HasSuffix(name, "_SESSION") {
			t.Errorf("%s is in no category of what it is done with", k)
		}
		for _, c := range with {
			if !slices.ContainsFunc(strings.Split(words[c], "|"), func(word string) bool { return strings.Contains(k.String(), word) }) {
				t.Errorf("%s is in %s", k, c)
			}
		}
	}
}
