// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/im/user"
	"example.org/app/internal/link"
)

// ServePasswords handles the gateways' calls to verify passwords.
func ServePasswords(n *cluster.Node, users *user.Directory) error {
	return cluster.Handle(n, link.VerifyPassword, func(ctx context.Context, c *link.Credentials) (*link.Verdict, error) {
		err := users.VerifyPassword(ctx, c.UserID, c.Password)
		if err == nil {
			return &link.Verdict{Code: int32(apierr.OK)}, nil
		}
		refusal, ok := errors.AsType[*apierr.Error](err)
		if ok && (refusal.Code == apierr.LoginAuthenticationFailed || refusal.Code == apierr.LoggingInUserNotActive) {
			// A refusal is a valid answer and not logged.
			return &link.Verdict{Code: int32(refusal.Code)}, nil
		}
		return nil, err
	})
}
