// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
)

func TestLength(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "äöü": 3, "漢字": 2, "😀": 2, "a😀b": 4, "👨‍👩‍👧": 8, "a\xffb": 3} {
		if got := Length(text); got != want {
			t.Errorf("the length of %q is %d, want %d", text, got, want)
		}
	}
}

func TestMaxLength(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int32
		ok    bool
	}{
		{"", 1, true},
		{"12345", 5, true},
		{"123456", 5, false},
		{"ééééé", 5, true},
		{"😀😀", 4, true},
		{"😀😀", 3, false},
		{strings.Repeat("x", 1000), 0, true},
		{strings.Repeat("x", 1000), -1, true},
	} {
		err := MaxLength("name", test.text, test.limit)
		if (err == nil) != test.ok {
			t.Errorf("%q with the limit %d: %v", test.text, test.limit, err)
		}
		if err != nil && (apierr.From(err).Code != apierr.IllegalArgument || !strings.HasPrefix(err.Error(), "name: must have at most")) {
			t.Errorf("error %v", err)
		}
	}
}

func TestNotFuture(t *testing.T) {
	now := time.Date(2024, 1, 2, 3, 4, 5, 6e6, time.UTC)
	later := now.Add(time.Millisecond)
	if NotFuture("d", nil, now) != nil || NotFuture("d", &now, now) != nil || NotFuture("d", new(time.Time), now) != nil {
		t.Error("a date that has come is refused")
	}
	if err := NotFuture("d", &later, now); err == nil || apierr.From(err).Code != apierr.IllegalArgument {
		t.Errorf("a date to come: %v", err)
	}
}

func TestUserID(t *testing.T) {
	if UserID("id", 1) != nil || UserID("id", -1) != nil || UserID("id", 0) == nil {
		t.Error("0 must be refused, and only 0")
	}
}
