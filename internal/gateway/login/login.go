// SPDX-License-Identifier: Apache-2.0

// Package login authenticates clients and decides which requests they may send. It implements the
// mechanisms and does not know connections or sessions; which sessions exclude each other is
// decided elsewhere.
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
	"example.org/app/internal/logs"
	"example.org/app/internal/wire"
)

// prefix is the name of the property group of this package.
const prefix = "app.gateway.session.identity-access-management."

// A Request is what a client sends when it logs in. It is read only.
type Request struct {
	// Version is the version of the protocol.
	Version int32
	UserID  int64
	// Password is a password, a token or another credential, depending on the mechanism; nil if
	// none was sent.
	Password      *string
	Device        wire.DeviceType
	DeviceDetails map[string]string
	// UserStatus and Location are nil if they were not sent.
	UserStatus *wire.UserStatus
	Location   *wire.UserLocation
	// IP is the address of the client.
	IP netip.Addr
}

// An Opinion is the result of plugins for a login.
type Opinion int

// The opinions.
const (
	// NoOpinion leaves the decision to the built-in mechanism.
	NoOpinion Opinion = iota
	// Accept accepts the login with permission for every request.
	Accept
	// Refuse refuses the login.
	Refuse
)

// Options configure an Authenticator.
type Options struct {
	// Settings returns the current configuration. Only Enabled may change at run time; the rest is
	// read once.
	Settings func() config.IdentityAccessManagement
	// Plugins calls the authenticating plugins sequentially, in the order in which they were
	// loaded, and returns the first opinion other than NoOpinion. It is called once per login,
	// before the mechanism, unless authentication is disabled, in the goroutine of the login; the
	// context ends with the login. An error fails the login, with its code if it is an
	// *apierr.Error, else as an internal error. It must not modify or retain the request. It may be
	// nil.
	Plugins func(ctx context.Context, r *Request) (Opinion, error)
	// Node is the gateway's node, for calls to verify passwords.
	Node   *cluster.Node
	Logger *slog.Logger
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
}

// An Authenticator decides about logins. It is safe for concurrent use.
type Authenticator struct {
	opts      Options
	mechanism mechanism
	// failures logs logins that only the operator can make possible.
	failures logs.Limited
}

// A mechanism is a built-in way to authenticate. It is called concurrently. An error that is no
// *apierr.Error means that the mechanism itself failed.
type mechanism interface {
	authenticate(ctx context.Context, r *Request) (*Permissions, error)
	// close releases resources. authenticate must not be called afterwards.
	close()
}

// New reads the keys of the configured mechanism and opens its connections. An error names the
// invalid property.
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

// Close closes the connections of the mechanism. Authenticate must not be called afterwards.
func (a *Authenticator) Close() { a.mechanism.close() }

// Authenticate returns the permissions of the client. Errors are *apierr.Error:
// LoginAuthenticationFailed for wrong credentials, LoggingInUserNotActive for an unknown user,
// ServerUnavailable if authentication is temporarily impossible, and ServerInternalError, or the
// error of a plugin, if it failed. The reason contains nothing that helps an attacker.
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
			return nil, a.failed(ctx, r, "plugins", err)
		case opinion == Accept:
			return All(), nil
		case opinion == Refuse:
			return nil, refuse(errors.New("a plugin refused the login"))
		}
	}
	permissions, err := a.mechanism.authenticate(ctx, r)
	if err != nil {
		return nil, a.failed(ctx, r, "mechanism", err)
	}
	return permissions, nil
}

// failed converts an error to one for the client, and logs what only the operator can fix.
func (a *Authenticator) failed(ctx context.Context, r *Request, by string, err error) error {
	e := apierr.From(err)
	if e.Code.HTTP() >= 500 {
		if log, ok := a.failures.Take(ctx, a.opts.Logger); ok {
			log.WarnContext(ctx, "cannot authenticate a user", "by", by, "userId", r.UserID, "code", int32(e.Code), "error", err)
		}
	}
	return e
}

// refuse returns the error for wrong credentials. The cause is only logged.
func refuse(why error) *apierr.Error { return apierr.Wrap(apierr.LoginAuthenticationFailed, why) }

// noop accepts everybody.
type noop struct{}

func (noop) authenticate(context.Context, *Request) (*Permissions, error) { return All(), nil }
func (noop) close()                                                       {}
