// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"
)

func TestTrace(t *testing.T) {
	type probe struct {
		seen probeResult
		// at is when the probe ended, in milliseconds. It took 10 ms.
		at int
	}
	tests := map[string]struct {
		probes []probe
		ended  bool
	}{
		"killed":                        {[]probe{{answering, 0}, {absent, 500}, {absent, 2000}, {absent, 3500}}, true},
		"killed, not long enough ago":   {[]probe{{answering, 0}, {absent, 500}, {absent, 3499}}, false},
		"killed and started again":      {[]probe{{answering, 0}, {absent, 500}, {replaced, 2000}, {replaced, 3500}}, true},
		"paused":                        {[]probe{{answering, 0}, {silent, 1500}, {silent, 2500}, {absent, 4000}, {absent, 9000}}, false},
		"paused, probed too seldom":     {[]probe{{answering, 0}, {absent, 4000}, {absent, 9000}}, false},
		"never answered":                {[]probe{{absent, 0}, {absent, 9000}}, false},
		"connected again":               {[]probe{{answering, 0}, {absent, 500}, {answering, 1000}, {absent, 1500}, {absent, 4000}}, false},
		"this process was cut off":      {[]probe{{answering, 0}, {absent, 500}, {silent, 1000}, {absent, 1500}, {absent, 9000}}, false},
		"left, and its id has another":  {[]probe{{answering, 0}, {replaced, 500}, {replaced, 9000}}, false},
		"killed after it was connected": {[]probe{{answering, 0}, {absent, 500}, {answering, 1000}, {absent, 1500}, {absent, 4500}}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var trace trace
			var ended bool
			for _, p := range test.probes {
				at := time.UnixMilli(int64(p.at))
				ended = trace.note(p.seen, at.Add(-10*time.Millisecond), at)
			}
			if ended != test.ended {
				t.Errorf("ended = %v, want %v", ended, test.ended)
			}
		})
	}
	if suddenLimit >= pingInterval*maxPings || cutLimit >= endedLimit {
		t.Error("the limits do not fit together")
	}
}
