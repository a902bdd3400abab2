// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a TLS certificate that is read again when its files change,
// so that a renewal needs no restart.
type Certificate struct {
	certFile, keyFile string
	logger            *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	stamp   [2]fileStamp
	checked time.Time
}

type fileStamp struct {
	modified time.Time
	size     int64
}

// checkInterval bounds how often the files are looked at.
const checkInterval = time.Second

// LoadCertificate reads a certificate chain and its private key, both PEM.
func LoadCertificate(certFile, keyFile string, logger *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, logger: logger}
	stamp, err := c.stat()
	if err == nil {
		err = c.load(stamp)
	}
	if err != nil {
		return nil, fmt.Errorf("load TLS certificate: %w", err)
	}
	return c, nil
}

// Get returns the certificate for a handshake. A new certificate that cannot be
// read leaves the old one in use.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= checkInterval {
		c.checked = now
		stamp, err := c.stat()
		if err == nil && stamp != c.stamp {
			if err = c.load(stamp); err == nil {
				c.logger.Info("TLS certificate loaded again", "file", c.certFile)
			}
		}
		if err != nil {
			c.logger.Error("TLS certificate cannot be loaded again, the old one stays", "file", c.certFile, "error", err)
		}
	}
	return c.current, nil
}

func (c *Certificate) stat() (stamp [2]fileStamp, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamp, err
		}
		stamp[i] = fileStamp{info.ModTime(), info.Size()}
	}
	return stamp, nil
}

func (c *Certificate) load(stamp [2]fileStamp) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current, c.stamp = &pair, stamp
	return nil
}
