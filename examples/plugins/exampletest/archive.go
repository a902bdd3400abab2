// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// MessageArchive checks that messages are deleted only after an archive has accepted them.
func MessageArchive(t *testing.T, file string) {
	archive := NewService(t)
	archive.Status.Store(503)
	s := Start(t, file, "message-archive.url="+archive.URL, "app.service.message.time-type=CLIENT_TIME",
		"app.service.message.message-retention-period-hours=1", "app.service.message.expired-messages-cleanup-cron=* * * * * *")
	sender := LogIn(t, s, 5)
	old := Message(6, "an old story")
	date := time.Now().Add(-2 * time.Hour).UnixMilli()
	old.DeliveryDate = &date
	sender.Request(old)
	sender.Request(Message(6, "news"))
	archive.Find(t, "an old story")
	if _, body := Admin(t, s, "GET", "/messages", ""); !strings.Contains(body, "an old story") {
		t.Errorf("a message is gone that the archive did not take: %s", body)
	}
	archive.Status.Store(200)
	Eventually(t, "the old message is gone", func() bool {
		_, body := Admin(t, s, "GET", "/messages", "")
		return !strings.Contains(body, "an old story") && strings.Contains(body, "news")
	})
	var stored struct{ ID, SenderID, TargetID, Text string }
	if err := json.Unmarshal([]byte(archive.Find(t, "an old story").Body), &stored); err != nil || stored.SenderID != "5" || stored.TargetID != "6" || stored.ID == "" {
		t.Errorf("the archive has %+v, %v", stored, err)
	}
}
