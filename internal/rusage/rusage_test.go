// SPDX-License-Identifier: Apache-2.0

package rusage

import (
	"testing"
	"time"
)

func TestWorkIsCounted(t *testing.T) {
	before := Total()
	for work := 0; Total() < before+20*time.Millisecond; work++ {
		_ = make([]byte, work%1024)
	}
	if user, system := Times(); user <= 0 || system < 0 {
		t.Errorf("user %v, system %v", user, system)
	}
}
