// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestChart draws charts that are well-formed and show every point within the image.
func TestChart(t *testing.T) {
	for _, points := range [][]point{{{10, 1}, {1000, 3}, {100_000, 2}}, {{0, 0}, {20, 12_345}}, {{1, 7}}} {
		c := chart{title: "A title", x: "things", y: "figures/s", curves: []curve{{"SQLite", points}, {"PostgreSQL", points}}}
		var dots []string
		for d := xml.NewDecoder(strings.NewReader(c.svg())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				dots = append(dots, e.Attr[0].Value+" "+e.Attr[1].Value)
			}
		}
		if len(dots) != 2*len(points) {
			t.Errorf("%v: %d points are shown", points, len(dots))
		}
		for _, dot := range dots {
			if strings.Contains(dot, "-") || strings.Contains(dot, "NaN") || strings.Contains(dot, "Inf") {
				t.Errorf("%v: a point is at %s", points, dot)
			}
		}
	}
}

func TestNiceStep(t *testing.T) {
	for top, want := range map[float64]float64{0: 1, 1: 0.2, 4: 1, 12_345: 5000, 60_000: 10_000, 61_000: 20_000} {
		if got := niceStep(top); got != want {
			t.Errorf("%v: %v, want %v", top, got, want)
		}
	}
}
