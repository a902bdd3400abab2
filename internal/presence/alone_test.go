// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

func startAlone(t testing.TB) *peer {
	t.Helper()
	p := start(t, cluster.Options{}, "alone", role.Gateway, func(o *Options) { o.Alone = true })
	if !p.node.Cluster().Exclusive() {
		t.Fatal("the process is not alone")
	}
	return p
}

func TestAlone(t *testing.T) {
	p := startAlone(t)
	desktop := Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 1, NodeID: "alone"}
	phone := Session{UserID: 1, Device: wire.DeviceType_ANDROID, ID: 2, NodeID: "alone"}
	if got := p.open(t, desktop); len(got) != 0 {
		t.Errorf("replaced: %v", got)
	}
	p.open(t, phone)
	if !p.sees(1, desktop, phone) {
		t.Error("the sessions are not there")
	}
	// A session of the same type replaces it, and one that excludes the phone ends it.
	next := Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 3, NodeID: "alone"}
	replaced, err := p.Open(t.Context(), next, wire.UserStatus_BUSY, func(e Entry) ([]wire.DeviceType, error) {
		if len(e.Sessions) != 2 || e.Status != wire.UserStatus_AVAILABLE {
			t.Errorf("the entry is %v", e)
		}
		return []wire.DeviceType{wire.DeviceType_ANDROID}, nil
	})
	if err != nil || len(replaced) != 2 {
		t.Errorf("replaced: %v, %v", replaced, err)
	}
	if !p.sees(1, next) || p.Owns(desktop.Key()) || p.Owns(phone.Key()) || !p.has(phone.Key()) {
		t.Error("replaced sessions are still there")
	}
	if online, err := p.SetStatus(t.Context(), 1, wire.UserStatus_AWAY); err != nil || !online {
		t.Errorf("got %t, %v", online, err)
	}
	if online, err := p.SetPosition(t.Context(), 1, wire.DeviceType_DESKTOP, Position{Longitude: 1, Latitude: 2}); err != nil || !online {
		t.Errorf("got %t, %v", online, err)
	}
	if e, _ := p.Lookup(1); e.Status != wire.UserStatus_AWAY || e.Sessions[0].Position.Latitude != 2 {
		t.Errorf("the entry is %v", e)
	}
	if online, err := p.SetStatus(t.Context(), 2, wire.UserStatus_AWAY); err != nil || online {
		t.Errorf("got %t, %v", online, err)
	}
	// Closing a session that was replaced changes nothing.
	p.Close(t.Context(), 1, desktop.Device, desktop.ID)
	if !p.sees(1, next) {
		t.Error("the session is gone")
	}
	p.Close(t.Context(), 1, next.Device, next.ID)
	if p.Online(1) || p.registrar.own.count() != 0 || p.table.get(1) != nil {
		t.Error("something is left")
	}
	if err := p.Healthy(); err != nil {
		t.Error(err)
	}
	if _, err := p.node.Cluster().JetStream().KeyValue(t.Context(), "app_"+p.node.Cluster().ID()+"_presence"); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("there is a bucket: %v", err)
	}
}

// TestAloneTogether logs devices that exclude each other in and out concurrently: at the end there
// is at most one, and it is the one that the gateway owns.
func TestAloneTogether(t *testing.T) {
	p := startAlone(t)
	devices := []wire.DeviceType{wire.DeviceType_DESKTOP, wire.DeviceType_ANDROID, wire.DeviceType_IOS}
	const users, each = 5, 40
	var wg sync.WaitGroup
	for worker := range int32(6) {
		wg.Go(func() {
			for i := range int32(each) {
				s := Session{UserID: int64(i%users) + 1, Device: devices[(worker+i)%3], ID: worker*each + i + 1, NodeID: "alone"}
				others := slices.DeleteFunc(slices.Clone(devices), func(d wire.DeviceType) bool { return d == s.Device })
				if _, err := p.Open(t.Context(), s, wire.UserStatus_AVAILABLE, func(Entry) ([]wire.DeviceType, error) { return others, nil }); err != nil {
					t.Error(err)
				}
				if i%7 == 0 {
					p.Close(t.Context(), s.UserID, s.Device, s.ID)
				}
			}
		})
	}
	wg.Wait()
	for user := int64(1); user <= users; user++ {
		e, _ := p.Lookup(user)
		own, settled := p.registrar.own.of(user)
		if len(e.Sessions) > 1 || len(own) != len(e.Sessions) || !settled {
			t.Fatalf("user %d: %d sessions, %d of the gateway, settled: %t", user, len(e.Sessions), len(own), settled)
		}
		if len(own) == 1 && !e.Sessions[0].same(&own[0].Session) {
			t.Errorf("user %d: %v is not %v", user, e.Sessions[0].Key(), own[0].Key())
		}
	}
	if found := p.verifier.suspicions(t.Context()); len(found) != 0 {
		t.Errorf("faults: %v", found)
	}
}
