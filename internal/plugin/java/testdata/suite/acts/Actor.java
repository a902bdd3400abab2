// SPDX-License-Identifier: Apache-2.0

package acts;

import im.app.plugin.AppException;
import im.app.plugin.AppExtension;
import im.app.plugin.api.users.QueryUsers;
import im.app.plugin.model.ClientRequest;
import im.app.plugin.model.RequestHandlerResult;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

public class Actor extends AppExtension implements ClientRequestHandler {
    private static final AtomicInteger COUNTED = new AtomicInteger();
    private static final List<byte[]> KEPT = new CopyOnWriteArrayList<>();

    @Override
    public void stop() {
        storage().setText("stopped-" + descriptor().version(), "yes");
    }

    @Override
    public ClientRequest transform(ClientRequest request) {
        return request.withClientIp(descriptor().version());
    }

    @Override
    public RequestHandlerResult handle(ClientRequest request) throws Exception {
        switch (request.clientIp()) {
            case "nothing":
                return null;
            case "count":
                return answer(String.valueOf(COUNTED.incrementAndGet()));
            case "refuse":
                throw new AppException(5010, "not you 👋");
            case "throw":
                throw new IllegalStateException("broken 👋");
            case "wait":
                new CountDownLatch(1).await();
                return null;
            case "spin":
                for (;;) {}
            case "compute":
                for (long end = System.nanoTime() + 20_000_000; System.nanoTime() < end;) {}
                return answer("done");
            case "keep":
                KEPT.add(new byte[1 << 20]);
                return answer("done");
            case "hold":
                api().users().query(new QueryUsers().ids(1L));
                return answer(String.valueOf(request.userId()));
            case "ask":
                api().users().query(new QueryUsers().ids(2L));
                return null;
            case "background":
                new Thread(() -> {
                    throw new IllegalStateException("nobody catches this 👋");
                }, "loose").start();
                return answer("done");
            default:
                return answer(request.clientIp());
        }
    }

    private static RequestHandlerResult answer(String reason) {
        return RequestHandlerResult.of(1000, reason);
    }
}
