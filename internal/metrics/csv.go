// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

var csvHeader = []string{"Name", "Tags", "Type", "Value", "Unit"}

// WriteCSV writes metrics of a snapshot as comma-separated values: a header and one line per
// measurement, sorted by name and tags, without a trailing line break.
//
// Tags are joined as "k:v;k:v"; semicolons and backslashes in values are escaped with a backslash.
// A meter with several values (timer, distribution summary) has one line for each, distinguished by
// a last tag "statistic:count", "statistic:max" or "statistic:total"; a count has no unit. Fields
// that contain a comma, a quote or a line break are quoted as in RFC 4180.
func WriteCSV(w io.Writer, metrics []Metric) error {
	var buf bytes.Buffer
	lines := csv.NewWriter(&buf)
	// Writing to a buffer never fails.
	_ = lines.Write(csvHeader)
	for _, metric := range metrics {
		for _, meter := range metric.Meters {
			for _, line := range csvLines(metric, meter) {
				_ = lines.Write(line)
			}
		}
	}
	lines.Flush()
	if _, err := w.Write(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))); err != nil {
		return fmt.Errorf("write metrics as csv: %w", err)
	}
	return nil
}

func csvLines(metric Metric, meter Meter) [][]string {
	if len(meter.Values) == 1 {
		return [][]string{{metric.Name, joinTags(meter.Tags), string(metric.Type), csvNumber(meter.Values[0].Value), metric.BaseUnit}}
	}
	lines := make([][]string, 0, len(meter.Values))
	for _, v := range meter.Values {
		unit := metric.BaseUnit
		if v.Statistic == StatisticCount {
			unit = ""
		}
		tags := joinTags(append(slices.Clip(meter.Tags), Tag{"statistic", v.Statistic}))
		lines = append(lines, []string{metric.Name, tags, string(metric.Type), csvNumber(v.Value), unit})
	}
	slices.SortFunc(lines, slices.Compare)
	return lines
}

var tagEscaper = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

func joinTags(tags []Tag) string {
	var b strings.Builder
	for i, t := range tags {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(t.Key)
		b.WriteByte(':')
		_, _ = tagEscaper.WriteString(&b, t.Value)
	}
	return b.String()
}

// csvNumber avoids exponents in the range where spreadsheets and people prefer plain digits.
func csvNumber(v float64) string {
	format := byte('f')
	if a := math.Abs(v); a >= 1e21 || a != 0 && a < 1e-9 {
		format = 'g'
	}
	return strconv.FormatFloat(v, format, -1, 64)
}
