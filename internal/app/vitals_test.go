// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	"example.org/app/internal/config"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 16 << 20: 400, 64 << 20: 100, 1 << 30: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

func TestVitals(t *testing.T) {
	c := config.Default().HealthCheck
	v := &vitals{}
	const gb = 1 << 30
	for i := range c.CPU.Retries {
		if err := v.judge(c, 0.99, 8*gb, 4*gb); err != nil {
			t.Fatalf("unhealthy after %d checks: %v", i+1, err)
		}
	}
	if err := v.judge(c, 0.99, 8*gb, 4*gb); err == nil || !strings.Contains(err.Error(), "99 %") {
		t.Errorf("too much load: %v", err)
	}
	if err := v.judge(c, 0.5, 8*gb, 4*gb); err != nil {
		t.Errorf("after the load is gone: %v", err)
	}
	if err := v.judge(c, 0, 8*gb, gb/100); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("too little memory: %v", err)
	}
	if err := v.judge(c, 0, 100*gb, gb); err == nil || !strings.Contains(err.Error(), "99 %") {
		t.Errorf("too much memory in use: %v", err)
	}
}
