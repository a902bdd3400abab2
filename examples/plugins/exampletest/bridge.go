// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// WebhookBridge checks that a webhook receives every event in order, also after an outage.
func WebhookBridge(t *testing.T, file string) {
	webhook := NewService(t)
	s := Start(t, file, "webhook-bridge.url="+webhook.URL+"/events", "webhook-bridge.secret=shared", "webhook-bridge.types[0]=USER_CREATED", "webhook-bridge.types[1]=USER_UPDATED")
	Eventually(t, "the plugin gets events", func() bool {
		_, body := Admin(t, s, "GET", "/plugins", "")
		return strings.Contains(body, `"delivery":{"nodeId":`)
	})
	webhook.Status.Store(503)
	var want []string
	for id := range 5 {
		if status, body := Admin(t, s, "POST", "/users", fmt.Sprintf(`{"id":%d,"name":"new","password":"secret"}`, 100+id)); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		if status, body := Admin(t, s, "PUT", fmt.Sprintf("/users?ids=%d", 100+id), `{"name":"renamed"}`); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		want = append(want, fmt.Sprintf("USER_CREATED %d", 100+id), fmt.Sprintf("USER_UPDATED %d", 100+id))
	}
	refused := webhook.Find(t, `"userId":"100"`)
	if refused.Method != "POST" || refused.Path != "/events" {
		t.Errorf("the webhook got %+v", refused)
	}
	mac := hmac.New(sha256.New, []byte("shared"))
	mac.Write([]byte(refused.Body))
	if got := refused.Header.Get("X-Signature"); got != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("the signature is %q", got)
	}
	before := len(webhook.Visits())
	webhook.Status.Store(200)
	var got []string
	Eventually(t, "all events", func() bool {
		got = nil
		known := map[string]bool{}
		for _, v := range webhook.Visits()[before:] {
			var events []struct{ ID, Type, UserID string }
			if err := json.Unmarshal([]byte(v.Body), &events); err != nil {
				t.Fatalf("%v: %s", err, v.Body)
			}
			for _, e := range events {
				if !known[e.ID] && len(e.UserID) == 3 {
					known[e.ID] = true
					got = append(got, e.Type+" "+e.UserID)
				}
			}
		}
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("the webhook got %q, want %q", got, want)
	}
}
