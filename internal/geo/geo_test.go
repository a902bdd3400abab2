// SPDX-License-Identifier: Apache-2.0

package geo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func all(int) bool { return true }

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		name                                               string
		longitude1, latitude1, longitude2, latitude2, want float64
	}{
		{"nowhere", 13.4, 52.5, 13.4, 52.5, 0},
		{"Palermo to Catania", 13.361389, 38.115556, 15.087269, 37.502669, 166274.15},
		{"over the date line", 179.9, 0, -179.9, 0, earthRadius * math.Pi / 180 * 0.2},
		{"to the other side", 0, 0, 180, 0, earthRadius * math.Pi},
	} {
		got := Distance(test.longitude1, test.latitude1, test.longitude2, test.latitude2)
		if math.Abs(got-test.want) > 0.5 {
			t.Errorf("%s: %f m, want %f", test.name, got, test.want)
		}
	}
}

func TestValid(t *testing.T) {
	for _, test := range []struct {
		longitude, latitude float64
		want                bool
	}{
		{180, 85.05, true},
		{-180, -85.05, true},
		{180.1, 0, false},
		{0, 85.06, false},
		{math.NaN(), 0, false},
		{0, math.NaN(), false},
		{math.Inf(1), 0, false},
	} {
		if Valid(test.longitude, test.latitude) != test.want {
			t.Errorf("%f %f", test.longitude, test.latitude)
		}
	}
}

// TestNearby compares the index with a search through all entries.
func TestNearby(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name                        string
		longitude, latitude, spread float64
		count                       int
	}{
		{"city", 13.4, 52.5, 0.1, 2000},
		{"country", -100, 40, 5, 2000},
		{"date line", 180, 10, 0.2, 2000},
		{"north", 25, 84.9, 0.1, 2000},
		{"south", 25, -85, 0.05, 500},
		{"world", 0, 0, 85, 5000},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := NewIndex(cmp.Compare[int])
			var places []Place[int]
			for i := range test.count {
				longitude := test.longitude + (random.Float64()*2-1)*test.spread*2
				if longitude > 180 {
					longitude -= 360
				}
				latitude := max(min(test.latitude+(random.Float64()*2-1)*test.spread, MaxLatitude), -MaxLatitude)
				x.Set(i, 0, 0)
				x.Set(i, longitude, latitude)
				places = append(places, Place[int]{Key: i, Longitude: longitude, Latitude: latitude})
			}
			for range 200 {
				from := places[random.IntN(len(places))]
				meters := []float64{1, 500, 10_000, 100_000, 3_000_000, 30_000_000}[random.IntN(6)]
				count := []int{1, 20, 100, 10_000}[random.IntN(4)]
				accept := func(key int) bool { return key != from.Key && key%3 != 0 }
				var want []Place[int]
				for _, p := range places {
					p.Meters = Distance(from.Longitude, from.Latitude, p.Longitude, p.Latitude)
					if p.Meters <= meters && accept(p.Key) {
						want = append(want, p)
					}
				}
				slices.SortFunc(want, func(a, b Place[int]) int {
					return cmp.Or(cmp.Compare(a.Meters, b.Meters), cmp.Compare(a.Key, b.Key))
				})
				want = want[:min(len(want), count)]
				got := x.Nearby(from.Longitude, from.Latitude, meters, count, accept)
				if !slices.Equal(got, want) {
					t.Fatalf("%d within %f m of %+v: %d found, %d expected", count, meters, from, len(got), len(want))
				}
			}
		})
	}
}

func TestRemove(t *testing.T) {
	x := NewIndex(cmp.Compare[int])
	x.Set(1, 1, 1)
	x.Set(2, 1, 1)
	x.Set(1, 50, 50)
	x.Remove(1)
	x.Remove(1)
	x.Remove(3)
	if x.Len() != 1 || len(x.cells) != 1 || len(x.Nearby(50, 50, 10, 10, all)) != 0 {
		t.Errorf("%+v", x.cells)
	}
	if found := x.Nearby(1, 1, 10, 10, all); len(found) != 1 || found[0].Key != 2 {
		t.Errorf("found %v", found)
	}
	if x.Nearby(1, 1, 10, 0, all) != nil {
		t.Error("found entries with a count of zero or less")
	}
	x.Remove(2)
	if x.Len() != 0 || len(x.cells) != 0 {
		t.Errorf("%+v", x.cells)
	}
}

func BenchmarkNearby(b *testing.B) {
	for _, test := range []struct {
		name   string
		spread float64
	}{{"city", 0.2}, {"country", 5}, {"world", 80}} {
		b.Run(fmt.Sprint(test.name, "/100000"), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			x := NewIndex(cmp.Compare[int])
			for i := range 100_000 {
				x.Set(i, (random.Float64()*2-1)*test.spread*2, (random.Float64()*2-1)*test.spread)
			}
			b.ReportAllocs()
			for b.Loop() {
				x.Nearby((random.Float64()*2-1)*test.spread, 0, 10_000, 20, all)
			}
		})
	}
}
