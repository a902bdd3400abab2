// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"software.sslmate.com/src/go-pkcs12"

	"example.org/app/internal/certificate/certificatetest"
	"example.org/app/internal/config"
)

const filePassword = "secret-of-file"

func keyFile(t testing.TB, key crypto.Signer) string {
	t.Helper()
	data, err := pkcs12.Modern.Encode(key, certificatetest.Of(key, "test").Leaf, nil, filePassword)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, data)
}

// TestKeyFiles reads each key format and accepts a token that was signed with the key.
func TestKeyFiles(t *testing.T) {
	ec := ecKey(t, elliptic.P256())
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{certificatetest.Of(rsaKey(), "test").Leaf}, filePassword)
	if err != nil {
		t.Fatal(err)
	}
	rsaP12, ecP12 := keyFile(t, rsaKey()), keyFile(t, ec)
	secrets := filepath.Join("testdata", "secrets.p12")
	type algorithms = config.JWTAlgorithms
	for _, test := range []struct {
		name   string
		method jwt.SigningMethod
		key    any
		set    func(*algorithms)
	}{
		{"certificate", jwt.SigningMethodRS256, rsaKey(), func(a *algorithms) {
			a.RSA256.PEMFilePath = pemFile(t, "CERTIFICATE", certificatetest.Of(rsaKey(), "test").Leaf.Raw)
		}},
		{"PKCS #1", jwt.SigningMethodPS512, rsaKey(), func(a *algorithms) {
			a.PS512.PEMFilePath = pemFile(t, "RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey))
		}},
		{"PKCS #12, RSA", jwt.SigningMethodRS256, rsaKey(), func(a *algorithms) { a.RSA256.P12 = config.P12{FilePath: rsaP12, Password: filePassword} }},
		{"PKCS #12, PSS", jwt.SigningMethodPS384, rsaKey(), func(a *algorithms) { a.PS384.P12 = config.P12{FilePath: rsaP12, Password: filePassword} }},
		{"PKCS #12, curve", jwt.SigningMethodES256, ec, func(a *algorithms) { a.ECDSA256.P12 = config.P12{FilePath: ecP12, Password: filePassword} }},
		{"PKCS #12, only a certificate", jwt.SigningMethodRS256, rsaKey(), func(a *algorithms) {
			a.RSA256.P12 = config.P12{FilePath: file(t, trust), Password: filePassword}
		}},
		{"PKCS #12, secret", jwt.SigningMethodHS512, hmacKey, func(a *algorithms) {
			a.HMAC512.P12 = config.P12{FilePath: secrets, Password: filePassword, KeyAlias: "Long"}
		}},
		{"PKCS #12, other secret", jwt.SigningMethodHS256, hmacKey[:32], func(a *algorithms) {
			a.HMAC256.P12 = config.P12{FilePath: secrets, Password: filePassword, KeyAlias: "short"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := open(t, func(s *config.IdentityAccessManagement) {
				s.Type = config.LoginJWT
				test.set(&s.JWT.Algorithm)
			})
			if _, err := a.Authenticate(t.Context(), request(new(sign(t, test.method, test.key, nil)))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeyAlias reads files written by Java's keytool, and compares the keys with the exported
// certificates.
func TestKeyAlias(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, test := range []struct{ file, alias, certificate string }{
		{"pairs.p12", "first", "first.pem"},
		{"pairs.p12", "FIRST", "first.pem"},
		{"pairs.p12", "second", "second.pem"},
		{"trusted.p12", "", "first.pem"},
	} {
		want, err := publicKeyOfPEM(read(test.certificate))
		if err != nil {
			t.Fatal(err)
		}
		got, err := publicKeyOfP12(read(test.file), config.P12{Password: filePassword, KeyAlias: test.alias})
		if err != nil || !want.(interface{ Equal(crypto.PublicKey) bool }).Equal(got) {
			t.Errorf("%s, %q: got %v, %v", test.file, test.alias, got, err)
		}
	}
}

func TestBadKeys(t *testing.T) {
	pairs, secrets, legacy := filepath.Join("testdata", "pairs.p12"), filepath.Join("testdata", "secrets.p12"), filepath.Join("testdata", "legacy.p12")
	private, err := x509.MarshalPKCS8PrivateKey(rsaKey())
	if err != nil {
		t.Fatal(err)
	}
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.pem")
	type algorithms = config.JWTAlgorithms
	for _, test := range []struct {
		name     string
		set      func(*algorithms)
		property string
		want     string
	}{
		{"missing file", func(a *algorithms) { a.RSA256.PEMFilePath = missing }, "rsa256.pem-file-path", "missing.pem"},
		{"missing file of PKCS #12", func(a *algorithms) { a.PS256.P12.FilePath = missing }, "ps256.p12.file-path", "missing.pem"},
		{"missing secret", func(a *algorithms) { a.HMAC384.FilePath = missing }, "hmac384.file-path", "missing.pem"},
		{"missing secret of PKCS #12", func(a *algorithms) { a.HMAC384.P12.FilePath = missing }, "hmac384.p12.file-path", "missing.pem"},
		{"no PEM", func(a *algorithms) { a.RSA384.PEMFilePath = file(t, []byte("x")) }, "rsa384.pem-file-path", "must be a PEM file"},
		{"damaged PEM", func(a *algorithms) { a.RSA384.PEMFilePath = pemFile(t, "PUBLIC KEY", []byte("x")) }, "rsa384.pem-file-path", "asn1"},
		{"damaged certificate", func(a *algorithms) { a.RSA384.PEMFilePath = pemFile(t, "CERTIFICATE", []byte("x")) }, "rsa384.pem-file-path", "x509"},
		{"private key", func(a *algorithms) { a.RSA512.PEMFilePath = pemFile(t, "PRIVATE KEY", private) }, "rsa512.pem-file-path", `not "PRIVATE KEY"`},
		{"curve for RSA", func(a *algorithms) { a.PS512.PEMFilePath = publicFile(t, ecKey(t, elliptic.P256()).Public()) }, "ps512.pem-file-path", "must be an RSA key"},
		{"RSA for a curve", func(a *algorithms) { a.ECDSA256.PEMFilePath = publicFile(t, rsaKey().Public()) }, "ecdsa256.pem-file-path", "not an RSA key"},
		{"other curve", func(a *algorithms) { a.ECDSA384.PEMFilePath = publicFile(t, ecKey(t, elliptic.P256()).Public()) }, "ecdsa384.pem-file-path", "must be a key on the curve P-384, not on P-256"},
		{"other kind", func(a *algorithms) { a.ECDSA512.PEMFilePath = publicFile(t, edwards) }, "ecdsa512.pem-file-path", "not a ed25519.PublicKey"},
		{"weak RSA", func(a *algorithms) { a.RSA256.PEMFilePath = publicFile(t, weakKey()) }, "rsa256.pem-file-path", "at least 2048 bits"},
		{"short secret", func(a *algorithms) { a.HMAC256.FilePath = file(t, hmacKey[:31]) }, "hmac256.file-path", "must have at least 32 bytes, this one has 31"},
		{"empty secret", func(a *algorithms) { a.HMAC512.FilePath = file(t, nil) }, "hmac512.file-path", "must have at least 64 bytes, this one has 0"},
		{"wrong password", func(a *algorithms) { a.RSA256.P12 = config.P12{FilePath: pairs, Password: "wrong-one"} }, "rsa256.p12.file-path", "password"},
		{"no PKCS #12", func(a *algorithms) { a.RSA256.P12 = config.P12{FilePath: file(t, []byte("x"))} }, "rsa256.p12.file-path", "P12"},
		{"unknown alias", func(a *algorithms) {
			a.RSA256.P12 = config.P12{FilePath: pairs, Password: filePassword, KeyAlias: "third"}
		}, "rsa256.p12.file-path", `there are 0 keys with the name "third"`},
		{"no alias", func(a *algorithms) { a.RSA256.P12 = config.P12{FilePath: pairs, Password: filePassword} }, "rsa256.p12.file-path", "there are 2 keys in the file"},
		{"alias of the other kind", func(a *algorithms) {
			a.RSA256.P12 = config.P12{FilePath: pairs, Password: filePassword, KeyAlias: "second"}
		}, "rsa256.p12.file-path", "must be an RSA key"},
		{"wrong password of a secret", func(a *algorithms) {
			a.HMAC256.P12 = config.P12{FilePath: secrets, Password: "wrong-one", KeyAlias: "short"}
		}, "hmac256.p12.file-path", ""},
		{"no alias of a secret", func(a *algorithms) { a.HMAC256.P12 = config.P12{FilePath: secrets, Password: filePassword} }, "hmac256.p12.file-path", "there are 2"},
		{"unknown alias of a secret", func(a *algorithms) {
			a.HMAC256.P12 = config.P12{FilePath: secrets, Password: filePassword, KeyAlias: "third"}
		}, "hmac256.p12.file-path", `there are 0 secret keys with the name "third"`},
		{"secret too short for the algorithm", func(a *algorithms) {
			a.HMAC512.P12 = config.P12{FilePath: secrets, Password: filePassword, KeyAlias: "short"}
		}, "hmac512.p12.file-path", "must have at least 64 bytes"},
		{"old encryption", func(a *algorithms) {
			a.HMAC256.P12 = config.P12{FilePath: legacy, Password: filePassword, KeyAlias: "short"}
		}, "hmac256.p12.file-path", "is not supported"},
		{"no PKCS #12 with a secret", func(a *algorithms) { a.HMAC256.P12 = config.P12{FilePath: file(t, []byte("x"))} }, "hmac256.p12.file-path", "must be a PKCS #12 file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := settings(func(s *config.IdentityAccessManagement) {
				s.Type = config.LoginJWT
				test.set(&s.JWT.Algorithm)
			})
			_, err := New(t.Context(), Options{Settings: func() config.IdentityAccessManagement { return s }})
			if err == nil {
				t.Fatal("the keys were taken")
			}
			text := err.Error()
			if !strings.HasPrefix(text, prefix+"jwt.algorithm."+test.property+": ") || !strings.Contains(text, test.want) {
				t.Errorf("got %q, want %q", text, test.want)
			}
			if strings.Contains(text, "\n") || strings.Contains(text, filePassword) || strings.Contains(text, "wrong-one") {
				t.Errorf("%q has more than one line or a password", text)
			}
		})
	}
}

// weakKey has 1024 bits, which the library no longer generates.
func weakKey() *rsa.PublicKey {
	return &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 1023, 1), E: 65537}
}

// FuzzSecretKey checks that the reader returns an error for any invalid file.
func FuzzSecretKey(f *testing.F) {
	for _, name := range []string{"secrets.p12", "legacy.p12", "pairs.p12", "trusted.p12"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte{0x02, 0x03}) || bytes.Contains(data, []byte{0x02, 0x04}) {
			return // Such numbers may be iteration counts, which only take long.
		}
		_, _ = secretKeyOfP12(data, config.P12{Password: filePassword, KeyAlias: "short"})
	})
}
