// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"runtime/trace"
	"strings"
	"testing"
	"time"
)

// TestATraceIsBounded writes into the execution trace until it holds a fraction of that: the
// runtime drops what is old by the second.
func TestATraceIsBounded(t *testing.T) {
	f := flightTrace{limit: 256 << 10}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	written := 0
	eventually(t, "old parts of the trace to be dropped", func() bool {
		for range 32 {
			// No text comes twice, so that none is stored once for many.
			trace.Log(t.Context(), "fill", strings.Repeat("x", 500)+time.Now().Format(".000000000"))
			written += 512
		}
		var kept bytes.Buffer
		if err := f.write(&kept); err != nil {
			t.Fatal(err)
		}
		return written > 1<<20 && kept.Len() < written/2
	})
}
