// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// PasswordAlgorithm is a way of storing passwords.
type PasswordAlgorithm string

// The ways of storing passwords.
const (
	PasswordBcrypt       PasswordAlgorithm = "BCRYPT"
	PasswordSaltedSHA256 PasswordAlgorithm = "SALTED_SHA256"
	PasswordNoop         PasswordAlgorithm = "NOOP"
)

// Security holds what protects the accounts.
type Security struct {
	Password Password `doc:"How passwords are stored."`
}

// Password says how passwords are stored.
type Password struct {
	InitialRootPassword            Secret            `default:"app" doc:"The password that the root administrator gets when the account is created: 1 to 32 characters without white space."`
	UserPasswordEncodingAlgorithm  PasswordAlgorithm `default:"SALTED_SHA256" enum:"BCRYPT,SALTED_SHA256,NOOP" doc:"How the passwords of users are stored."`
	AdminPasswordEncodingAlgorithm PasswordAlgorithm `default:"BCRYPT" enum:"BCRYPT,SALTED_SHA256,NOOP" doc:"How the passwords of administrators are stored."`
	BcryptCost                     int32             `default:"10" min:"4" max:"16" doc:"The work factor of bcrypt; each step doubles the time that a check takes."`
}

// maxRootPasswordLength is counted in characters.
const maxRootPasswordLength = 32

// Validate checks the first password of the root administrator.
func (p Password) Validate() error {
	password := p.InitialRootPassword.Reveal()
	n := utf8.RuneCountInString(password)
	if n < 1 || n > maxRootPasswordLength || strings.ContainsFunc(password, unicode.IsSpace) {
		return violation("initial-root-password", "must be 1 to 32 characters without white space")
	}
	return nil
}
