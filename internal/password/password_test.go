// SPDX-License-Identifier: Apache-2.0

package password

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestHashAndVerify(t *testing.T) {
	passwords := []string{"", "app", "a:b", "pässwörd", strings.Repeat("長", 32), strings.Repeat("長", 31) + "短"}
	for _, alg := range []Algorithm{BCrypt, SaltedSHA256, Noop} {
		h := Hasher{Algorithm: alg, Cost: 4}
		for i, p := range passwords {
			stored, err := h.Hash(p)
			if err != nil {
				t.Fatalf("%s: Hash(%q): %v", alg, p, err)
			}
			for j, q := range passwords {
				err := Verify(stored, q)
				if i == j && err != nil {
					t.Errorf("%s: Verify(%q) = %v", alg, q, err)
				}
				if i != j && !errors.Is(err, ErrMismatch) {
					t.Errorf("%s: Verify(%q) against %q = %v, want a mismatch", alg, q, p, err)
				}
			}
		}
	}
}

// TestDecoy checks that no password matches a decoy and that verifying one costs as much as for a
// hash.
func TestDecoy(t *testing.T) {
	for _, alg := range []Algorithm{BCrypt, SaltedSHA256, Noop} {
		h := Hasher{Algorithm: alg, Cost: 5}
		decoy, again := h.Decoy(), h.Decoy()
		if string(decoy) == string(again) {
			t.Errorf("%s: two decoys are equal", alg)
		}
		for _, p := range []string{"", "app", strings.Repeat("長", 32)} {
			if err := Verify(decoy, p); !errors.Is(err, ErrMismatch) {
				t.Errorf("%s: Verify(%q) = %v, want a mismatch", alg, p, err)
			}
		}
		stored, err := h.Hash("app")
		if err != nil {
			t.Fatal(err)
		}
		if alg != Noop && len(decoy) != len(stored) {
			t.Errorf("%s: a decoy has %d bytes, a hash %d", alg, len(decoy), len(stored))
		}
		if cost, err := bcrypt.Cost(decoy[len(alg)+1:]); alg == BCrypt && (err != nil || cost != 5) {
			t.Errorf("the cost of a decoy is %d with error %v", cost, err)
		}
	}
}

func TestHashesAreSalted(t *testing.T) {
	for _, alg := range []Algorithm{BCrypt, SaltedSHA256} {
		h := Hasher{Algorithm: alg, Cost: 4}
		a, _ := h.Hash("app")
		b, _ := h.Hash("app")
		if string(a) == string(b) {
			t.Errorf("%s: two hashes of one password are equal", alg)
		}
	}
}

func TestBadInput(t *testing.T) {
	if _, err := (Hasher{Algorithm: "ROT13"}).Hash("x"); err == nil {
		t.Error("an unknown algorithm returned a hash")
	}
	for _, stored := range []string{"", "nothing", "ROT13:x", "SALTED_SHA256:short", "BCRYPT:junk"} {
		if err := Verify([]byte(stored), "x"); err == nil || errors.Is(err, ErrMismatch) {
			t.Errorf("Verify(%q) = %v, want an error that is no mismatch", stored, err)
		}
	}
}
