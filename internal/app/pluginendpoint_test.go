// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// endpointScript is a plugin with an endpoint for each case.
const endpointScript = `
let cancelled = false;
class Endpoints extends AppExtension {
  getEndpoints() {
    return [
      { handler: 'add', method: 'POST', path: '/sums', summary: 'Add numbers', permission: 'USER_QUERY',
        query: { type: 'object', properties: { times: { type: 'integer', minimum: 1, default: 1 }, tags: { type: 'array', items: { type: 'string' } } }, additionalProperties: false },
        body: { type: 'object', required: ['a', 'b'], properties: { a: { type: 'integer' }, b: { type: 'integer' }, pin: { type: 'string', minLength: 4, format: 'password' } } },
        result: { type: 'object', required: ['sum'], properties: { sum: { type: 'integer' } } } },
      { handler: 'who', method: 'GET', path: '/who', summary: 'Say who asks' },
      { handler: 'nothing', method: 'PUT', path: '/who', summary: 'Do nothing' },
      { handler: 'page', method: 'GET', path: '/page', summary: 'Show a page', contentType: 'text/html; charset=utf-8' },
      { handler: 'image', method: 'GET', path: '/image', summary: 'Show bytes', contentType: 'image/png' },
      { handler: 'endless', method: 'GET', path: '/endless', summary: 'Never end', contentType: 'text/plain' },
      { handler: 'large', method: 'GET', path: '/large', summary: 'Send too much', contentType: 'text/plain' },
      { handler: 'breaks', method: 'GET', path: '/breaks', summary: 'Fail in the middle', contentType: 'text/plain' },
      { handler: 'cancelled', method: 'GET', path: '/cancelled', summary: 'Say whether the endless answer was cancelled' },
      { handler: 'fails', method: 'GET', path: '/fails', summary: 'Fail', contentType: 'text/plain' },
      { handler: 'refuses', method: 'GET', path: '/refuses', summary: 'Refuse' },
      { handler: 'slow', method: 'GET', path: '/slow', summary: 'Take too long', timeoutMillis: 50 },
      { handler: 'report', method: 'GET', path: '/reports/{id}', summary: 'Show a report',
        query: { type: 'object', properties: { id: { type: 'integer', minimum: 1, description: 'Number of the report.' }, format: { type: 'string' } }, required: ['id'], additionalProperties: false } },
      { handler: 'latest', method: 'GET', path: '/reports/latest', summary: 'Show the latest report' },
      { handler: 'lies', method: 'GET', path: '/lies', summary: 'Break its schema', result: { type: 'integer' } },
    ];
  }
  add({ query, body }) { return { sum: query.times * (body.a + body.b), tags: query.tags, version: VERSION }; }
  who({ adminId, ip, requestId, query, body }) { return { adminId, ip, requestId: typeof requestId, query, body: body === undefined, self: this instanceof Endpoints }; }
  nothing() {}
  page() { return '<h1>Größe</h1>'; }
  image() { return new Uint8Array([137, 80, 78, 71, 0, 255]); }
  async *endless() { try { for (;;) { yield 'line\n'; await new Promise((done) => setTimeout(done, 1)); } } finally { cancelled = true; } }
  *large() { for (;;) yield 'x'.repeat(1024); }
  *breaks() { yield 'begin'; throw new Error('in the middle'); }
  cancelled() { return cancelled; }
  fails() { throw new Error('a secret detail'); }
  refuses() { throw new AppError('RESOURCE_NOT_FOUND', 'there is no such report'); }
  slow() { return new Promise(() => {}); }
  lies() { return 'text'; }
  report({ query }) { return query.id + ' ' + query.format; }
  latest() { return 'the latest'; }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'end points', version: '1.' + VERSION, 'compatible-servers': ['SERVICE'] }; }
  getExtensions() { return [Endpoints]; }
}`

const endpointPath = "/plugins/endpoints/end%20points"

// An endpointUpload uploads a version of the plugin with endpoints, which may replace another one,
// and checks a part of the answer.
type endpointUpload func(version int, replace bool, part string)

// endpointServer starts a server for plugins with endpoints.
func endpointServer(t *testing.T) *apptest.Server {
	return apptest.Start(t, []role.Role{role.Gateway, role.Service}, "app.plugin.endpoints.max-answer-bytes=100000")
}

func TestEndpointsOfPlugins(t *testing.T) {
	s := endpointServer(t)
	testEndpoints(t, s, func(version int, replace bool, part string) {
		t.Helper()
		b, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"fileName": "endpoints.js", "code": strings.ReplaceAll(endpointScript, "VERSION", fmt.Sprint(version))}}})
		if err != nil {
			t.Fatal(err)
		}
		want(t, s, role.Service, "POST", fmt.Sprintf("/plugins/js?replace=%v", replace), string(b), 200, part)
	})
}

// TestCallersOfEndpointsWhoLeave has callers disconnect while code of a script runs: the code still
// ends in order.
func TestCallersOfEndpointsWhoLeave(t *testing.T) {
	s := endpointServer(t)
	want(t, s, role.Service, "POST", "/plugins/js", upload(t, `let ended = 0;
class Busy extends AppExtension {
  getEndpoints() {
    return [
      { handler: 'busy', method: 'GET', path: '/busy', summary: 'Never end nor rest', contentType: 'text/plain' },
      { handler: 'ended', method: 'GET', path: '/ended', summary: 'Count the ends of busy answers' },
    ];
  }
  async *busy() { try { for (;;) { yield 'line\n'; for (let i = 0; i < 20_000; i++); } } finally { ended++; } }
  ended() { return ended; }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'end points' }; }
  getExtensions() { return [Busy]; }
}`), 200)
	want(t, s, role.Service, "PUT", "/plugins?ids=end%20points", `{"status":"STARTED"}`, 200)
	const leavers = 20
	for range leavers {
		ctx, leave := context.WithCancel(t.Context())
		resp := fetch(ctx, t, s, endpointPath+"/busy")
		_, err := io.ReadFull(resp.Body, make([]byte, 25))
		leave()
		resp.Body.Close()
		if err != nil {
			t.Fatalf("the stream has no five lines: %v", err)
		}
	}
	eventually(t, "answers end in order when callers leave", func() bool {
		_, body := ask(t, s, role.Service, "GET", endpointPath+"/ended", "")
		var answer struct{ Data int }
		return json.Unmarshal([]byte(body), &answer) == nil && answer.Data == leavers
	})
}

// testEndpoints runs a plugin with endpoints through all states. It is the same for all languages.
func testEndpoints(t *testing.T, s *apptest.Server, upload endpointUpload) {
	before := endpointDocument(t, s, "")
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 404, `"code":1102`)
	upload(1, false, `"id":"end points"`)
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 404) // It is loaded, and not started.
	want(t, s, role.Service, "PUT", "/plugins?ids=end%20points", `{"status":"STARTED"}`, 200)

	want(t, s, role.Service, "POST", endpointPath+"/sums", `{"a":1,"b":2}`, 200, `"data":{"sum":3,"version":1}`)
	want(t, s, role.Service, "POST", endpointPath+"/sums?times=2&tags=x,y&tags=z", `{"a":1,"b":2}`, 200, `"data":{"sum":6,"tags":["x","y","z"],"version":1}`)
	want(t, s, role.Service, "POST", endpointPath+"/sums?times=0&other=1", `{"a":"1","pin":"123"}`, 400, `"code":1102`,
		"query.times: ", "other", "body.a: ", "body.b: is required", "body.pin: the value breaks the rule minLength")
	want(t, s, role.Service, "POST", endpointPath+"/sums", `{`, 400, "the body is not JSON")
	want(t, s, role.Service, "GET", endpointPath+"/sums", "", 405, "POST")
	want(t, s, role.Service, "GET", endpointPath+"/unknown", "", 404)
	want(t, s, role.Gateway, "GET", endpointPath+"/who", "", 404) // It is made for services.
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 200, `"adminId":"0"`, `"ip":"127.0.0.1"`, `"requestId":"string"`, `"query":{},"body":true,"self":true`)
	if answer := want(t, s, role.Service, "PUT", endpointPath+"/who", "", 200, `"code":1000`); strings.Contains(answer, "data") {
		t.Errorf("nothing is %s", answer)
	}

	want(t, s, role.Service, "GET", "/plugins?ids=end%20points", "", 200,
		`{"method":"GET","path":"/plugins/endpoints/end%20points/who","operationId":"plugin_end_points_who","summary":"Say who asks","permission":"PLUGIN_QUERY"}`)

	testPathsOfEndpoints(t, s)
	testContentOfEndpoints(t, s)
	testFaultsOfEndpoints(t, s)
	testDocumentOfEndpoints(t, s, before)
	testEndpointsAndPermissions(t, s)
	testLifeOfEndpoints(t, s, upload)
}

func testPathsOfEndpoints(t *testing.T, s *apptest.Server) {
	want(t, s, role.Service, "GET", endpointPath+"/reports/7?format=csv", "", 200, `"data":"7 csv"`)
	want(t, s, role.Service, "GET", endpointPath+"/reports/%37?format=csv", "", 200, `"data":"7 csv"`)
	want(t, s, role.Service, "GET", endpointPath+"/reports/latest", "", 200, `"data":"the latest"`)
	want(t, s, role.Service, "GET", endpointPath+"/reports/0", "", 400, "query.id: ")
	want(t, s, role.Service, "GET", endpointPath+"/reports/x", "", 400, "query.id: ")
	want(t, s, role.Service, "GET", endpointPath+"/reports/7?id=8", "", 400, "query.id: is a part of the path and must not be in the query")
	want(t, s, role.Service, "PUT", endpointPath+"/reports/7", "", 405, "GET")
	for _, path := range []string{"/reports", "/reports/", "/reports/7/8"} {
		want(t, s, role.Service, "GET", endpointPath+path, "", 404)
	}
	want(t, s, role.Service, "GET", "/plugins?ids=end%20points", "", 200, `"path":"/plugins/endpoints/end%20points/reports/{id}"`)
	_, text := ask(t, s, role.Service, "GET", "/openapi/docs", "")
	var document struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name, In string
					Required bool
					Schema   struct{ Type string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(document.Paths["/plugins/endpoints/end%20points/reports/{id}"].Get.Parameters); got != "[{format query false {string}} {id path true {integer}}]" {
		t.Errorf("the parameters are described as %s", got)
	}
}

// fetch asks an endpoint as root; the caller must close the body.
func fetch(ctx context.Context, t *testing.T, s *apptest.Server, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(role.Service)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func testContentOfEndpoints(t *testing.T, s *apptest.Server) {
	for path, wanted := range map[string][2]string{"/page": {"text/html; charset=utf-8", "<h1>Größe</h1>"}, "/image": {"image/png", "\x89PNG\x00\xff"}} {
		resp := fetch(t.Context(), t, s, endpointPath+path)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.Header.Get("Content-Type") != wanted[0] || string(body) != wanted[1] || !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s is %v %q, %v", path, resp.Header, body, err)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := fetch(ctx, t, s, endpointPath+"/endless")
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 50)); err != nil {
		t.Fatalf("the stream has no ten lines: %v", err)
	}
	leave()
	eventually(t, "the endless answer is cancelled", func() bool {
		_, body := ask(t, s, role.Service, "GET", endpointPath+"/cancelled", "")
		return strings.Contains(body, `"data":true`)
	})
	for path, begin := range map[string]string{"/large": "xxx", "/breaks": "begin"} {
		resp := fetch(t.Context(), t, s, endpointPath+path)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil || !strings.HasPrefix(string(body), begin) || len(body) > 100000 {
			t.Errorf("%s has %d bytes and the error %v", path, len(body), err)
		}
	}
}

func testFaultsOfEndpoints(t *testing.T, s *apptest.Server) {
	for path, wanted := range map[string]struct {
		status int
		parts  string
	}{
		"/fails":   {500, `"code":1200,"reason":"the endpoint GET /fails of plugin \"end points\" failed: the log says why"`},
		"/refuses": {404, `"code":1302,"reason":"there is no such report"`},
		"/slow":    {504, `"code":1201,"reason":"the endpoint GET /slow of plugin \"end points\" took longer than 50ms"`},
		"/lies":    {500, `"code":1200,"reason":"the endpoint GET /lies of plugin \"end points\" failed: the log says why"`},
	} {
		answer := want(t, s, role.Service, "GET", endpointPath+path, "", wanted.status, wanted.parts)
		if strings.Contains(answer, "secret") || strings.Contains(answer, "endpoints.js") || strings.Contains(answer, ".java") {
			t.Errorf("%s tells too much: %s", path, answer)
		}
	}
}

// endpointDocument returns the version of the OpenAPI document of the service, and checks that it
// has a part.
func endpointDocument(t *testing.T, s *apptest.Server, part string) string {
	t.Helper()
	resp := fetch(t.Context(), t, s, "/openapi/docs")
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(body) || !bytes.Contains(body, []byte(part)) {
		t.Errorf("the document lacks %s: %v", part, err)
	}
	return resp.Header.Get("ETag")
}

func testDocumentOfEndpoints(t *testing.T, s *apptest.Server, before string) {
	tag := endpointDocument(t, s, `"operationId": "plugin_end_points_add"`)
	if tag == "" || tag == before {
		t.Errorf("the version is %s as before", tag)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(role.Service)+"/openapi/docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("If-None-Match", tag)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotModified {
		t.Errorf("a document that is known is answered with %d", resp.StatusCode)
	}
	for _, part := range []string{`"/plugins/endpoints/end%20points/sums": {`, `"x-permission": "USER_QUERY"`, `"text/html": {`, `"name": "Plugin end points"`} {
		endpointDocument(t, s, part)
	}
	if _, gateway := ask(t, s, role.Gateway, "GET", "/openapi/docs", ""); strings.Contains(gateway, "end%20points") {
		t.Error("the gateway describes endpoints of a plugin for services")
	}
}

func testEndpointsAndPermissions(t *testing.T, s *apptest.Server) {
	want(t, s, role.Service, "POST", "/admins/roles", `{"id":7,"name":"clerk","permissions":["USER_QUERY"],"rank":1}`, 200)
	want(t, s, role.Service, "POST", "/admins", `{"loginName":"clerk","password":"clerkclerk","displayName":"clerk","roleIds":[7]}`, 200)
	for path, status := range map[string]int{"/sums": 200, "/who": 401} {
		method, body := http.MethodPost, `{"a":1,"b":2}`
		if status == 401 {
			method, body = http.MethodPut, ""
		}
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL(role.Service)+endpointPath+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("clerk", "clerkclerk")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("a clerk gets %d at %s", resp.StatusCode, path)
		}
	}
	// Writes are in the audit trail, with secrets masked, and refused ones as well.
	want(t, s, role.Service, "POST", endpointPath+"/sums", `{"a":40,"b":2,"pin":"my-secret"}`, 200)
	answer := want(t, s, role.Service, "GET", "/audit?size=100", "", 200, `plugin_end_points_add`, `plugin_end_points_nothing`, `"pin":"***"`)
	if strings.Contains(answer, "my-secret") {
		t.Error("the audit trail shows a secret")
	}
}

func testLifeOfEndpoints(t *testing.T, s *apptest.Server, upload endpointUpload) {
	// A new version replaces the old one, and no request fails.
	stop, done := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			req, err := http.NewRequest(http.MethodPost, s.URL(role.Service)+endpointPath+"/sums", strings.NewReader(`{"a":1,"b":2}`))
			if err != nil {
				done <- err.Error()
				return
			}
			req.SetBasicAuth("app", "app")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				done <- err.Error()
				return
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				done <- string(body)
				return
			}
		}
	}()
	for version := 2; version < 8; version++ {
		upload(version, true, `"replaced":true`)
		want(t, s, role.Service, "POST", endpointPath+"/sums", `{"a":1,"b":2}`, 200, fmt.Sprintf(`"version":%d`, version))
	}
	close(stop)
	if failure := <-done; failure != "" {
		t.Errorf("a request failed during a replacement: %s", failure)
	}
	// Two plugins must not have the same operation, nor one plugin the same path twice.
	other := pluginScript("end_points", "", "getEndpoints() { return [{handler: 'who', method: 'GET', path: '/x', summary: 'x'}]; } who() {}")
	want(t, s, role.Service, "POST", "/plugins/js", scriptBody(t, other), 409, `the endpoint who of plugin \"end_points\" and the endpoint who of plugin \"end points\"`)
	twice := pluginScript("twice", "", "getEndpoints() { return [{handler: 'a', method: 'GET', path: '/x', summary: 'x'}, {handler: 'b', method: 'get', path: '/x', summary: 'x'}]; } a() {} b() {}")
	want(t, s, role.Service, "POST", "/plugins/js", scriptBody(t, twice), 400, "the endpoints a and b are both GET /x")
	unclear := pluginScript("unclear", "", "getEndpoints() { const query = {type: 'object', properties: {id: {type: 'string'}, name: {type: 'string'}}}; return [{handler: 'a', method: 'GET', path: '/x/{id}', summary: 'x', query}, {handler: 'b', method: 'GET', path: '/x/{name}', summary: 'x', query}]; } a() {} b() {}")
	want(t, s, role.Service, "POST", "/plugins/js", scriptBody(t, unclear), 400, "the endpoints a (GET /x/{id}) and b (GET /x/{name}) match the same paths")
	// They are removed with the extension.
	for _, step := range [][2]string{{"PAUSED", "RESUMED"}, {"STOPPED", ""}} {
		want(t, s, role.Service, "PUT", "/plugins?ids=end%20points", `{"status":"`+step[0]+`"}`, 200)
		want(t, s, role.Service, "GET", endpointPath+"/who", "", 404)
		if _, document := ask(t, s, role.Service, "GET", "/openapi/docs", ""); strings.Contains(document, "end%20points") {
			t.Errorf("after %s the endpoints are still described", step[0])
		}
		if step[1] != "" {
			want(t, s, role.Service, "PUT", "/plugins?ids=end%20points", `{"status":"`+step[1]+`"}`, 200)
			want(t, s, role.Service, "GET", endpointPath+"/who", "", 200)
		}
	}
	want(t, s, role.Service, "DELETE", "/plugins?ids=end%20points", "", 204)
	want(t, s, role.Service, "GET", endpointPath+"/who", "", 404)
}

// scriptBody is the body of an upload of a script.
func scriptBody(t *testing.T, code string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"code": code}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEndpointInQuarantine(t *testing.T) {
	s := apptest.Start(t, []role.Role{role.Service}, "app.plugin.quarantine.enabled=true", "app.plugin.quarantine.failures=2")
	code := pluginScript("weak", "", "getEndpoints() { return [{handler: 'fail', method: 'GET', path: '/fail', summary: 'Fail'}]; } fail() { throw new Error('weak'); }")
	want(t, s, role.Service, "POST", "/plugins/js", scriptBody(t, code), 200)
	want(t, s, role.Service, "PUT", "/plugins?ids=weak", `{"status":"STARTED"}`, 200)
	want(t, s, role.Service, "GET", "/plugins/endpoints/weak/fail", "", 500)
	endpointDocument(t, s, "/plugins/endpoints/weak/fail")
	want(t, s, role.Service, "GET", "/plugins/endpoints/weak/fail", "", 500)
	want(t, s, role.Service, "GET", "/plugins/endpoints/weak/fail", "", 503, `"code":1201`, "quarantined after 2 failures in a row")
	if _, document := ask(t, s, role.Service, "GET", "/openapi/docs", ""); strings.Contains(document, "endpoints/weak") {
		t.Error("an endpoint in quarantine is described")
	}
}
