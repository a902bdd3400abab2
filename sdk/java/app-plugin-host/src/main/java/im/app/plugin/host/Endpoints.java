// SPDX-License-Identifier: Apache-2.0

package im.app.plugin.host;

import im.app.plugin.AppExtension;
import im.app.plugin.Endpoint;
import im.app.plugin.host.load.LoadException;
import im.app.plugin.host.wire.In;
import im.app.plugin.host.wire.Out;
import im.app.plugin.json.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The endpoints of an extension. */
final class Endpoints {
    private final String declaration;
    private final Map<String, Endpoint> byHandler = new LinkedHashMap<>();

    /** Reads the endpoints of an extension. The server checks their declarations. */
    Endpoints(AppExtension extension) throws LoadException {
        String where = "getEndpoints() of class " + extension.getClass().getName();
        List<Endpoint> list;
        try {
            list = extension.getEndpoints();
        } catch (RuntimeException e) {
            throw new LoadException(where + " failed", e);
        }
        if (list == null) {
            throw new LoadException(where + " returned null; it must return a list, which may be empty");
        }
        for (Endpoint e : list) {
            if (e == null) {
                throw new LoadException(where + " returned a null among the endpoints");
            }
            byHandler.put(e.handler(), e);
        }
        declaration = Json.write(list);
    }

    /** Returns the declarations in the format for the server. */
    String declaration() {
        return declaration;
    }

    boolean isEmpty() {
        return byHandler.isEmpty();
    }

    /** Serves a request, and writes the response if it is JSON. */
    void serve(String handler, In in, Out out, ContentOutput.Sink sink) throws Exception {
        Endpoint e = byHandler.get(handler);
        if (e == null) {
            throw new RefusedException("there is no endpoint with the handler " + handler);
        }
        Map<String, Object> request = Json.object(in.string());
        ContentOutput content = in.bool() ? new ContentOutput(sink) : null;
        String answer = e.serve(request, content);
        if (content != null) {
            content.close();
        }
        out.optional(answer != null);
        if (answer != null) {
            out.string(answer);
        }
    }
}
