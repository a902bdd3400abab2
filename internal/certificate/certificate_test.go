// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"example.org/app/internal/certificate/certificatetest"
)

const password = "pass phrase"

// write stores a new certificate for a host name in the files.
func write(t *testing.T, f Files, host string) {
	t.Helper()
	made := certificatetest.New(host)
	if f.P12 != "" {
		data, err := pkcs12.Modern.Encode(made.PrivateKey, made.Leaf, []*x509.Certificate{made.Leaf}, f.P12Password)
		check(t, err)
		check(t, os.WriteFile(f.P12, data, 0o600))
		return
	}
	chain, key := certificatetest.PEM(made)
	check(t, os.WriteFile(f.Chain, chain, 0o600))
	check(t, os.WriteFile(f.Key, key, 0o600))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shown returns the name in the certificate that a client receives.
func shown(t *testing.T, c *Certificate) string {
	t.Helper()
	here, there := net.Pipe()
	server := tls.Server(there, &tls.Config{GetCertificate: c.Get})
	served := make(chan error, 1)
	go func() {
		served <- server.Handshake()
		server.Close()
	}()
	client := tls.Client(here, &tls.Config{InsecureSkipVerify: true})
	err := client.Handshake()
	// The server does not wait for a client that has disconnected.
	here.Close()
	if err := errors.Join(err, <-served); err != nil {
		t.Fatal(err)
	}
	return client.ConnectionState().PeerCertificates[0].Subject.CommonName
}

func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	for name, files := range map[string]Files{
		"PEM":      {Chain: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")},
		"PKCS #12": {P12: filepath.Join(dir, "server.p12"), P12Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			logger := slog.New(slog.DiscardHandler)
			if _, err := Load(files, logger); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("missing files: %v", err)
			}
			write(t, files, "first.example.org")
			synctest.Test(t, func(t *testing.T) {
				c, err := Load(files, logger)
				check(t, err)
				want := func(name string) {
					t.Helper()
					time.Sleep(2 * checkInterval)
					if got := shown(t, c); got != name {
						t.Errorf("certificate of %q, want %q", got, name)
					}
				}
				want("first.example.org")
				write(t, files, "the-second.example.org")
				want("the-second.example.org")
				check(t, os.WriteFile(files.names()[0], []byte("broken"), 0o600))
				want("the-second.example.org")
				check(t, os.Remove(files.names()[0]))
				want("the-second.example.org")
			})
		})
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	good := Files{P12: filepath.Join(dir, "good.p12"), P12Password: password}
	write(t, good, "example.org")
	empty := filepath.Join(dir, "empty")
	check(t, os.WriteFile(empty, nil, 0o600))
	for name, files := range map[string]Files{
		"wrong password":  {P12: good.P12, P12Password: "wrong"},
		"no PKCS #12":     {P12: empty, P12Password: password},
		"no PEM":          {Chain: empty, Key: empty},
		"a folder":        {P12: dir},
		"PKCS #12 as PEM": {Chain: good.P12, Key: good.P12},
	} {
		if _, err := Load(files, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
