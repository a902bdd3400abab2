// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

type inner struct {
	ID   int64  `json:"id"`
	Text string `json:"text,omitempty"`
}

type sample struct {
	Number  int64             `json:"number"`
	Reason  string            `json:"reason,omitempty" trace:"plain"`
	Text    *string           `json:"text,omitempty"`
	When    *time.Time        `json:"when,omitempty"`
	Secret  string            `json:"accessToken,omitempty"`
	Data    []byte            `json:"data,omitempty"`
	Users   []int64           `json:"users,omitempty"`
	Status  wire.UserStatus   `json:"status,omitempty"`
	Map     map[string]string `json:"map,omitempty"`
	Keyed   []inner           `json:"keyed,omitempty"`
	Any     map[string]any    `json:"any,omitempty"`
	Request *wire.AppRequest  `json:"request,omitempty"`
	List    []Holder          `json:"list,omitempty"`
	hidden  int
}

// Holder is an element without an id.
type Holder struct {
	Users []int64 `json:"users"`
}

func message(text string, records ...[]byte) *wire.AppRequest {
	return &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: &text, Records: records}}}
}

// lines are changes as text.
func lines(changes []Change) (out []string) {
	for _, c := range changes {
		show := func(s *string) string {
			if s == nil {
				return "-"
			}
			return *s
		}
		out = append(out, c.Path+": "+show(c.Before)+" > "+show(c.After))
	}
	return out
}

func TestCompare(t *testing.T) {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name          string
		before, after any
		rules         rules
		want          []string
	}{
		{"equal", &sample{Number: 1, Users: []int64{}}, &sample{Number: 1, hidden: 2}, rules{}, nil},
		{"scalars", &sample{Number: 1, Status: 1}, &sample{Number: 2, When: &day}, rules{}, []string{
			"number: 1 > 2", "status: " + wire.UserStatus(1).String() + " > -", "when: - > 2026-01-02T03:04:05Z",
		}},
		{"text is masked", &sample{Text: proto.String("hé"), Data: []byte{1}}, &sample{Text: proto.String("ha"), Data: []byte{1, 2}}, rules{}, []string{
			"text: text of 2 characters > text of 2 characters", "data: 1 bytes > 2 bytes",
		}},
		{"text is shown", &sample{Text: proto.String("hé"), Data: []byte{1}, Secret: "a"}, &sample{Text: proto.String("ha"), Data: []byte{1, 2}, Secret: "b"}, rules{text: true}, []string{
			"text: hé > ha", "accessToken: *** > ***", "data: AQ== > AQI=",
		}},
		{"plain", &sample{}, &sample{Reason: "why"}, rules{}, []string{"reason: - > why"}},
		{"all is secret", nil, map[string]string{"url": "https://x/y?sig=1"}, rules{text: true, secret: true}, []string{"url: - > ***"}},
		{"recipients", &sample{Users: []int64{1, 2, 3, 3}}, &sample{Users: []int64{3, 1, 4}}, rules{}, []string{"users[]: 2 > -", "users[]: 3 > -", "users[]: - > 4"}},
		{"no recipients", &sample{Users: []int64{1}}, &sample{}, rules{}, []string{"users[]: 1 > -"}},
		{"order", &sample{Users: []int64{1, 2}}, &sample{Users: []int64{2, 1}}, rules{}, []string{"users: [1, 2] > [2, 1]"}},
		{"maps", &sample{Map: map[string]string{"a": "x", "password": "x"}}, &sample{Map: map[string]string{"b": "yy", "password": "y"}}, rules{text: true}, []string{
			"map.a: x > -", "map.password: *** > ***", "map.b: - > yy",
		}},
		{"ids", &sample{Keyed: []inner{{1, "a"}, {2, "b"}, {3, "c"}}}, &sample{Keyed: []inner{{3, "c"}, {2, "bb"}, {4, ""}}}, rules{}, []string{
			"keyed[id=1]: {id: 1, text: text of 1 characters} > -", "keyed[id=2].text: text of 1 characters > text of 2 characters", "keyed[id=4]: - > {id: 4}",
		}},
		{"positions", &sample{List: []Holder{{[]int64{1}}, {[]int64{2, 3}}, {[]int64{4}}}}, &sample{List: []Holder{{[]int64{1}}, {[]int64{3}}, {[]int64{4}}}}, rules{}, []string{"list[1].users[]: 2 > -"}},
		{"one less", &sample{List: []Holder{{[]int64{1}}, {[]int64{2}}, {[]int64{4}}}}, &sample{List: []Holder{{[]int64{1}}, {[]int64{4}}}}, rules{}, []string{"list[1]: {users: [2]} > -"}},
		{"what changes its type", &sample{Any: map[string]any{"x": 1, "y": map[string]any{"z": true}}}, &sample{Any: map[string]any{"x": []any{1}, "y": "no"}}, rules{}, []string{
			"any.x: 1 > [1]", "any.y: {z: true} > text of 2 characters",
		}},
		{"protocol", &sample{Request: message("darn")}, &sample{Request: message("****", []byte{1})}, rules{}, []string{
			"request.createMessageRequest.text: text of 4 characters > text of 4 characters", "request.createMessageRequest.records[]: - > 1 bytes",
		}},
		{"password of the protocol", &sample{}, &sample{Request: &wire.AppRequest{Kind: &wire.AppRequest_UpdateUserRequest{UpdateUserRequest: &wire.UpdateUserRequest{Password: proto.String("x")}}}}, rules{text: true}, []string{
			"request.updateUserRequest.password: - > ***",
		}},
		{"answers of storages", nil, &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_StringsWithVersion{StringsWithVersion: &wire.StringsWithVersion{Strings: []string{"url", "https://x/?sig=1"}}}}, rules{text: true}, []string{
			"stringsWithVersion.strings[]: - > ***", "stringsWithVersion.strings[]: - > ***",
		}},
		{"a decision", nil, true, rules{}, []string{": - > true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, more := test.rules.compare(test.before, test.after)
			if !slices.Equal(lines(got), test.want) || more != 0 {
				t.Errorf("the changes are\n%s\nand %d, want\n%s", strings.Join(lines(got), "\n"), more, strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestCompareIsBounded(t *testing.T) {
	many := &sample{Text: proto.String(strings.Repeat("ö", 1000)), Map: map[string]string{strings.Repeat("k", 1000): "v"}}
	for i := range int64(1000) {
		many.Users = append(many.Users, i)
	}
	got, more := rules{text: true}.compare(&sample{}, many)
	if len(got) != maxChanges || more != 1002-maxChanges {
		t.Errorf("there are %d changes and %d more", len(got), more)
	}
	if n := len(*got[0].After); n > maxShown+4 {
		t.Errorf("a text of %d bytes is shown", n)
	}
	deep := map[string]any{}
	for range 1000 {
		deep = map[string]any{"x": deep, "n": 1}
	}
	if got, _ := (rules{}).compare(nil, deep); len(got) > maxDepth+1 || len(got[len(got)-1].Path) > maxShown {
		t.Errorf("%d changes of a value that is deep", len(got))
	}
}

func FuzzClip(f *testing.F) {
	f.Add("päth", 2)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, min(limit, 1000))
		if got := clip(s, limit); len(got) > limit+len("…") || strings.HasPrefix(s, got) && got != s {
			t.Error(strconv.Quote(got))
		}
	})
}
