// SPDX-License-Identifier: Apache-2.0

package login

import (
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/wire"
)

// TestEveryKindIsCovered proves that each kind of request occurs exactly once in the table.
func TestEveryKindIsCovered(t *testing.T) {
	where := map[wire.Kind][]string{}
	for resource, actions := range resources() {
		for action, kinds := range actions {
			if !slices.Contains(actionNames, action) {
				t.Errorf("%s has the unknown action %s", resource, action)
			}
			for _, k := range kinds {
				where[k] = append(where[k], action+" "+resource)
			}
		}
	}
	if len(where) != len(wire.Kinds())-2 {
		t.Errorf("%d kinds are covered", len(where))
	}
	for _, k := range wire.Kinds() {
		want := 1
		if k == wire.KindCreateSession || k == wire.KindDeleteSession {
			want = 0
		}
		if len(where[k]) != want {
			t.Errorf("%s is covered by %q", k, where[k])
		}
	}
}

func TestAll(t *testing.T) {
	for _, k := range wire.Kinds() {
		if !All().Allows(k) {
			t.Errorf("%s is not allowed", k)
		}
		if got := new(Permissions).Allows(k); got != (k == wire.KindCreateSession || k == wire.KindDeleteSession) {
			t.Errorf("without permissions, %s is allowed: %v", k, got)
		}
	}
	for _, k := range []wire.Kind{0, -1, 15, 1 << 30} {
		if All().Allows(k) {
			t.Errorf("the kind %d, which there is not, is allowed", k)
		}
	}
}

// allowed returns the permitted kinds, without those of the session.
func allowed(p *Permissions) []string {
	var names []string
	for _, k := range kinds() {
		if p.Allows(k) {
			names = append(names, k.String())
		}
	}
	slices.Sort(names)
	return names
}

func TestPolicy(t *testing.T) {
	everything := allowed(All())
	without := func(names ...string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(everything), func(n string) bool { return slices.Contains(names, n) }), " ")
	}
	const all = `{"effect": "ALLOW", "actions": "*", "resources": "*"}`
	for _, test := range []struct{ name, statements, want string }{
		{"none", `[]`, ""},
		{"everything", `[` + all + `]`, without()},
		{"one cell", `[{"effect": "ALLOW", "actions": "CREATE", "resources": "MESSAGE"}]`, "CREATE_MESSAGE CREATE_MESSAGE_REACTIONS"},
		{"lists", `[{"effect": "ALLOW", "actions": ["QUERY", "UPDATE"], "resources": ["USER", "JOINED_GROUP"]}]`, "QUERY_JOINED_GROUP_IDS QUERY_JOINED_GROUP_INFOS UPDATE_USER"},
		{"all actions", `[{"effect": "ALLOW", "actions": "*", "resources": "CONVERSATION_SETTING"}]`, "DELETE_CONVERSATION_SETTINGS QUERY_CONVERSATION_SETTINGS UPDATE_CONVERSATION_SETTINGS"},
		{"all in a list", `[{"effect": "ALLOW", "actions": ["CREATE", "*"], "resources": ["TYPING_STATUS"]}]`, "UPDATE_TYPING_STATUS"},
		{
			"all resources", `[{"effect": "ALLOW", "actions": "CREATE", "resources": "*"}, {"effect": "DENY", "actions": "CREATE", "resources": ["GROUP", "MEETING", "MESSAGE"]}]`,
			"CREATE_FRIEND_REQUEST CREATE_GROUP_BLOCKED_USER CREATE_GROUP_INVITATION CREATE_GROUP_JOIN_QUESTIONS CREATE_GROUP_JOIN_REQUEST CREATE_GROUP_MEMBERS CREATE_RELATIONSHIP CREATE_RELATIONSHIP_GROUP",
		},
		{"an empty cell", `[{"effect": "ALLOW", "actions": "CREATE", "resources": "USER"}]`, ""},
		{"deny after allow", `[` + all + `, {"effect": "DENY", "actions": "UPDATE", "resources": "MEETING"}]`, without("UPDATE_MEETING", "UPDATE_MEETING_INVITATION")},
		{"deny before allow", `[{"effect": "DENY", "actions": "UPDATE", "resources": "MEETING"}, ` + all + `]`, without("UPDATE_MEETING", "UPDATE_MEETING_INVITATION")},
		{"deny alone", `[{"effect": "DENY", "actions": "QUERY", "resources": "USER_PROFILE"}]`, ""},
		{"deny everything", `[` + all + `, {"effect": "DENY", "actions": "*", "resources": "*"}]`, ""},
		{"empty lists", `[{"effect": "ALLOW", "actions": [], "resources": "*"}, {"effect": "ALLOW", "actions": "*", "resources": []}]`, ""},
		{"more fields", `[{"sid": 1, "effect": "ALLOW", "actions": "QUERY", "resources": "NEARBY_USER"}]`, "QUERY_NEARBY_USERS"},
		{"100 statements", `[` + strings.Repeat(all+",", 99) + all + `]`, without()},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := policyOf(test.statements)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(allowed(p), " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if !p.Allows(wire.KindCreateSession) || !p.Allows(wire.KindDeleteSession) {
				t.Error("a session cannot be opened and closed")
			}
		})
	}
}

func TestBadPolicy(t *testing.T) {
	const all = `{"effect": "ALLOW", "actions": "*", "resources": "*"}`
	for statements, want := range map[string]string{
		`null`:    `there are none`,
		`{}`:      `must be a list, not an object`,
		`"ALLOW"`: `must be a list, not "ALLOW"`,
		`[` + strings.Repeat(all+",", 100) + all + `]`: `must not be more than 100, there are 101`,
		`[1]`:    `read statement 1: must be an object, not 1`,
		`[null]`: `read statement 1: must be an object, not nothing`,
		`[` + all + `, {"actions": "*", "resources": "*"}]`:                                     `read statement 2: effect: must be ALLOW or DENY, not nothing`,
		`[{"effect": "allow", "actions": "*", "resources": "*"}]`:                               `effect: must be ALLOW or DENY, not "allow"`,
		`[{"effect": ["ALLOW"], "actions": "*", "resources": "*"}]`:                             `effect: must be ALLOW or DENY, not a list`,
		`[{"effect": "ALLOW", "resources": "*"}]`:                                               `actions: must be * or of CREATE, DELETE, UPDATE, QUERY, not nothing`,
		`[{"effect": "ALLOW", "actions": "READ", "resources": "*"}]`:                            `actions: must be * or of CREATE, DELETE, UPDATE, QUERY, not "READ"`,
		`[{"effect": "ALLOW", "actions": [["*"]], "resources": "*"}]`:                           `not a list`,
		`[{"effect": "ALLOW", "actions": "*"}]`:                                                 `resources: must be * or of CONVERSATION, `,
		`[{"effect": "ALLOW", "actions": "*", "resources": ["USER", "USERS"]}]`:                 `not "USERS"`,
		`[{"effect": "DENY", "actions": "*", "resources": {"USER": true}}]`:                     `not an object`,
		`[{"effect": "DENY", "actions": "*", "resources": true}]`:                               `not true`,
		`[{"effect": "DENY", "actions": "*", "resources": "` + strings.Repeat("X", 100) + `"}]`: `not "` + strings.Repeat("X", 50) + `"…`,
	} {
		p, err := policyOf(statements)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: got %v, %v, want %s", statements, p, err, want)
		}
	}
}

// policyOf decodes statements like tokens and responses.
func policyOf(statements string) (*Permissions, error) {
	object, err := decodeObject([]byte(`{"statements": ` + statements + `}`))
	if err != nil {
		return nil, err
	}
	return parsePolicy(object["statements"])
}

// FuzzPolicy checks that no policy permits what one of its statements denies, and that everything
// permitted is allowed by one of them.
func FuzzPolicy(f *testing.F) {
	for _, seed := range []string{
		`[]`, `null`, `[{"effect": "ALLOW", "actions": "*", "resources": "*"}]`,
		`[{"effect": "ALLOW", "actions": ["CREATE", "QUERY"], "resources": ["MESSAGE", "GROUP"]}, {"effect": "DENY", "actions": "QUERY", "resources": "MESSAGE"}]`,
		`[{"effect": "DENY", "actions": "UPDATE", "resources": []}]`, `[[[[]]]]`, `[{"effect": 1e999}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, statements string) {
		p, err := policyOf(statements)
		if err != nil {
			if p != nil {
				t.Error("there are permissions besides an error")
			}
			return
		}
		object, err := decodeObject([]byte(`{"statements": ` + statements + `}`))
		if err != nil {
			t.Fatal(err)
		}
		grants, denials := new(Permissions), new(Permissions)
		for _, item := range object["statements"].([]any) {
			s, err := parseStatement(item)
			if err != nil {
				t.Fatal(err)
			}
			into := grants
			if s.deny {
				into, s.deny = denials, false
			}
			s.apply(into)
		}
		for _, k := range kinds() {
			if p.Allows(k) != (grants.Allows(k) && !denials.Allows(k)) {
				t.Errorf("%s is allowed: %v, though granted: %v and denied: %v", k, p.Allows(k), grants.Allows(k), denials.Allows(k))
			}
		}
	})
}

func TestLooselyEqual(t *testing.T) {
	object, err := decodeObject([]byte(`{"true": true, "text": "true", "one": 1, "point": 1.0, "big": 9007199254740993, "null": null, "list": ["true"], "object": {}, "empty": "", "huge": 1e999}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, want string
		equal      bool
	}{
		{"true", "true", true},
		{"true", "false", false},
		{"true", "1", false},
		{"text", "true", true},
		{"text", "True", false},
		{"one", "1", true},
		{"one", "1.0", true},
		{"one", "2", false},
		{"one", "true", false},
		{"point", "1", true},
		{"big", "9007199254740993", true},
		{"big", "9007199254740992", false},
		{"null", "null", false},
		{"null", "", false},
		{"list", "true", false},
		{"object", "{}", false},
		{"empty", "", true},
		{"missing", "", false},
		{"huge", "1e999", true},
		{"huge", "1e998", false},
	} {
		if got := looselyEqual(object[test.name], test.want); got != test.equal {
			t.Errorf("%s is equal to %q: %v", test.name, test.want, got)
		}
	}
}
