// SPDX-License-Identifier: Apache-2.0

// Package certificate loads the TLS certificates of servers and reloads them when their files
// change, so that a renewal needs no restart. It neither creates certificates nor verifies those of
// peers.
package certificate

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// Files are the locations of a certificate chain and its private key: two PEM files or one PKCS #12
// file.
type Files struct {
	Chain, Key string
	// P12, if not empty, is used instead of the others.
	P12         string
	P12Password string
}

func (f Files) names() []string {
	if f.P12 != "" {
		return []string{f.P12}
	}
	return []string{f.Chain, f.Key}
}

func (f Files) read() (*tls.Certificate, error) {
	if f.P12 == "" {
		pair, err := tls.LoadX509KeyPair(f.Chain, f.Key)
		return &pair, err
	}
	data, err := os.ReadFile(f.P12)
	if err != nil {
		return nil, err
	}
	key, leaf, issuers, err := pkcs12.DecodeChain(data, f.P12Password)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", f.P12, err)
	}
	pair := &tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
	for _, issuer := range issuers {
		pair.Certificate = append(pair.Certificate, issuer.Raw)
	}
	return pair, nil
}

// Certificate is a certificate that is reloaded when its files change. It is safe for concurrent
// use.
type Certificate struct {
	files  Files
	logger *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   [2]fileStamp
	checked time.Time
}

type fileStamp struct {
	modified time.Time
	size     int64
}

// checkInterval is the minimum time between two checks of the files.
const checkInterval = time.Second

// Load loads a certificate for the first time.
func Load(files Files, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{files: files, logger: logger}
	stamp, err := c.stat()
	if err == nil {
		err = c.load(stamp)
	}
	if err != nil {
		return nil, fmt.Errorf("load TLS certificate: %w", err)
	}
	return c, nil
}

// Get returns the certificate for a handshake. If the new certificate cannot be loaded, the old one
// stays in use.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= checkInterval {
		c.checked = now
		file := c.files.names()[0]
		stamp, err := c.stat()
		if err == nil && stamp != c.stamp {
			if err = c.load(stamp); err == nil {
				c.logger.Info("TLS certificate reloaded", "file", file)
			}
		}
		if err != nil {
			c.logger.Error("TLS certificate cannot be reloaded, the old one stays in use", "file", file, "error", err)
		}
	}
	return c.current, nil
}

func (c *Certificate) stat() (stamp [2]fileStamp, err error) {
	for i, name := range c.files.names() {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return stamp, nil
}

func (c *Certificate) load(stamp [2]fileStamp) error {
	pair, err := c.files.read()
	if err != nil {
		return err
	}
	c.current, c.stamp = pair, stamp
	return nil
}
