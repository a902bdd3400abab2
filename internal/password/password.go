// SPDX-License-Identifier: Apache-2.0

// Package password hashes passwords and verifies them against stored hashes. A stored hash begins
// with the name of its algorithm, so that old hashes stay valid when the configured algorithm
// changes. Callers check the length of passwords.
package password

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/crypto/bcrypt"
)

// Algorithm is a password hash algorithm.
type Algorithm string

// The algorithms. Noop stores the password in plain text and is for test data only.
const (
	BCrypt       Algorithm = "BCRYPT"
	SaltedSHA256 Algorithm = "SALTED_SHA256"
	Noop         Algorithm = "NOOP"
)

const (
	saltSize = 8
	// bcryptLimit is the maximum length of a password in bytes that bcrypt accepts.
	bcryptLimit = 72
)

// Hasher hashes passwords with one algorithm.
type Hasher struct {
	Algorithm Algorithm
	Cost      int // of bcrypt
}

// Hash returns the stored form of the password.
func (h Hasher) Hash(password string) ([]byte, error) {
	var sum []byte
	switch h.Algorithm {
	case BCrypt:
		var err error
		if sum, err = bcrypt.GenerateFromPassword(bcryptInput(password), h.Cost); err != nil {
			return nil, fmt.Errorf("hash password: %w", err)
		}
	case SaltedSHA256:
		sum = make([]byte, saltSize)
		rand.Read(sum)
		sum = append(sum, saltedSum(sum, password)...)
	case Noop:
		sum = []byte(password)
	default:
		return nil, fmt.Errorf("hash password: unknown algorithm %q", h.Algorithm)
	}
	return append([]byte(h.Algorithm+":"), sum...), nil
}

// bcryptEncoding is the base64 variant of bcrypt.
var bcryptEncoding = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

const (
	bcryptSaltSize = 16
	bcryptSumSize  = 23
)

// Decoy returns a hash that no password matches. Verifying a password against it takes as long as
// against a hash of this hasher, so that login attempts do not reveal which names exist. Unlike a
// hash, it takes no time to create.
func (h Hasher) Decoy() []byte {
	random := func(size int) []byte {
		bytes := make([]byte, size)
		rand.Read(bytes)
		return bytes
	}
	var sum []byte
	switch h.Algorithm {
	case BCrypt:
		sum = fmt.Appendf(nil, "$2a$%02d$%s%s", max(h.Cost, bcrypt.MinCost), bcryptEncoding.EncodeToString(random(bcryptSaltSize)),
			bcryptEncoding.EncodeToString(random(bcryptSumSize)))
	case SaltedSHA256:
		sum = random(saltSize + sha256.Size)
	default:
		sum = []byte(rand.Text())
	}
	return append([]byte(h.Algorithm+":"), sum...)
}

// ErrMismatch means that the password does not match the hash.
var ErrMismatch = errors.New("password does not match")

// Verify compares a password with its stored hash. It returns nil, ErrMismatch, or another error if
// the hash cannot be parsed.
func Verify(stored []byte, password string) error {
	name, sum, ok := bytes.Cut(stored, []byte{':'})
	if !ok {
		return errors.New("stored password names no algorithm")
	}
	equal := false
	switch Algorithm(name) {
	case BCrypt:
		err := bcrypt.CompareHashAndPassword(sum, bcryptInput(password))
		if err != nil && !errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
			return fmt.Errorf("stored password: %w", err)
		}
		equal = err == nil
	case SaltedSHA256:
		if len(sum) != saltSize+sha256.Size {
			return fmt.Errorf("stored password has %d bytes, want %d", len(sum), saltSize+sha256.Size)
		}
		equal = subtle.ConstantTimeCompare(sum[saltSize:], saltedSum(sum[:saltSize], password)) == 1
	case Noop:
		equal = subtle.ConstantTimeCompare(sum, []byte(password)) == 1
	default:
		return fmt.Errorf("stored password names the unknown algorithm %q", name)
	}
	if !equal {
		return ErrMismatch
	}
	return nil
}

func saltedSum(salt []byte, password string) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write([]byte(password))
	return h.Sum(nil)
}

// bcryptInput shortens passwords that bcrypt would reject: one of 32 characters may have more than
// 72 bytes.
func bcryptInput(password string) []byte {
	if len(password) <= bcryptLimit {
		return []byte(password)
	}
	sum := sha256.Sum256([]byte(password))
	return base64.StdEncoding.AppendEncode(nil, sum[:])
}
