// SPDX-License-Identifier: Apache-2.0

// Package certificatetest creates certificates for tests.
package certificatetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// New creates a key and a self-signed certificate for a host, which is a name or an address. The
// certificate is for servers and clients and is valid for a day. New panics if no random numbers
// are available.
func New(host string) tls.Certificate {
	return must(of(must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), host))
}

// Of is New for an existing key.
func Of(key crypto.Signer, host string) tls.Certificate { return must(of(key, host)) }

func of(key crypto.Signer, host string) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// PEM returns the certificate and its key in the form of files.
func PEM(c tls.Certificate) (certificate, key []byte) {
	encode := func(kind string, data []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}) }
	return encode("CERTIFICATE", c.Certificate[0]), encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(c.PrivateKey)))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
