// SPDX-License-Identifier: Apache-2.0

// Package geo finds the nearest entries to a place on earth. It is an in-memory index over a grid
// of degrees; it persists nothing and does not know what its keys mean.
package geo

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

const (
	// earthRadius is in metres; other servers of this kind use the same value.
	earthRadius = 6372797.560856
	// cellsPerDegree makes cells about 1.1 km high (south to north): small enough for a crowded
	// city, large enough for a search in the countryside.
	cellsPerDegree = 100
	columns        = 360 * cellsPerDegree
)

// MaxLatitude and MaxLongitude are the limits of coordinates from clients, in degrees.
const (
	MaxLatitude  = 85.05112878
	MaxLongitude = 180
)

// Valid reports whether coordinates are within the limits.
func Valid(longitude, latitude float64) bool {
	// Written so that NaN is invalid.
	return math.Abs(longitude) <= MaxLongitude && math.Abs(latitude) <= MaxLatitude
}

// Distance returns the great-circle distance of two places in metres.
func Distance(longitude1, latitude1, longitude2, latitude2 float64) float64 {
	phi1, phi2 := radians(latitude1), radians(latitude2)
	u, v := math.Sin((phi2-phi1)/2), math.Sin(radians(longitude2-longitude1)/2)
	return 2 * earthRadius * math.Asin(math.Sqrt(min(u*u+math.Cos(phi1)*math.Cos(phi2)*v*v, 1)))
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// A Place is an entry with its coordinates.
type Place[K comparable] struct {
	Key                 K
	Longitude, Latitude float64
	// Meters is the distance from the centre of the search.
	Meters float64
}

// A cell is a square of the grid: its row from the south and its column from the west.
type cell struct{ row, column int32 }

func cellOf(longitude, latitude float64) cell {
	return cell{
		row:    int32(math.Floor((latitude + 90) * cellsPerDegree)),
		column: wrap(int32(math.Floor((longitude + 180) * cellsPerDegree))),
	}
}

// wrap maps a column to the valid range; the last one is adjacent to the first.
func wrap(column int32) int32 { return ((column % columns) + columns) % columns }

// An Index maps keys to places. It is safe for concurrent use.
type Index[K comparable] struct {
	compare func(a, b K) int

	mu    sync.RWMutex
	cells map[cell]map[K]Place[K]
	where map[K]cell
}

// NewIndex returns an empty index. compare orders keys at the same distance.
func NewIndex[K comparable](compare func(a, b K) int) *Index[K] {
	return &Index[K]{compare: compare, cells: map[cell]map[K]Place[K]{}, where: map[K]cell{}}
}

// Len returns the number of entries.
func (x *Index[K]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.where)
}

// Set adds a key at a valid place or moves it there.
func (x *Index[K]) Set(key K, longitude, latitude float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	to := cellOf(longitude, latitude)
	if from, ok := x.where[key]; ok && from != to {
		x.leave(from, key)
	}
	if x.cells[to] == nil {
		x.cells[to] = map[K]Place[K]{}
	}
	x.cells[to][key] = Place[K]{Key: key, Longitude: longitude, Latitude: latitude}
	x.where[key] = to
}

// Remove removes a key.
func (x *Index[K]) Remove(key K) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if from, ok := x.where[key]; ok {
		x.leave(from, key)
		delete(x.where, key)
	}
}

func (x *Index[K]) leave(from cell, key K) {
	delete(x.cells[from], key)
	if len(x.cells[from]) == 0 {
		delete(x.cells, from)
	}
}

// Nearby returns at most count entries at a distance of at most meters, the nearest first. accept
// filters them; it is called with the lock of the index held. If count is zero or less, Nearby
// returns nothing.
func (x *Index[K]) Nearby(longitude, latitude, meters float64, count int, accept func(K) bool) []Place[K] {
	if count <= 0 {
		return nil
	}
	s := search[K]{index: x, longitude: longitude, latitude: latitude, meters: meters, count: count, accept: accept}
	x.mu.RLock()
	s.run()
	x.mu.RUnlock()
	s.trim()
	return s.found
}

// A search looks at the cells around a place, ring by ring, until no nearer entry is possible.
type search[K comparable] struct {
	index               *Index[K]
	longitude, latitude float64
	// meters shrinks once enough entries are found.
	meters float64
	count  int
	accept func(K) bool
	found  []Place[K]
}

func (s *search[K]) run() {
	rows := int(math.Ceil(s.meters/metersPerRow)) + 1
	columns := s.reach()
	if occupied := len(s.index.cells); columns < 0 || (2*rows+1)*(2*columns+1) > 2*occupied {
		for _, things := range s.index.cells {
			s.look(things)
		}
		return
	}
	center := cellOf(s.longitude, s.latitude)
	for ring := 0; ring <= max(rows, columns); ring++ {
		if s.nearest(ring, rows, columns) > s.meters {
			return
		}
		at := func(row, column int) {
			s.look(s.index.cells[cell{center.row + int32(row), wrap(center.column + int32(column))}])
		}
		if ring <= rows {
			for column := -min(ring, columns); column <= min(ring, columns); column++ {
				at(ring, column)
				if ring > 0 {
					at(-ring, column)
				}
			}
		}
		if ring > 0 && ring <= columns {
			for row := -min(ring-1, rows); row <= min(ring-1, rows); row++ {
				at(row, ring)
				at(row, -ring)
			}
		}
	}
}

// metersPerRow is the distance between two rows.
const metersPerRow = earthRadius * math.Pi / 180 / cellsPerDegree

// reach returns how many columns on each side may contain entries near enough, or -1 if that is
// half the world.
func (s *search[K]) reach() int {
	sine := math.Sin(min(s.meters/earthRadius, math.Pi/2)) / math.Cos(radians(s.latitude))
	if sine >= 1 {
		return -1
	}
	return int(math.Ceil(math.Asin(sine)*180/math.Pi*cellsPerDegree)) + 1
}

// nearest returns the minimum distance of entries in the ring.
func (s *search[K]) nearest(ring, rows, columns int) float64 {
	if ring <= 1 {
		return 0
	}
	best := math.Inf(1)
	if ring <= rows {
		best = float64(ring-1) * metersPerRow
	}
	if ring <= columns {
		// The distance from a meridian.
		angle := radians(float64(ring-1) / cellsPerDegree)
		best = min(best, earthRadius*math.Asin(math.Cos(radians(s.latitude))*math.Sin(angle)))
	}
	return best
}

func (s *search[K]) look(things map[K]Place[K]) {
	for key, place := range things {
		place.Meters = Distance(s.longitude, s.latitude, place.Longitude, place.Latitude)
		if place.Meters <= s.meters && s.accept(key) {
			s.found = append(s.found, place)
		}
	}
	if len(s.found) > 4*s.count+64 {
		s.trim()
	}
}

// trim keeps the nearest entries and drops the rest.
func (s *search[K]) trim() {
	slices.SortFunc(s.found, func(a, b Place[K]) int {
		return cmp.Or(cmp.Compare(a.Meters, b.Meters), s.index.compare(a.Key, b.Key))
	})
	if len(s.found) >= s.count {
		s.found = s.found[:s.count]
		s.meters = s.found[s.count-1].Meters
	}
}
