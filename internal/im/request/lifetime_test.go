// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"
	"time"

	"example.org/app/internal/store"
)

var noon = time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)

func TestLifetime(t *testing.T) {
	for _, forever := range []Lifetime{0, -1} {
		if forever.End(noon) != nil || forever.ExpiredBefore(noon) != nil || forever.Status(store.RequestPending, noon, noon.AddDate(9, 0, 0)) != store.RequestPending {
			t.Errorf("requests expire although they live %d", forever)
		}
	}
	l := Seconds(60)
	if end := l.End(noon); !end.Equal(noon.Add(time.Minute)) {
		t.Errorf("a request of noon ends at %v", end)
	}
	if before := l.ExpiredBefore(noon); !before.Equal(noon.Add(-time.Minute)) {
		t.Errorf("at noon requests before %v have expired", before)
	}
	for age, want := range map[time.Duration]store.RequestStatus{
		0: store.RequestPending, time.Minute: store.RequestPending, time.Minute + time.Millisecond: store.RequestExpired,
	} {
		if got := l.Status(store.RequestPending, noon, noon.Add(age)); got != want {
			t.Errorf("after %v a request is %v", age, got)
		}
		if got := l.Status(store.RequestDeclined, noon, noon.Add(age)); got != store.RequestDeclined {
			t.Errorf("after %v an answered request is %v", age, got)
		}
	}
}

func TestCreation(t *testing.T) {
	at := func(minutes int) *time.Time { return new(noon.Add(time.Duration(minutes) * time.Minute)) }
	between := func(start, end *time.Time) store.DateRange { return store.DateRange{Start: start, End: end} }
	same := func(a, b *time.Time) bool { return a == nil && b == nil || a != nil && b != nil && a.Equal(*b) }
	for name, c := range map[string]struct {
		lifetime             Lifetime
		creation, expiration store.DateRange
		want                 store.DateRange
		refused              bool
	}{
		"for ever":             {0, between(at(1), at(2)), between(at(8), at(9)), between(at(1), at(2)), false},
		"creation alone":       {Seconds(60), between(at(1), at(1)), between(nil, nil), between(at(1), at(1)), false},
		"expiration alone":     {Seconds(60), between(nil, nil), between(at(1), at(3)), between(at(0), at(2)), false},
		"the narrower of both": {Seconds(60), between(at(1), at(9)), between(at(1), at(3)), between(at(1), at(2)), false},
		"open ends":            {Seconds(60), between(nil, at(9)), between(at(3), nil), between(at(2), at(9)), false},
		"nothing in common":    {Seconds(60), between(at(5), nil), between(nil, at(6)), store.DateRange{}, true},
	} {
		got, err := c.lifetime.Creation(c.creation, c.expiration)
		if (err != nil) != c.refused || !c.refused && (!same(got.Start, c.want.Start) || !same(got.End, c.want.End)) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestResponseDate(t *testing.T) {
	given := noon.Add(-time.Hour)
	for _, status := range []store.RequestStatus{store.RequestPending, store.RequestCanceled, store.RequestExpired} {
		if got := ResponseDate(status, &given, noon); got != nil {
			t.Errorf("%v has the response date %v", status, got)
		}
	}
	for _, status := range []store.RequestStatus{store.RequestAccepted, store.RequestDeclined, store.RequestIgnored} {
		if got := ResponseDate(status, &given, noon); !got.Equal(given) {
			t.Errorf("%v has the response date %v", status, got)
		}
		if got := ResponseDate(status, nil, noon); !got.Equal(noon) {
			t.Errorf("%v without a date has %v", status, got)
		}
	}
}
