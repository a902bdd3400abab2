// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// MaxFile is the maximum size of a plugin.
const MaxFile = maxFile

// Shared is the data of a cluster plugin, which all nodes have.
type Shared struct {
	// Number is that of the version.
	Number int64
	// Place is the position of the plugin among those of the cluster, from 1: all nodes call them
	// in the same order.
	Place int64
	// UploadDate is when the version was uploaded: numbers of a removed plugin are reused.
	UploadDate time.Time
}

// Digest is the SHA-256 digest of a plugin's bytes in hexadecimal.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sharedRank is the rank of the first cluster plugin: after those of the folder, before uploads to
// this node.
const sharedRank = 1 << 25

// place returns the rank that a plugin requests; 0 means after existing ones.
func (s Source) place() int {
	if s.Shared == nil {
		return s.rank
	}
	return sharedRank + int(s.Shared.Place)
}

// Inspect loads a plugin in its host, runs no hook, and unloads it, to read its description before
// all nodes load it. Unlike in Check, its top-level code may use the server. The returned plugin
// cannot be called. A plugin for other roles is accepted; one for this process must be compatible
// with the loaded ones, except a cluster plugin with the same id.
func (m *Manager) Inspect(ctx context.Context, l Language, src Source) (*Plugin, error) {
	host, err := m.hosts.of(l)
	if err != nil {
		return nil, err
	}
	return m.examine(ctx, host, src, true)
}

// Withdraw removes a cluster plugin. If the plugin with the id is this node's, it does nothing.
func (m *Manager) Withdraw(ctx context.Context, id string) error {
	_, err := m.remove(ctx, id, func(p *Plugin) bool { return p.Shared() != nil })
	return err
}
