// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// A location is a parsed Options.URL. Its name never contains a password.
type location struct {
	engine Engine
	name   string
	path   string
	secret []string
}

func parseURL(text string) (location, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "sqlite":
		return parseSQLiteURL(rest)
	case "postgres", "postgresql":
		return parsePostgresURL(text)
	}
	// The text is not shown: it may be a URL with a password and a mistyped scheme.
	return location{}, errors.New("open database: the URL must start with sqlite:, postgres: or postgresql: and a location")
}

func parseSQLiteURL(path string) (location, error) {
	switch {
	case path == "":
		return location{}, errors.New(`open database: the URL "sqlite:" must name a file`)
	case path == ":memory:" || strings.Contains(path, "mode=memory"):
		return location{}, fmt.Errorf("open database %q: a database in memory would lose what it acknowledged: name a file", path)
	case strings.ContainsRune(path, 0):
		return location{}, errors.New("open database: the file name must not contain a NUL byte")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return location{}, fmt.Errorf("open database %q: %w", path, err)
	}
	return location{engine: SQLite, name: path, path: absolute}, nil
}

func parsePostgresURL(text string) (location, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse contains the text, and with it the password.
		return location{}, errors.New("open database: the URL is not valid: expected postgres://user:password@host:port/database")
	}
	loc := location{engine: PostgreSQL}
	if password, ok := parsed.User.Password(); ok && password != "" {
		loc.secret = append(loc.secret, password, url.QueryEscape(password), url.PathEscape(password))
		if _, raw, found := strings.Cut(parsed.User.String(), ":"); found {
			loc.secret = append(loc.secret, raw)
		}
	}
	query := parsed.Query()
	for _, key := range []string{"password", "sslpassword"} {
		for _, value := range query[key] {
			if value != "" {
				loc.secret = append(loc.secret, value, url.QueryEscape(value), url.PathEscape(value))
			}
		}
		query.Del(key)
	}
	// Parameters are omitted: they are long and may contain further secrets in future.
	shown := url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}
	if user := parsed.User.Username(); user != "" {
		shown.User = url.User(user)
	}
	loc.name = shown.String()
	if host := query.Get("host"); host != "" && parsed.Host == "" {
		loc.name += " at " + host
	}
	return loc, nil
}

// failure returns the one-line error of a failed Open: it names the database and keeps the chain of
// err, but its text contains neither line breaks nor a password.
func (l location) failure(err error) error {
	text := err.Error()
	for _, secret := range l.secret {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	text = strings.Join(strings.Fields(text), " ")
	return &openError{text: fmt.Sprintf("open database %q: %s", l.name, text), err: err}
}

type openError struct {
	text string
	err  error
}

func (e *openError) Error() string { return e.text }
func (e *openError) Unwrap() error { return e.err }
