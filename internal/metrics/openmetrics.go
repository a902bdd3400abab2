// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// expositionSuffixes may follow a family's name in the text; each of these spellings selects the
// family.
var expositionSuffixes = []string{"", "_total", "_bucket", "_count", "_sum"}

// WritePrometheus writes the named families, or all of them if names is nil, as OpenMetrics text
// including "# EOF". The names are exposition names such as "process_cpu_usage" or
// "http_server_requests_seconds_count"; a family is always written as a whole. Unknown names are
// skipped.
func (r *Registry) WritePrometheus(w io.Writer, names []string) error {
	gathered, err := r.prom.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	var buf bytes.Buffer
	for _, mf := range gathered {
		if names != nil && !slices.ContainsFunc(names, func(name string) bool { return spells(name, mf) }) {
			continue
		}
		if _, err := expfmt.MetricFamilyToOpenMetrics(&buf, mf); err != nil {
			return fmt.Errorf("encode metric %q as text: %w", mf.GetName(), err)
		}
	}
	if _, err := expfmt.FinalizeOpenMetrics(&buf); err != nil {
		return fmt.Errorf("encode the end of the metrics: %w", err)
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write metrics as text: %w", err)
	}
	return nil
}

// spells reports whether name is a spelling of the family: its name or the name of one of its
// samples.
func spells(name string, mf *dto.MetricFamily) bool {
	family := mf.GetName()
	switch mf.GetType() {
	case dto.MetricType_COUNTER:
		return name == family || name == strings.TrimSuffix(family, "_total")
	case dto.MetricType_HISTOGRAM, dto.MetricType_SUMMARY:
		rest, ok := strings.CutPrefix(name, family)
		return ok && rest != "_total" && slices.Contains(expositionSuffixes, rest)
	default:
		return name == family
	}
}
