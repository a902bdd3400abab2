// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/certificate/certificatetest"
	"example.org/app/internal/config"
	"example.org/app/test/need"
)

// configure points the settings at the server.
func (s *slapd) configure(c *config.LoginByLDAP) {
	c.BaseDN = baseDN
	c.Admin.Host, c.Admin.Port, c.Admin.Username, c.Admin.Password = "127.0.0.1", s.plain, searcherDN, searcherProof
	c.User.Host, c.User.Port = "127.0.0.1", s.plain
	c.TimeoutMillis = 30_000
}

func (s *slapd) settings(change func(*config.LoginByLDAP)) config.IdentityAccessManagement {
	return settings(func(c *config.IdentityAccessManagement) {
		c.Type = config.LoginLDAP
		s.configure(&c.LDAP)
		if change != nil {
			change(&c.LDAP)
		}
	})
}

func (s *slapd) open(t *testing.T, change func(*config.LoginByLDAP)) *Authenticator {
	t.Helper()
	c := s.settings(change)
	return openWith(t, Options{Settings: func() config.IdentityAccessManagement { return c }})
}

func TestDirectory(t *testing.T) {
	server := startSlapd(t)
	encrypted := func(c *config.LoginByLDAP) {
		ssl := config.ClientSSL{Enabled: true, CAFile: server.caFile}
		c.Admin.Port, c.Admin.SSL, c.User.Port, c.User.SSL = server.encrypted, ssl, server.encrypted, ssl
	}
	const failed, inactive, broken = apierr.LoginAuthenticationFailed, apierr.LoggingInUserNotActive, apierr.ServerInternalError
	t.Run("Login", func(t *testing.T) {
		plain, secure := server.open(t, nil), server.open(t, encrypted)
		people := server.open(t, func(c *config.LoginByLDAP) { c.BaseDN = "ou=people," + baseDN })
		filtered := server.open(t, func(c *config.LoginByLDAP) {
			c.User.SearchFilter = "(&(objectClass=person)(uid=${userId})(!(sn=four)))"
		})
		missing := server.open(t, func(c *config.LoginByLDAP) { c.BaseDN = "ou=nowhere," + baseDN })
		anonymous := server.open(t, func(c *config.LoginByLDAP) { c.Admin.Username, c.Admin.Password = "", "" })
		for _, test := range []struct {
			name     string
			by       *Authenticator
			user     int64
			password *string
			want     apierr.Code
		}{
			{"right", plain, 1, new("right"), apierr.OK},
			{"wrong", plain, 1, new("wrong"), failed},
			{"right again on the same connection", plain, 1, new("right"), apierr.OK},
			{"none", plain, 1, nil, failed},
			{"empty", plain, 1, new(""), failed},
			{"blank", plain, 1, new(" \t"), failed},
			{"two entries", plain, 2, new("right"), broken},
			{"three entries", plain, 3, new("right"), broken},
			{"entry without password", plain, 4, new("right"), failed},
			{"unknown user", plain, 5, new("right"), inactive},
			{"negative id", plain, -1, new("right"), inactive},
			{"one of two below another entry", people, 2, new("right"), apierr.OK},
			{"filter", filtered, 1, new("right"), apierr.OK},
			{"filtered out", filtered, 4, new("right"), inactive},
			{"encrypted", secure, 1, new("right"), apierr.OK},
			{"encrypted, wrong", secure, 1, new("wrong"), failed},
			{"base that is not there", missing, 1, new("right"), broken},
			{"search without rights", anonymous, 1, new("right"), broken},
		} {
			r := request(test.password)
			r.UserID = test.user
			permissions, err := test.by.Authenticate(t.Context(), r)
			if got := codeOf(t, err); got != test.want {
				t.Errorf("%s: got %v (%v), want %v", test.name, got, err, test.want)
			}
			if err == nil && permissions != All() {
				t.Errorf("%s: not everything is permitted", test.name)
			}
		}
	})
	t.Run("Crowd", func(t *testing.T) {
		a := server.open(t, func(c *config.LoginByLDAP) { c.MaxConnections = 3 })
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				password, want := "right", apierr.OK
				if i%3 == 0 {
					password, want = "wrong", failed
				}
				if _, err := a.Authenticate(t.Context(), request(&password)); codeOf(t, err) != want {
					t.Errorf("%s: %v", password, err)
				}
			})
		}
		group.Wait()
		d := a.mechanism.(*directory)
		for _, c := range []*connections{d.admin, d.user} {
			if n := len(c.idle); n < 1 || n > 3 {
				t.Errorf("%d connections are kept", n)
			}
		}
	})
	t.Run("Start", func(t *testing.T) { testDirectoryStart(t, server, encrypted) })
	t.Run("Cancelled", func(t *testing.T) {
		a := server.open(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Authenticate(ctx, request(new("right"))); codeOf(t, err) != broken {
			t.Errorf("a login that ended: %v", err)
		}
		if _, err := a.Authenticate(t.Context(), request(new("right"))); err != nil {
			t.Errorf("the next login: %v", err)
		}
	})
	t.Run("Outage", func(t *testing.T) {
		a := server.open(t, nil)
		login := func(password string, want apierr.Code) {
			t.Helper()
			if _, err := a.Authenticate(t.Context(), request(&password)); codeOf(t, err) != want {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		login("right", apierr.OK)
		server.stop(t)
		login("right", broken)
		login("wrong", broken)
		server.start(t)
		login("right", apierr.OK)
		login("wrong", failed)
		server.stop(t)
		server.start(t)
		// The connections from before are lost, but nobody has noticed it by a failure.
		login("right", apierr.OK)
	})
}

// testDirectoryStart proves that configuration errors are reported at the start, in one line that
// names the property.
func testDirectoryStart(t *testing.T, server *slapd, encrypted func(*config.LoginByLDAP)) {
	nobody := int32(need.Port(t))
	for _, test := range []struct {
		name     string
		change   func(*config.LoginByLDAP)
		property string
		want     string
	}{
		{"nobody listens for searches", func(c *config.LoginByLDAP) { c.Admin.Port = nobody }, "admin: ", "connect to"},
		{"nobody listens for users", func(c *config.LoginByLDAP) { c.User.Port = nobody }, "user: ", "connect to"},
		{"wrong password", func(c *config.LoginByLDAP) { c.Admin.Password = "wrong-one" }, "admin: ", searcherDN},
		{"bad filter", func(c *config.LoginByLDAP) { c.User.SearchFilter = "(uid=${userId}" }, "user.search-filter = ", "(uid=${userId}"},
		{"bad base", func(c *config.LoginByLDAP) { c.BaseDN = "nonsense" }, "base-dn = ", "nonsense"},
		{"missing certificates", func(c *config.LoginByLDAP) {
			encrypted(c)
			c.Admin.SSL.CAFile = filepath.Join(server.folder, "missing")
		}, "admin.ssl.ca-file: ", "missing"},
		{"no certificates", func(c *config.LoginByLDAP) {
			encrypted(c)
			c.User.SSL.CAFile = filepath.Join(server.folder, "slapd.conf")
		}, "user.ssl.ca-file = ", "at least one certificate"},
		{"no key of the certificate", func(c *config.LoginByLDAP) {
			encrypted(c)
			c.User.SSL.CertificateFile, c.User.SSL.PrivateKeyFile = server.caFile, server.caFile
		}, "user.ssl.certificate-file = ", ""},
		{"unknown certificate", func(c *config.LoginByLDAP) {
			encrypted(c)
			certificate, _ := certificatetest.PEM(certificatetest.New("127.0.0.1"))
			c.Admin.SSL.CAFile = file(t, certificate)
		}, "admin: ", "certificate"},
		{"other name", func(c *config.LoginByLDAP) {
			encrypted(c)
			c.User.Host = "localhost"
		}, "user: ", "localhost"},
		{"no encryption there", func(c *config.LoginByLDAP) {
			encrypted(c)
			c.Admin.Port, c.TimeoutMillis = server.plain, 1000
		}, "admin: ", "connect to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := server.settings(test.change)
			a, err := New(t.Context(), Options{Settings: func() config.IdentityAccessManagement { return c }})
			if err == nil {
				a.Close()
				t.Fatal("it started")
			}
			text := err.Error()
			if !strings.HasPrefix(text, prefix+"ldap."+test.property) || !strings.Contains(text, test.want) {
				t.Errorf("got %q", text)
			}
			if strings.Contains(text, "\n") || strings.Contains(text, "wrong-one") {
				t.Errorf("%q has more than one line or a password", text)
			}
		})
	}
	// A client certificate is accepted, too.
	a := server.open(t, func(c *config.LoginByLDAP) {
		encrypted(c)
		c.Admin.SSL.CertificateFile, c.Admin.SSL.PrivateKeyFile = server.caFile, filepath.Join(server.folder, "key.pem")
	})
	if _, err := a.Authenticate(t.Context(), request(new("right"))); err != nil {
		t.Error(err)
	}
}

// TestDirectoryIsSilent has a server that accepts connections and does not answer.
func TestDirectoryIsSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	a := open(t, func(s *config.IdentityAccessManagement) {
		s.Type = config.LoginLDAP
		s.LDAP.TimeoutMillis = 50
		s.LDAP.Admin.Host, s.LDAP.User.Host = "127.0.0.1", "127.0.0.1"
		s.LDAP.Admin.Port = int32(listener.Addr().(*net.TCPAddr).Port)
		s.LDAP.User.Port = s.LDAP.Admin.Port
	})
	if _, err := a.Authenticate(t.Context(), request(new("right"))); codeOf(t, err) != apierr.ServerInternalError {
		t.Errorf("a silent directory: %v", err)
	}
}

// TestDirectoryLoginEnds cancels a login while the server is working.
func TestDirectoryLoginEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		// The first byte of the search.
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		cancel()
		_, _ = io.Copy(io.Discard, c)
	}()
	a := open(t, func(s *config.IdentityAccessManagement) {
		s.Type = config.LoginLDAP
		s.LDAP.TimeoutMillis = int32(time.Hour.Milliseconds())
		s.LDAP.Admin.Host, s.LDAP.User.Host = "127.0.0.1", "127.0.0.1"
		s.LDAP.Admin.Port = int32(listener.Addr().(*net.TCPAddr).Port)
		s.LDAP.User.Port = s.LDAP.Admin.Port
	})
	if _, err := a.Authenticate(ctx, request(new("right"))); codeOf(t, err) != apierr.ServerInternalError {
		t.Errorf("a login that ended: %v", err)
	}
	<-done
}
