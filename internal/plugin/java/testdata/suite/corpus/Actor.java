// SPDX-License-Identifier: Apache-2.0

package corpus;

import im.app.plugin.AppExtension;
import im.app.plugin.api.users.QueryUsers;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

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
    public void pause() throws Exception {
        Kind.act("pause");
    }

    @Override
    public void resume() throws Exception {
        Kind.act("resume");
    }

    @Override
    public CompletionStage<ClientRequest> transformAsync(ClientRequest request) throws Exception {
        switch (Kind.KIND) {
            case "call never" -> {
                return new CompletableFuture<>();
            }
            case "call null" -> {
                return null;
            }
            case "call giant" -> {
                return CompletableFuture.completedFuture(request.withClientIp("x".repeat(40 << 20)));
            }
            case "call enter" -> {
                for (;;) {
                    api().users().query(new QueryUsers().ids(5L));
                }
            }
            case "call store" -> {
                for (int i = 0; ; i++) {
                    storage().setText("key " + i, "x".repeat(1 << 16));
                }
            }
            default -> Kind.act("call");
        }
        return CompletableFuture.completedFuture(null);
    }
}
