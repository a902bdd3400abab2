// SPDX-License-Identifier: Apache-2.0

package shapes;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.RequestHandlerResult;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Answers later. */
public class Later extends AppExtension implements ClientRequestHandler {
    @Override
    public CompletionStage<ClientRequest> transformAsync(ClientRequest request) {
        return CompletableFuture.supplyAsync(() -> request.withClientIp("later"));
    }

    @Override
    public CompletionStage<RequestHandlerResult> handleAsync(ClientRequest request) {
        return switch (request.clientIp()) {
            case "null stage" -> null;
            case "nothing" -> CompletableFuture.completedFuture(null);
            case "refuse" -> CompletableFuture.failedFuture(new AppException(5010, "later not"));
            default -> CompletableFuture.supplyAsync(() -> {
                throw new IllegalStateException("later");
            });
        };
    }
}
