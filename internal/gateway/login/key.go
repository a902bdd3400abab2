// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"example.org/app/internal/config"
)

// publicAlgorithms are the algorithms with a public key, by the name of their property. Those with
// a curve use elliptic curves, the others RSA.
var publicAlgorithms = map[string]struct {
	name  string
	curve elliptic.Curve
}{
	"rsa256": {"RS256", nil}, "rsa384": {"RS384", nil}, "rsa512": {"RS512", nil},
	"ps256": {"PS256", nil}, "ps384": {"PS384", nil}, "ps512": {"PS512", nil},
	"ecdsa256": {"ES256", elliptic.P256()}, "ecdsa384": {"ES384", elliptic.P384()}, "ecdsa512": {"ES512", elliptic.P521()},
}

// secretAlgorithms are the algorithms with a secret key, by the name of their property. The key
// must be at least as long as the hash (RFC 7518, 3.2).
var secretAlgorithms = map[string]struct {
	name string
	hash crypto.Hash
}{
	"hmac256": {"HS256", crypto.SHA256}, "hmac384": {"HS384", crypto.SHA384}, "hmac512": {"HS512", crypto.SHA512},
}

// minRSABits is the minimum size of an RSA key (RFC 7518, 3.3).
const minRSABits = 2048

// readKeys returns the configured keys by the names of their algorithms in tokens.
func readKeys(settings config.JWTAlgorithms) (map[string]any, error) {
	keys := map[string]any{}
	public, secret := settings.Public(), settings.Secret()
	for _, property := range slices.Sorted(maps.Keys(public)) {
		file, algorithm := public[property], publicAlgorithms[property]
		path, where := file.PEMFilePath, ".pem-file-path"
		read := func(data []byte) (any, error) { return publicKeyOfPEM(data) }
		if file.P12.FilePath != "" {
			path, where = file.P12.FilePath, ".p12.file-path"
			read = func(data []byte) (any, error) { return publicKeyOfP12(data, file.P12) }
		}
		check := func(key any) error { return checkPublicKey(key, algorithm.curve) }
		if err := readKey(keys, algorithm.name, property+where, path, read, check); err != nil {
			return nil, err
		}
	}
	for _, property := range slices.Sorted(maps.Keys(secret)) {
		file, algorithm := secret[property], secretAlgorithms[property]
		path, where := file.FilePath, ".file-path"
		read := func(data []byte) (any, error) { return data, nil }
		if file.P12.FilePath != "" {
			path, where = file.P12.FilePath, ".p12.file-path"
			read = func(data []byte) (any, error) { return secretKeyOfP12(data, file.P12) }
		}
		check := func(key any) error { return checkSecretKey(key.([]byte), algorithm.hash) }
		if err := readKey(keys, algorithm.name, property+where, path, read, check); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// readKey adds the key in the file at path, if there is one. The error is one line that names the
// property.
func readKey(keys map[string]any, algorithm, property, path string, read func([]byte) (any, error), check func(any) error) error {
	if path == "" {
		return nil
	}
	property = prefix + "jwt.algorithm." + property
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: read the key: %w", property, err)
	}
	key, err := read(data)
	if err == nil {
		err = check(key)
	}
	if err != nil {
		return fmt.Errorf("%s: read the key in %q: %w", property, path, err)
	}
	keys[algorithm] = key
	return nil
}

// publicKeyOfPEM returns the first key or the key of the first certificate.
func publicKeyOfPEM(data []byte) (any, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("must be a PEM file")
	}
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return certificate.PublicKey, nil
	}
	// A gateway only verifies tokens and must not have the private key.
	return nil, fmt.Errorf("must have a PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE, not %q", block.Type)
}

// checkPublicKey checks that a key fits its algorithm: a key on the curve, or an RSA key if there
// is no curve.
func checkPublicKey(key any, curve elliptic.Curve) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if curve != nil {
			return fmt.Errorf("must be a key on the curve %s, not an RSA key", curve.Params().Name)
		}
		if bits := key.N.BitLen(); bits < minRSABits {
			return fmt.Errorf("an RSA key must have at least %d bits, this one has %d", minRSABits, bits)
		}
		return nil
	case *ecdsa.PublicKey:
		if curve == nil {
			return errors.New("must be an RSA key, not one on an elliptic curve")
		}
		if key.Curve != curve {
			return fmt.Errorf("must be a key on the curve %s, not on %s", curve.Params().Name, key.Params().Name)
		}
		return nil
	}
	return fmt.Errorf("must be an RSA key or one on an elliptic curve, not a %T", key)
}

func checkSecretKey(key []byte, hash crypto.Hash) error {
	if least := hash.Size(); len(key) < least {
		return fmt.Errorf("must have at least %d bytes, this one has %d", least, len(key))
	}
	return nil
}
