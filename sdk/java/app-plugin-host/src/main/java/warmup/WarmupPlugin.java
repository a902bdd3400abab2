// SPDX-License-Identifier: Apache-2.0

package warmup;

import im.app.gateway.infra.plugin.extension.UserAuthenticator;
import im.app.plugin.AppExtension;
import im.app.plugin.AppPlugin;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.UserLoginInfo;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.Set;

/** Accepts logins and leaves requests unchanged. The server packs it into a separate jar. */
public final class WarmupPlugin extends AppPlugin {
    @Override
    public Set<Class<? extends AppExtension>> getExtensions() {
        return Set.of(Warmup.class);
    }

    /** Receives a few calls of each method. */
    public static final class Warmup extends AppExtension implements UserAuthenticator, ClientRequestHandler {
        @Override
        public void start() {
            logger().debug("warm");
        }

        @Override
        public Boolean authenticate(UserLoginInfo info) {
            return info.password() != null;
        }

        @Override
        public ClientRequest transform(ClientRequest request) {
            return request.request().hasCreateMessageRequest() ? request : null;
        }
    }
}
