// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// dangerous are operations that stop the server or take minutes.
var dangerous = map[string]bool{"PUT /shutdown": true}

// values are the parts of malformed input.
var values = []string{
	"", " ", "0", "-1", "1", "9223372036854775807", "9223372036854775808", "1e400", "NaN", "true", "null", "undefined", "[]", "{}", `""`,
	"1,2,3", ",", ",,,", "1,", "a", "é👋", "\x00", "\xff", "../../etc/passwd", "' OR 1=1 --", "%", "%%", "2024-13-45", "2024-03-28T11:43:23Z",
	"2024-03-28T11:43:23.291+99:99", strings.Repeat("9", 400), strings.Repeat("x", 5000), strings.Repeat("1,", 3000),
}

var shapes = []string{"%s", "%s[]", "%s[0]", "%s[0].ownerId", "%s[-1]", "%s[99999999999]", "%s.x", "%s[", "%s]", "%s[0][0]", "[%s]"}

// TestNonsense sends malformed queries and bodies. Each response must have an envelope with a code
// and a reason; none may be an internal error.
func TestNonsense(t *testing.T) {
	s := start(t)
	n := 1500
	if long() {
		n = 20_000
	}
	// The seed is fixed, so that failures are reproducible.
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	query := func(op operation) string {
		q := url.Values{}
		raw := ""
		for range r.IntN(5) {
			name := "a"
			if len(op.parameters) > 0 && r.IntN(5) > 0 {
				name = pick(op.parameters)
			}
			name = fmt.Sprintf(pick(shapes), name)
			if r.IntN(20) == 0 {
				raw += "&" + name + "=" + pick([]string{"%", "%z", "%zz", ";", "&", "=", "#"})
				continue
			}
			q.Add(name, pick(values))
		}
		raw = strings.ReplaceAll(q.Encode()+raw, "#", "%23")
		return strings.ReplaceAll(raw, " ", "+")
	}
	var document func(depth int) any
	document = func(depth int) any {
		switch r.IntN(8) {
		case 0:
			return nil
		case 1:
			return r.Float64() * 1e20
		case 2:
			return r.Int64() - r.Int64()
		case 3:
			return r.IntN(2) == 0
		case 4:
			return strings.ToValidUTF8(pick(values), "?")
		}
		if depth > 4 {
			return nil
		}
		if r.IntN(3) == 0 {
			list := make([]any, r.IntN(4))
			for i := range list {
				list[i] = document(depth + 1)
			}
			return list
		}
		object := map[string]any{}
		for range r.IntN(6) {
			object[pick([]string{"id", "ids", "name", "loginName", "password", "roleIds", "permissions", "rank", "ownerId", "key", "isActive", "registrationDate", "userIds", "x"})] = document(depth + 1)
		}
		return object
	}
	body := func() string {
		text, err := json.Marshal(document(0))
		if err != nil {
			t.Fatal(err)
		}
		switch b := string(text); r.IntN(8) {
		case 0:
			return b[:r.IntN(len(b)+1)]
		case 1:
			return b + pick(values)
		case 2:
			return strings.Repeat("[", 1+r.IntN(100_000))
		case 3:
			return strings.Repeat(`{"a":`, 1+r.IntN(20_000)) + "1"
		default:
			return b
		}
	}
	statuses := map[int]int{}
	for i := range n {
		op := s.operations[r.IntN(len(s.operations))]
		if dangerous[op.method+" "+op.path] || strings.HasPrefix(op.path, "/openapi/ui") || op.path == "/cluster/settings" || op.path == "/logs/tail" {
			continue
		}
		path, text := op.path+"?"+query(op), ""
		if op.hasBody {
			text = body()
		}
		a, err := s.try(op.role, op.method, path, root, text)
		if err != nil {
			t.Fatalf("request %d: %s %.300q with %.300q: %v", i, op.method, path, text, err)
		}
		statuses[a.status]++
		if a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("request %d: %s %.300q: the headers are %v", i, op.method, path, a.header)
		}
		// A node may lack a part, such as flight recordings of the JVM: 501 is allowed.
		if a.status >= 500 && a.status != http.StatusNotImplemented {
			t.Errorf("request %d: %s %.300q with %.300q: %d %.300s", i, op.method, path, text, a.status, a.body)
		}
		if a.status >= 400 && op.method != http.MethodHead {
			var envelope struct {
				Code   *int
				Reason string
			}
			if err := json.Unmarshal([]byte(a.body), &envelope); err != nil || envelope.Code == nil || envelope.Reason == "" || a.header.Get("X-Request-Id") == "" {
				t.Errorf("request %d: %s %.300q with %.300q: %d without an envelope: %.300s", i, op.method, path, text, a.status, a.body)
			}
		}
	}
	s.healthy()
	var list []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		list = append(list, fmt.Sprintf("%d × %d", statuses[status], status))
	}
	t.Logf("nonsense: %d requests: %s", n, strings.Join(list, ", "))
}
