// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/config"
	"example.org/app/internal/link"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// settings are the defaults with some changes.
func settings(change func(*config.IdentityAccessManagement)) config.IdentityAccessManagement {
	s := config.Default().Gateway.Session.IdentityAccessManagement
	change(&s)
	return s
}

// open builds an authenticator that is closed when the test ends.
func open(t testing.TB, change func(*config.IdentityAccessManagement)) *Authenticator {
	t.Helper()
	s := settings(change)
	return openWith(t, Options{Settings: func() config.IdentityAccessManagement { return s }})
}

func openWith(t testing.TB, o Options) *Authenticator {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// codeOf returns the code of an error, which must be an *apierr.Error, and OK for none.
func codeOf(t testing.TB, err error) apierr.Code {
	t.Helper()
	if err == nil {
		return apierr.OK
	}
	e, ok := err.(*apierr.Error) //nolint:errorlint // The error itself must have the type.
	if !ok {
		t.Errorf("the error is a %T: %v", err, err)
		return 0
	}
	return e.Code
}

// request is a login of user 1.
func request(password *string) *Request {
	return &Request{Version: 1, UserID: 1, Password: password, Device: wire.DeviceType_ANDROID, IP: netip.MustParseAddr("192.0.2.1")}
}

func TestOrder(t *testing.T) {
	failure := errors.New("the plugin is broken")
	for _, test := range []struct {
		name     string
		userID   int64
		disabled bool
		opinion  Opinion
		err      error
		want     apierr.Code
		asked    bool
	}{
		{"user id 0", 0, false, Accept, nil, apierr.LoginAuthenticationFailed, false},
		{"user id 0 while disabled", 0, true, Accept, nil, apierr.LoginAuthenticationFailed, false},
		{"disabled", 1, true, Refuse, nil, apierr.OK, false},
		{"a plugin accepts", 1, false, Accept, nil, apierr.OK, true},
		{"a plugin refuses", 1, false, Refuse, nil, apierr.LoginAuthenticationFailed, true},
		{"no plugin cares", 1, false, NoOpinion, nil, apierr.LoginAuthenticationFailed, true},
		{"a plugin fails", 1, false, Accept, failure, apierr.ServerInternalError, true},
		{"a plugin fails with a code", 1, false, Accept, apierr.New(apierr.ServerUnavailable, ""), apierr.ServerUnavailable, true},
		{"negative id", -1, false, Accept, nil, apierr.OK, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Without token the mechanism refuses every login.
			s := settings(func(s *config.IdentityAccessManagement) { s.Type, s.Enabled = config.LoginJWT, !test.disabled })
			r := request(nil)
			r.UserID = test.userID
			var asked *Request
			a := openWith(t, Options{
				Settings: func() config.IdentityAccessManagement { return s },
				Plugins: func(_ context.Context, r *Request) (Opinion, error) {
					asked = r
					return test.opinion, test.err
				},
			})
			permissions, err := a.Authenticate(t.Context(), r)
			if got := codeOf(t, err); got != test.want {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
			if err == nil && permissions != All() {
				t.Error("not everything is permitted")
			}
			if (asked == r) != test.asked {
				t.Errorf("the plugins were asked about %v", asked)
			}
		})
	}
}

func TestEnabledIsLive(t *testing.T) {
	s := settings(func(s *config.IdentityAccessManagement) { s.Type = config.LoginJWT })
	a := openWith(t, Options{Settings: func() config.IdentityAccessManagement { return s }})
	for _, enabled := range []bool{true, false, true} {
		s.Enabled = enabled
		want := apierr.OK
		if enabled {
			want = apierr.LoginAuthenticationFailed
		}
		_, err := a.Authenticate(t.Context(), request(nil))
		if got := codeOf(t, err); got != want {
			t.Errorf("enabled %v: got %v, want %v", enabled, got, want)
		}
	}
}

func TestNoop(t *testing.T) {
	a := open(t, func(s *config.IdentityAccessManagement) { s.Type = config.LoginNoop })
	for _, password := range []*string{nil, new(""), new("anything")} {
		permissions, err := a.Authenticate(t.Context(), request(password))
		if err != nil || permissions != All() {
			t.Errorf("got %v, %v", permissions, err)
		}
	}
}

func TestUnknownMechanism(t *testing.T) {
	s := settings(func(s *config.IdentityAccessManagement) { s.Type = "OAUTH" })
	_, err := New(t.Context(), Options{Settings: func() config.IdentityAccessManagement { return s }})
	if err == nil || !strings.Contains(err.Error(), prefix+"type") || !strings.Contains(err.Error(), "OAUTH") {
		t.Errorf("got %v", err)
	}
}

// TestFailuresAreLogged proves that failures of a mechanism are logged, without passwords.
func TestFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := settings(func(s *config.IdentityAccessManagement) { s.Type = config.LoginNoop })
	a := openWith(t, Options{
		Settings: func() config.IdentityAccessManagement { return s },
		Plugins:  func(context.Context, *Request) (Opinion, error) { return Accept, errors.New("the plugin is broken") },
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
	})
	_, err := a.Authenticate(t.Context(), request(new("tell-nobody")))
	if codeOf(t, err) != apierr.ServerInternalError || strings.Contains(apierr.From(err).Reason, "plugin") {
		t.Errorf("the client hears %q", apierr.From(err).Reason)
	}
	if line := log.String(); !strings.Contains(line, "the plugin is broken") || strings.Contains(line, "tell-nobody") {
		t.Errorf("the log has %q", line)
	}
}

func TestPassword(t *testing.T) {
	c := clustertest.Connect(t, clustertest.Fast(clustertest.Embedded(t).Options))
	gateway := clustertest.Join(t, c, cluster.NodeOptions{ID: "gateway", Type: role.Gateway})
	s := settings(func(s *config.IdentityAccessManagement) { s.Type = config.LoginPassword })
	a := openWith(t, Options{Settings: func() config.IdentityAccessManagement { return s }, Node: gateway})
	authenticate := func(userID int64, password *string) apierr.Code {
		r := request(password)
		r.UserID = userID
		permissions, err := a.Authenticate(t.Context(), r)
		if err == nil && permissions != All() {
			t.Error("not everything is permitted")
		}
		return codeOf(t, err)
	}
	if got := authenticate(1, nil); got != apierr.ServerUnavailable {
		t.Errorf("without service: got %v", got)
	}

	node := clustertest.Join(t, c, cluster.NodeOptions{ID: "service", Type: role.Service})
	err := cluster.Handle(node, link.VerifyPassword, func(_ context.Context, c *link.Credentials) (*link.Verdict, error) {
		switch {
		case c.UserID == 5:
			return nil, errors.New("the store is broken")
		case c.UserID > 1:
			return &link.Verdict{Code: int32(apierr.LoggingInUserNotActive)}, nil
		case c.Password == nil || *c.Password != "right":
			return &link.Verdict{Code: int32(apierr.LoginAuthenticationFailed)}, nil
		}
		return &link.Verdict{Code: int32(apierr.OK)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	clustertest.Await(t, c, "a login", func() bool { return authenticate(1, new("right")) == apierr.OK })
	for _, test := range []struct {
		name     string
		userID   int64
		password *string
		want     apierr.Code
	}{
		{"wrong", 1, new("wrong"), apierr.LoginAuthenticationFailed},
		{"empty", 1, new(""), apierr.LoginAuthenticationFailed},
		{"none", 1, nil, apierr.LoginAuthenticationFailed},
		{"unknown user", 2, new("right"), apierr.LoggingInUserNotActive},
		{"broken service", 5, new("right"), apierr.ServerInternalError},
	} {
		if got := authenticate(test.userID, test.password); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authenticate(ctx, request(new("right"))); err != nil {
		codeOf(t, err) // Must be an *apierr.Error.
	}
}
