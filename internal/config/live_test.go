// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"slices"
	"sync"
	"testing"
)

// setCapacity is a mutation that readers can check: both roles get the same.
func setCapacity(n int32) func(*Config) error {
	return func(c *Config) error {
		c.Service.AdminAPI.RateLimiting.Capacity = n
		c.Gateway.AdminAPI.RateLimiting.Capacity = n
		return nil
	}
}

func capacityOf(c *Config) int32 { return c.Service.AdminAPI.RateLimiting.Capacity }

func TestLive(t *testing.T) {
	start := Default()
	l := NewLive(start)
	start.Store.MaxConnections = 99
	if l.Current().Store.MaxConnections != 10 {
		t.Error("the configuration that runs can be changed from outside")
	}

	type call struct{ before, after int32 }
	var calls []call
	cancel := l.Subscribe(func(before, after *Config) {
		if l.Current() != after {
			t.Error("called before the swap")
		}
		calls = append(calls, call{capacityOf(before), capacityOf(after)})
	})
	old := l.Current()
	if err := l.Update(setCapacity(7)); err != nil {
		t.Fatal(err)
	}
	if capacityOf(old) != 50 || capacityOf(l.Current()) != 7 {
		t.Errorf("got %d before and %d after", capacityOf(old), capacityOf(l.Current()))
	}

	running := l.Current()
	failure := errors.New("failure")
	if err := l.Update(func(c *Config) error { c.Store.MaxConnections = 5; return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	wantError(t, l.Update(setCapacity(0)), `app.gateway.admin-api.rate-limiting.capacity = "0": must be at least 1`)
	if l.Current() != running {
		t.Error("a failed update has an effect")
	}

	cancel()
	cancel()
	if err := l.Update(setCapacity(8)); err != nil {
		t.Fatal(err)
	}
	if want := []call{{50, 7}}; !slices.Equal(calls, want) {
		t.Errorf("got the calls %v, want %v", calls, want)
	}
}

// TestLiveReentrant has a subscriber that uses all methods.
func TestLiveReentrant(t *testing.T) {
	l := NewLive(Default())
	var first, second []int32
	var cancelSecond func()
	l.Subscribe(func(_, after *Config) {
		first = append(first, capacityOf(after))
		if n := capacityOf(after); n < 3 {
			if err := l.Update(setCapacity(n + 1)); err != nil {
				t.Error(err)
			}
		}
		if cancelSecond == nil {
			cancelSecond = l.Subscribe(func(_, after *Config) {
				second = append(second, capacityOf(after))
				cancelSecond()
			})
		}
	})
	if err := l.Update(setCapacity(1)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first, []int32{1, 2, 3}) {
		t.Errorf("the first subscriber got %v", first)
	}
	if !slices.Equal(second, []int32{3}) {
		t.Errorf("the second subscriber got %v", second)
	}
}

// TestLivePanic proves that a subscriber that panics does not silence Live.
func TestLivePanic(t *testing.T) {
	l := NewLive(Default())
	var got []int32
	l.Subscribe(func(_, after *Config) {
		if capacityOf(after) == 1 {
			panic("subscriber")
		}
		got = append(got, capacityOf(after))
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_ = l.Update(setCapacity(1))
	}()
	if err := l.Update(setCapacity(2)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int32{2}) {
		t.Errorf("got %v", got)
	}
}

// TestLiveConcurrently has writers, readers and subscribers at once. The race
// detector proves that subscribers are never called concurrently: what they
// write has no lock.
func TestLiveConcurrently(t *testing.T) {
	const writers, updates = 8, 50
	l := NewLive(Default())
	var seen []*Config
	last := l.Current()
	l.Subscribe(func(before, after *Config) {
		if before != last {
			t.Error("a change is missing or out of order")
		}
		last = after
		seen = append(seen, after)
	})

	done := make(chan struct{})
	var readers, all sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				c := l.Current()
				if capacityOf(c) != c.Gateway.AdminAPI.RateLimiting.Capacity {
					t.Error("a reader sees half an update")
					return
				}
				l.Subscribe(func(_, _ *Config) {})()
			}
		})
	}
	for range writers {
		all.Go(func() {
			for range updates {
				err := l.Update(func(c *Config) error { return setCapacity(capacityOf(c) + 1)(c) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	if got := capacityOf(l.Current()); got != 50+writers*updates {
		t.Errorf("updates are lost: got %d", got)
	}
	if len(seen) != writers*updates {
		t.Errorf("the subscriber was called %d times, want %d", len(seen), writers*updates)
	}
}
