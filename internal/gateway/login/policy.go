// SPDX-License-Identifier: Apache-2.0

package login

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"example.org/app/internal/wire"
)

// The words of statements. any stands for all actions or all resources.
const (
	effectAllow = "ALLOW"
	effectDeny  = "DENY"
	anyName     = "*"
)

// maxStatements is the maximum number of statements in a policy.
const maxStatements = 100

// cells are the kinds of requests that an action on a resource covers.
type cells map[string][]wire.Kind

// requests maps actions and resources to kinds of requests. Every kind except those of the session
// occurs exactly once.
var requests = map[string]map[string]string{
	"USER":                       {"UPDATE": "UPDATE_USER"},
	"USER_LOCATION":              {"UPDATE": "UPDATE_USER_LOCATION"},
	"USER_ONLINE_STATUS":         {"UPDATE": "UPDATE_USER_ONLINE_STATUS", "QUERY": "QUERY_USER_ONLINE_STATUSES"},
	"USER_PROFILE":               {"QUERY": "QUERY_USER_PROFILES"},
	"USER_SETTING":               {"DELETE": "DELETE_USER_SETTINGS", "UPDATE": "UPDATE_USER_SETTINGS", "QUERY": "QUERY_USER_SETTINGS"},
	"NEARBY_USER":                {"QUERY": "QUERY_NEARBY_USERS"},
	"RELATIONSHIP":               {"CREATE": "CREATE_RELATIONSHIP", "DELETE": "DELETE_RELATIONSHIP", "UPDATE": "UPDATE_RELATIONSHIP", "QUERY": "QUERY_RELATIONSHIPS QUERY_RELATED_USER_IDS"},
	"RELATIONSHIP_GROUP":         {"CREATE": "CREATE_RELATIONSHIP_GROUP", "DELETE": "DELETE_RELATIONSHIP_GROUP", "UPDATE": "UPDATE_RELATIONSHIP_GROUP", "QUERY": "QUERY_RELATIONSHIP_GROUPS"},
	"FRIEND_REQUEST":             {"CREATE": "CREATE_FRIEND_REQUEST", "DELETE": "DELETE_FRIEND_REQUEST", "UPDATE": "UPDATE_FRIEND_REQUEST", "QUERY": "QUERY_FRIEND_REQUESTS"},
	"GROUP":                      {"CREATE": "CREATE_GROUP", "DELETE": "DELETE_GROUP", "UPDATE": "UPDATE_GROUP", "QUERY": "QUERY_GROUPS"},
	"GROUP_BLOCKED_USER":         {"CREATE": "CREATE_GROUP_BLOCKED_USER", "DELETE": "DELETE_GROUP_BLOCKED_USER", "QUERY": "QUERY_GROUP_BLOCKED_USER_IDS QUERY_GROUP_BLOCKED_USER_INFOS"},
	"GROUP_INVITATION":           {"CREATE": "CREATE_GROUP_INVITATION", "DELETE": "DELETE_GROUP_INVITATION", "UPDATE": "UPDATE_GROUP_INVITATION", "QUERY": "QUERY_GROUP_INVITATIONS"},
	"GROUP_JOIN_QUESTION":        {"CREATE": "CREATE_GROUP_JOIN_QUESTIONS", "DELETE": "DELETE_GROUP_JOIN_QUESTIONS", "UPDATE": "UPDATE_GROUP_JOIN_QUESTION", "QUERY": "QUERY_GROUP_JOIN_QUESTIONS"},
	"GROUP_JOIN_QUESTION_ANSWER": {"QUERY": "CHECK_GROUP_JOIN_QUESTIONS_ANSWERS"},
	"GROUP_JOIN_REQUEST":         {"CREATE": "CREATE_GROUP_JOIN_REQUEST", "DELETE": "DELETE_GROUP_JOIN_REQUEST", "UPDATE": "UPDATE_GROUP_JOIN_REQUEST", "QUERY": "QUERY_GROUP_JOIN_REQUESTS"},
	"GROUP_MEMBER":               {"CREATE": "CREATE_GROUP_MEMBERS", "DELETE": "DELETE_GROUP_MEMBERS", "UPDATE": "UPDATE_GROUP_MEMBER", "QUERY": "QUERY_GROUP_MEMBERS"},
	"JOINED_GROUP":               {"QUERY": "QUERY_JOINED_GROUP_IDS QUERY_JOINED_GROUP_INFOS"},
	"MESSAGE":                    {"CREATE": "CREATE_MESSAGE CREATE_MESSAGE_REACTIONS", "DELETE": "DELETE_MESSAGE_REACTIONS", "UPDATE": "UPDATE_MESSAGE", "QUERY": "QUERY_MESSAGES"},
	"CONVERSATION":               {"UPDATE": "UPDATE_CONVERSATION", "QUERY": "QUERY_CONVERSATIONS"},
	"CONVERSATION_SETTING":       {"DELETE": "DELETE_CONVERSATION_SETTINGS", "UPDATE": "UPDATE_CONVERSATION_SETTINGS", "QUERY": "QUERY_CONVERSATION_SETTINGS"},
	"TYPING_STATUS":              {"UPDATE": "UPDATE_TYPING_STATUS"},
	"MEETING":                    {"CREATE": "CREATE_MEETING", "DELETE": "DELETE_MEETING", "UPDATE": "UPDATE_MEETING UPDATE_MEETING_INVITATION", "QUERY": "QUERY_MEETINGS"},
	"RESOURCE":                   {"DELETE": "DELETE_RESOURCE", "UPDATE": "UPDATE_MESSAGE_ATTACHMENT_INFO", "QUERY": "QUERY_RESOURCE_DOWNLOAD_INFO QUERY_RESOURCE_UPLOAD_INFO QUERY_MESSAGE_ATTACHMENT_INFOS"},
}

// actionNames are the actions of the table.
var actionNames = []string{"CREATE", "DELETE", "UPDATE", "QUERY"}

// resources is the table with kinds instead of their names. An unknown name is a programming error
// that every test finds.
var resources = sync.OnceValue(func() map[string]cells {
	byName := map[string]wire.Kind{}
	for _, k := range wire.Kinds() {
		byName[k.String()] = k
	}
	table := make(map[string]cells, len(requests))
	for resource, actions := range requests {
		table[resource] = cells{}
		for action, names := range actions {
			for name := range strings.FieldsSeq(names) {
				k, ok := byName[name]
				if !ok {
					panic(fmt.Sprintf("%s of %s: there is no kind %q", action, resource, name))
				}
				table[resource][action] = append(table[resource][action], k)
			}
		}
	}
	return table
})

// A statement allows or denies actions on resources.
type statement struct {
	deny      bool
	actions   []string
	resources []string
}

// parsePolicy returns the permissions of the statements in a decoded JSON value. Denials take
// precedence; what no statement allows is denied.
func parsePolicy(value any) (*Permissions, error) {
	list, ok := value.([]any)
	switch {
	case value == nil:
		return nil, errors.New("read statements: there are none")
	case !ok:
		return nil, fmt.Errorf("read statements: must be a list, not %s", describe(value))
	case len(list) > maxStatements:
		return nil, fmt.Errorf("read statements: must not be more than %d, there are %d", maxStatements, len(list))
	}
	statements := make([]statement, len(list))
	for i, item := range list {
		var err error
		if statements[i], err = parseStatement(item); err != nil {
			return nil, fmt.Errorf("read statement %d: %w", i+1, err)
		}
	}
	p := new(Permissions)
	for _, deny := range []bool{false, true} {
		for _, s := range statements {
			if s.deny == deny {
				s.apply(p)
			}
		}
	}
	return p, nil
}

func (s statement) apply(p *Permissions) {
	table := resources()
	for _, resource := range s.resources {
		for _, action := range s.actions {
			for _, k := range table[resource][action] {
				p.set(k, !s.deny)
			}
		}
	}
}

func parseStatement(value any) (s statement, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		return s, fmt.Errorf("must be an object, not %s", describe(value))
	}
	switch effect := object["effect"]; effect {
	case effectAllow:
	case effectDeny:
		s.deny = true
	default:
		return s, fmt.Errorf("effect: must be ALLOW or DENY, not %s", describe(effect))
	}
	if s.actions, err = parseNames(object["actions"], actionNames); err != nil {
		return s, fmt.Errorf("actions: %w", err)
	}
	if s.resources, err = parseNames(object["resources"], resourceNames()); err != nil {
		return s, fmt.Errorf("resources: %w", err)
	}
	return s, nil
}

var resourceNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(requests)) })

// parseNames parses one name or a list of names. Each must be known, or the word for all of them.
func parseNames(value any, known []string) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	all := false
	// Repeated names are free.
	named := map[string]struct{}{}
	for _, item := range list {
		switch name, ok := item.(string); {
		case ok && name == anyName:
			all = true
		case ok && slices.Contains(known, name):
			named[name] = struct{}{}
		default:
			return nil, fmt.Errorf("must be * or of %s, not %s", strings.Join(known, ", "), describe(item))
		}
	}
	if all {
		return known, nil
	}
	return slices.Collect(maps.Keys(named)), nil
}

// maxDescribed bounds the length of a value in an error.
const maxDescribed = 50

// describe renders a decoded JSON value for an error.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > maxDescribed {
			return fmt.Sprintf("%q…", v[:maxDescribed])
		}
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%.*s", maxDescribed, fmt.Sprint(value))
}
