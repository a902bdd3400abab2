// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"testing"
)

// TestStrategies tries every device type against every other one. A row lists the types that
// conflict with the one that logs in; x means that it may not log in.
func TestStrategies(t *testing.T) {
	for strategy, rows := range map[Strategy][]string{
		//                                    Desktop Browser IOS Android Others Unknown
		OneOfEach:                           {"D", "B", "I", "A", "O", "U"},
		OneOfAll:                            {"DBIAOU", "DBIAOU", "DBIAOU", "DBIAOU", "DBIAOU", "DBIAOU"},
		OneDesktopAndOneMobile:              {"D", "x", "IA", "IA", "O", "U"},
		OneDesktopOrBrowserAndOneMobile:     {"DB", "DB", "IA", "IA", "O", "U"},
		OneDesktopAndOneBrowserAndOneMobile: {"D", "B", "IA", "IA", "O", "U"},
		OneDesktopOrMobile:                  {"DIA", "x", "DIA", "DIA", "O", "U"},
		OneDesktopOrBrowserOrMobile:         {"DBIA", "DBIA", "DBIA", "DBIA", "O", "U"},
	} {
		r := Rules{Strategy: strategy, AllowOthers: true, AllowUnknown: true}
		for _, d := range Devices {
			got := ""
			for _, c := range r.Conflicts(d) {
				got += string("DBIAOU"[c])
			}
			if r.Forbidden(d) {
				got = "x"
			}
			if got != rows[d] {
				t.Errorf("%s: %c conflicts with %q, want %q", strategy, "DBIAOU"[d], got, rows[d])
			}
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, d := range Devices {
		none := Rules{Strategy: OneOfEach}
		if got, want := none.Forbidden(d), d == Others || d == Unknown; got != want {
			t.Errorf("device %d: forbidden is %v", d, got)
		}
	}
	if (Rules{AllowOthers: true}).Forbidden(Others) || (Rules{AllowUnknown: true}).Forbidden(Unknown) {
		t.Error("an allowed kind is forbidden")
	}
	if !slices.Equal((Rules{Strategy: "unheard of"}).Conflicts(IOS), []Device{IOS}) {
		t.Error("a kind must conflict with itself")
	}
}
