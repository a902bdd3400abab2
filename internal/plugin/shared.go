// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// MaxFile bounds the size of a plugin.
const MaxFile = maxFile

// Shared is what the cluster knows of a plugin that all nodes have.
type Shared struct {
	// Number is that of the version.
	Number int64
	// Place is the place of the plugin among those of the cluster, from 1: all nodes call them in the same order.
	Place int64
	// UploadDate is when the version was uploaded: numbers of a plugin that was removed are used again.
	UploadDate time.Time
}

// Digest is the SHA-256 digest of a plugin's bytes in hexadecimal.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sharedRank is the rank of the first plugin of the cluster: after those of the folder, before those that administrators
// add to a node.
const sharedRank = 1 << 25

// place is the rank that a plugin asks for; 0 is after those that are there.
func (s Source) place() int {
	if s.Shared == nil {
		return s.rank
	}
	return sharedRank + int(s.Shared.Place)
}

// Inspect loads a plugin in its host, runs no hook, and forgets it again, to learn what it is before all nodes load it.
// Unlike with Check the plugin can use what it can when it is loaded. What Inspect returns cannot be called. A plugin for
// other roles is accepted; one for this process must get along with what is loaded, apart from a plugin of the cluster
// with the same id.
func (m *Manager) Inspect(ctx context.Context, l Language, src Source) (*Plugin, error) {
	host, err := m.hosts.of(l)
	if err != nil {
		return nil, err
	}
	return m.examine(ctx, host, src, true)
}

// Withdraw removes a plugin of the cluster. If the plugin with the id is one of this node alone, it does nothing.
func (m *Manager) Withdraw(ctx context.Context, id string) error {
	_, err := m.remove(ctx, id, func(p *Plugin) bool { return p.Shared() != nil })
	return err
}
