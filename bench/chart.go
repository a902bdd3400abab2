// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// A chart shows how a figure depends on a quantity.
type chart struct {
	// file is the name of the image, without suffix.
	file, title string
	x, y        string
	curves      []curve
}

// A curve is the measurements of one engine.
type curve struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

const (
	chartWidth, chartHeight   = 560, 300
	chartLeft, chartRight     = 70, 20
	chartTop, chartBottom     = 50, 50
	chartInnerW, chartInnerH  = chartWidth - chartLeft - chartRight, chartHeight - chartTop - chartBottom
	chartColours, chartDashes = "#1864ab #c92a2a", "none 6,3"
)

// write draws the chart into a file of a folder.
func (c chart) write(folder string) error {
	return os.WriteFile(filepath.Join(folder, c.file+".svg"), []byte(c.svg()), 0o644)
}

// svg draws the chart. The x axis is logarithmic, unless it starts at 0; the y axis is linear.
func (c chart) svg() string {
	low, high, top := math.Inf(1), 0.0, 0.0
	marks := map[float64]bool{}
	for _, curve := range c.curves {
		for _, p := range curve.points {
			low, high, top = min(low, p.x), max(high, p.x), max(top, p.y)
			marks[p.x] = true
		}
	}
	step := niceStep(top)
	top = math.Ceil(top/step) * step
	scale := func(x float64) float64 { return x }
	if low > 0 {
		scale = math.Log
	}
	atX := func(x float64) float64 {
		return chartLeft + chartInnerW*(scale(x)-scale(low))/max(scale(high)-scale(low), 1e-9)
	}
	atY := func(y float64) float64 { return chartTop + chartInnerH*(1-y/top) }

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" font-family="sans-serif" font-size="12">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<title>%s</title><rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="20" font-size="14" font-weight="bold">%[1]s</text>`+"\n", c.title, chartLeft)
	for y := 0.0; y <= top; y += step {
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#dee2e6"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", chartLeft, atY(y), chartInnerW, chartLeft-6, atY(y)+4, short(y))
	}
	for x := range marks {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", atX(x), chartHeight-chartBottom+18, short(x))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text><text x="%d" y="%d">%s</text>`+"\n", chartLeft+chartInnerW/2, chartHeight-12, c.x, 8, chartTop-12, c.y)
	colours, dashes := strings.Fields(chartColours), strings.Fields(chartDashes)
	for i, curve := range c.curves {
		var line, dots strings.Builder
		for j, p := range curve.points {
			fmt.Fprintf(&line, "%c%.1f %.1f", "ML"[min(j, 1)], atX(p.x), atY(p.y))
			fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, atX(p.x), atY(p.y), colours[i])
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>%s`+"\n", line.String(), colours[i], dashes[i], dots.String())
		x := chartWidth - chartRight - 110*(len(c.curves)-i)
		fmt.Fprintf(&b, `<path d="M%d %dh24" stroke="%s" stroke-width="2" stroke-dasharray="%s"/><text x="%d" y="%d">%s</text>`+"\n", x, chartTop-16, colours[i], dashes[i], x+30, chartTop-12, curve.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceStep returns the distance between the grid lines of an axis that ends at top: 1, 2 or 5 times
// a power of ten, for about five lines.
func niceStep(top float64) float64 {
	if top <= 0 {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(top/5)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if top/(step*factor) <= 6 {
			return step * factor
		}
	}
	return step * 10
}

// short formats a number for an axis.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", math.Round(v*100)/100)
}
