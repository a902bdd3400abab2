// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/wire"
)

// An Activity says when a session last sent something. It changes too often to be in the bucket, so
// it is requested from the gateway.
type Activity struct {
	LastHeartbeat time.Time `json:"lastHeartbeat"`
	LastRequest   time.Time `json:"lastRequest"`
}

// A SessionKey identifies a session.
type SessionKey struct {
	UserID int64           `json:"userId"`
	Device wire.DeviceType `json:"device"`
	ID     int32           `json:"id"`
}

// Key returns the key of the session.
func (s *Session) Key() SessionKey { return SessionKey{UserID: s.UserID, Device: s.Device, ID: s.ID} }

type activityRequest struct {
	Sessions []SessionKey `json:"sessions"`
}

type activityResponse struct {
	Sessions []sessionActivity `json:"sessions"`
}

type sessionActivity struct {
	Key      SessionKey `json:"key"`
	Activity Activity   `json:"activity"`
}

// activitiesEndpoint asks a gateway for the activity of sessions.
var activitiesEndpoint = cluster.Endpoint[activityRequest, activityResponse]{Name: "presence.activity"}

// activityBatch is the maximum number of sessions in one call.
const activityBatch = 1000

func (d *Directory) activities(_ context.Context, req *activityRequest) (*activityResponse, error) {
	resp := &activityResponse{}
	if d.registrar == nil {
		return resp, nil
	}
	for _, key := range req.Sessions {
		if a, ok := d.registrar.activityOf(key.UserID, key.Device, key.ID); ok {
			resp.Sessions = append(resp.Sessions, sessionActivity{Key: key, Activity: a})
		}
	}
	return resp, nil
}

// Activities requests the activities of the sessions from their gateways. Sessions that have ended
// meanwhile, and those of gateways that do not answer, are missing from the result.
func (d *Directory) Activities(ctx context.Context, sessions []Session) map[SessionKey]Activity {
	requests := map[string][]*activityRequest{}
	for i := range sessions {
		s := &sessions[i]
		list := requests[s.NodeID]
		if len(list) == 0 || len(list[len(list)-1].Sessions) == activityBatch {
			list = append(list, &activityRequest{})
			requests[s.NodeID] = list
		}
		last := list[len(list)-1]
		last.Sessions = append(last.Sessions, s.Key())
	}
	var mu sync.Mutex
	found := make(map[SessionKey]Activity, len(sessions))
	var group sync.WaitGroup
	for nodeID, list := range requests {
		group.Go(func() {
			for _, req := range list {
				resp, err := cluster.CallNode(ctx, d.node, nodeID, activitiesEndpoint, req)
				if err != nil {
					d.logger.WarnContext(ctx, "a gateway did not tell the activity of its sessions", "gateway", nodeID, "error", err)
					return
				}
				mu.Lock()
				for _, s := range resp.Sessions {
					found[s.Key] = s.Activity
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return found
}
