// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"software.sslmate.com/src/go-pkcs12"

	"example.org/app/internal/config"
)

// publicKeyOfP12 returns the public key with the configured name, or the only one. It may be stored
// as a certificate or with its private key.
func publicKeyOfP12(data []byte, settings config.P12) (any, error) {
	password := settings.Password.Reveal()
	blocks, err := pkcs12.ToPEM(data, password) //nolint:staticcheck // Nothing else of the package tells the names of keys.
	if err != nil {
		// A file with only certificates has another format, and no readable names.
		certificates, trustErr := pkcs12.DecodeTrustStore(data, password)
		if trustErr != nil || len(certificates) == 0 {
			return nil, err
		}
		if len(certificates) > 1 {
			return nil, fmt.Errorf("a file without private key must have one certificate, not %d", len(certificates))
		}
		return certificates[0].PublicKey, nil
	}
	var found []crypto.PublicKey
	for _, block := range blocks {
		if settings.KeyAlias != "" && !strings.EqualFold(block.Headers["friendlyName"], settings.KeyAlias) {
			continue
		}
		key, err := publicKeyOfBlock(block)
		if err != nil {
			return nil, err
		}
		// A private key and its certificate count as one key.
		if !containsKey(found, key) {
			found = append(found, key)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case settings.KeyAlias == "":
		return nil, fmt.Errorf("key-alias: must not be empty, because there are %d keys in the file", len(found))
	}
	return nil, fmt.Errorf("key-alias: there are %d keys with the name %q, not one", len(found), settings.KeyAlias)
}

func containsKey(keys []crypto.PublicKey, key crypto.PublicKey) bool {
	for _, k := range keys {
		if equal, ok := k.(interface{ Equal(crypto.PublicKey) bool }); ok && equal.Equal(key) {
			return true
		}
	}
	return false
}

// publicKeyOfBlock parses the output of the PKCS #12 package: certificates, and keys in their
// traditional formats.
func publicKeyOfBlock(block *pem.Block) (crypto.PublicKey, error) {
	if block.Type == "CERTIFICATE" {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return &key.PublicKey, nil
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return &key.PublicKey, nil
	}
	return nil, errors.New("must have keys of RSA or elliptic curves only")
}
