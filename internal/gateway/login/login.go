// SPDX-License-Identifier: Apache-2.0

// Package login decides whether a client is the user that it says to be, and which requests it may send then. It knows
// the mechanisms and nothing of connections and sessions: who may be online besides whom is decided elsewhere.
package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

// prefix is the name of the group of properties that this package obeys.
const prefix = "app.gateway.session.identity-access-management."

// A Request is what a client says about itself when it logs in. Nobody changes it.
type Request struct {
	// Version is that of the protocol.
	Version int32
	UserID  int64
	// Password is a password, a token or whatever else the mechanism wants; nil if none was sent.
	Password      *string
	Device        wire.DeviceType
	DeviceDetails map[string]string
	// UserStatus and Location are nil if they were not sent.
	UserStatus *wire.UserStatus
	Location   *wire.UserLocation
	// IP is the address of the client.
	IP netip.Addr
}

// An Opinion is what plugins think of a login.
type Opinion int

// The opinions.
const (
	// NoOpinion leaves the decision to the built-in mechanism.
	NoOpinion Opinion = iota
	// Accept lets the client in with permission for every request.
	Accept
	// Refuse keeps the client out.
	Refuse
)

// Options are what an Authenticator is built from.
type Options struct {
	// Settings returns the current configuration. Only Enabled may change while the server runs; everything else is
	// read once.
	Settings func() config.IdentityAccessManagement
	// Plugins asks the plugins that authenticate users, one after the other in the order in which they were loaded, and
	// returns the first answer that is not empty, or NoOpinion. It is called once for each login unless authentication
	// is disabled, by the goroutine of the login and before the mechanism; the context ends with the login. An error
	// fails the login with its code if it is an *apierr.Error, and as an internal error otherwise. It must not change or
	// keep the request. It may be nil.
	Plugins func(ctx context.Context, r *Request) (Opinion, error)
	// Node is the gateway, which asks services for passwords.
	Node   *cluster.Node
	Logger *slog.Logger
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// An Authenticator decides about logins. Its methods may be called by several goroutines at once.
type Authenticator struct {
	opts      Options
	mechanism mechanism
}

// A mechanism is a built-in way to prove who one is. Several goroutines call it at once. An error that is no
// *apierr.Error means that the mechanism itself failed.
type mechanism interface {
	authenticate(ctx context.Context, r *Request) (*Permissions, error)
	// close ends what the mechanism keeps open. Nobody authenticates after it.
	close()
}

// New reads the keys of the configured mechanism and opens its connections. An error names the property at fault.
func New(ctx context.Context, o Options) (*Authenticator, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	a := &Authenticator{opts: o}
	settings := o.Settings()
	var err error
	switch settings.Type {
	case config.LoginNoop:
		a.mechanism = noop{}
	case config.LoginPassword:
		a.mechanism = passwords{o.Node}
	case config.LoginJWT:
		a.mechanism, err = newTokens(settings.JWT, o.Clock)
	case config.LoginHTTP:
		a.mechanism = newRemote(settings.HTTP)
	case config.LoginLDAP:
		a.mechanism, err = newDirectory(ctx, settings.LDAP)
	default:
		err = fmt.Errorf("%stype: there is no mechanism %q", prefix, settings.Type)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Close ends the connections of the mechanism. Nobody may authenticate after it.
func (a *Authenticator) Close() { a.mechanism.close() }

// Authenticate returns what the client may request. Otherwise the error is an *apierr.Error: LoginAuthenticationFailed
// if the proof is wrong, LoggingInUserNotActive if there is no such user, ServerUnavailable if nobody can tell now, and
// ServerInternalError, or what a plugin says, if the check itself failed. Its reason says nothing that helps a guesser.
func (a *Authenticator) Authenticate(ctx context.Context, r *Request) (*Permissions, error) {
	if r.UserID == 0 {
		return nil, refuse(errors.New("the user id 0 is reserved"))
	}
	if !a.opts.Settings().Enabled {
		return All(), nil
	}
	if a.opts.Plugins != nil {
		switch opinion, err := a.opts.Plugins(ctx, r); {
		case err != nil:
			return nil, a.failed(r, "plugins", err)
		case opinion == Accept:
			return All(), nil
		case opinion == Refuse:
			return nil, refuse(errors.New("a plugin refused the login"))
		}
	}
	permissions, err := a.mechanism.authenticate(ctx, r)
	if err != nil {
		return nil, a.failed(r, "mechanism", err)
	}
	return permissions, nil
}

// failed makes an error one that the client may be told, and logs what only the owner of the server can mend.
func (a *Authenticator) failed(r *Request, by string, err error) error {
	e := apierr.From(err)
	if e.Code.HTTP() >= 500 {
		a.opts.Logger.Warn("cannot authenticate a user", "by", by, "userId", r.UserID, "code", int32(e.Code), "error", err)
	}
	return e
}

// refuse says that the proof is wrong. Only the log shows why.
func refuse(why error) *apierr.Error { return apierr.Wrap(apierr.LoginAuthenticationFailed, why) }

// noop accepts everybody.
type noop struct{}

func (noop) authenticate(context.Context, *Request) (*Permissions, error) { return All(), nil }
func (noop) close()                                                       {}
