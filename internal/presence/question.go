// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"example.org/app/internal/cluster"
)

// The questions of a Finder to the keepers of other processes. They go to named nodes.
var (
	findEndpoint   = cluster.Endpoint[findRequest, findResponse]{Name: "presence.find", Codec: findCodec{}, Direct: true}
	countEndpoint  = cluster.Endpoint[countRequest, countResponse]{Name: "presence.count"}
	nearbyEndpoint = cluster.Endpoint[nearbyRequest, nearbyResponse]{Name: "presence.nearby"}
)

// A findRequest asks where users are.
type findRequest struct {
	// Partitions is the total number of partitions.
	Partitions int
	// Full requests everything about the sessions, not only their gateways.
	Full    bool
	UserIDs []int64
}

// A findResponse contains the online users.
type findResponse struct {
	// Refused are the partitions that the service does not follow, or not yet. The response says
	// nothing about their users.
	Refused []int
	Places  []Destination
	Entries []foundEntry
}

// A foundEntry is a user with the content of the bucket's key, except for sessions that have ended.
type foundEntry struct {
	UserID  int64
	Content []byte
}

type countRequest struct {
	Partitions []int `json:"partitions"`
}

type countResponse struct {
	Refused []int          `json:"refused,omitempty"`
	Total   int            `json:"total"`
	Nodes   map[string]int `json:"nodes"`
}

type nearbyRequest struct {
	Partitions          []int      `json:"partitions"`
	Of                  SessionKey `json:"of"`
	Longitude, Latitude float32
	Count               int     `json:"count"`
	Meters              float64 `json:"meters"`
}

type nearbyResponse struct {
	Refused    []int       `json:"refused,omitempty"`
	Neighbours []Neighbour `json:"neighbours"`
}

// handle registers the handlers.
func (k *keeper) handle() error {
	if err := cluster.Handle(k.node, findEndpoint, k.find); err != nil {
		return err
	}
	if err := cluster.Handle(k.node, countEndpoint, k.count); err != nil {
		return err
	}
	return cluster.Handle(k.node, nearbyEndpoint, k.nearby)
}

func (k *keeper) find(_ context.Context, req *findRequest) (*findResponse, error) {
	t, a := k.directory.table, &findResponse{}
	if err := k.checkLayout(req.Partitions); err != nil {
		return nil, err
	}
	known := make([]int64, 0, len(req.UserIDs))
	var refused [shardCount]bool
	for _, userID := range req.UserIDs {
		switch p := t.partition(userID); {
		case t.complete[p].Load():
			known = append(known, userID)
		case !refused[p]:
			refused[p] = true
			a.Refused = append(a.Refused, p)
		}
	}
	if !req.Full {
		a.Places = k.directory.Locate(known)
	} else {
		for _, userID := range known {
			a.answer(t, userID, t.get(userID), true)
		}
	}
	if _, lost := t.known(known); len(lost) > 0 {
		return nil, unavailable(errors.New("a partition was dropped meanwhile"))
	}
	return a, nil
}

// checkLayout returns an error if the asking node follows a bucket with other partitions.
func (k *keeper) checkLayout(partitions int) error {
	if own := int(k.directory.table.partitions.Load()); partitions != own {
		return unavailable(fmt.Errorf("the users are split into %d partitions here, not %d", own, partitions))
	}
	return nil
}

// answer adds a user to the response.
func (a *findResponse) answer(t *table, userID int64, r *record, full bool) {
	live := t.live(r)
	if len(live) == 0 {
		return
	}
	if full {
		c := content{status: r.status, sessions: live}
		a.Entries = append(a.Entries, foundEntry{userID, c.encode()})
		return
	}
	for i := range live {
		a.Places = locate(a.Places, live[i].NodeID, userID, 1)
	}
}

// without returns the response without some users.
func (a *findResponse) without(refused func(userID int64) bool) *findResponse {
	rest := &findResponse{}
	for _, at := range a.Places {
		if users := slices.DeleteFunc(slices.Clone(at.UserIDs), refused); len(users) > 0 {
			rest.Places = append(rest.Places, Destination{NodeID: at.NodeID, UserIDs: users})
		}
	}
	for _, e := range a.Entries {
		if !refused(e.UserID) {
			rest.Entries = append(rest.Entries, e)
		}
	}
	return rest
}

func (k *keeper) count(_ context.Context, req *countRequest) (*countResponse, error) {
	if err := inRange(req.Partitions, k.directory.table); err != nil {
		return nil, err
	}
	return k.directory.table.count(req.Partitions), nil
}

func (k *keeper) nearby(_ context.Context, req *nearbyRequest) (*nearbyResponse, error) {
	if err := inRange(req.Partitions, k.directory.table); err != nil {
		return nil, err
	}
	if k.directory.positions == nil {
		return nil, errLocationsOff()
	}
	if len(req.Partitions) == 0 {
		return &nearbyResponse{}, nil
	}
	return k.directory.finder.nearby(req), nil
}

func inRange(partitions []int, t *table) error {
	for _, p := range partitions {
		if p < 0 || p >= int(t.partitions.Load()) {
			return unavailable(fmt.Errorf("there is no partition %d here", p))
		}
	}
	return nil
}

// count counts the online users of partitions.
func (t *table) count(partitions []int) *countResponse {
	a := &countResponse{Nodes: map[string]int{}}
	for _, p := range partitions {
		if !t.complete[p].Load() {
			a.Refused = append(a.Refused, p)
			continue
		}
		t.eachOf(p, func(_ int64, r *record) {
			live := t.live(r)
			if len(live) > 0 {
				a.Total++
			}
			for i := range live {
				if firstOf(live, i) {
					a.Nodes[live[i].NodeID]++
				}
			}
		})
	}
	return a
}

// findCodec encodes the question that is asked for every message. The encoding is that of a
// protobuf message, so that a newer program may add fields.
type findCodec struct{}

func (findCodec) Marshal(value any) ([]byte, error) {
	switch v := value.(type) {
	case *findRequest:
		b := appendVarint(make([]byte, 0, 16+10*len(v.UserIDs)), 1, uint64(v.Partitions))
		if v.Full {
			b = appendVarint(b, 2, 1)
		}
		return appendIDs(b, 3, v.UserIDs), nil
	case *findResponse:
		var b []byte
		for _, p := range v.Refused {
			b = appendVarint(b, 1, uint64(p))
		}
		for _, at := range v.Places {
			b = appendMessage(b, 2, func([]byte) []byte {
				return appendIDs(appendText(make([]byte, 0, 32+10*len(at.UserIDs)), 1, at.NodeID), 2, at.UserIDs)
			})
		}
		for _, e := range v.Entries {
			b = appendMessage(b, 3, func(b []byte) []byte { return appendText(appendVarint(b, 1, uint64(e.UserID)), 2, e.Content) })
		}
		return b, nil
	}
	return nil, fmt.Errorf("%T is no question about users", value)
}

func (findCodec) Unmarshal(data []byte, value any) error {
	switch v := value.(type) {
	case *findRequest:
		return fields(data, func(number protowire.Number, n uint64, data []byte) (err error) {
			switch number {
			case 1:
				v.Partitions = int(n)
			case 2:
				v.Full = n != 0
			case 3:
				v.UserIDs, err = idsOf(data)
			}
			return err
		})
	case *findResponse:
		return fields(data, func(number protowire.Number, n uint64, data []byte) error {
			switch number {
			case 1:
				v.Refused = append(v.Refused, int(n))
			case 2:
				at := Destination{}
				err := fields(data, func(number protowire.Number, _ uint64, data []byte) (err error) {
					switch number {
					case 1:
						at.NodeID = string(data)
					case 2:
						at.UserIDs, err = idsOf(data)
					}
					return err
				})
				v.Places = append(v.Places, at)
				return err
			case 3:
				e := foundEntry{}
				err := fields(data, func(number protowire.Number, n uint64, data []byte) error {
					switch number {
					case 1:
						e.UserID = int64(n)
					case 2:
						e.Content = data
					}
					return nil
				})
				v.Entries = append(v.Entries, e)
				return err
			}
			return nil
		})
	}
	return fmt.Errorf("%T is no question about users", value)
}

// appendIDs appends ids in one field.
func appendIDs(b []byte, number protowire.Number, ids []int64) []byte {
	size := 0
	for _, id := range ids {
		size += protowire.SizeVarint(uint64(id))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(size))
	for _, id := range ids {
		b = protowire.AppendVarint(b, uint64(id))
	}
	return b
}

func idsOf(data []byte) ([]int64, error) {
	ids := make([]int64, 0, len(data)/4)
	for len(data) > 0 {
		id, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, errTruncated
		}
		ids, data = append(ids, int64(id)), data[n:]
	}
	return ids, nil
}
