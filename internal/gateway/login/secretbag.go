// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
	"strings"
	"unicode/utf16"

	"example.org/app/internal/config"
)

// The PKCS #12 package does not read secret keys, so this file does: in the format of Java's key
// stores, with the PKCS #5 v2 encryption that Java has used since version 16. The integrity of the
// file, which only the operator can write, is not checked; a wrong password is detected on
// decryption.

var (
	oidData          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidEncryptedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6}
	oidSecretBag     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 5}
	oidShroudedKey   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2}
	oidFriendlyName  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 20}
	oidPBES2         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// ciphers are the key lengths of AES-CBC, by the identifier of the cipher.
var ciphers = map[string]int{
	"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32,
}

// hashes are the hashes for deriving keys from passwords, by the identifier of their HMAC.
var hashes = map[string]func() hash.Hash{
	"1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New, "1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
}

// maxIterations bounds the work that a file can cause.
const maxIterations = 10_000_000

type p12File struct {
	Version int
	Content p12Content
	Mac     asn1.RawValue `asn1:"optional"`
}

type p12Content struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"tag:0,explicit,optional"`
}

type p12Encrypted struct {
	Version int
	Content struct {
		Type      asn1.ObjectIdentifier
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte `asn1:"tag:0,optional"`
	}
}

type p12Bag struct {
	ID         asn1.ObjectIdentifier
	Value      asn1.RawValue  `asn1:"tag:0,explicit"`
	Attributes []p12Attribute `asn1:"set,optional"`
}

type p12Attribute struct {
	ID    asn1.ObjectIdentifier
	Value asn1.RawValue `asn1:"set"`
}

type p12Secret struct {
	Type  asn1.ObjectIdentifier
	Value []byte `asn1:"tag:0,explicit"`
}

type encryptedKey struct {
	Algorithm pkix.AlgorithmIdentifier
	Data      []byte
}

type plainKey struct {
	Version   int
	Algorithm pkix.AlgorithmIdentifier
	Key       []byte
}

type pbes2 struct {
	Derivation pkix.AlgorithmIdentifier
	Cipher     pkix.AlgorithmIdentifier
}

type pbkdf2Parameters struct {
	Salt       []byte
	Iterations int
	Length     int                      `asn1:"optional"`
	HMAC       pkix.AlgorithmIdentifier `asn1:"optional"`
}

// secretKeyOfP12 returns the secret key with the configured name, or the only one.
func secretKeyOfP12(data []byte, settings config.P12) ([]byte, error) {
	password := settings.Password.Reveal()
	bags, err := p12Bags(data, password)
	if err != nil {
		return nil, err
	}
	var found [][]byte
	for _, bag := range bags {
		if !bag.ID.Equal(oidSecretBag) || settings.KeyAlias != "" && !strings.EqualFold(bag.name(), settings.KeyAlias) {
			continue
		}
		key, err := bag.secret(password)
		if err != nil {
			return nil, err
		}
		found = append(found, key)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case settings.KeyAlias == "":
		return nil, fmt.Errorf("key-alias: must not be empty unless there is one secret key in the file, there are %d", len(found))
	}
	return nil, fmt.Errorf("key-alias: there are %d secret keys with the name %q, not one", len(found), settings.KeyAlias)
}

// p12Bags returns the contents of a file, decrypting parts that are encrypted as a whole.
func p12Bags(data []byte, password string) ([]p12Bag, error) {
	var file p12File
	var inner []byte
	var parts []p12Content
	if err := decodeDER(data, &file); err != nil {
		return nil, fmt.Errorf("must be a PKCS #12 file: %w", err)
	}
	if err := decodeDER(file.Content.Content.Bytes, &inner); err != nil {
		return nil, fmt.Errorf("must be a PKCS #12 file: %w", err)
	}
	if err := decodeDER(inner, &parts); err != nil {
		return nil, fmt.Errorf("must be a PKCS #12 file: %w", err)
	}
	var all []p12Bag
	for _, part := range parts {
		content, err := part.open(password)
		if err != nil {
			return nil, err
		}
		var bags []p12Bag
		if err := decodeDER(content, &bags); err != nil {
			return nil, fmt.Errorf("read a part of the file: %w", err)
		}
		all = append(all, bags...)
	}
	return all, nil
}

func (c p12Content) open(password string) (content []byte, err error) {
	switch {
	case c.Type.Equal(oidData):
		err = decodeDER(c.Content.Bytes, &content)
	case c.Type.Equal(oidEncryptedData):
		var e p12Encrypted
		if err = decodeDER(c.Content.Bytes, &e); err == nil {
			content, err = decryptPBES2(e.Content.Algorithm, e.Content.Data, password)
		}
	default:
		err = fmt.Errorf("the type %s is not supported", c.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("read a part of the file: %w", err)
	}
	return content, nil
}

// name returns the alias, in Java's terms.
func (b p12Bag) name() string {
	for _, attribute := range b.Attributes {
		var text asn1.RawValue
		if !attribute.ID.Equal(oidFriendlyName) || decodeDER(attribute.Value.Bytes, &text) != nil {
			continue
		}
		units := make([]uint16, len(text.Bytes)/2)
		for i := range units {
			units[i] = uint16(text.Bytes[2*i])<<8 | uint16(text.Bytes[2*i+1])
		}
		return string(utf16.Decode(units))
	}
	return ""
}

// secret decrypts the key of a bag that has one.
func (b p12Bag) secret(password string) ([]byte, error) {
	var s p12Secret
	if err := decodeDER(b.Value.Bytes, &s); err != nil {
		return nil, fmt.Errorf("read a secret key: %w", err)
	}
	if !s.Type.Equal(oidShroudedKey) {
		return nil, fmt.Errorf("read a secret key: the type %s is not supported", s.Type)
	}
	var encrypted encryptedKey
	if err := decodeDER(s.Value, &encrypted); err != nil {
		return nil, fmt.Errorf("read a secret key: %w", err)
	}
	plain, err := decryptPBES2(encrypted.Algorithm, encrypted.Data, password)
	if err != nil {
		return nil, fmt.Errorf("read a secret key: %w", err)
	}
	var key plainKey
	if err := decodeDER(plain, &key); err != nil {
		return nil, fmt.Errorf("read a secret key: %w", errWrongPassword)
	}
	return key.Key, nil
}

var errWrongPassword = errors.New("the password is wrong, or the file is damaged")

// decryptPBES2 decrypts data that is encrypted with a password by PBES2 with PBKDF2 and AES.
func decryptPBES2(algorithm pkix.AlgorithmIdentifier, data []byte, password string) ([]byte, error) {
	var scheme pbes2
	if !algorithm.Algorithm.Equal(oidPBES2) {
		return nil, fmt.Errorf("the encryption %s is not supported, only PBES2 with AES", algorithm.Algorithm)
	}
	if err := decodeDER(algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, err
	}
	parameters := pbkdf2Parameters{HMAC: pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 7}}}
	if !scheme.Derivation.Algorithm.Equal(oidPBKDF2) {
		return nil, fmt.Errorf("the key derivation %s is not supported, only PBKDF2", scheme.Derivation.Algorithm)
	}
	if err := decodeDER(scheme.Derivation.Parameters.FullBytes, &parameters); err != nil {
		return nil, err
	}
	newHash, known := hashes[parameters.HMAC.Algorithm.String()]
	size, ok := ciphers[scheme.Cipher.Algorithm.String()]
	var vector []byte
	switch {
	case !known || !ok:
		return nil, fmt.Errorf("the encryption %s with %s is not supported", scheme.Cipher.Algorithm, parameters.HMAC.Algorithm)
	case parameters.Iterations < 1 || parameters.Iterations > maxIterations:
		return nil, fmt.Errorf("%d iterations must be between 1 and %d", parameters.Iterations, maxIterations)
	case decodeDER(scheme.Cipher.Parameters.FullBytes, &vector) != nil || len(vector) != aes.BlockSize:
		return nil, errors.New("the initialization vector of the encryption is malformed")
	case len(data) == 0 || len(data)%aes.BlockSize != 0:
		return nil, errWrongPassword
	}
	key, err := pbkdf2.Key(newHash, password, parameters.Salt, parameters.Iterations, size)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(data))
	cipher.NewCBCDecrypter(block, vector).CryptBlocks(plain, data)
	padding := int(plain[len(plain)-1])
	if padding < 1 || padding > aes.BlockSize || !bytes.Equal(plain[len(plain)-padding:], bytes.Repeat([]byte{byte(padding)}, padding)) {
		return nil, errWrongPassword
	}
	return plain[:len(plain)-padding], nil
}

// decodeDER decodes exactly one value.
func decodeDER(data []byte, value any) error {
	rest, err := asn1.Unmarshal(data, value)
	if err == nil && len(rest) > 0 {
		err = errors.New("there is something behind the end")
	}
	return err
}
