// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestPluginTracesOfARequest follows the requests of one user through plugins that change the text, refuse, and leave out
// a recipient, after an administrator switched that on.
func TestPluginTracesOfARequest(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"a.js": pluginScript("a", "'ClientRequestHandler'", `
  transform(r) {
    const message = r.request.createMessageRequest;
    if (!message) return;
    if (message.text === 'spam') throw new AppError(5010, 'not here');
    message.text = message.text.replaceAll('darn', '*');
    return r;
  }`),
		"b.js": pluginScript("b", "'RequestHandlerResultHandler'", `
  beforeNotify(result) { for (const n of result.notifications) n.recipients = n.recipients.filter(id => id !== '7'); return result; }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.abort-on-failure=true",
		"app.service.message.allow-send-messages-to-stranger=true", "app.service.message.check-if-target-active-and-not-deleted=false")
	for _, id := range []string{"5", "6", "7"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	sender := chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	other := chat.Connect(t, s.ClientURLs()[1])
	other.MustLogin(6, chat.WithPassword("secret"))
	say := func(from *chat.Tester, to int64, text string, code int32) {
		t.Helper()
		from.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(to), Text: &text}, code)
	}
	say(sender, 6, "darn", 1000) // Nothing is recorded yet.
	want(t, s, role.Service, "GET", "/plugins/traces", "", 204)
	want(t, s, role.Service, "PUT", "/cluster/settings", `{"plugin":{"traces":{"userIds":[5]}}}`, 200)
	say(sender, 7, "well, darn", 1000)
	say(other, 7, "darn", 1000)
	say(sender, 6, "spam", 5010)
	body := ""
	eventually(t, "the calls are recorded", func() bool {
		_, body = ask(t, s, role.Service, "GET", "/plugins/traces", "")
		return strings.Contains(body, `"function":"beforeNotify"`)
	})
	for _, part := range []string{
		`"changes":[{"path":"request.createMessageRequest.text","before":"text of 10 characters","after":"text of 7 characters"}]`,
		`"outcome":"REFUSED","code":5010,"reason":"not here"`,
		`{"path":"notifications[0].recipients[]","before":"7"}`,
		`"total":3,`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("the traces\n%s\nlack %s", body, part)
		}
	}
	for _, never := range []string{"darn", `"userId":6`} {
		if strings.Contains(body, never) {
			t.Errorf("the traces show %s: %s", never, body)
		}
	}
	want(t, s, role.Service, "PUT", "/cluster/settings", `{"plugin":{"traces":{"userIds":[],"sampleRate":1,"includeText":true}}}`, 200)
	say(other, 7, "oh darn", 1000)
	want(t, s, role.Service, "GET", "/plugins/traces?userIds=6&extensionPoints=ClientRequestHandler&outcomes=CHANGED", "", 200,
		`{"path":"request.createMessageRequest.text","before":"oh darn","after":"oh *"}`)
}
