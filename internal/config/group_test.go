// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestGroupProperties pins name, type, default and flags of the properties of
// groups. M is mutable, G global.
func TestGroupProperties(t *testing.T) {
	want := []string{
		"activate-group-when-created boolean true MG",
		"allow-group-owner-change-group-type boolean false MG",
		"delete-group-logically-by-default boolean true MG",
		"info.user-defined-attributes.allowed-attributes list of object [] MG",
		"info.user-defined-attributes.ignore-unknown-attributes-on-upsert boolean false MG",
		"invitation.max-content-length int 200 MG",
		"invitation.max-response-reason-length int 200 MG",
		"invitation.allow-recall-pending-invitation-by-owner-and-manager boolean false MG",
		"invitation.allow-recall-pending-invitation-by-sender boolean false MG",
		"invitation.expire-after-seconds int 2592000 MG",
		"invitation.delete-expired-invitations-when-cron-triggered boolean false MG",
		"invitation.expired-invitations-cleanup-cron string 0 15 2 * * * ",
		"join-request.max-content-length int 200 MG",
		"join-request.max-response-reason-length int 200 MG",
		"join-request.allow-recall-pending-join-request-by-sender boolean false MG",
		"join-request.expire-after-seconds int 2592000 MG",
		"join-request.delete-expired-join-requests-when-cron-triggered boolean false MG",
		"join-request.expired-join-requests-cleanup-cron string 0 30 2 * * * ",
		"question.question-content-limit int 200 MG",
		"question.answer-content-limit int 50 MG",
		"question.max-answer-count int 10 MG",
	}
	var got []string
	for _, p := range Properties() {
		name, ok := strings.CutPrefix(p.Name, "app.service.group.")
		if !ok || strings.Contains(name, "[?]") {
			continue
		}
		flags := ""
		if p.Mutable {
			flags += "M"
		}
		if p.Global {
			flags += "G"
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", name, p.Type, p.Default, flags))
	}
	if !slices.Equal(got, want) {
		t.Errorf("properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	c := Default()
	c.Service.Group.Invitation.ExpireAfterSeconds = -1
	wantError(t, c.Validate(), `app.service.group.invitation.expire-after-seconds = "-1": must be at least 0`)
}
