// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

const (
	// askTimeout is how long to wait for a service before asking another one.
	askTimeout = time.Second
	// askRounds is how many services are asked about a user at most.
	askRounds = 4
	// locateBatch and lookupBatch bound the users of one call.
	locateBatch, lookupBatch = 20_000, 1000
	// readers is how many keys are read concurrently for users whom no service knows.
	readers = 64
)

// A Finder finds out who is online, and where, among all users of the cluster. Ask about many users
// at once, because the answers may be in other processes: if the users are partitioned, the
// services that follow their partitions are called, each once for all of its users. If none of them
// answers, the bucket is read. It is safe for concurrent use.
type Finder struct {
	directory *Directory
	// known caches the owners for the last set of services.
	known atomic.Pointer[owners]
}

// owners returns the owners of the partitions, and which of the services answer.
func (f *Finder) owners() (o *owners, answers []bool) {
	candidates := cluster.Candidates(f.directory.node.Cluster(), role.Service)
	partitions := int(f.directory.table.partitions.Load())
	answers = make([]bool, len(candidates))
	for i := range candidates {
		answers[i] = candidates[i].Answers
	}
	o = f.known.Load()
	if o != nil && len(o.ranks) == partitions && slices.EqualFunc(o.services, candidates, func(id string, c cluster.Candidate) bool { return id == c.ID }) {
		return o, answers
	}
	services := make([]string, len(candidates))
	for i := range candidates {
		services[i] = candidates[i].ID
	}
	o = newOwners(services, partitions)
	f.known.Store(o)
	return o, answers
}

// own returns the service of this process, or "" if there is none.
func (f *Finder) own() string {
	if k := f.directory.keeper; k != nil {
		return k.node.ID()
	}
	return ""
}

// Lookup returns the entries of the users, in the given order. The entry of an offline user has the
// status OFFLINE and no sessions.
func (f *Finder) Lookup(ctx context.Context, userIDs []int64) ([]Entry, error) {
	d := f.directory
	entries := make([]Entry, len(userIDs))
	var rest []int64
	var places []int
	for i, userID := range userIDs {
		// A partition may be dropped concurrently: the result is valid only if it is still
		// complete.
		if entries[i], _ = d.Lookup(userID); !d.table.knows(userID) {
			rest, places = append(rest, userID), append(places, i)
		}
	}
	if len(rest) == 0 {
		return entries, nil
	}
	found := map[int64]Entry{}
	unknown := f.find(ctx, rest, true, func(a *findResponse) error {
		for _, e := range a.Entries {
			c, err := decode(e.UserID, e.Content, d.gateways.intern)
			if err != nil {
				return fmt.Errorf("decode the entry of user %d: %w", e.UserID, err)
			}
			found[e.UserID] = entryOf(e.UserID, c.status, c.sessions)
		}
		return nil
	})
	if len(unknown) > 0 {
		return nil, unavailable(fmt.Errorf("look up %d users: no service answers for them", len(unknown)))
	}
	for j, i := range places {
		if e, ok := found[rest[j]]; ok {
			entries[i] = e
		} else {
			entries[i] = entryOf(rest[j], 0, nil)
		}
	}
	return entries, nil
}

// Locate returns the gateways of the users, each once. Offline users are omitted. unknown are users
// about whom nobody could be asked; they may be online.
func (f *Finder) Locate(ctx context.Context, userIDs []int64) (found []Destination, unknown []int64) {
	d := f.directory
	if d.table.partitions.Load() == 1 {
		return d.Locate(userIDs), nil
	}
	local, rest := d.table.known(userIDs)
	for found = d.Locate(local); ; found = d.Locate(local) {
		// A partition may be dropped concurrently: the result is valid only if it is still
		// complete.
		still, lost := d.table.known(local)
		if len(lost) == 0 {
			break
		}
		local, rest = still, append(rest, lost...)
	}
	if len(rest) == 0 {
		return found, nil
	}
	unknown = f.find(ctx, rest, false, func(a *findResponse) error {
		for _, at := range a.Places {
			if i := slices.IndexFunc(found, func(d Destination) bool { return d.NodeID == at.NodeID }); i >= 0 {
				found[i].UserIDs = append(found[i].UserIDs, at.UserIDs...)
			} else {
				found = append(found, Destination{NodeID: at.NodeID, UserIDs: slices.Clone(at.UserIDs)})
			}
		}
		return nil
	})
	return found, unknown
}

// find asks about users whom this process does not know. It calls add with the answers, one at a
// time. unknown are the users about whom nobody could be asked.
func (f *Finder) find(ctx context.Context, userIDs []int64, full bool, add func(*findResponse) error) (unknown []int64) {
	partitions := int(f.directory.table.partitions.Load())
	batch := locateBatch
	if full {
		batch = lookupBatch
	}
	byPartition := make([][]int64, partitions)
	for _, userID := range userIDs {
		p := partitionOf(userID, partitions)
		byPartition[p] = append(byPartition[p], userID)
	}
	var asked []int
	for p, users := range byPartition {
		if len(users) > 0 {
			asked = append(asked, p)
		}
	}
	var mu sync.Mutex
	refused := f.ask(ctx, asked, func(ctx context.Context, service string, parts []int) (refused []int, err error) {
		var users []int64
		for _, p := range parts {
			users = append(users, byPartition[p]...)
		}
		// The answers for a partition are valid only if all of them arrived.
		var answers []*findResponse
		for some := range slices.Chunk(users, batch) {
			a, err := cluster.CallNode(ctx, f.directory.node, service, findEndpoint, &findRequest{Partitions: partitions, Full: full, UserIDs: some})
			if err != nil {
				return nil, err
			}
			answers = append(answers, a)
			refused = append(refused, a.Refused...)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, a := range answers {
			if len(refused) > 0 {
				a = a.without(func(userID int64) bool { return slices.Contains(refused, partitionOf(userID, partitions)) })
			}
			if err := add(a); err != nil {
				return nil, err
			}
		}
		return refused, nil
	})
	for _, p := range refused {
		unknown = append(unknown, byPartition[p]...)
	}
	if len(unknown) == 0 {
		return nil
	}
	return f.read(ctx, unknown, full, func(a *findResponse) error {
		mu.Lock()
		defer mu.Unlock()
		return add(a)
	})
}

// ask sends a question about partitions to services that follow them: first the owners, then the
// seconds, then others, which may still follow them. It calls question concurrently for several
// services; partitions that they refuse or do not answer go to the next ones. It returns the
// partitions without answer.
func (f *Finder) ask(ctx context.Context, partitions []int, question func(ctx context.Context, service string, partitions []int) (refused []int, err error)) (rest []int) {
	own := f.own()
	rest = partitions
	for round := 0; round < askRounds && len(rest) > 0 && ctx.Err() == nil; round++ {
		o, answers := f.owners()
		targets := map[string][]int{}
		var left []int
		for _, p := range rest {
			if p >= len(o.ranks) {
				return rest // The bucket has changed.
			}
			if service := o.choose(p, round, own, answers); service != "" {
				targets[service] = append(targets[service], p)
			} else {
				left = append(left, p)
			}
		}
		var mu sync.Mutex
		var group sync.WaitGroup
		for service, parts := range targets {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, askTimeout)
				defer cancel()
				refused, err := question(ctx, service, parts)
				if err != nil {
					f.directory.logger.DebugContext(ctx, "a service did not answer who is online", "service", service, "error", err)
					refused = parts
				}
				mu.Lock()
				defer mu.Unlock()
				left = append(left, refused...)
			})
		}
		group.Wait()
		slices.Sort(left)
		rest = slices.Compact(left)
		if len(targets) == 0 {
			break
		}
	}
	return rest
}

// choose returns the service to ask about a partition in a round: the next in rank that answers and
// is not this process, or "" if there are no more.
func (o *owners) choose(partition, round int, own string, answers []bool) string {
	for _, i := range o.ranks[partition] {
		if !answers[i] || o.services[i] == own {
			continue
		}
		if round == 0 {
			return o.services[i]
		}
		round--
	}
	return ""
}

// read reads users from the bucket, if all gateways have announced their sessions to it. It returns
// the users about whom nothing is known.
func (f *Finder) read(ctx context.Context, userIDs []int64, full bool, add func(*findResponse) error) (unknown []int64) {
	d := f.directory
	b, err := d.current.get()
	if err != nil || b.partitions == 1 {
		return userIDs
	}
	var mu sync.Mutex
	a := &findResponse{}
	var group sync.WaitGroup
	next := make(chan int64)
	for range min(readers, len(userIDs)) {
		group.Go(func() {
			for userID := range next {
				var r *record
				err := error(nil)
				if known := d.gateways.allAnnounced(b, partitionOf(userID, b.partitions)); known {
					r, err = d.writer.read(ctx, b, userID)
				} else {
					err = errUnknown
				}
				mu.Lock()
				if err == nil {
					a.answer(d.table, userID, r, full)
				} else {
					unknown = append(unknown, userID)
				}
				mu.Unlock()
			}
		})
	}
	for _, userID := range userIDs {
		next <- userID
	}
	close(next)
	group.Wait()
	if len(unknown) == len(userIDs) {
		return unknown
	}
	// The next incarnation of the bucket has the same name, and this process may not have heard of
	// it.
	if same, err := b.lives(ctx); err != nil || !same || add(a) != nil {
		return userIDs
	}
	return unknown
}

// Count returns how many users are online, in total and by gateway. A user with sessions at two
// gateways counts at both.
func (f *Finder) Count(ctx context.Context) (total int, nodes map[string]int, err error) {
	d := f.directory
	if d.table.partitions.Load() == 1 {
		total, nodes = d.Count()
		return total, nodes, nil
	}
	nodes = map[string]int{}
	var mu sync.Mutex
	err = f.askAll(ctx, func(ctx context.Context, service string, partitions []int) ([]int, error) {
		a, err := &countResponse{}, error(nil)
		if service == "" {
			a = d.table.count(partitions)
		} else if a, err = cluster.CallNode(ctx, d.node, service, countEndpoint, &countRequest{Partitions: partitions}); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		total += a.Total
		for id, n := range a.Nodes {
			nodes[id] += n
		}
		return a.Refused, nil
	})
	if err != nil {
		return 0, nil, fmt.Errorf("count the users who are online: %w", err)
	}
	return total, nodes, nil
}

// askAll asks about all partitions, this process included, whose service is "".
func (f *Finder) askAll(ctx context.Context, question func(ctx context.Context, service string, partitions []int) (refused []int, err error)) error {
	t := f.directory.table
	var local, rest []int
	for p := range int(t.partitions.Load()) {
		if t.complete[p].Load() {
			local = append(local, p)
		} else {
			rest = append(rest, p)
		}
	}
	if len(local) > 0 {
		refused, err := question(ctx, "", local)
		if err != nil {
			return err
		}
		rest = append(rest, refused...)
	}
	if rest = f.ask(ctx, rest, question); len(rest) > 0 {
		return unavailable(fmt.Errorf("no service answers for %d partitions of the users", len(rest)))
	}
	return nil
}

// Positions returns the positions of the users' sessions of a device type or, without
// Locations.PerDevice, the positions of the users. Users without known position are omitted.
func (f *Finder) Positions(ctx context.Context, userIDs []int64, device wire.DeviceType) (map[int64]Position, error) {
	d := f.directory
	if d.positions == nil {
		return nil, errLocationsOff()
	}
	entries, err := f.Lookup(ctx, userIDs)
	if err != nil {
		return nil, err
	}
	positions := map[int64]Position{}
	for i := range entries {
		for _, s := range d.positions.placed(entries[i].Sessions) {
			if s.Device == device || !d.positions.perDevice {
				positions[s.UserID] = *s.Position
				break
			}
		}
	}
	return positions, nil
}

// A Neighbour is a user near a place.
type Neighbour struct {
	UserID int64
	// Device is the device type of the session with the position.
	Device              wire.DeviceType
	Longitude, Latitude float32
	// Meters is the distance in whole metres.
	Meters int32
}

// Nearby returns at most count others within so many metres of a place, the nearest first. It omits
// the asking session or, without Locations.PerDevice, its user.
func (f *Finder) Nearby(ctx context.Context, of SessionKey, center Position, count int, meters float64) ([]Neighbour, error) {
	d := f.directory
	if d.positions == nil {
		return nil, errLocationsOff()
	}
	req := &nearbyRequest{Of: of, Longitude: center.Longitude, Latitude: center.Latitude, Count: count, Meters: meters}
	if d.table.partitions.Load() == 1 {
		return f.nearby(req).Neighbours, nil
	}
	var mu sync.Mutex
	neighbours := []Neighbour{}
	err := f.askAll(ctx, func(ctx context.Context, service string, partitions []int) ([]int, error) {
		asked := *req
		asked.Partitions = partitions
		a, err := &nearbyResponse{}, error(nil)
		if service == "" {
			a = f.nearby(&asked)
		} else if a, err = cluster.CallNode(ctx, d.node, service, nearbyEndpoint, &asked); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		neighbours = append(neighbours, a.Neighbours...)
		return a.Refused, nil
	})
	if err != nil {
		return nil, fmt.Errorf("search for users nearby: %w", err)
	}
	slices.SortStableFunc(neighbours, func(a, b Neighbour) int { return cmp.Compare(a.Meters, b.Meters) })
	return neighbours[:min(count, len(neighbours))], nil
}

// nearby answers from what this process knows.
func (f *Finder) nearby(req *nearbyRequest) *nearbyResponse {
	d := f.directory
	a := &nearbyResponse{}
	var asked [shardCount]bool
	for _, p := range req.Partitions {
		if asked[p] = d.table.complete[p].Load(); !asked[p] {
			a.Refused = append(a.Refused, p)
		}
	}
	found := d.positions.Nearby(float64(req.Longitude), float64(req.Latitude), req.Meters, req.Count, func(s spot) bool {
		own := s.userID == req.Of.UserID && (!d.positions.perDevice || s.device == req.Of.Device)
		return !own && s.gateway.live.Load() && (len(req.Partitions) == 0 || asked[d.table.partition(s.userID)])
	})
	a.Neighbours = make([]Neighbour, len(found))
	for i, n := range found {
		a.Neighbours[i] = Neighbour{
			UserID: n.Key.userID, Device: n.Key.device, Longitude: float32(n.Longitude), Latitude: float32(n.Latitude),
			Meters: int32(math.Round(n.Meters)),
		}
	}
	return a
}
