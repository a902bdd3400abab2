// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// directory authenticates with an LDAP directory: it searches the entry of the user, then binds as
// that entry.
type directory struct {
	settings config.LoginByLDAP
	// admin searches, user verifies passwords.
	admin, user *connections
}

// newDirectory connects to the directory, so that configuration errors are reported at the start.
func newDirectory(ctx context.Context, settings config.LoginByLDAP) (*directory, error) {
	const group = prefix + "ldap."
	d := &directory{settings: settings}
	if _, err := ldap.CompileFilter(d.filter(1)); err != nil {
		return nil, fmt.Errorf("%suser.search-filter = %q: %w", group, settings.User.SearchFilter, err)
	}
	if _, err := ldap.ParseDN(settings.BaseDN); err != nil {
		return nil, fmt.Errorf("%sbase-dn = %q: %w", group, settings.BaseDN, err)
	}
	timeout := time.Duration(settings.TimeoutMillis) * time.Millisecond
	adminTLS, err := clientTLS(settings.Admin.SSL, settings.Admin.Host)
	if err != nil {
		return nil, fmt.Errorf("%sadmin.ssl.%w", group, err)
	}
	userTLS, err := clientTLS(settings.User.SSL, settings.User.Host)
	if err != nil {
		return nil, fmt.Errorf("%suser.ssl.%w", group, err)
	}
	d.admin = newConnections(settings.MaxConnections, dialer(settings.Admin.Host, settings.Admin.Port, adminTLS, timeout), d.bindAdmin)
	d.user = newConnections(settings.MaxConnections, dialer(settings.User.Host, settings.User.Port, userTLS, timeout), nil)
	nothing := func(*ldap.Conn) error { return nil }
	if err := d.admin.use(ctx, nothing); err != nil {
		return nil, fmt.Errorf("%sadmin: %w", group, err)
	}
	if err := d.user.use(ctx, nothing); err != nil {
		d.close()
		return nil, fmt.Errorf("%suser: %w", group, err)
	}
	return d, nil
}

func (d *directory) close() {
	d.admin.close()
	d.user.close()
}

// bindAdmin binds the searching connection; without name it stays anonymous.
func (d *directory) bindAdmin(c *ldap.Conn) error {
	if d.settings.Admin.Username == "" {
		return nil
	}
	if err := c.Bind(d.settings.Admin.Username, d.settings.Admin.Password.Reveal()); err != nil {
		return fmt.Errorf("log in as %q: %w", d.settings.Admin.Username, err)
	}
	return nil
}

// filter returns the filter that finds a user.
func (d *directory) filter(userID int64) string {
	id := ldap.EscapeFilter(strconv.FormatInt(userID, 10))
	filter := strings.ReplaceAll(d.settings.User.SearchFilter, config.LDAPUserID, id)
	if !strings.HasPrefix(filter, "(") {
		filter = "(" + filter + ")"
	}
	return filter
}

func (d *directory) authenticate(ctx context.Context, r *Request) (*Permissions, error) {
	if r.Password == nil || strings.TrimSpace(*r.Password) == "" {
		// A directory accepts a bind without password as anonymous.
		return nil, refuse(errors.New("there is no password"))
	}
	dn, err := d.find(ctx, r.UserID)
	if err != nil {
		return nil, err
	}
	err = d.user.use(ctx, func(c *ldap.Conn) error { return c.Bind(dn, *r.Password) })
	switch {
	case err == nil:
		return All(), nil
	case ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials):
		return nil, refuse(err)
	}
	return nil, fmt.Errorf("log in as %q: %w", dn, err)
}

// find returns the DN of a user's entry.
func (d *directory) find(ctx context.Context, userID int64) (dn string, err error) {
	filter := d.filter(userID)
	var result *ldap.SearchResult
	err = d.admin.use(ctx, func(c *ldap.Conn) (err error) {
		// Two entries suffice to detect ambiguity. "1.1" requests no attributes.
		result, err = c.Search(ldap.NewSearchRequest(
			d.settings.BaseDN, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 2, 0, false, filter, []string{"1.1"}, nil,
		))
		return err
	})
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
		return "", fmt.Errorf("search %q: there is more than one entry", filter)
	case err != nil:
		return "", fmt.Errorf("search %q: %w", filter, err)
	case len(result.Entries) == 0:
		return "", apierr.Wrap(apierr.LoggingInUserNotActive, fmt.Errorf("search %q: there is no entry", filter))
	case len(result.Entries) > 1:
		return "", fmt.Errorf("search %q: there is more than one entry", filter)
	}
	return result.Entries[0].DN, nil
}

// dialer returns a function that connects to a directory, with TLS if encryption is not nil.
func dialer(host string, port int32, encryption *tls.Config, timeout time.Duration) func(context.Context) (*ldap.Conn, error) {
	address := net.JoinHostPort(host, strconv.Itoa(int(port)))
	return func(ctx context.Context) (*ldap.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var conn net.Conn
		var err error
		if encryption != nil {
			conn, err = (&tls.Dialer{Config: encryption}).DialContext(ctx, "tcp", address)
		} else {
			conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
		if err != nil {
			return nil, fmt.Errorf("connect to %q: %w", address, err)
		}
		c := ldap.NewConn(conn, encryption != nil)
		c.SetTimeout(timeout)
		c.Start()
		return c, nil
	}
}

// clientTLS reads the files for TLS. An error begins with the name of the invalid property.
func clientTLS(s config.ClientSSL, host string) (*tls.Config, error) {
	if !s.Enabled {
		return nil, nil
	}
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		data, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca-file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("ca-file = %q: must have at least one certificate", s.CAFile)
		}
	}
	if s.CertificateFile != "" {
		certificate, err := tls.LoadX509KeyPair(s.CertificateFile, s.PrivateKeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate-file = %q: %w", s.CertificateFile, err)
		}
		c.Certificates = []tls.Certificate{certificate}
	}
	return c, nil
}
