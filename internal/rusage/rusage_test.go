// SPDX-License-Identifier: Apache-2.0

package rusage

import (
	"testing"
	"time"
)

func TestWorkIsCounted(t *testing.T) {
	before := Total()
	user, system := Times()
	// Some systems count in ticks, the first of which may all be system time.
	for work := 0; user <= 0 || Total() < before+20*time.Millisecond; work++ {
		_ = make([]byte, work%1024)
		user, system = Times()
	}
	if system < 0 {
		t.Errorf("user %v, system %v", user, system)
	}
}
