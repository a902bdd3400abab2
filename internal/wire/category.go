// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"strings"
)

// A Category is a set of kinds of requests. Most kinds are in two: the action and its object.
type Category string

// The categories.
const (
	CategoryAll              Category = "ALL"
	CategoryCreate           Category = "CREATE"
	CategoryDelete           Category = "DELETE"
	CategoryUpdate           Category = "UPDATE"
	CategoryQuery            Category = "QUERY"
	CategoryStorage          Category = "STORAGE"
	CategoryConversation     Category = "CONVERSATION"
	CategoryMessage          Category = "MESSAGE"
	CategoryUser             Category = "USER"
	CategoryUserRelationship Category = "USER_RELATIONSHIP"
	CategoryGroup            Category = "GROUP"
	CategoryGroupBlocklist   Category = "GROUP_BLOCKLIST"
	CategoryGroupEnrollment  Category = "GROUP_ENROLLMENT"
	CategoryGroupMember      Category = "GROUP_MEMBER"
)

// Categories contains all categories.
var Categories = []Category{
	CategoryAll, CategoryCreate, CategoryDelete, CategoryUpdate, CategoryQuery, CategoryStorage, CategoryConversation, CategoryMessage,
	CategoryUser, CategoryUserRelationship, CategoryGroup, CategoryGroupBlocklist, CategoryGroupEnrollment, CategoryGroupMember,
}

// In reports whether the kind belongs to the category.
func (k Kind) In(c Category) bool {
	return c == CategoryAll || k.verb() == c || slices.Contains(k.nouns(), c)
}

// verb returns the category of the action.
func (k Kind) verb() Category {
	if k == KindCheckGroupJoinQuestionsAnswers {
		return CategoryUpdate // Correct answers make the user a member.
	}
	verb, _, _ := strings.Cut(k.String(), "_")
	return Category(verb)
}

// nouns returns the categories of the object. Meetings and sessions have no category; parts of a
// group also belong to the category of groups.
func (k Kind) nouns() []Category {
	switch k {
	case KindQueryConversations, KindUpdateConversation, KindUpdateTypingStatus:
		return []Category{CategoryConversation}
	case KindCreateMessage, KindQueryMessages, KindUpdateMessage:
		return []Category{CategoryMessage}
	case KindCreateGroupMembers, KindDeleteGroupMembers, KindQueryGroupMembers, KindUpdateGroupMember:
		return []Category{CategoryGroup, CategoryGroupMember}
	}
	// The protocol numbers the kinds in ranges.
	switch k / 100 {
	case 1:
		return []Category{CategoryUser}
	case 2:
		return []Category{CategoryUserRelationship}
	case 3:
		return []Category{CategoryGroup}
	case 4:
		return []Category{CategoryGroup, CategoryGroupBlocklist}
	case 5:
		return []Category{CategoryGroup, CategoryGroupEnrollment}
	case 10:
		return []Category{CategoryStorage}
	case 11:
		return []Category{CategoryConversation}
	case 12:
		return []Category{CategoryMessage}
	}
	return nil
}
