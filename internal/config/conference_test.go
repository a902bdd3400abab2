// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// TestConferenceProperties pins the properties of meetings: their names, their defaults, and that
// all of them but the time of the clean-up may change while the server runs.
func TestConferenceProperties(t *testing.T) {
	want := strings.Fields(`
		id.type=DIGIT_9
		name.minLength=0
		name.maxLength=20
		intro.minLength=0
		intro.maxLength=200
		password.policy=PROHIBITED
		password.type=NUMERIC
		password.minLength=6
		password.maxLength=6
		quota.maxActiveMeetingCountPerUser=1
		scheduling.maxAllowedStartDateOffsetSeconds=0
		scheduling.allowCancel=true
		scheduling.expireAfterSeconds=86400
		retentionPeriodHours=720`)
	var got []string
	for _, p := range Properties() {
		path, ok := strings.CutPrefix(p.JSONPath, "service.conference.meeting.")
		if !ok || path == "expiredMeetingsCleanupCron" {
			continue
		}
		if !p.Mutable || !p.Global {
			t.Errorf("%s cannot be changed in the whole cluster while the server runs", p.JSONPath)
		}
		got = append(got, path+"="+p.Default)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestConferenceLengths refuses limits between which there is nothing.
func TestConferenceLengths(t *testing.T) {
	for name, v := range map[string]interface{ Validate() error }{
		"name":     MeetingName{MinLength: 21, MaxLength: 20},
		"intro":    MeetingIntro{MinLength: 201, MaxLength: 200},
		"password": MeetingPassword{MinLength: 7, MaxLength: 6},
	} {
		if err := v.Validate(); err == nil {
			t.Errorf("%s: %+v is valid", name, v)
		}
	}
	for name, v := range map[string]interface{ Validate() error }{
		"name without limit": MeetingName{MinLength: 21},
		"one length":         MeetingPassword{MinLength: 6, MaxLength: 6},
	} {
		if err := v.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
