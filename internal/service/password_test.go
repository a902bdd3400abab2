// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/user"
	"example.org/app/internal/link"
	"example.org/app/internal/password"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/store/storetest"
)

// TestServePasswords calls like a gateway, in the same process and over the fabric.
func TestServePasswords(t *testing.T) {
	db := storetest.SQLite(t)
	users := imtest.New(t, db, imtest.Changes{Users: func(o *user.Options) {
		o.Hasher = password.Hasher{Algorithm: password.BCrypt, Cost: 4}
	}}).Users
	for _, c := range []user.Creation{
		{ID: new(int64(1)), Password: new("right")}, {ID: new(int64(2)), Password: new("right"), IsActive: new(false)}, {ID: new(int64(3))},
	} {
		if _, err := users.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	options := clustertest.Fast(clustertest.Embedded(t).Options)
	here := clustertest.Connect(t, options)
	node := clustertest.Join(t, here, cluster.NodeOptions{ID: "service", Type: role.Service})
	if err := service.ServePasswords(node, users); err != nil {
		t.Fatal(err)
	}
	gateways := map[string]*cluster.Node{
		"local":  clustertest.Join(t, here, cluster.NodeOptions{ID: "near", Type: role.Gateway}),
		"remote": clustertest.Join(t, clustertest.Connect(t, options), cluster.NodeOptions{ID: "far", Type: role.Gateway}),
	}
	for name, gateway := range gateways {
		clustertest.Await(t, gateway.Cluster(), "an answer", func() bool {
			_, err := cluster.Call(t.Context(), gateway, link.VerifyPassword, &link.Credentials{})
			return err == nil
		})
		for _, test := range []struct {
			credentials link.Credentials
			want        apierr.Code
		}{
			{link.Credentials{UserID: 1, Password: new("right")}, apierr.OK},
			{link.Credentials{UserID: 1, Password: new("wrong")}, apierr.LoginAuthenticationFailed},
			{link.Credentials{UserID: 1, Password: new("")}, apierr.LoginAuthenticationFailed},
			{link.Credentials{UserID: 1}, apierr.LoginAuthenticationFailed},
			{link.Credentials{UserID: 2, Password: new("right")}, apierr.LoggingInUserNotActive},
			{link.Credentials{UserID: 3}, apierr.OK},
			{link.Credentials{UserID: 4, Password: new("right")}, apierr.LoggingInUserNotActive},
		} {
			verdict, err := cluster.Call(t.Context(), gateway, link.VerifyPassword, &test.credentials)
			if err != nil || apierr.Code(verdict.Code) != test.want {
				t.Errorf("%s: user %d: got %v, %v, want %v", name, test.credentials.UserID, verdict, err, test.want)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := cluster.Call(t.Context(), gateways["remote"], link.VerifyPassword, &link.Credentials{UserID: 1, Password: new("right")})
	if got := apierr.From(err).Code; err == nil || got == apierr.LoginAuthenticationFailed || got == apierr.LoggingInUserNotActive {
		t.Errorf("without store: %v", err)
	}
}
