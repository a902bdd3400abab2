// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// endpointJava is endpointScript in Java, with other plugins that cannot be loaded.
const endpointJava = `
package endpoints;
import im.app.plugin.*;
import im.app.plugin.json.JsonSchema;
import java.time.Duration;
import java.util.*;

public class Plugin extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Endpoints.class);
    }

    record Query(@JsonSchema(minimum = 1, defaultValue = "1") int times, @JsonSchema(optional = true) List<String> tags) {}
    record Numbers(int a, int b, @JsonSchema(optional = true, minLength = 4, format = "password") String pin) {
        Numbers {
            if (a == 13) {
                throw new IllegalArgumentException("13 is an unlucky number");
            }
        }
    }
    record Sum(int sum, @JsonSchema(optional = true) List<String> tags, @JsonSchema(description = "Of the plugin.") int version) {}
    record Report(@JsonSchema(minimum = 1, description = "Number of the report.") long id, @JsonSchema(optional = true) String format) {}
    record Who(String adminId, String ip, String requestId, Map<String, Object> query, boolean body, boolean self) {}

    public static class Endpoints extends AppExtension {
        private static volatile boolean cancelled;

        @Override
        public List<Endpoint> getEndpoints() {
            return List.of(
                    Endpoint.post("/sums").summary("Add numbers").permission("USER_QUERY").query(Query.class).body(Numbers.class).result(Sum.class)
                            .handler("add", this::add),
                    Endpoint.get("/who").summary("Say who asks").handler("who", r -> new Who(String.valueOf(r.adminId()), r.ip(),
                            r.requestId().isEmpty() ? "none" : "string", Map.of(), r.body() == null, this instanceof Endpoints)),
                    Endpoint.put("/who").summary("Do nothing").handler("nothing", r -> null),
                    Endpoint.get("/page").summary("Show a page").contentType("text/html; charset=utf-8").handler("page", (r, out) -> out.write("<h1>Größe</h1>")),
                    Endpoint.get("/image").summary("Show bytes").contentType("image/png")
                            .handler("image", (r, out) -> out.write(new byte[] {(byte) 137, 80, 78, 71, 0, (byte) 255})),
                    Endpoint.get("/endless").summary("Never end").contentType("text/plain").handler("endless", this::endless),
                    Endpoint.get("/large").summary("Send too much").contentType("text/plain").handler("large", (r, out) -> {
                        for (;;) {
                            out.write("x".repeat(1024));
                        }
                    }),
                    Endpoint.get("/breaks").summary("Fail in the middle").contentType("text/plain").handler("breaks", (r, out) -> {
                        out.write("begin");
                        out.flush();
                        throw new IllegalStateException("in the middle");
                    }),
                    Endpoint.get("/cancelled").summary("Say whether the endless answer was cancelled").result(Boolean.class).handler("cancelled", r -> cancelled),
                    Endpoint.get("/fails").summary("Fail").contentType("text/plain").handler("fails", (r, out) -> {
                        out.write("what is not sent");
                        throw new IllegalStateException("a secret detail");
                    }),
                    Endpoint.get("/refuses").summary("Refuse").handler("refuses", r -> {
                        throw new AppException(StatusCode.RESOURCE_NOT_FOUND, "there is no such report");
                    }),
                    Endpoint.get("/slow").summary("Take too long").timeout(Duration.ofMillis(50)).handler("slow", r -> {
                        Thread.sleep(Duration.ofHours(1));
                        return null;
                    }),
                    Endpoint.get("/reports/{id}").summary("Show a report").query(Report.class).handler("report", r -> r.query().id() + " " + r.query().format()),
                    Endpoint.get("/reports/latest").summary("Show the latest report").handler("latest", r -> "the latest"),
                    Endpoint.get("/lies").summary("Break its schema").result("{\"type\": \"integer\"}").handler("lies", r -> "text"),
                    Endpoint.get("/halt").summary("End the JVM").handler("halt", r -> {
                        Runtime.getRuntime().halt(3);
                        return null;
                    }),
                    Endpoint.get("/halts").summary("End the JVM in the middle").contentType("text/plain").handler("halts", (r, out) -> {
                        out.write("begin");
                        out.flush();
                        Runtime.getRuntime().halt(3);
                    }));
        }

        private Sum add(EndpointRequest<Query, Numbers> r) {
            return new Sum(r.query().times() * (r.body().a() + r.body().b()), r.query().tags(), Integer.parseInt(descriptor().version().substring(2)));
        }

        private void endless(EndpointRequest<Void, Void> r, EndpointOutput out) throws Exception {
            try {
                for (;;) {
                    out.write("line\n");
                    out.flush();
                    Thread.sleep(1);
                }
            } finally {
                cancelled = true;
            }
        }
    }

    /** Two endpoints that cannot be told apart. */
    public static class Twice extends AppPlugin {
        @Override
        public Collection<Class<? extends AppExtension>> getExtensions() {
            return List.of(Extension.class);
        }

        public static class Extension extends AppExtension {
            @Override
            public List<Endpoint> getEndpoints() {
                return List.of(Endpoint.get("/x").summary("x").handler("a", r -> 1), Endpoint.get("/x").summary("x").handler("b", r -> 2));
            }
        }
    }

    /** A type that has no schema. */
    public static class Loop extends AppPlugin {
        record Node(List<Node> children) {}

        @Override
        public Collection<Class<? extends AppExtension>> getExtensions() {
            return List.of(Extension.class);
        }

        public static class Extension extends AppExtension {
            @Override
            public List<Endpoint> getEndpoints() {
                return List.of(Endpoint.get("/x").summary("x").result(Node.class).handler("a", r -> null));
            }
        }
    }

    /** An extension that has nothing. */
    public static class Idle extends AppPlugin {
        @Override
        public Collection<Class<? extends AppExtension>> getExtensions() {
            return List.of(Extension.class);
        }

        public static class Extension extends AppExtension {
            @Override
            public List<Endpoint> getEndpoints() {
                return List.of();
            }
        }
    }
}`

// endpointJar makes a jar of a class of endpointJava.
func endpointJar(t *testing.T, id, version, class string) []byte {
	t.Helper()
	return javatest.Jar(t, javatest.Plugin{
		Descriptor: fmt.Sprintf("id: %s\nversion: \"%s\"\nclass: %s\ncompatible-servers: [SERVICE]\n", id, version, class),
		Sources:    map[string]string{"endpoints/Plugin.java": endpointJava},
	})
}

func TestEndpointsOfJavaPlugins(t *testing.T) {
	need.Time(t)
	s := endpointServer(t)
	upload := func(version int, replace bool, part string) {
		t.Helper()
		wantForm(t, s, fmt.Sprintf("/plugins/java?replace=%v", replace), 200, part, "endpoints.jar", endpointJar(t, "end points", fmt.Sprintf("1.%d", version), "endpoints.Plugin"))
	}
	for class, part := range map[string]string{
		"endpoints.Plugin$Twice": "the endpoints a and b are both GET /x",
		"endpoints.Plugin$Loop":  "there is no JSON Schema of the record endpoints.Plugin$Loop$Node, because it contains itself",
		"endpoints.Plugin$Idle":  "implements no extension point, and its getEndpoints() returned no endpoint",
	} {
		wantForm(t, s, "/plugins/java", 400, part, "endpoints.jar", endpointJar(t, "broken", "1", class))
	}
	testEndpoints(t, s, upload)

	// Input that is valid by the schema but not by the types is not the plugin's fault.
	upload(1, false, `"id":"end points"`)
	want(t, s, role.Service, "PUT", "/plugins?ids=end%20points", `{"status":"STARTED"}`, 200)
	want(t, s, role.Service, "POST", endpointPath+"/sums", `{"a":5000000000,"b":1}`, 400, "the value of a must be a number that fits int")
	want(t, s, role.Service, "POST", endpointPath+"/sums", `{"a":13,"b":1}`, 400, "13 is an unlucky number")

	// The JVM ends during a request, before and after the first bytes of a response, and is
	// restarted.
	want(t, s, role.Service, "GET", endpointPath+"/halt", "", 503, `"code":1201`, "was interrupted")
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 200)
	resp := fetch(t.Context(), t, s, endpointPath+"/halts")
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err == nil || !strings.HasPrefix("begin", string(body)) {
		t.Errorf("an answer that was cut off is %q, %v", body, err)
	}
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 200)
	want(t, s, role.Service, "DELETE", "/plugins?ids=end%20points", "", 204)
	if _, document := ask(t, s, role.Service, "GET", "/openapi/docs", ""); strings.Contains(document, "end%20points") {
		t.Error("a plugin that was removed is still described")
	}
}
