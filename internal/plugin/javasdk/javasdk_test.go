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
			"default void quiet(boolean on) throws Exception {", "Looks at &lt;things&gt; and <code>code</code>.", "A failure refuses the operation.",
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
			"post": {"operationId": "createThing", "summary": "Create a thing", "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ThingCreation"}}}}}}},
		"components": {"schemas": {
			"Thing": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["A", "B"]}, "odd-name": {"type": "integer", "format": "int32"}, "parts": {"type": "array", "items": {"type": "string"}}}},
			"ThingCreation": {"type": "object", "properties": {"size": {"type": "number", "format": "double"}}},
			"Unused": {"type": "object", "properties": {"x": {"type": "string"}}}}}}`
	api := typings.API{Role: role.Service, OpenAPI: []byte(doc), Operations: []plugin.Operation{
		{Group: "things", Name: "query", ID: "queryThings"}, {Group: "things", Name: "create", ID: "createThing"},
	}}
	files, err := Files([]*plugin.Point{looker()}, api)
	if err != nil {
		t.Fatal(err)
	}
	folder := APIFolder + "/im/app/plugin/api/"
	for name, wants := range map[string][]string{
		"Api.java": {"public ThingsApi things() {"},
		"ThingsApi.java": {
			"public @Nullable List<Thing> query(QueryThings input) {", "public @Nullable List<Thing> query() {", "public void create(ThingCreation input) {",
			`return Json.convertList(api.call("queryThings", input.toJson()), Thing.class);`,
		},
		"QueryThings.java":   {"public QueryThings ids(Collection<Long> ids) {", "public QueryThings ids(Long... ids) {"},
		"Thing.java":         {`public record Thing(String kind, @JsonName("odd-name") @Nullable Integer oddName, List<String> parts) {`, "One of A, B."},
		"ThingCreation.java": {"public ThingCreation size(Double size) {"},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[folder+name]), want) {
				t.Errorf("%s lacks %s:\n%s", name, want, files[folder+name])
			}
		}
	}
	if files[folder+"Unused.java"] != nil {
		t.Error("a type is written that no operation leads to")
	}
}
