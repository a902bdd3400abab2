// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/typings"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

type sample struct {
	ID      int64             `json:"id"`
	Data    []byte            `json:"data,omitempty"`
	Labels  map[string]string `json:"labels"`
	Device  wire.DeviceType   `json:"device"`
	Request *wire.AppRequest  `json:"request"`
	Others  []*sample         `json:"others"`
	Rest    map[string]any    `json:"rest"`
	At      *time.Time        `json:"at"`
	Rate    float64           `json:"rate"`
}

func looker() *plugin.Point {
	m := &plugin.Method{
		Name: "look", Doc: "Looks at <things> and `code`.", Mode: plugin.FirstAnswer, Failure: plugin.Refuse,
		Params: []plugin.Param{
			{Name: "what", Doc: "What.", Type: reflect.TypeFor[*sample]()},
			{Name: "where", Doc: "Where.", Type: reflect.TypeFor[*int64](), Optional: true},
		},
		Result: reflect.TypeFor[[]int32](),
	}
	quiet := &plugin.Method{Name: "quiet", Doc: "Says nothing.", Params: []plugin.Param{{Name: "on", Type: reflect.TypeFor[bool]()}}}
	p := &plugin.Point{Name: "Looker", Package: "p.q", Roles: []role.Role{role.Gateway}, Doc: "Looks at things.", Methods: []*plugin.Method{m, quiet}}
	m.Point, quiet.Point = p, p
	return p
}

func TestFiles(t *testing.T) {
	files, err := Files([]*plugin.Point{looker()})
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		APIFolder + "/p/q/package-info.java": {"@NullMarked\npackage p.q;"},
		APIFolder + "/p/q/Looker.java": {
			"public interface Looker extends ExtensionPoint {",
			"default @Nullable List<Integer> look(sample what, @Nullable Long where) throws Exception {",
			"default CompletionStage<@Nullable List<Integer>> lookAsync(sample what, @Nullable Long where) throws Exception {",
			"default void quiet(boolean on) throws Exception {", "Looks at &lt;things&gt; and <code>code</code>.", "A failure refuses",
		},
		APIFolder + "/im/app/plugin/model/sample.java": {
			"public record sample(long id, byte[] data, Map<String, String> labels, DeviceType device, AppRequest request, List<sample> others, Map<String, @Nullable Object> rest, Instant at, double rate) {",
			`Objects.requireNonNull(device, "device must not be null");`, "others = others == null ? List.of() : others;", "public Builder rate(double value) {",
		},
		HostFolder + "/im/app/plugin/host/generated/Codecs.java": {
			"in.message(AppRequest.parser())", "list(in, i -> i.optional() ? readsample(i) : null)", "Json.object(in.string())", "in.optional() ? in.instant() : null",
			"list(out, value.others(), (o, v) -> optional(o, v, (oo, vv) -> writesample(oo, vv)));",
		},
		HostFolder + "/im/app/plugin/host/generated/Dispatch.java": {
			`new PointInfo(Looker.class, "p.q.Looker", 0, List.of(`, `new MethodInfo("look", List.of(sample.class, Long.class)),`,
			"Long where = in.optional() ? in.zigzag() : null;", "Codecs.list(out, answer, (o, v) -> o.int32(v));",
		},
		APIFolder + "/im/app/plugin/StatusCode.java": {"public static final int MESSAGE_IS_ILLEGAL = 5010;"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[name]), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
}

func TestFilesOfTypesWithoutCounterpart(t *testing.T) {
	p := looker()
	p.Methods[0].Result = reflect.TypeFor[chan int]()
	if _, err := Files([]*plugin.Point{p}); err == nil || !strings.Contains(err.Error(), "Looker: look: result: chan int has no counterpart") {
		t.Errorf("the error is %v", err)
	}
}

// TestFingerprint changes what affects the fingerprint, and what does not.
func TestFingerprint(t *testing.T) {
	base := fingerprint([]*plugin.Point{looker()})
	for name, c := range map[string]struct {
		change func(*plugin.Point)
		same   bool
	}{
		"documentation": {func(p *plugin.Point) { p.Doc, p.Methods[0].Doc = "", "" }, true},
		"order":         {func(p *plugin.Point) { p.Methods[0], p.Methods[1] = p.Methods[1], p.Methods[0] }, false},
		"parameter":     {func(p *plugin.Point) { p.Methods[1].Params[0].Type = reflect.TypeFor[int32]() }, false},
		"result":        {func(p *plugin.Point) { p.Methods[1].Result = reflect.TypeFor[bool]() }, false},
		"name":          {func(p *plugin.Point) { p.Methods[1].Name = "silent" }, false},
	} {
		p := looker()
		c.change(p)
		if got := fingerprint([]*plugin.Point{p}); (got == base) != c.same {
			t.Errorf("%s: the fingerprint is the same: %v", name, got == base)
		}
	}
	if len(Fingerprint()) != 64 {
		t.Errorf("the fingerprint is %q", Fingerprint())
	}
}

func TestMethodIndex(t *testing.T) {
	all := Methods()
	for i, m := range all {
		if MethodIndex(m) != i {
			t.Errorf("%s.%s has the number %d instead of %d", m.Point.Name, m.Name, MethodIndex(m), i)
		}
	}
	if last := plugin.Points[len(plugin.Points)-1]; all[len(all)-1] != last.Methods[len(last.Methods)-1] {
		t.Error("the last method is not the last")
	}
}

func TestOperations(t *testing.T) {
	doc := `{"paths": {"/things": {
			"get": {"operationId": "queryThings", "summary": "Query things", "parameters": [{"in": "query", "name": "ids", "schema": {"type": "array", "items": {"type": "integer", "format": "int64"}}}],
				"responses": {"200": {"content": {"application/json": {"schema": {"properties": {"data": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}}}}}}},
			"post": {"operationId": "createThing", "summary": "Create a thing", "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ThingCreation"}}}}},
			"delete": {"operationId": "deleteThings", "summary": "Delete things", "parameters": [
				{"in": "query", "name": "ids", "description": "Ids; absent: all things. Example: 1.", "schema": {"type": "array", "items": {"type": "integer", "format": "int64"}}},
				{"in": "query", "name": "softly", "schema": {"type": "boolean"}}]}},
		"/things/page": {"get": {"operationId": "queryThingPage", "summary": "Query things by page",
			"responses": {"200": {"content": {"application/json": {"schema": {"properties": {"data": {"$ref": "#/components/schemas/PageThing"}}}}}}}}},
		"/odd-jobs": {
			"delete": {"operationId": "deleteJobs", "summary": "Delete jobs", "parameters": [
				{"in": "query", "name": "ids", "schema": {"type": "array", "items": {"type": "string"}}}, {"in": "query", "name": "every", "schema": {"type": "boolean"}}]},
			"put": {"operationId": "updateJobs", "summary": "Update jobs", "parameters": [
				{"in": "query", "name": "ids", "schema": {"type": "array", "items": {"type": "string"}}}, {"in": "query", "name": "names", "schema": {"type": "array", "items": {"type": "string"}}}],
				"requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Shared"}}}}}},
		"/left": {"put": {"operationId": "updateLeft", "summary": "Left", "parameters": [{"in": "query", "name": "ids", "required": true, "schema": {"type": "array", "items": {"type": "string"}}}],
			"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Shared"}}}}}},
		"/right": {"get": {"operationId": "queryRight", "summary": "Right"}}},
		"components": {"schemas": {
			"Thing": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["A", "B"]}, "odd-name": {"type": "integer", "format": "int32"}, "parts": {"type": "array", "items": {"type": "string"}}}},
			"ThingCreation": {"type": "object", "properties": {"size": {"type": "number", "format": "double"}}},
			"PageThing": {"type": "object", "required": ["total", "records"], "properties": {"total": {"type": "integer", "format": "int64"}, "totalIsExact": {"type": "boolean"},
				"records": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}}},
			"Shared": {"type": "object", "properties": {"inner": {"$ref": "#/components/schemas/Inner"}}},
			"Inner": {"type": "object", "properties": {"x": {"type": "string"}}},
			"Unused": {"type": "object", "properties": {"x": {"type": "string"}}}}}}`
	api := typings.API{Role: role.Service, OpenAPI: []byte(doc), Operations: []plugin.Operation{
		{Group: "things", Name: "query", ID: "queryThings"},
		{Group: "things", Name: "create", ID: "createThing"},
		{Group: "things", Name: "queryPage", ID: "queryThingPage"},
		{Group: "things", Name: "delete", ID: "deleteThings", Selectors: []string{"ids"}, All: "ids"},
		{Group: "oddJobs", Name: "delete", ID: "deleteJobs", Selectors: []string{"ids"}, All: "every"},
		{Group: "oddJobs", Name: "updateNamed", ID: "updateJobs", Selectors: []string{"ids", "names"}},
		{Group: "sides", Name: "update", ID: "updateLeft", Selectors: []string{"ids"}},
		{Group: "sides", Name: "query", ID: "queryRight"},
	}}
	files, err := Files([]*plugin.Point{looker()}, api)
	if err != nil {
		t.Fatal(err)
	}
	folder := APIFolder + "/im/app/plugin/api/"
	for name, wants := range map[string][]string{
		"Api.java": {"import im.app.plugin.api.things.ThingsApi;", "public ThingsApi things() {"},
		"things/ThingsApi.java": {
			"package im.app.plugin.api.things;", "import im.app.plugin.api.Page;",
			"public @Nullable List<Thing> query(QueryThings input) {", "public @Nullable List<Thing> query() {", "public void create(ThingCreation input) {",
			`return Json.convertList(api.call("queryThings", input.toJson()), Thing.class);`,
			"public @Nullable Page<Thing> queryPage() {", `return Operations.page(api.call("queryThingPage", java.util.Map.of()), Thing.class);`,
			"public void delete(DeleteThings input) {", `Operations.requireSelection(input, "deleteAll", "ids");`, "{@link #deleteAll()} is for all.",
			"public void deleteAll() {", "public void deleteAll(DeleteAllThings input) {", "<code>app.service.admin-api.allow-delete-without-filter</code>",
		},
		"things/QueryThings.java":     {"public QueryThings ids(Collection<Long> ids) {", "public QueryThings ids(Long... ids) {"},
		"things/Thing.java":           {`public record Thing(String kind, @JsonName("odd-name") @Nullable Integer oddName, List<String> parts) {`, "One of A, B."},
		"things/ThingCreation.java":   {"public ThingCreation size(Double size) {"},
		"things/DeleteThings.java":    {"Ids. Example: 1. Must be set.", "public DeleteThings softly(Boolean softly) {"},
		"things/DeleteAllThings.java": {"public DeleteAllThings softly(Boolean softly) {"},
		"things/package-info.java":    {"/** The operations of the admin API below <code>/things</code>, and the types that only they use. */\n@NullMarked\npackage im.app.plugin.api.things;"},
		"oddjobs/OddJobsApi.java": {
			`api.call("deleteJobs", java.util.Map.of("every", true));`, `Operations.requireSelection(input, "deleteAll", "ids");`,
			`Operations.requireSelection(input, null, "ids", "names");`, "import im.app.plugin.api.Api;",
		},
		"sides/SidesApi.java":     {`api.call("updateLeft", input.toJson());`},
		"sides/package-info.java": {"of the group sides"},
		"Shared.java":             {"public Shared inner(Inner inner) {"},
		"Inner.java":              {"public Inner x(String x) {"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[folder+name]), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, files[folder+name])
			}
		}
	}
	for name, lacks := range map[string]string{
		"things/ThingsApi.java": "delete() {", "things/DeleteAllThings.java": "ids", "oddjobs/OddJobsApi.java": "updateAll", "oddjobs/DeleteJobs.java": "every",
		"sides/SidesApi.java": "requireSelection",
	} {
		if files[folder+name] == nil || strings.Contains(string(files[folder+name]), lacks) {
			t.Errorf("%s is missing or has %s:\n%s", name, lacks, files[folder+name])
		}
	}
	for _, name := range []string{"Unused.java", "things/Unused.java", "PageThing.java", "things/PageThing.java", "oddjobs/DeleteAllJobs.java"} {
		if files[folder+name] != nil {
			t.Errorf("%s is written, which nobody uses", name)
		}
	}
	api.OpenAPI = []byte(strings.Replace(doc, `"totalIsExact"`, `"next"`, 1))
	if _, err := Files([]*plugin.Point{looker()}, api); err == nil || !strings.Contains(err.Error(), "PageThing has the parts [next records total], im.app.plugin.api.Page has [records total totalIsExact]") {
		t.Errorf("a page with other parts: %v", err)
	}
}
