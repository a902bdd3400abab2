// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/role"
)

const maxNameLength = 64

// validName reports whether the text can be the id of a node or a cluster, which is part of
// subjects.
func validName(text string) bool {
	if text == "" || len(text) > maxNameLength {
		return false
	}
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// CheckNodeID returns an error that states the rule if id is not a valid node id.
func CheckNodeID(id string) error {
	if !validName(id) {
		return fmt.Errorf("node id %q must be 1 to %d letters, digits, \"_\" or \"-\"", id, maxNameLength)
	}
	return nil
}

// Qualifiers of versions.
const (
	QualifierRelease  int8 = 0
	QualifierSnapshot int8 = 1
)

// A Version is the version of the program that a node runs.
type Version struct {
	Major, Minor, Patch, Qualifier int8
	Text                           string
}

var versionPattern = regexp.MustCompile(`^(\d{1,3})\.(\d{1,3})\.(\d{1,3})(-SNAPSHOT)?$`)

// ParseVersion reads major.minor.patch or major.minor.patch-SNAPSHOT with parts from 0 to 127.
func ParseVersion(text string) (Version, error) {
	v := Version{Text: text}
	parts := versionPattern.FindStringSubmatch(text)
	if parts == nil {
		return Version{}, fmt.Errorf("version %q must be major.minor.patch or major.minor.patch-SNAPSHOT", text)
	}
	for i, target := range []*int8{&v.Major, &v.Minor, &v.Patch} {
		number, err := strconv.ParseInt(parts[i+1], 10, 8)
		if err != nil {
			return Version{}, fmt.Errorf("version %q: part %q must be at most 127", text, parts[i+1])
		}
		*target = int8(number)
	}
	if parts[4] != "" {
		v.Qualifier = QualifierSnapshot
	}
	return v, nil
}

// A Member is a node as its record describes it.
type Member struct {
	ClusterID        string
	NodeID           string
	Zone, Name       string
	Version          Version
	Type             role.Role
	Seed             bool
	RegistrationDate time.Time
	LeaderEligible   bool
	Priority         int32
	MemberHost       string
	MemberPort       int32
	AdminAPIAddress  string
	WSAddress        string
	TCPAddress       string
	UDPAddress       string
	// ProcessID is the same for the members of one process; "" for a member that an administrator
	// added.
	ProcessID string
	Status    Status
}

// A Status is the part of a member that changes while it is alive.
type Status struct {
	HasJoined bool
	Healthy   bool
	Active    bool
	// Strained is true if the node works, but not as it should.
	Strained bool
	// Refusing is true if the node accepts no calls to its role, because it is strained or not
	// ready yet.
	Refusing      bool
	LastHeartbeat time.Time
}

// qualified reports whether the member may lead.
func (m *Member) qualified() bool {
	return m.Type == role.Service && m.LeaderEligible && m.Status.Active && m.Status.Healthy && m.Status.HasJoined
}

// compareCandidates orders the members by suitability to lead: without strain first, then the
// higher priority, the older registration, the smaller id. The current leader stays in any case.
func compareCandidates(a, b Member) int {
	if a.Status.Strained != b.Status.Strained {
		if b.Status.Strained {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.RegistrationDate.Compare(b.RegistrationDate),
		strings.Compare(a.NodeID, b.NodeID))
}

// A MemberChange is a change by an administrator. A nil field stays unchanged.
type MemberChange struct {
	Zone, Name                   *string
	Seed, LeaderEligible, Active *bool
	Priority                     *int32
}

func (c MemberChange) apply(m *Member) {
	set(&m.Zone, c.Zone)
	set(&m.Name, c.Name)
	set(&m.Seed, c.Seed)
	set(&m.LeaderEligible, c.LeaderEligible)
	set(&m.Status.Active, c.Active)
	set(&m.Priority, c.Priority)
}

func set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// adopt copies the fields that an administrator may change.
func (m *Member) adopt(from Member) {
	MemberChange{
		Zone: &from.Zone, Name: &from.Name, Seed: &from.Seed, LeaderEligible: &from.LeaderEligible,
		Active: &from.Status.Active, Priority: &from.Priority,
	}.apply(m)
}

// A record is what the bucket stores about a member.
type record struct {
	Member Member
	// Incarnation identifies one run of a node. It is empty in a record that an administrator added
	// and no node has claimed.
	Incarnation string
	// Beat counts the heartbeats of the incarnation. If Beat does not change, the node is silent,
	// no matter what the clocks say.
	Beat uint64
	// Gone is true if other nodes found that this incarnation has ended. Its next heartbeat, if one
	// comes, revokes that.
	Gone bool `json:",omitempty"`
	// Tombstone is true if the node has left, or had no record when it was found to be gone. It is
	// no member.
	Tombstone bool `json:",omitempty"`
	// Returns counts, from one, how often this incarnation has learned that it counted as gone.
	// Nodes before 1.1 do not count.
	Returns uint64 `json:",omitempty"`
	// Store is the identity of the database that the node uses; "" means none.
	Store string `json:",omitempty"`
	// Protocol is the version that the node speaks. Nodes before 1.1 do not set it.
	Protocol Protocol `json:",omitzero"`
}
