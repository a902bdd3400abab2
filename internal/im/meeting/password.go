// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"math/big"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
)

// Character sets of passwords.
const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var alphabets = map[config.MeetingPasswordType]string{
	config.MeetingPasswordNumeric:      digits,
	config.MeetingPasswordAlphabetic:   letters,
	config.MeetingPasswordAlphanumeric: digits + letters,
}

// newPassword returns the password of a new meeting, or nil if it has none. An empty password means
// none.
func newPassword(given *string, s config.MeetingPassword) (*string, error) {
	if given != nil && *given != "" {
		return given, checkPassword(*given, s)
	}
	switch s.Policy {
	case config.MeetingPasswordRequired:
		return nil, apierr.New(apierr.IllegalArgument, "password: is required")
	case config.MeetingPasswordGenerated, config.MeetingPasswordOrGenerated:
		made, err := makePassword(s)
		return &made, err
	}
	return nil, nil
}

// changedPassword returns the new password, or nil if it is removed.
func changedPassword(given string, s config.MeetingPassword) (*string, error) {
	if given != "" {
		return &given, checkPassword(given, s)
	}
	switch s.Policy {
	case config.MeetingPasswordOptional, config.MeetingPasswordProhibited:
		return nil, nil
	}
	return nil, apierr.New(apierr.IllegalArgument, "password: a meeting must have one")
}

// checkPassword returns an error if users must not choose the password. The error does not contain
// it.
func checkPassword(password string, s config.MeetingPassword) error {
	switch s.Policy {
	case config.MeetingPasswordProhibited:
		return apierr.New(apierr.IllegalArgument, "password: meetings have none on this server")
	case config.MeetingPasswordGenerated:
		return apierr.New(apierr.IllegalArgument, "password: the server makes it")
	}
	if strings.Trim(password, alphabets[s.Type]) != "" {
		return apierr.New(apierr.IllegalArgument, "password: must be %s", strings.ToLower(string(s.Type)))
	}
	return checkText("password", &password, s.MinLength, s.MaxLength)
}

// makePassword returns a random password.
func makePassword(s config.MeetingPassword) (string, error) {
	alphabet := alphabets[s.Type]
	password := make([]byte, s.MinLength)
	for i := range password {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("make a password for a meeting: %w", err)
		}
		password[i] = alphabet[n.Int64()]
	}
	return string(password), nil
}

// opens reports whether the password is correct. A meeting without password accepts any.
func opens(m store.Meeting, password *string) bool {
	if m.Password == nil {
		return true
	}
	return password != nil && subtle.ConstantTimeCompare([]byte(*m.Password), []byte(*password)) == 1
}
