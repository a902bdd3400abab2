// SPDX-License-Identifier: Apache-2.0

package bad;

import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;

public class Actor extends AppExtension implements ClientRequestHandler {
    @Override
    public void start() {
        throw new IllegalStateException("no database");
    }

    @Override
    public ClientRequest transform(ClientRequest request) {
        return null;
    }
}
