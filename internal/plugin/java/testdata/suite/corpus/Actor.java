// SPDX-License-Identifier: Apache-2.0

package corpus;

import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;

public class Actor extends AppExtension implements ClientRequestHandler {
    @Override
    public void start() throws Exception {
        Kind.act("start");
    }

    @Override
    public void stop() throws Exception {
        Kind.act("stop");
    }

    @Override
    public ClientRequest transform(ClientRequest request) throws Exception {
        Kind.act("call");
        return null;
    }
}
