// SPDX-License-Identifier: Apache-2.0

package requestlog

import (
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

func TestRates(t *testing.T) {
	all := []config.LoggedCategory{{Category: "ALL", SampleRate: 1}}
	for name, test := range map[string]struct {
		settings config.RequestLogging
		want     map[wire.Kind]float64
	}{
		"nothing": {config.RequestLogging{}, map[wire.Kind]float64{wire.KindCreateMessage: 0}},
		"all":     {config.RequestLogging{IncludedRequestCategories: all}, map[wire.Kind]float64{wire.KindCreateMessage: 1, wire.KindCreateSession: 1}},
		"the first category counts": {
			config.RequestLogging{IncludedRequestCategories: []config.LoggedCategory{{Category: "QUERY", SampleRate: 0.25}, {Category: "ALL", SampleRate: 1}}},
			map[wire.Kind]float64{wire.KindQueryMessages: 0.25, wire.KindCreateMessage: 1},
		},
		"a category is excluded": {
			config.RequestLogging{IncludedRequestCategories: all, ExcludedRequestCategories: []config.RequestCategory{"QUERY"}},
			map[wire.Kind]float64{wire.KindQueryMessages: 0, wire.KindCreateMessage: 1},
		},
		"a kind overrides its category": {
			config.RequestLogging{
				IncludedRequests: []config.LoggedRequest{{Type: "QUERY_MESSAGES", SampleRate: 0.5}}, ExcludedRequestCategories: []config.RequestCategory{"ALL"},
			},
			map[wire.Kind]float64{wire.KindQueryMessages: 0.5, wire.KindCreateMessage: 0},
		},
		"an excluded kind is never logged": {
			config.RequestLogging{
				IncludedRequestCategories: all, IncludedRequests: []config.LoggedRequest{{Type: "QUERY_MESSAGES", SampleRate: 1}},
				ExcludedRequestTypes: []config.RequestType{"QUERY_MESSAGES"},
			},
			map[wire.Kind]float64{wire.KindQueryMessages: 0, wire.KindCreateMessage: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rates := RatesOf(test.settings)
			for kind, want := range test.want {
				if got := rates.kinds[kind]; got != want {
					t.Errorf("the rate of %s is %v, want %v", kind, got, want)
				}
			}
		})
	}
}

// TestNotificationRates checks that the lists of notifications are independent of those of
// requests.
func TestNotificationRates(t *testing.T) {
	rates := GatewayRatesOf(config.GatewayRequestLogging{
		RequestLogging: config.RequestLogging{IncludedRequests: []config.LoggedRequest{{Type: "QUERY_MESSAGES", SampleRate: 1}}},
		NotificationLogging: config.NotificationLogging{
			IncludedNotificationCategories: []config.LoggedCategory{{Category: "MESSAGE", SampleRate: 0.5}},
			IncludedNotifications:          []config.LoggedRequest{{Type: "CREATE_GROUP", SampleRate: 1}},
			ExcludedNotificationCategories: []config.RequestCategory{"UPDATE"},
			ExcludedNotificationTypes:      []config.RequestType{"QUERY_MESSAGES"},
		},
	})
	for kind, want := range map[wire.Kind]float64{
		wire.KindCreateMessage: 0.5, wire.KindCreateGroup: 1, wire.KindUpdateMessage: 0, wire.KindQueryMessages: 0, wire.KindCreateSession: 0,
	} {
		if got := rates.notifications[kind]; got != want {
			t.Errorf("the rate of notifications of %s is %v, want %v", kind, got, want)
		}
	}
	if rates.kinds[wire.KindQueryMessages] != 1 || rates.kinds[wire.KindCreateGroup] != 0 {
		t.Errorf("the rates of requests are %v", rates.kinds)
	}
}

// TestWants samples often enough that a share outside these bounds is not chance: they are more
// than 10 standard deviations away.
func TestWants(t *testing.T) {
	rates := &Rates{kinds: map[wire.Kind]float64{wire.KindCreateMessage: 1, wire.KindQueryMessages: 0.5}}
	l := New(nil, func() *Rates { return rates })
	count := func(k wire.Kind) (n int) {
		for range 10_000 {
			if l.Wants(k) {
				n++
			}
		}
		return n
	}
	if n := count(wire.KindCreateMessage); n != 10_000 {
		t.Errorf("%d of 10000 requests are logged at the rate 1", n)
	}
	if n := count(wire.KindQueryMessages); n < 4_500 || n > 5_500 {
		t.Errorf("%d of 10000 requests are logged at the rate 0.5", n)
	}
	if n := count(wire.KindCreateSession) + count(0); n != 0 {
		t.Errorf("%d requests are logged that are not to be", n)
	}
	if (*Log)(nil).Wants(wire.KindCreateMessage) {
		t.Error("no log wants a request")
	}
}
