// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bytes"
	"context"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math/big"

	"github.com/go-jose/go-jose/v4"

	"example.org/app/internal/plugin/js/engine"
)

// subtleParams are the parameters of an operation of crypto.subtle besides bytes. Private keys are
// PKCS #8, public ones SPKI.
type subtleParams struct {
	Name       string  `json:"name"`
	Hash       string  `json:"hash"`
	Curve      string  `json:"curve"`
	Type       string  `json:"type"`
	Bits       float64 `json:"bits"`
	Iterations float64 `json:"iterations"`
	TagLength  float64 `json:"tagLength"`
	SaltLength float64 `json:"saltLength"`
}

// Names of the algorithms and of the kinds of failures in the Web Cryptography API.
const (
	algHMAC, algGCM, algCBC, algPBKDF2, algHKDF        = "HMAC", "AES-GCM", "AES-CBC", "PBKDF2", "HKDF"
	algPKCS1, algPSS, algOAEP                          = "RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP"
	algECDSA, algECDH, algEd25519                      = "ECDSA", "ECDH", "Ed25519"
	dataError, operationError, notSupported     string = "DataError", "OperationError", "NotSupportedError"
)

// Limits of the cost of an operation, which cannot be interrupted.
const (
	maxIterations  = 10_000_000
	maxDerivedBits = 1 << 20
	minModulus     = 2048
	maxModulus     = 4096
)

// refusal returns an error whose kind the plugin can see.
func refusal(kind, format string, args ...any) error {
	return fmt.Errorf("%s: %w", kind, fmt.Errorf(format, args...))
}

// subtle runs an operation of crypto.subtle outside of the plugin's goroutine: its name, its
// parameters as JSON, and bytes.
func (l *library) subtle(_ engine.Value, args []engine.Value) (engine.Value, error) {
	name := l.t.text(argument(args, 0))
	operation := subtleOperations[name]
	if operation == nil {
		return engine.Undefined, refusal(notSupported, "there is no operation %q", shorten(name))
	}
	var p subtleParams
	if err := json.Unmarshal([]byte(l.t.text(argument(args, 1))), &p); err != nil {
		return engine.Undefined, refusal(dataError, "the parameters are not what they should be: %w", err)
	}
	var inputs [4][]byte
	for i := range inputs {
		if v := argument(args, i+2); !engine.IsUndefined(v) {
			inputs[i] = bytes.Clone(l.t.content(v))
		}
	}
	return l.inTurn(func(context.Context) (value func() (engine.Value, error), err error) {
		defer func() {
			if v := recover(); v != nil { // Keys come from anywhere.
				err = refusal(operationError, "%v", v)
			}
		}()
		out, err := operation(p, inputs)
		if err != nil {
			return nil, err
		}
		return func() (engine.Value, error) { return l.t.value(l.t.Bytes(out)) }, nil
	})
}

// subtleOperations are the operations by name. Each gets the key first.
var subtleOperations = map[string]func(p subtleParams, in [4][]byte) ([]byte, error){
	"generateSecret": func(p subtleParams, _ [4][]byte) ([]byte, error) { return generateSecret(p) },
	"generatePair":   func(p subtleParams, _ [4][]byte) ([]byte, error) { return generatePair(p) },
	"public":         func(p subtleParams, in [4][]byte) ([]byte, error) { return publicOf(p, in[0]) },
	"importPrivate":  func(p subtleParams, in [4][]byte) ([]byte, error) { return importPrivate(p, in[0]) },
	"importPublic":   func(p subtleParams, in [4][]byte) ([]byte, error) { return importPublic(p, in[0]) },
	"importPoint":    func(p subtleParams, in [4][]byte) ([]byte, error) { return importPoint(p, in[0]) },
	"importJWK":      func(p subtleParams, in [4][]byte) ([]byte, error) { return importJWK(p, in[0]) },
	"exportPoint":    func(p subtleParams, in [4][]byte) ([]byte, error) { return exportPoint(p, in[0]) },
	"exportJWK":      func(p subtleParams, in [4][]byte) ([]byte, error) { return exportJWK(p, in[0]) },
	"sign":           func(p subtleParams, in [4][]byte) ([]byte, error) { return sign(p, in[0], in[1]) },
	"verify": func(p subtleParams, in [4][]byte) ([]byte, error) {
		ok, err := verify(p, in[0], in[1], in[2])
		if ok {
			return []byte{1}, err
		}
		return []byte{0}, err
	},
	"encrypt": func(p subtleParams, in [4][]byte) ([]byte, error) { return encrypt(p, in[0], in[1], in[2], in[3]) },
	"decrypt": func(p subtleParams, in [4][]byte) ([]byte, error) { return decrypt(p, in[0], in[1], in[2], in[3]) },
	"derive":  func(p subtleParams, in [4][]byte) ([]byte, error) { return derive(p, in[0], in[1], in[2]) },
}

// hash is the hash function that the parameters name.
func (p subtleParams) hash() (func() hash.Hash, crypto.Hash, error) {
	h, ok := map[string]crypto.Hash{"SHA-1": crypto.SHA1, "SHA-256": crypto.SHA256, "SHA-384": crypto.SHA384, "SHA-512": crypto.SHA512}[p.Hash]
	if !ok {
		return nil, 0, refusal(notSupported, "the hash %q is not one of SHA-1, SHA-256, SHA-384, SHA-512", shorten(p.Hash))
	}
	return h.New, h, nil
}

// digest is the hash of data.
func (p subtleParams) digest(data []byte) ([]byte, crypto.Hash, error) {
	f, h, err := p.hash()
	if err != nil {
		return nil, 0, err
	}
	sum := f()
	_, _ = sum.Write(data)
	return sum.Sum(nil), h, nil
}

// curve is the elliptic curve that the parameters name.
func (p subtleParams) curve() (elliptic.Curve, error) {
	c, ok := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[p.Curve]
	if !ok {
		return nil, refusal(notSupported, "the curve %q is not one of P-256, P-384, P-521", shorten(p.Curve))
	}
	return c, nil
}

func generateSecret(p subtleParams) ([]byte, error) {
	bits := int(p.Bits)
	switch {
	case p.Name == algHMAC && (bits < 8 || bits > 1<<16 || bits%8 != 0):
		return nil, refusal(operationError, "the length of the key must be a multiple of 8 from 8 to 65536")
	case p.Name != algHMAC && bits != 128 && bits != 192 && bits != 256:
		return nil, refusal(operationError, "the length of the key must be 128, 192 or 256")
	}
	key := make([]byte, bits/8)
	_, _ = rand.Read(key)
	return key, nil
}

func generatePair(p subtleParams) ([]byte, error) {
	switch p.Name {
	case algPKCS1, algPSS, algOAEP:
		bits := int(p.Bits)
		if bits < minModulus || bits > maxModulus {
			return nil, refusal(operationError, "modulusLength must be from %d to %d", minModulus, maxModulus)
		}
		return marshalPrivate(rsa.GenerateKey(rand.Reader, bits))
	case algEd25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return marshalPrivate(key, err)
	}
	c, err := p.curve()
	if err != nil {
		return nil, err
	}
	return marshalPrivate(ecdsa.GenerateKey(c, rand.Reader))
}

func marshalPrivate[K any](key K, err error) ([]byte, error) {
	if err != nil {
		return nil, refusal(operationError, "%w", err)
	}
	return x509.MarshalPKCS8PrivateKey(key)
}

func marshalPublic(key any) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, refusal(dataError, "%w", err)
	}
	return der, nil
}

// fits checks that a key is for the algorithm.
func (p subtleParams) fits(key any) error {
	var curve elliptic.Curve
	ok := false
	switch k := key.(type) {
	case *rsa.PrivateKey:
		key = &k.PublicKey
	case *ecdsa.PrivateKey:
		key = &k.PublicKey
	case ed25519.PrivateKey:
		key = k.Public()
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		ok = p.Name == algPKCS1 || p.Name == algPSS || p.Name == algOAEP
		if ok && k.N.BitLen() > maxModulus {
			return refusal(notSupported, "the modulus has more than %d bits", maxModulus)
		}
	case *ecdsa.PublicKey:
		ok, curve = p.Name == algECDSA || p.Name == algECDH, k.Curve
	case ed25519.PublicKey:
		ok = p.Name == algEd25519
	}
	if !ok {
		return refusal(dataError, "the key is not one of %s", p.Name)
	}
	if curve != nil && curve.Params().Name != p.Curve {
		return refusal(dataError, "the key is one of the curve %s, not of %s", curve.Params().Name, shorten(p.Curve))
	}
	return nil
}

func (p subtleParams) private(der []byte) (any, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, refusal(dataError, "the key is not PKCS #8: %w", err)
	}
	return key, p.fits(key)
}

func (p subtleParams) public(der []byte) (any, error) {
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, refusal(dataError, "the key is not SPKI: %w", err)
	}
	return key, p.fits(key)
}

func publicOf(p subtleParams, der []byte) ([]byte, error) {
	key, err := p.private(der)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, refusal(dataError, "the key has no public part")
	}
	return marshalPublic(signer.Public())
}

func importPrivate(p subtleParams, der []byte) ([]byte, error) {
	key, err := p.private(der)
	if err != nil {
		return nil, err
	}
	return marshalPrivate(key, nil)
}

func importPublic(p subtleParams, der []byte) ([]byte, error) {
	key, err := p.public(der)
	if err != nil {
		return nil, err
	}
	return marshalPublic(key)
}

// importPoint converts a point of a curve to a public key.
func importPoint(p subtleParams, point []byte) ([]byte, error) {
	if p.Name == algEd25519 {
		if len(point) != ed25519.PublicKeySize {
			return nil, refusal(dataError, "the key has %d bytes, not %d", len(point), ed25519.PublicKeySize)
		}
		return marshalPublic(ed25519.PublicKey(point))
	}
	if p.Name != algECDSA && p.Name != algECDH {
		return nil, refusal(notSupported, "a key of %s is imported as spki, pkcs8 or jwk", p.Name)
	}
	c, err := p.curve()
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.ParseUncompressedPublicKey(c, point)
	if err != nil {
		return nil, refusal(dataError, "%w", err)
	}
	return marshalPublic(key)
}

func exportPoint(p subtleParams, der []byte) ([]byte, error) {
	key, err := p.public(der)
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return k.Bytes()
	case ed25519.PublicKey:
		return k, nil
	}
	return nil, refusal(notSupported, "a key of %s is exported as spki or jwk", p.Name)
}

func importJWK(p subtleParams, text []byte) ([]byte, error) {
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON(text); err != nil {
		return nil, refusal(dataError, "the key is not a JSON Web Key: %w", err)
	}
	if secret, ok := key.Key.([]byte); ok {
		if p.Name != algHMAC && p.Name != algGCM && p.Name != algCBC {
			return nil, refusal(dataError, "the key is not one of %s", p.Name)
		}
		return secret, nil
	}
	if err := p.fits(key.Key); err != nil {
		return nil, err
	}
	if key.IsPublic() {
		return marshalPublic(key.Key)
	}
	return marshalPrivate(key.Key, nil)
}

func exportJWK(p subtleParams, data []byte) ([]byte, error) {
	var key any = data
	var err error
	switch p.Type {
	case "private":
		key, err = p.private(data)
	case "public":
		key, err = p.public(data)
	}
	if err != nil {
		return nil, err
	}
	return jose.JSONWebKey{Key: key}.MarshalJSON()
}

// saltLength is that of RSA-PSS.
func (p subtleParams) saltLength() (*rsa.PSSOptions, error) {
	if p.SaltLength < 0 || p.SaltLength > maxModulus/8 {
		return nil, refusal(operationError, "saltLength must be from 0 to %d", maxModulus/8)
	}
	// Go's zero means another length.
	if p.SaltLength == 0 {
		return nil, refusal(notSupported, "saltLength must be above 0")
	}
	return &rsa.PSSOptions{SaltLength: int(p.SaltLength)}, nil
}

func mac(p subtleParams, key, data []byte) ([]byte, error) {
	f, _, err := p.hash()
	if err != nil {
		return nil, err
	}
	h := hmac.New(f, key)
	_, _ = h.Write(data)
	return h.Sum(nil), nil
}

func sign(p subtleParams, key, data []byte) ([]byte, error) {
	if p.Name == algHMAC {
		return mac(p, key, data)
	}
	parsed, err := p.private(key)
	if err != nil {
		return nil, err
	}
	if k, ok := parsed.(ed25519.PrivateKey); ok {
		return ed25519.Sign(k, data), nil
	}
	sum, h, err := p.digest(data)
	if err != nil {
		return nil, err
	}
	switch k := parsed.(type) {
	case *rsa.PrivateKey:
		if p.Name == algPKCS1 {
			return rsa.SignPKCS1v15(rand.Reader, k, h, sum)
		}
		o, err := p.saltLength()
		if err != nil {
			return nil, err
		}
		return rsa.SignPSS(rand.Reader, k, h, sum, o)
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum)
		if err != nil {
			return nil, refusal(operationError, "%w", err)
		}
		size := (k.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	}
	return nil, refusal(notSupported, "%s cannot sign", p.Name)
}

func verify(p subtleParams, key, data, signature []byte) (bool, error) {
	if p.Name == algHMAC {
		want, err := mac(p, key, data)
		return err == nil && hmac.Equal(want, signature), err
	}
	parsed, err := p.public(key)
	if err != nil {
		return false, err
	}
	if k, ok := parsed.(ed25519.PublicKey); ok {
		return ed25519.Verify(k, data, signature), nil
	}
	sum, h, err := p.digest(data)
	if err != nil {
		return false, err
	}
	switch k := parsed.(type) {
	case *rsa.PublicKey:
		if p.Name == algPKCS1 {
			return rsa.VerifyPKCS1v15(k, h, sum, signature) == nil, nil
		}
		o, err := p.saltLength()
		if err != nil {
			return false, err
		}
		return rsa.VerifyPSS(k, h, sum, signature, o) == nil, nil
	case *ecdsa.PublicKey:
		size := (k.Params().BitSize + 7) / 8
		if len(signature) != 2*size {
			return false, nil
		}
		return ecdsa.Verify(k, sum, new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])), nil
	}
	return false, refusal(notSupported, "%s cannot verify", p.Name)
}

// gcm is the cipher of AES-GCM for an initialisation vector.
func (p subtleParams) gcm(key, iv []byte) (cipher.AEAD, error) {
	if p.TagLength != 128 {
		return nil, refusal(notSupported, "tagLength must be 128")
	}
	if len(iv) == 0 {
		return nil, refusal(operationError, "the iv is empty")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, refusal(dataError, "%w", err)
	}
	return cipher.NewGCMWithNonceSize(block, len(iv))
}

// cbc is the cipher of AES-CBC.
func cbc(key, iv []byte) (cipher.Block, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, refusal(dataError, "%w", err)
	}
	if len(iv) != aes.BlockSize {
		return nil, refusal(operationError, "the iv has %d bytes, not %d", len(iv), aes.BlockSize)
	}
	return block, nil
}

// encrypt encrypts data. For RSA-OAEP, iv is the label.
func encrypt(p subtleParams, key, data, iv, additional []byte) ([]byte, error) {
	switch p.Name {
	case algGCM:
		c, err := p.gcm(key, iv)
		if err != nil {
			return nil, err
		}
		return c.Seal(nil, iv, data, additional), nil
	case algCBC:
		block, err := cbc(key, iv)
		if err != nil {
			return nil, err
		}
		padding := aes.BlockSize - len(data)%aes.BlockSize
		out := append(bytes.Clone(data), bytes.Repeat([]byte{byte(padding)}, padding)...)
		cipher.NewCBCEncrypter(block, iv).CryptBlocks(out, out)
		return out, nil
	}
	parsed, err := p.public(key)
	if err != nil {
		return nil, err
	}
	k, ok := parsed.(*rsa.PublicKey)
	f, _, err := p.hash()
	if !ok || err != nil {
		return nil, errors.Join(err, refusal(notSupported, "%s cannot encrypt", p.Name))
	}
	out, err := rsa.EncryptOAEP(f(), rand.Reader, k, data, iv)
	if err != nil {
		return nil, refusal(operationError, "%w", err)
	}
	return out, nil
}

// errDecrypt has no details, because they would only help attackers.
var errDecrypt = refusal(operationError, "the data cannot be decrypted")

// decrypt decrypts data. For RSA-OAEP, iv is the label.
func decrypt(p subtleParams, key, data, iv, additional []byte) ([]byte, error) {
	switch p.Name {
	case algGCM:
		c, err := p.gcm(key, iv)
		if err != nil {
			return nil, err
		}
		out, err := c.Open(nil, iv, data, additional)
		if err != nil {
			return nil, errDecrypt
		}
		return out, nil
	case algCBC:
		return decryptCBC(key, data, iv)
	}
	parsed, err := p.private(key)
	if err != nil {
		return nil, err
	}
	k, ok := parsed.(*rsa.PrivateKey)
	f, _, err := p.hash()
	if !ok || err != nil {
		return nil, errors.Join(err, refusal(notSupported, "%s cannot decrypt", p.Name))
	}
	out, err := rsa.DecryptOAEP(f(), rand.Reader, k, data, iv)
	if err != nil {
		return nil, errDecrypt
	}
	return out, nil
}

func decryptCBC(key, data, iv []byte) ([]byte, error) {
	block, err := cbc(key, iv)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errDecrypt
	}
	out := bytes.Clone(data)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, out)
	padding := int(out[len(out)-1])
	if padding < 1 || padding > aes.BlockSize || !bytes.Equal(out[len(out)-padding:], bytes.Repeat([]byte{byte(padding)}, padding)) {
		return nil, errDecrypt
	}
	return out[:len(out)-padding], nil
}

// derive derives bits from a password, from a key, or from two keys.
func derive(p subtleParams, key, salt, info []byte) ([]byte, error) {
	if p.Name == algECDH {
		return agree(p, key, salt)
	}
	bits := int(p.Bits)
	if p.Bits != float64(bits) || bits < 8 || bits > maxDerivedBits || bits%8 != 0 {
		return nil, refusal(operationError, "the length must be a multiple of 8 from 8 to %d", maxDerivedBits)
	}
	f, _, err := p.hash()
	if err != nil {
		return nil, err
	}
	var out []byte
	switch p.Name {
	case algPBKDF2:
		if p.Iterations < 1 || p.Iterations > maxIterations {
			return nil, refusal(operationError, "iterations must be from 1 to %d", maxIterations)
		}
		out, err = pbkdf2.Key(f, string(key), salt, int(p.Iterations), bits/8)
	case algHKDF:
		out, err = hkdf.Key(f, key, salt, string(info), bits/8)
	default:
		return nil, refusal(notSupported, "%s cannot derive", p.Name)
	}
	if err != nil {
		return nil, refusal(operationError, "%w", err)
	}
	return out, nil
}

// agree computes the shared secret of two keys.
func agree(p subtleParams, private, public []byte) ([]byte, error) {
	own, err := p.private(private)
	if err != nil {
		return nil, err
	}
	other, err := p.public(public)
	if err != nil {
		return nil, err
	}
	a, okA := own.(interface {
		ECDH() (*ecdh.PrivateKey, error)
	})
	b, okB := other.(interface {
		ECDH() (*ecdh.PublicKey, error)
	})
	if !okA || !okB {
		return nil, refusal(notSupported, "%s cannot derive", p.Name)
	}
	x, errA := a.ECDH()
	y, errB := b.ECDH()
	if err := errors.Join(errA, errB); err != nil {
		return nil, refusal(dataError, "%w", err)
	}
	secret, err := x.ECDH(y)
	if err != nil {
		return nil, refusal(operationError, "%w", err)
	}
	bits := int(p.Bits)
	if bits < 0 || bits%8 != 0 || bits > 8*len(secret) {
		return nil, refusal(operationError, "the length must be a multiple of 8 up to %d", 8*len(secret))
	}
	if bits > 0 {
		secret = secret[:bits/8]
	}
	return secret, nil
}
