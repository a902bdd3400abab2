// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

const password = "pass phrase"

// write puts a new certificate for a host name where the files say.
func write(t *testing.T, f Files, host string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	if f.P12 != "" {
		leaf, err := x509.ParseCertificate(der)
		check(t, err)
		data, err := pkcs12.Modern.Encode(key, leaf, []*x509.Certificate{leaf}, f.P12Password)
		check(t, err)
		check(t, os.WriteFile(f.P12, data, 0o600))
		return
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	check(t, os.WriteFile(f.Chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	check(t, os.WriteFile(f.Key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shown is the name in the certificate that a client sees.
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
	// The server does not wait for somebody who has gone.
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
