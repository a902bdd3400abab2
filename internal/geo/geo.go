// SPDX-License-Identifier: Apache-2.0

// Package geo finds what is near a place on earth. It is an index in memory over a grid of degrees; it knows nothing of
// who or what is there and keeps nothing.
package geo

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

const (
	// earthRadius is in metres, the one that other servers of this kind reckon with.
	earthRadius = 6372797.560856
	// cellsPerDegree makes cells of about 1.1 km from south to north: small enough for a crowded city, large enough
	// for a search in the countryside.
	cellsPerDegree = 100
	columns        = 360 * cellsPerDegree
)

// MaxLatitude and MaxLongitude bound the places that clients may give, in degrees.
const (
	MaxLatitude  = 85.05112878
	MaxLongitude = 180
)

// Valid reports whether a place is within the bounds.
func Valid(longitude, latitude float64) bool {
	// Written so that what is not a number is not valid.
	return math.Abs(longitude) <= MaxLongitude && math.Abs(latitude) <= MaxLatitude
}

// Distance returns the metres between two places along the surface.
func Distance(longitude1, latitude1, longitude2, latitude2 float64) float64 {
	phi1, phi2 := radians(latitude1), radians(latitude2)
	u, v := math.Sin((phi2-phi1)/2), math.Sin(radians(longitude2-longitude1)/2)
	return 2 * earthRadius * math.Asin(math.Sqrt(min(u*u+math.Cos(phi1)*math.Cos(phi2)*v*v, 1)))
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// A Place is where something is.
type Place[K comparable] struct {
	Key                 K
	Longitude, Latitude float64
	// Meters is the distance from where was searched.
	Meters float64
}

// A cell is a square of the grid, by row from the south and column from the west.
type cell struct{ row, column int32 }

func cellOf(longitude, latitude float64) cell {
	return cell{
		row:    int32(math.Floor((latitude + 90) * cellsPerDegree)),
		column: wrap(int32(math.Floor((longitude + 180) * cellsPerDegree))),
	}
}

// wrap brings a column into the range; the last one is the neighbour of the first.
func wrap(column int32) int32 { return ((column % columns) + columns) % columns }

// An Index knows where things are. It is safe for concurrent use.
type Index[K comparable] struct {
	compare func(a, b K) int

	mu    sync.RWMutex
	cells map[cell]map[K]Place[K]
	where map[K]cell
}

// NewIndex returns an empty index. compare orders what is at the same distance.
func NewIndex[K comparable](compare func(a, b K) int) *Index[K] {
	return &Index[K]{compare: compare, cells: map[cell]map[K]Place[K]{}, where: map[K]cell{}}
}

// Len returns how many things are in the index.
func (x *Index[K]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.where)
}

// Set puts something to a valid place, wherever it was.
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

// Remove takes something out.
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

// Nearby returns at most count things that are at most meters away, the nearest first. accept may refuse some; it is
// called with the lock of the index held. A count of zero or less finds nothing.
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

// A search looks at the cells around a place, ring by ring, until no nearer thing can come.
type search[K comparable] struct {
	index               *Index[K]
	longitude, latitude float64
	// meters shrinks when enough was found.
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

// metersPerRow is how far two rows are apart.
const metersPerRow = earthRadius * math.Pi / 180 / cellsPerDegree

// reach returns how many columns to each side may hold something near enough, or -1 if that is half the world.
func (s *search[K]) reach() int {
	sine := math.Sin(min(s.meters/earthRadius, math.Pi/2)) / math.Cos(radians(s.latitude))
	if sine >= 1 {
		return -1
	}
	return int(math.Ceil(math.Asin(sine)*180/math.Pi*cellsPerDegree)) + 1
}

// nearest returns how near something in the ring can be at best.
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

// trim keeps the nearest ones; nothing beyond them is of interest any more.
func (s *search[K]) trim() {
	slices.SortFunc(s.found, func(a, b Place[K]) int {
		return cmp.Or(cmp.Compare(a.Meters, b.Meters), s.index.compare(a.Key, b.Key))
	})
	if len(s.found) >= s.count {
		s.found = s.found[:s.count]
		s.meters = s.found[s.count-1].Meters
	}
}
