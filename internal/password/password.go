// SPDX-License-Identifier: Apache-2.0

// Package password hashes passwords and checks them against stored hashes. A
// stored hash begins with the name of its algorithm, so that hashes made
// before a change of the configured algorithm stay valid. Length rules belong
// to the callers.
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

// Algorithm is the way in which a password is stored.
type Algorithm string

// The algorithms. Noop stores the password as it is and is for test data only.
const (
	BCrypt       Algorithm = "BCRYPT"
	SaltedSHA256 Algorithm = "SALTED_SHA256"
	Noop         Algorithm = "NOOP"
)

const (
	saltSize = 8
	// bcryptLimit is the number of bytes beyond which bcrypt refuses a password.
	bcryptLimit = 72
)

// Hasher makes hashes with one algorithm.
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

// bcryptEncoding is how bcrypt writes bytes as text.
var bcryptEncoding = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

const (
	bcryptSaltSize = 16
	bcryptSumSize  = 23
)

// Decoy returns a stored form that no password has. To verify one against it takes as long as against a hash of this
// hasher, so that whoever tries names does not learn which exist. Unlike a hash it takes no time to make.
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

// ErrMismatch says that the password is not the one that was hashed.
var ErrMismatch = errors.New("password does not match")

// Verify compares a password with its stored form. It returns nil,
// ErrMismatch, or another error when the stored form cannot be read.
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

// bcryptInput shortens what bcrypt would refuse: a password of 32 characters
// may have more than 72 bytes.
func bcryptInput(password string) []byte {
	if len(password) <= bcryptLimit {
		return []byte(password)
	}
	sum := sha256.Sum256([]byte(password))
	return base64.StdEncoding.AppendEncode(nil, sum[:])
}
