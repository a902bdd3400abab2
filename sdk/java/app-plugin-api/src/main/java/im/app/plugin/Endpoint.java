// SPDX-License-Identifier: Apache-2.0

package im.app.plugin;

import im.app.plugin.json.Json;
import im.app.plugin.json.JsonException;
import im.app.plugin.json.JsonObject;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An operation of the admin interface that an extension serves, at {@code /plugins/endpoints/}
 * followed by the id of the plugin and the path. See {@link AppExtension#getEndpoints()}.
 *
 * <pre>{@code
 * Endpoint.get("/groups").summary("Count groups").permission("GROUP_QUERY")
 *         .query(Query.class).result(Sizes.class)
 *         .handler("sizes", request -> count(request.query().top()));
 * Endpoint.get("/page").summary("Show the report")
 *         .contentType("text/html; charset=utf-8")
 *         .handler("page", (request, out) -> out.write("<h1>Report</h1>"));
 * }</pre>
 */
public final class Endpoint implements JsonObject {

    /**
     * Serves requests with JSON responses.
     *
     * @param <Q> the type of the parameters
     * @param <B> the type of the body
     * @param <R> the type of the result
     */
    @FunctionalInterface
    public interface Handler<Q extends @Nullable Object, B extends @Nullable Object, R extends @Nullable Object> {

        /**
         * Called for each request, on its own virtual thread, which is interrupted at the time
         * limit or when the caller disconnects.
         *
         * @param request the request
         * @return the data of the response; null if there is none
         * @throws Exception code and reason of an {@link AppException} are returned to the caller;
         *     any other exception is reported to the caller only as a failure of the endpoint
         */
        R serve(EndpointRequest<Q, B> request) throws Exception;
    }

    /**
     * Serves requests whose responses have a content type.
     *
     * @param <Q> the type of the parameters
     * @param <B> the type of the body
     */
    @FunctionalInterface
    public interface ContentHandler<Q extends @Nullable Object, B extends @Nullable Object> {

        /**
         * Called for each request, on its own virtual thread, which is interrupted at the time
         * limit or when the caller disconnects.
         *
         * @param request the request
         * @param output receives the response
         * @throws Exception as for a {@link Handler}; after the first bytes were sent, it truncates
         *     the response
         */
        void serve(EndpointRequest<Q, B> request, EndpointOutput output) throws Exception;
    }

    private final Map<String, @Nullable Object> declaration;
    private final @Nullable Class<?> query;
    private final @Nullable Class<?> body;
    private final @Nullable Handler<Object, Object, Object> handler;
    private final @Nullable ContentHandler<Object, Object> content;

    private Endpoint(Builder<?, ?, ?> b, @Nullable Handler<Object, Object, Object> handler, @Nullable ContentHandler<Object, Object> content) {
        declaration = new LinkedHashMap<>(b.declaration);
        query = b.query;
        body = b.body;
        this.handler = handler;
        this.content = content;
    }

    /**
     * Begins an endpoint for GET.
     *
     * @param path begins with a slash, such as {@code /reports/daily}, or {@code /reports/{id}}
     *     with a parameter that has the type of the property {@code id} of the query
     * @return the builder of the endpoint
     */
    public static Builder<@Nullable Void, @Nullable Void, @Nullable Object> get(String path) {
        return new Builder<>("GET", path);
    }

    /**
     * Begins an endpoint for POST.
     *
     * @param path begins with a slash, such as {@code /reports/daily}, or {@code /reports/{id}}
     *     with a parameter that has the type of the property {@code id} of the query
     * @return the builder of the endpoint
     */
    public static Builder<@Nullable Void, @Nullable Void, @Nullable Object> post(String path) {
        return new Builder<>("POST", path);
    }

    /**
     * Begins an endpoint for PUT.
     *
     * @param path begins with a slash, such as {@code /reports/daily}, or {@code /reports/{id}}
     *     with a parameter that has the type of the property {@code id} of the query
     * @return the builder of the endpoint
     */
    public static Builder<@Nullable Void, @Nullable Void, @Nullable Object> put(String path) {
        return new Builder<>("PUT", path);
    }

    /**
     * Begins an endpoint for DELETE.
     *
     * @param path begins with a slash, such as {@code /reports/daily}, or {@code /reports/{id}}
     *     with a parameter that has the type of the property {@code id} of the query
     * @return the builder of the endpoint
     */
    public static Builder<@Nullable Void, @Nullable Void, @Nullable Object> delete(String path) {
        return new Builder<>("DELETE", path);
    }

    /**
     * Returns the name of the handler, which is unique among the endpoints of a plugin.
     *
     * @return the name
     */
    public String handler() {
        return String.valueOf(declaration.get("handler"));
    }

    /** Returns the declaration in the format for the server. */
    @Override
    public Map<String, @Nullable Object> toJson() {
        return declaration;
    }

    /**
     * Serves a request. Called by hosts; tests may call it, too.
     *
     * @param request {@code query}, {@code body}, {@code adminId}, {@code ip} and {@code
     *     requestId}, as JSON values
     * @param output receives the response if the endpoint declares a content type; otherwise it is
     *     not used
     * @return the JSON of the response; null if there is none
     * @throws Exception exceptions of the handler, or an {@link AppException} if the input does not
     *     have the declared types
     */
    public @Nullable String serve(Map<String, @Nullable Object> request, @Nullable EndpointOutput output) throws Exception {
        EndpointRequest<Object, Object> r;
        try {
            r = new EndpointRequest<>(
                    read(request.get("query"), query), read(request.get("body"), body), Json.convert(request.get("adminId"), Long.class),
                    Objects.requireNonNullElse(Json.convert(request.get("ip"), String.class), ""),
                    Objects.requireNonNullElse(Json.convert(request.get("requestId"), String.class), ""));
        } catch (JsonException e) {
            throw new AppException(StatusCode.ILLEGAL_ARGUMENT, e.getMessage(), e);
        }
        if (handler != null) {
            Object result = handler.serve(r);
            return result == null ? null : Json.write(result);
        }
        Objects.requireNonNull(content).serve(r, Objects.requireNonNull(output, "output"));
        return null;
    }

    private static @Nullable Object read(@Nullable Object value, @Nullable Class<?> type) {
        return type == null ? null : Json.convert(value, type);
    }

    /**
     * Builds an endpoint without a content type.
     *
     * @param <Q> the type of the parameters
     * @param <B> the type of the body
     * @param <R> the type of the result
     */
    public static final class Builder<Q extends @Nullable Object, B extends @Nullable Object, R extends @Nullable Object> {
        private final Map<String, @Nullable Object> declaration = new LinkedHashMap<>();
        private @Nullable Class<?> query;
        private @Nullable Class<?> body;

        private Builder(String method, String path) {
            declaration.put("method", method);
            declaration.put("path", Objects.requireNonNull(path, "path"));
        }

        /**
         * Sets the summary of the endpoint, which is required.
         *
         * @param text one line for the documentation
         * @return this
         */
        public Builder<Q, B, R> summary(String text) {
            declaration.put("summary", text);
            return this;
        }

        /**
         * Sets the description of the endpoint for the documentation.
         *
         * @param text in Markdown
         * @return this
         */
        public Builder<Q, B, R> description(String text) {
            declaration.put("description", text);
            return this;
        }

        /**
         * Sets the permission of the admin API that callers need. The default is
         * {@code PLUGIN_QUERY} for GET and {@code PLUGIN_UPDATE} for the others.
         *
         * @param name such as {@code USER_QUERY}
         * @return this
         */
        public Builder<Q, B, R> permission(String name) {
            declaration.put("permission", name);
            return this;
        }

        /**
         * Sets the time limit of a request. The default is
         * {@code app.plugin.endpoints.timeout-millis}.
         *
         * @param limit at most 10 minutes
         * @return this
         */
        public Builder<Q, B, R> timeout(Duration limit) {
            declaration.put("timeoutMillis", limit.toMillis());
            return this;
        }

        /**
         * Declares the parameters by a record. Requests with other parameters are rejected.
         *
         * @param <T> the type
         * @param type a record whose components are the parameters; see {@link
         *     im.app.plugin.json.JsonSchema}
         * @return this
         */
        public <T> Builder<T, B, R> query(Class<T> type) {
            Map<String, @Nullable Object> schema = Json.schema(type);
            schema.put("additionalProperties", false);
            query = type;
            return declare("query", schema);
        }

        /**
         * Declares the parameters by a JSON Schema.
         *
         * @param schema the schema of an object whose properties are the parameters
         * @return this
         */
        @SuppressWarnings({"rawtypes", "unchecked"})
        public Builder<Map<String, @Nullable Object>, B, R> query(String schema) {
            query = Map.class;
            return declare("query", Json.object(schema));
        }

        /**
         * Declares the JSON body of POST and PUT by a type.
         *
         * @param <T> the type
         * @param type a record; see {@link im.app.plugin.json.JsonSchema}
         * @return this
         */
        public <T> Builder<Q, T, R> body(Class<T> type) {
            body = type;
            return declare("body", Json.schema(type));
        }

        /**
         * Declares the JSON body of POST and PUT by a JSON Schema.
         *
         * @param schema the schema
         * @return this; the body is a map, a list, a text, a number, a boolean or null
         */
        public Builder<Q, @Nullable Object, R> body(String schema) {
            body = Object.class;
            return declare("body", Json.object(schema));
        }

        /**
         * Declares the result by a type.
         *
         * @param <T> the type
         * @param type a record; see {@link im.app.plugin.json.JsonSchema}
         * @return this
         */
        public <T> Builder<Q, B, T> result(Class<T> type) {
            return declare("result", Json.schema(type));
        }

        /**
         * Declares the result as a list.
         *
         * @param <T> the type of the items
         * @param item a record; see {@link im.app.plugin.json.JsonSchema}
         * @return this
         */
        public <T> Builder<Q, B, List<T>> resultList(Class<T> item) {
            Map<String, @Nullable Object> schema = new LinkedHashMap<>();
            schema.put("type", "array");
            schema.put("items", Json.schema(item));
            return declare("result", schema);
        }

        /**
         * Declares the result by a JSON Schema.
         *
         * @param schema the schema
         * @return this
         */
        public Builder<Q, B, @Nullable Object> result(String schema) {
            return declare("result", Json.object(schema));
        }

        @SuppressWarnings("unchecked")
        private <X extends @Nullable Object, Y extends @Nullable Object, Z extends @Nullable Object> Builder<X, Y, Z> declare(
                String name, Map<String, @Nullable Object> schema) {
            declaration.put(name, schema);
            return (Builder<X, Y, Z>) this;
        }

        /**
         * Declares the content type of the response, which the handler writes itself. Such an
         * endpoint has no result schema.
         *
         * @param type such as {@code text/csv; charset=utf-8}
         * @return the builder of such an endpoint
         */
        public ContentBuilder<Q, B> contentType(String type) {
            declaration.put("contentType", Objects.requireNonNull(type, "type"));
            return new ContentBuilder<>(this);
        }

        /**
         * Completes the endpoint.
         *
         * @param name unique among the endpoints of a plugin; it is part of the id of the operation
         * @param handler serves requests
         * @return the endpoint
         */
        @SuppressWarnings("unchecked")
        public Endpoint handler(String name, Handler<Q, B, R> handler) {
            declaration.put("handler", Objects.requireNonNull(name, "name"));
            return new Endpoint(this, (Handler<Object, Object, Object>) Objects.requireNonNull(handler, "handler"), null);
        }
    }

    /**
     * Builds an endpoint with a content type.
     *
     * @param <Q> the type of the parameters
     * @param <B> the type of the body
     */
    public static final class ContentBuilder<Q extends @Nullable Object, B extends @Nullable Object> {
        private final Builder<Q, B, ?> builder;

        private ContentBuilder(Builder<Q, B, ?> builder) {
            this.builder = builder;
        }

        /**
         * Completes the endpoint.
         *
         * @param name unique among the endpoints of a plugin; it is part of the id of the operation
         * @param handler serves requests
         * @return the endpoint
         */
        @SuppressWarnings("unchecked")
        public Endpoint handler(String name, ContentHandler<Q, B> handler) {
            builder.declaration.put("handler", Objects.requireNonNull(name, "name"));
            return new Endpoint(builder, null, (ContentHandler<Object, Object>) Objects.requireNonNull(handler, "handler"));
        }
    }
}
