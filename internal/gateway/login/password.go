// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
)

// passwords calls a service node to verify passwords.
type passwords struct{ node *cluster.Node }

func (p passwords) authenticate(ctx context.Context, r *Request) (*Permissions, error) {
	verdict, err := cluster.CallBy(ctx, p.node, link.VerifyPassword, cluster.Route{Repeatable: true}, &link.Credentials{UserID: r.UserID, Password: r.Password})
	if err != nil {
		return nil, err
	}
	if code := apierr.Code(verdict.Code); code != apierr.OK {
		return nil, apierr.New(code, "")
	}
	return All(), nil
}

func (passwords) close() {}
