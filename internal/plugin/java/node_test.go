// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// nodeJava is a plugin that records the node for which it runs.
const nodeJava = `
package nodes;
import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.nio.charset.StandardCharsets;
import java.util.*;

public class Plugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(All.class, Login.class);
    }

    static void note(AppExtension x, String what) {
        x.storage().set(what, (x.node().role() + " " + x.node().id()).getBytes(StandardCharsets.UTF_8));
    }

    public static class All extends AppExtension implements UserAuthenticator, ClientRequestHandler, AdminActionHandler {
        private String loaded;

        @Override
        public List<Endpoint> getEndpoints() {
            loaded = node().role() + " " + node().id();
            return List.of();
        }

        @Override
        public void start() {
            storage().set("load", loaded.getBytes(StandardCharsets.UTF_8));
            note(this, "start");
        }

        @Override
        public Boolean authenticate(UserLoginInfo info) throws Exception {
            note(this, "authenticate");
            Thread other = new Thread(() -> note(this, "thread"));
            other.start();
            other.join();
            return null;
        }

        @Override
        public ClientRequest transform(ClientRequest request) {
            note(this, "transform");
            return null;
        }

        @Override
        public void handleAdminAction(AdminAction action) {
            note(this, "handleAdminAction");
        }
    }

    public static class Login extends AppExtension implements UserAuthenticator {
        @Override
        public void start() {
            note(this, "start of the gateway's");
        }

        @Override
        public Boolean authenticate(UserLoginInfo info) {
            return null;
        }
    }
}`

// twoNodes is the server of a process with both roles.
type twoNodes struct{ *server }

func (s twoNodes) Node(r role.Role) plugin.Node {
	if r == role.Gateway {
		return plugin.Node{ID: "node-g", Role: role.Gateway, Version: "v1"}
	}
	return plugin.Node{ID: "node-s", Role: role.Service, Version: "v1"}
}

// TestNode verifies that a plugin sees the node of the role that calls it.
func TestNode(t *testing.T) {
	t.Parallel()
	const gateway, service, only = "GATEWAY node-g", "SERVICE node-s", "SERVICE node-1"
	for _, tt := range []struct {
		name, servers string
		two           bool
		want          map[string]string
	}{
		{name: "two nodes", servers: "GATEWAY, SERVICE", two: true, want: map[string]string{
			"load": service, "start": service, "start of the gateway's": gateway, "authenticate": gateway, "thread": service, "transform": service, "handleAdminAction": gateway,
		}},
		{name: "two nodes and one role", servers: "GATEWAY", two: true, want: map[string]string{
			"load": gateway, "start": gateway, "start of the gateway's": gateway, "authenticate": gateway, "thread": gateway, "transform": service, "handleAdminAction": gateway,
		}},
		{name: "one node", servers: "GATEWAY, SERVICE", want: map[string]string{
			"load": only, "start": only, "start of the gateway's": only, "authenticate": only, "thread": only, "transform": only, "handleAdminAction": only,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jar := javatest.Jar(t, javatest.Plugin{
				Descriptor: "id: nodes\nversion: \"1\"\nclass: nodes.Plugin\ncompatible-servers: [" + tt.servers + "]\n",
				Sources:    map[string]string{"nodes/Plugin.java": nodeJava},
			})
			var values *server
			w := newWorld(t, func(o *java.Options) {
				values = o.Server.(*server)
				if tt.two {
					o.Server = twoNodes{values}
				}
			})
			x := w.load("nodes", jar).Extensions()[0]
			call := func(ctx context.Context, m *plugin.Method, arg, result any) {
				t.Helper()
				if _, err := x.Call(ctx, m, []any{arg}, result); err != nil {
					t.Error(err)
				}
			}
			call(t.Context(), plugin.Authenticate, &plugin.UserLoginInfo{}, new(bool))
			call(t.Context(), plugin.TransformRequest, &plugin.ClientRequest{DeviceType: wire.DeviceType_ANDROID}, new(*plugin.ClientRequest))
			call(plugin.InRole(t.Context(), role.Gateway), plugin.HandleAdminAction, &plugin.AdminAction{}, new(plugin.Void))
			for what, want := range tt.want {
				if got := values.get("nodes", what); got != want {
					t.Errorf("%s: %q, not %q", what, got, want)
				}
			}
		})
	}
}
