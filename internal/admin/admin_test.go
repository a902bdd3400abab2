// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The operations of the tests return their input, so that a scenario shows how it was read.

type pair struct {
	OwnerID int64  `json:"ownerId"`
	Name    string `json:"name,omitempty"`
}

type thingQuery struct {
	IDs    []int64  `query:"ids" uniqueItems:"true" doc:"Ids."`
	Names  []string `query:"names" doc:"Names."`
	Count  *int32   `query:"count" minimum:"1" maximum:"9" doc:"A number."`
	Flag   bool     `query:"flag" default:"true" doc:"A flag."`
	Since  Date     `query:"since" doc:"A date."`
	Kind   string   `query:"kind" enum:"RED,GREEN" doc:"An enum."`
	Keys   []pair   `query:"keys" doc:"Objects."`
	Title  *string  `query:"title" maxLength:"5" doc:"A text."`
	Secret string   `query:"secret" secret:"true" doc:"A secret."`
	PageRequest
}

type thingEcho struct {
	IDs    []int64  `json:"ids,omitzero"`
	Names  []string `json:"names,omitzero"`
	Count  *int32   `json:"count,omitzero"`
	Flag   bool     `json:"flag"`
	Since  Date     `json:"since,omitzero"`
	Kind   string   `json:"kind,omitempty"`
	Keys   []pair   `json:"keys,omitzero"`
	Title  *string  `json:"title,omitzero"`
	Limit  int      `json:"limit"`
	Offset int      `json:"offset"`
}

type thing struct {
	ID     int64             `json:"id"`
	Small  int16             `json:"small,omitempty"`
	Text   string            `json:"text,omitempty" maxLength:"20" pattern:"^\\S*$"`
	Flag   bool              `json:"flag,omitempty"`
	Kind   string            `json:"kind,omitempty" enum:"RED,GREEN"`
	Date   Date              `json:"date,omitzero"`
	Data   []byte            `json:"data,omitempty"`
	Ratio  *float64          `json:"ratio,omitempty"`
	Set    []int64           `json:"set,omitempty" uniqueItems:"true" maxItems:"3"`
	Counts map[int64]int32   `json:"counts,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Child  *pair             `json:"child,omitempty"`
	Free   any               `json:"free,omitempty"`
	Secret string            `json:"secret,omitempty" secret:"true"`
}

type thingCreation struct{ Body thing }

type thingPatch struct{ Body *thing }

type thingDeletion struct {
	IDs       []int64 `query:"ids" selector:"true" doc:"Ids."`
	All       bool    `query:"all" selector:"all" doc:"Whether to delete all."`
	Every     *bool   `query:"every" selector:"true" doc:"The same as a pointer."`
	Logically bool    `query:"logically" default:"true" doc:"How."`
}

type thingVersion struct {
	IfMatch string `header:"If-Match" doc:"A version."`
}

func testOperations() []*Operation {
	const tag = "Things"
	echo := func(_ context.Context, in *thingQuery) (thingEcho, error) {
		return thingEcho{in.IDs, in.Names, in.Count, in.Flag, in.Since, in.Kind, in.Keys, in.Title, in.Limit(), in.Offset()}, nil
	}
	return []*Operation{
		formOperation(),
		Handle(Operation{ID: "echo", Method: "GET", Path: "/things", Tag: tag, Summary: "Echo", Permission: permission.UserQuery}, echo),
		Handle(Operation{ID: "create", Method: "POST", Path: "/things", Tag: tag, Summary: "Create", Permission: permission.UserCreate},
			func(_ context.Context, in *thingCreation) (thing, error) { return in.Body, nil }),
		Handle(Operation{ID: "patch", Method: "PUT", Path: "/things", Tag: tag, Summary: "Patch", Access: AnyAdmin},
			func(_ context.Context, in *thingPatch) (Done, error) { return Done{}, nil }),
		Handle(Operation{ID: "delete", Method: "DELETE", Path: "/things", Tag: tag, Summary: "Delete", Permission: permission.UserDelete},
			func(_ context.Context, in *thingDeletion) (DeleteResult, error) {
				return DeleteResult{int64(len(in.IDs))}, nil
			}),
		Handle(Operation{ID: "own", Method: "GET", Path: "/own", Tag: tag, Summary: "Own", Permission: permission.AdminQuery, OwnID: "ids"},
			func(_ context.Context, in *thingQuery) ([]int64, error) { return in.IDs, nil }),
		Handle(Operation{ID: "me", Method: "HEAD", Path: "/me", Tag: tag, Summary: "Me", Access: AnyAdmin},
			func(context.Context, *NoInput) (Done, error) { return Done{}, nil }),
		Handle(Operation{ID: "whoami", Method: "GET", Path: "/me", Tag: tag, Summary: "Who am I", Access: Public},
			func(ctx context.Context, _ *NoInput) (map[string]int64, error) {
				if p := Requester(ctx); p != nil {
					return map[string]int64{"id": p.ID}, nil
				}
				return map[string]int64{}, nil
			}),
		Handle(Operation{
			ID: "open", Method: "GET", Path: "/open", Tag: tag, Summary: "Open", Access: AnyAdmin,
			Open: func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.7") },
		},
			func(context.Context, *NoInput) (Done, error) { return Done{}, nil }),
		Handle(Operation{ID: "empty", Method: "GET", Path: "/empty", Tag: tag, Summary: "Empty", Access: Public},
			func(context.Context, *NoInput) ([]thing, error) { return nil, nil }),
		Handle(Operation{ID: "emptyOK", Method: "GET", Path: "/empty/ok", Tag: tag, Summary: "Empty", Access: Public, EmptyIsOK: true},
			func(context.Context, *NoInput) ([]thing, error) { return []thing{}, nil }),
		Handle(Operation{ID: "emptyPage", Method: "GET", Path: "/empty/page", Tag: tag, Summary: "Empty", Access: Public},
			func(context.Context, *NoInput) (Page[thing], error) { return NewPage[thing](0, nil), nil }),
		Handle(Operation{ID: "beyond", Method: "GET", Path: "/beyond/page", Tag: tag, Summary: "Beyond", Access: Public},
			func(context.Context, *NoInput) (Page[pair], error) { return NewPage[pair](7, nil), nil }),
		Handle(Operation{ID: "versioned", Method: "GET", Path: "/versioned", Tag: tag, Summary: "Versioned", Access: Public},
			func(_ context.Context, in *thingVersion) (Versioned[map[string]string], error) {
				return Versioned[map[string]string]{map[string]string{"ifMatch": in.IfMatch}, "7"}, nil
			}),
		Handle(Operation{ID: "void", Method: "POST", Path: "/void", Tag: tag, Summary: "Void", Access: Public},
			func(context.Context, *NoInput) (NoContent, error) { return NoContent{}, nil }),
		Handle(Operation{
			ID: "file", Method: "GET", Path: "/file", Tag: tag, Summary: "File", Access: Public,
			Media: &Media{ContentType: "application/octet-stream", Description: "A file."},
		},
			func(context.Context, *NoInput) (*Download, error) {
				return &Download{Name: "a \"b\"\r\n.bin", ContentType: "application/octet-stream", Size: 3, Content: io.NopCloser(strings.NewReader("abc"))}, nil
			}),
		Handle(Operation{
			ID: "missing", Method: "GET", Path: "/file/missing", Tag: tag, Summary: "File", Access: Public,
			Media: &Media{ContentType: "application/octet-stream", Description: "A file."},
		},
			func(context.Context, *NoInput) (*Download, error) {
				return nil, apierr.New(apierr.ResourceNotFound, "there is no file <x>")
			}),
		Handle(Operation{ID: "large", Method: "GET", Path: "/large", Tag: tag, Summary: "Large", Access: Public},
			func(context.Context, *NoInput) (string, error) { return strings.Repeat("x", 4096), nil }),
		Handle(Operation{ID: "fail", Method: "GET", Path: "/fail", Tag: tag, Summary: "Fail", Access: Public},
			func(context.Context, *NoInput) (Done, error) { return Done{}, errors.New("secret inside") }),
		Handle(Operation{ID: "panic", Method: "GET", Path: "/panic", Tag: tag, Summary: "Panic", Access: Public},
			func(context.Context, *NoInput) (Done, error) { panic("secret inside") }),
		Handle(Operation{
			ID: "stream", Method: "GET", Path: "/stream", Tag: tag, Summary: "Stream", Access: Public,
			Media: &Media{ContentType: "text/event-stream", Description: "Events."},
		},
			func(context.Context, *NoInput) (Stream, error) {
				return func(ctx context.Context, e *Events) error {
					e.Send("", "one\ntwo")
					e.Send("end", "")
					<-ctx.Done()
					return ctx.Err()
				}, nil
			}),
	}
}

// keeper contains the administrators of the tests.
type keeper map[string]*Principal

func (k keeper) Authenticate(_ context.Context, c Credentials) (*Principal, error) {
	name, password := c.LoginName, c.Password
	if p := k[name]; p != nil && password == name {
		return p, nil
	}
	return nil, unauthorized("login name or password is wrong")
}

var administrators = keeper{
	"root": {ID: 0, Permissions: permission.NewSet(permission.All()...)},
	"none": {ID: 42},
}

type recorder struct {
	mu      sync.Mutex
	records []*Record
}

func (r *recorder) Record(_ context.Context, rec *Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, rec)
}

type testAPI struct {
	*API
	settings *Settings
	recorder *recorder
	log      *bytes.Buffer
}

var testNow = time.Date(2024, 3, 28, 11, 43, 23, 291e6, time.UTC)

func newTestAPI(t *testing.T) *testAPI {
	t.Helper()
	ta := &testAPI{
		settings: &Settings{
			UseAuthentication: true, Audit: true, AuditParams: true, MaxBodyBytes: 1000, DefaultRecords: 10, MaxRecords: 100,
			RateLimit: RateLimit{Capacity: 1e6, InitialTokens: 1e6, TokensPerPeriod: 1, RefillInterval: time.Second},
		},
		recorder: &recorder{}, log: &bytes.Buffer{},
	}
	ta.API = New(Options{
		Title: "Test", Version: "1", Settings: func() *Settings { return ta.settings },
		Authenticator: administrators, Recorders: []Recorder{ta.recorder},
		Tags: []Tag{{"Things", "Things of the tests."}}, Logger: slog.New(slog.NewTextHandler(ta.log, nil)),
		Now: func() time.Time { return testNow },
	}, testOperations()...)
	t.Cleanup(ta.StopStreams)
	return ta
}

func (ta *testAPI) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	ta.ServeHTTP(w, r)
	return w
}

func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func as(name string) func(*http.Request) {
	return func(r *http.Request) {
		if name != "" {
			r.SetBasicAuth(name, name)
		}
	}
}

const stamp = `"timestamp":"2024-03-28T11:43:23.291+00:00"`

func ok(data string) string { return `{"code":1000,"reason":"ok",` + stamp + `,"data":` + data + `}` }

func failed(code, reason string) string {
	return `{"code":` + code + `,"reason":` + reason + `,` + stamp + `}`
}

func TestScenarios(t *testing.T) {
	const plain = `"flag":true,"limit":10,"offset":0}`
	tests := []struct {
		name, method, target, body, as string
		status                         int
		want                           string // exact body, or a part of it if it begins with "~"
	}{
		// Routing comes before credentials.
		{"unknown path", "GET", "/nothing", "", "", 404, `~"code":1102,"reason":"there is nothing at the path \"/nothing\""`},
		{"near path", "GET", "/thinges", "", "", 404, `~did you mean /things?`},
		{"trailing slash", "GET", "/things/", "", "root", 404, `~"code":1102`},
		{"escaped path", "GET", "/%74hings", "", "root", 404, `~"code":1102`},
		{"case matters", "GET", "/Things", "", "root", 404, `~"code":1102`},
		{"wrong method", "PATCH", "/things", "", "", 405, `~knows the methods DELETE, GET, POST, PUT, but not PATCH`},
		{"HEAD elsewhere", "HEAD", "/things", "", "root", 405, ""},
		{"OPTIONS without pre-flight", "OPTIONS", "/things", "", "", 405, `~"code":1102`},

		// Credentials come before parameters and body.
		{"no credentials", "GET", "/things?ids=x", "", "", 401, failed("1300", `"this request needs credentials (HTTP Basic or a bearer token)"`)},
		{"wrong password", "GET", "/things", "", "nobody", 401, failed("1300", `"login name or password is wrong"`)},
		{"no permission", "GET", "/things?ids=x", "", "none", 401, failed("1300", `"the permission USER_QUERY is needed"`)},
		{"bad body without credentials", "POST", "/things", "{", "", 401, `~"code":1300`},
		{"own id", "GET", "/own?ids=42", "", "none", 200, ok("[42]")},
		{"own id in brackets", "GET", "/own?ids[]=42", "", "none", 200, ok("[42]")},
		{"own id and another", "GET", "/own?ids=42,43", "", "none", 401, `~ADMIN_QUERY`},
		{"own id repeated", "GET", "/own?ids=42&ids=43", "", "none", 401, `~ADMIN_QUERY`},
		{"somebody else", "GET", "/own?ids=43", "", "none", 401, `~ADMIN_QUERY`},
		{"nobody in particular", "GET", "/own", "", "none", 401, `~ADMIN_QUERY`},
		{"public anonymous", "GET", "/me", "", "", 200, ok("{}")},
		{"public with credentials", "GET", "/me", "", "none", 200, ok(`{"id":42}`)},
		{"public with wrong credentials", "GET", "/me", "", "nobody", 401, `~"code":1300`},
		{"HEAD", "HEAD", "/me", "", "none", 200, ""},
		{"HEAD without credentials", "HEAD", "/me", "", "", 401, ""},

		// Query grammar.
		{"comma list", "GET", "/things?ids=1,2,3", "", "root", 200, ok(`{"ids":[1,2,3],` + plain)},
		{"escaped comma", "GET", "/things?ids=1%2C2%2c3", "", "root", 200, ok(`{"ids":[1,2,3],` + plain)},
		{"repeated key", "GET", "/things?ids=1&ids=2", "", "root", 200, ok(`{"ids":[1,2],` + plain)},
		{"empty brackets", "GET", "/things?ids[]=1&ids[]=2", "", "root", 200, ok(`{"ids":[1,2],` + plain)},
		{"escaped brackets", "GET", "/things?ids%5B%5D=1&ids%5b%5d=2", "", "root", 200, ok(`{"ids":[1,2],` + plain)},
		{"indexed brackets", "GET", "/things?ids[7]=1&ids[2]=2", "", "root", 200, ok(`{"ids":[1,2],` + plain)},
		{"mixed brackets", "GET", "/things?ids[]=1&ids[0]=2", "", "root", 400, `~cannot be mixed`},
		{"open bracket", "GET", "/things?ids[=1", "", "root", 400, `~not closed`},
		{"set", "GET", "/things?ids=2,1,2,1", "", "root", 200, ok(`{"ids":[2,1],` + plain)},
		{
			"objects", "GET", "/things?keys[0].ownerId=1&keys[1].ownerId=3&keys[0].name=a", "", "root", 200,
			ok(`{"flag":true,"keys":[{"ownerId":1,"name":"a"},{"ownerId":3}],"limit":10,"offset":0}`),
		},
		{
			"objects as JSON", "GET", "/things?keys=%5B%7B%22ownerId%22:1,%22name%22:%22a%22%7D,%7B%22ownerId%22:%223%22%7D%5D", "", "root", 200,
			ok(`{"flag":true,"keys":[{"ownerId":1,"name":"a"},{"ownerId":3}],"limit":10,"offset":0}`),
		},
		{
			"objects as JSON, one by one", "GET", "/things?keys={\"ownerId\":1,\"name\":\"a\"}&keys={\"ownerId\":3}", "", "root", 200,
			ok(`{"flag":true,"keys":[{"ownerId":1,"name":"a"},{"ownerId":3}],"limit":10,"offset":0}`),
		},
		{"no object as JSON", "GET", "/things?keys=[]", "", "root", 200, `~`},
		{"objects as JSON and by field", "GET", "/things?keys=[]&keys[0].ownerId=1", "", "root", 400, `~is given as JSON and as keys[0].field`},
		{"object as JSON with an unknown field", "GET", "/things?keys=[{\"x\":1}]", "", "root", 400, `~keys[0]: there is no field \"x\"`},
		{"object as JSON without a required field", "GET", "/things?keys=[{\"name\":\"a\"}]", "", "root", 400, `~keys[0].ownerId: is required`},
		{"objects as bad JSON", "GET", "/things?keys=[{", "", "root", 400, `~or as a JSON array of objects`},
		{"objects with a gap", "GET", "/things?keys[0].ownerId=1&keys[2].ownerId=3", "", "root", 400, `~1 is missing`},
		{"object with an unknown field", "GET", "/things?keys[0].x=1", "", "root", 400, `~there is no field \"x\"`},
		{"object without a required field", "GET", "/things?keys[0].name=a", "", "root", 400, `~field \"ownerId\" is required`},
		{"object field twice", "GET", "/things?keys[0].ownerId=1&keys[0].ownerId=1", "", "root", 400, `~given twice`},
		{"object with empty brackets", "GET", "/things?keys[].ownerId=1", "", "root", 400, `~name[0].field`},
		{"object as text", "GET", "/things?keys=1", "", "root", 400, `~keys[0].field`},
		{"text as object", "GET", "/things?ids[0].x=1", "", "root", 400, `~does not consist of objects`},
		{"all escapes", "GET", "/things?names=a%20b%2Fc%C3%A4+d", "", "root", 200, ok(`{"names":["a b/cä+d"],` + plain)},
		{"plus", "GET", "/things?names=%2B+", "", "root", 200, ok(`{"names":["++"],` + plain)},
		{"malformed escape", "GET", "/things?names=%zz", "", "root", 400, `~malformed percent escape`},
		{"cut escape", "GET", "/things?names=%4", "", "root", 400, `~in the middle of a percent escape`},
		{"not UTF-8", "GET", "/things?names=%ff", "", "root", 400, `~not UTF-8`},
		{"empty in the middle", "GET", "/things?names=&page=0", "", "root", 200, ok(`{"names":[""],` + plain)},
		{"empty at the end", "GET", "/things?names=", "", "root", 200, ok(`{` + plain)},
		{"empty number", "GET", "/things?ids=&count=&since=&flag=&page=0", "", "root", 200, ok(`{` + plain)},
		{"undeclared", "GET", "/things?whatever=1", "", "root", 200, ok(`{` + plain)},
		{"two values", "GET", "/things?count=1&count=2", "", "root", 400, `~parameter \"count\": takes one value, but 2 were given`},
		{"number with comma", "GET", "/things?count=1,2", "", "root", 400, `~must be an integer`},
		{"text with comma", "GET", "/things?title=a,b", "", "root", 200, ok(`{"flag":true,"title":"a,b","limit":10,"offset":0}`)},
		{"no name", "GET", "/things?=1", "", "root", 400, `~has no name`},

		// Conversion.
		{"not a number", "GET", "/things?ids=1,x", "", "root", 400, failed("1102", `"parameter \"ids\": \"x\" must be an integer of 64 bits"`)},
		{"too large", "GET", "/things?ids=9223372036854775808", "", "root", 400, `~must be an integer of 64 bits`},
		{"63 bits", "GET", "/things?ids=9223372036854775807", "", "root", 200, ok(`{"ids":[9223372036854775807],` + plain)},
		{"below minimum", "GET", "/things?count=0", "", "root", 400, `~0 must be at least 1`},
		{"above maximum", "GET", "/things?count=10", "", "root", 400, `~10 must be at most 9`},
		{"bool", "GET", "/things?flag=FALSE", "", "root", 200, ok(`{"flag":false,"limit":10,"offset":0}`)},
		{"not a bool", "GET", "/things?flag=1", "", "root", 400, `~\"1\" must be true or false`},
		{"enum", "GET", "/things?kind=GREEN", "", "root", 200, ok(`{"flag":true,"kind":"GREEN","limit":10,"offset":0}`)},
		{"enum in lower case", "GET", "/things?kind=green", "", "root", 400, `~must be one of RED, GREEN`},
		{"empty enum", "GET", "/things?kind=&flag=true", "", "root", 400, `~must be one of RED, GREEN`},
		{"text too long", "GET", "/things?title=abcdef", "", "root", 400, `~at most 5 characters, but has 6`},
		{"date with offset", "GET", "/things?since=2023-06-01T00:00:00%2B08:00", "", "root", 200, ok(`{"flag":true,"since":"2023-05-31T16:00:00.000+00:00","limit":10,"offset":0}`)},
		{"not a date", "GET", "/things?since=yesterday", "", "root", 400, `~must be a date`},

		// Paging.
		{"page", "GET", "/things?page=3&size=20", "", "root", 200, ok(`{"flag":true,"limit":20,"offset":60}`)},
		{"default size", "GET", "/things?page=1&size=0", "", "root", 200, ok(`{"flag":true,"limit":10,"offset":10}`)},
		{"largest size", "GET", "/things?size=5000", "", "root", 200, ok(`{"flag":true,"limit":100,"offset":0}`)},
		{"negative page", "GET", "/things?page=-1", "", "root", 400, `~parameter \"page\": -1 must be at least 0`},

		// Bodies.
		{
			"strict body", "POST", "/things", `{"id":1,"text":"a<b>&","flag":true,"kind":"RED","set":[2,1,2]}`, "root", 200,
			ok(`{"id":1,"text":"a<b>&","flag":true,"kind":"RED","set":[2,1]}`),
		},
		{
			"lenient body", "POST", "/things", ` {"id":"9223372036854775807","small":"7","text":123,"flag":"true","kind":1,"set":5,"date":1711626203291,"data":"AQI=","ratio":"0.5","counts":{"7":"8"}} `, "root", 200,
			ok(`{"id":9223372036854775807,"small":7,"text":"123","flag":true,"kind":"GREEN","date":"2024-03-28T11:43:23.291+00:00","data":"AQI=","ratio":0.5,"set":[5],"counts":{"7":8}}`),
		},
		{"JSON as text", "POST", "/things", `{"id":1,"text":{"a":1}}`, "root", 200, ok(`{"id":1,"text":"{\"a\":1}"}`)},
		{"ISO date", "POST", "/things", `{"id":1,"date":"2024-01-31T08:00:00.000Z"}`, "root", 200, ok(`{"id":1,"date":"2024-01-31T08:00:00.000+00:00"}`)},
		{"null is absent", "POST", "/things", `{"id":1,"text":null,"set":null,"child":null}`, "root", 200, ok(`{"id":1}`)},
		{
			"nested", "POST", "/things", `{"id":1,"child":{"ownerId":2},"labels":{"a":"b"},"free":{"x":[1.50]}}`, "root", 200,
			ok(`{"id":1,"labels":{"a":"b"},"child":{"ownerId":2},"free":{"x":[1.50]}}`),
		},
		{"empty body", "POST", "/things", "", "root", 400, `~the body is empty`},
		{"null body", "POST", "/things", "null", "root", 400, `~the body is null`},
		{"broken body", "POST", "/things", `{"id":`, "root", 400, `~not valid JSON`},
		{"body with a tail", "POST", "/things", `{"id":1} x`, "root", 400, `~not valid JSON`},
		{"body twice", "POST", "/things", `{"id":1}{"id":2}`, "root", 400, `~not valid JSON`},
		{"duplicate field", "POST", "/things", `{"id":1,"id":2}`, "root", 400, `~duplicate`},
		{"list as body", "POST", "/things", `[]`, "root", 400, `~body: must be a JSON object`},
		{"unknown field", "POST", "/things", `{"id":1,"colour":"red"}`, "root", 400, failed("1102", `"body: there is no field \"colour\""`)},
		{"unknown nested field", "POST", "/things", `{"id":1,"child":{"ownerId":2,"x":1}}`, "root", 400, `~child: there is no field \"x\"`},
		{"missing field", "POST", "/things", `{}`, "root", 400, failed("1102", `"id: is required"`)},
		{"null for a required field", "POST", "/things", `{"id":null}`, "root", 400, `~id: is required`},
		{"fraction", "POST", "/things", `{"id":1.5}`, "root", 400, `~id: \"1.5\" must be an integer`},
		{"object for a number", "POST", "/things", `{"id":{}}`, "root", 400, `~id: must be an integer`},
		{"too small a type", "POST", "/things", `{"id":1,"small":40000}`, "root", 400, `~small: \"40000\" must be an integer of 16 bits`},
		{"pattern", "POST", "/things", `{"id":1,"text":"a b"}`, "root", 400, `~text: must not contain white space`},
		{"pattern, another white space", "POST", "/things", `{"id":1,"text":"a\u3000b"}`, "root", 400, `~text: must not contain white space`},
		{"NUL", "POST", "/things", `{"id":1,"text":"a\u0000b"}`, "root", 400, `~text: must not contain the character U+0000`},
		{"enum position", "POST", "/things", `{"id":1,"kind":2}`, "root", 400, `~kind: the position 2 must be from 0 to 1`},
		{"set too long", "POST", "/things", `{"id":1,"set":[1,2,3,4]}`, "root", 400, `~set: must have at most 3 elements, but has 4`},
		{"bad element", "POST", "/things", `{"id":1,"set":[1,"x"]}`, "root", 400, `~set[1]: \"x\" must be an integer`},
		{"bad key", "POST", "/things", `{"id":1,"counts":{"x":1}}`, "root", 400, `~the key \"x\" must be an integer`},
		{"bad Base64", "POST", "/things", `{"id":1,"data":"?"}`, "root", 400, `~data: must be a string of Base64`},
		{"oversized body", "POST", "/things", `{"id":1,"text":"` + strings.Repeat("x", 2000) + `"}`, "root", 413, `~"code":1102,"reason":"the body is larger than 1000 bytes"`},
		{"optional body", "PUT", "/things", "", "none", 200, `{"code":1000,"reason":"ok",` + stamp + `}`},
		{"optional body, broken", "PUT", "/things", "{", "none", 400, `~not valid JSON`},
		{"body of a GET is ignored", "GET", "/things", "{", "root", 200, ok(`{` + plain)},

		// The guard ignores selectors without effect.
		{"delete", "DELETE", "/things?ids=1,2", "", "root", 200, ok(`{"deletedCount":2}`)},
		{"delete all", "DELETE", "/things", "", "root", 400, `~"code":1301`},
		{"delete all, with an option", "DELETE", "/things?logically=true", "", "root", 400, `~"code":1301`},
		{"delete all on purpose", "DELETE", "/things?all=true", "", "root", 200, ok(`{"deletedCount":0}`)},
		{"delete all on purpose, as a pointer", "DELETE", "/things?every=true", "", "root", 200, ok(`{"deletedCount":0}`)},
		{"delete not all", "DELETE", "/things?all=false&every=false", "", "root", 400, `~"code":1301`},
		{"delete not all but some", "DELETE", "/things?all=false&ids=1", "", "root", 200, ok(`{"deletedCount":1}`)},
		{"delete with an empty selector", "DELETE", "/things?ids=&logically=true", "", "root", 400, `~"code":1301`},

		// Answers.
		{"empty list", "GET", "/empty", "", "", 204, ""},
		{"empty list that is an answer", "GET", "/empty/ok", "", "", 200, ok("[]")},
		{"empty page", "GET", "/empty/page", "", "", 204, ""},
		{"page beyond the end", "GET", "/beyond/page", "", "", 200, ok(`{"total":7,"records":[]}`)},
		{"void", "POST", "/void", "", "", 204, ""},
		{"download", "GET", "/file", "", "", 200, "abc"},
		{"download of nothing", "GET", "/file/missing", "", "", 404, failed("1302", `"there is no file <x>"`)},
		{"internal error", "GET", "/fail", "", "", 500, failed("1200", `"internal server error"`)},
		{"panic", "GET", "/panic", "", "", 500, failed("1200", `"internal server error"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ta := newTestAPI(t)
			r := request(tt.method, tt.target, tt.body)
			as(tt.as)(r)
			w := ta.do(r)
			got := w.Body.String()
			if w.Code != tt.status {
				t.Errorf("status %d, want %d; body %s", w.Code, tt.status, got)
			}
			if part, ok := strings.CutPrefix(tt.want, "~"); ok {
				if !strings.Contains(got, part) {
					t.Errorf("body %s\nlacks %s", got, part)
				}
			} else if got != tt.want {
				t.Errorf("body\n%s\nwant\n%s", got, tt.want)
			}
			if id := w.Header()["X-Request-Id"]; len(id) != 1 || id[0] == "" {
				t.Errorf("X-Request-ID %q", id)
			}
			if w.Code >= 400 && got != "" && w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("an error is labelled %q", w.Header().Get("Content-Type"))
			}
			if n := len(ta.recorder.records); n != 1 || ta.recorder.records[0].Status != w.Code {
				t.Errorf("%d audit records, want one with status %d", n, w.Code)
			}
			if w.Code == 405 && w.Header().Get("Allow") == "" {
				t.Error("no Allow header")
			}
		})
	}
}

func TestInternalErrorsGoToTheLog(t *testing.T) {
	for _, path := range []string{"/fail", "/panic"} {
		ta := newTestAPI(t)
		w := ta.do(request("GET", path, ""))
		if !strings.Contains(ta.log.String(), "secret inside") || !strings.Contains(ta.log.String(), w.Header()["X-Request-Id"][0]) {
			t.Errorf("%s: the log lacks the cause or the request id: %s", path, ta.log)
		}
	}
}

func TestPreflight(t *testing.T) {
	ta := newTestAPI(t)
	w := ta.do(request("OPTIONS", "/anything", "", "Origin", "http://ui:6510", "Access-Control-Request-Method", "PUT"))
	if w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("status %d, body %q", w.Code, w.Body)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "*",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, *", "Access-Control-Max-Age": "7200",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestRequestIDIsOurs(t *testing.T) {
	ta := newTestAPI(t)
	seen := map[string]bool{}
	for range 10 {
		id := ta.do(request("GET", "/me", "", "X-Request-ID", "mine")).Header()["X-Request-Id"][0]
		if id == "mine" || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
	}
}

func TestCredentials(t *testing.T) {
	tests := []struct {
		name, header string
		status       int
	}{
		{"valid", "Basic cm9vdDpyb290", 200},
		{"other scheme", "Bearer cm9vdDpyb290", 401},
		{"scheme in lower case", "basic cm9vdDpyb290", 401},
		{"not Base64", "Basic ???", 401},
		{"no colon", "Basic cm9vdA==", 401},
		{"white space", "Basic cm9vdDogcm9vdA==", 400},
		{"empty", "", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ta := newTestAPI(t)
			if w := ta.do(request("GET", "/things", "", "Authorization", tt.header)); w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
		})
	}
	t.Run("UTF-8 and Latin-1", func(t *testing.T) {
		for _, header := range []string{"Basic w6Q6w7Y=", "Basic 5Dr2"} {
			if c, ok := readCredentials(header); c.LoginName != "ä" || c.Password != "ö" || !ok {
				t.Errorf("%s: %+v %v", header, c, ok)
			}
		}
	})
	t.Run("colon in the password", func(t *testing.T) {
		if c, ok := readCredentials("Basic YTpiOmM="); c.LoginName != "a" || c.Password != "b:c" || !ok {
			t.Errorf("%+v %v", c, ok)
		}
	})
}

func TestAuthenticationSwitchedOff(t *testing.T) {
	ta := newTestAPI(t)
	ta.settings.UseAuthentication = false
	if w := ta.do(request("GET", "/me", "")); w.Body.String() != ok(`{"id":0}`) {
		t.Errorf("body %s", w.Body)
	}
	if w := ta.do(request("GET", "/things", "")); w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

func TestOpenAddress(t *testing.T) {
	ta := newTestAPI(t)
	for remote, want := range map[string]int{"192.0.2.7:1": 200, "192.0.2.8:1": 401, "[::ffff:192.0.2.7]:1": 200} {
		r := request("GET", "/open", "")
		r.RemoteAddr = remote
		if w := ta.do(r); w.Code != want {
			t.Errorf("%s: status %d, want %d", remote, w.Code, want)
		}
	}
}

func TestDeleteGuardCanBeLifted(t *testing.T) {
	ta := newTestAPI(t)
	ta.settings.AllowDeleteWithoutFilter = true
	r := request("DELETE", "/things", "")
	as("root")(r)
	if w := ta.do(r); w.Code != 200 {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestGzip(t *testing.T) {
	ta := newTestAPI(t)
	tests := []struct {
		path, accept string
		want         bool
	}{
		{"/large", "gzip", true},
		{"/large", "br, gzip;q=0.5", true},
		{"/large", "*", true},
		{"/large", "*, gzip;q=0", false},
		{"/large", "identity", false},
		{"/large", "", false},
		{"/me", "gzip", false},
		{"/file", "gzip", false},
	}
	for _, tt := range tests {
		w := ta.do(request("GET", tt.path, "", "Accept-Encoding", tt.accept))
		got := w.Header().Get("Content-Encoding") == "gzip"
		if got != tt.want {
			t.Errorf("%s with %q: compressed %v", tt.path, tt.accept, got)
		}
		if got {
			zr, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(zr); string(b) != ok(`"`+strings.Repeat("x", 4096)+`"`) {
				t.Errorf("%s: wrong content", tt.path)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	ta := newTestAPI(t)
	w := ta.do(request("GET", "/versioned", "", "If-Match", `"6"`))
	if w.Header().Get("ETag") != `"7"` || w.Body.String() != ok(`{"ifMatch":"\"6\""}`) {
		t.Errorf("ETag %s, body %s", w.Header().Get("ETag"), w.Body)
	}
}

func TestDownloadHeaders(t *testing.T) {
	ta := newTestAPI(t)
	h := ta.do(request("GET", "/file", "")).Header()
	if got := h.Get("Content-Disposition"); got != "attachment; filename=a__b___.bin" {
		t.Errorf("Content-Disposition %q", got)
	}
	if h.Get("Content-Length") != "3" || h.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("headers %v", h)
	}
}

func TestAuditRecord(t *testing.T) {
	ta := newTestAPI(t)
	var out bytes.Buffer
	ta.opts.Recorders = append(ta.opts.Recorders, AuditLog(slog.New(slog.NewJSONHandler(&out, nil))))
	r := request("POST", "/things?x=1", `{"id":1,"secret":"hunter2","data":"AQI=","set":[1]}`)
	as("root")(r)
	ta.do(r)
	got := out.String()
	for _, part := range []string{`"adminId":0`, `"ip":"192.0.2.1"`, `"action":"create"`, `"secret":"***"`, `"data":{"bytes":2}`, `"success":true`, `"millis":0`} {
		if !strings.Contains(got, part) {
			t.Errorf("record %s lacks %s", got, part)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("record shows a secret: %s", got)
	}
	out.Reset()
	r = request("GET", "/things?secret=hunter2&ids=x", "")
	as("root")(r)
	ta.do(r)
	if got := out.String(); !strings.Contains(got, `"success":false`) || strings.Contains(got, "hunter2") {
		t.Errorf("record %s", got)
	}
	ta.settings.Audit = false
	out.Reset()
	ta.do(request("GET", "/me", ""))
	if out.Len() != 0 {
		t.Errorf("a record was written although audit is off: %s", &out)
	}
}

func TestRateLimit(t *testing.T) {
	ta := newTestAPI(t)
	ta.settings.RateLimit = RateLimit{Capacity: 2, InitialTokens: 2, TokensPerPeriod: 1, RefillInterval: time.Second}
	now := testNow
	ta.limiter = ratelimit.New(func() time.Time { return now })
	get := func(remote string) int {
		r := request("GET", "/nothing-here", "")
		r.RemoteAddr = remote
		return ta.do(r).Code
	}
	steps := []struct {
		advance time.Duration
		remote  string
		want    int
	}{
		{0, "192.0.2.1:1", 404},
		{0, "192.0.2.1:2", 404},
		{0, "192.0.2.1:3", 429},
		{0, "192.0.2.2:1", 404},
		{999 * time.Millisecond, "192.0.2.1:1", 429},
		{time.Millisecond, "192.0.2.1:1", 404},
		{0, "192.0.2.1:1", 429},
		{time.Hour, "192.0.2.1:1", 404},
		{0, "192.0.2.1:1", 404},
		{0, "192.0.2.1:1", 429},
		// The addresses of an IPv6 network are one client.
		{0, "[2001:db8:0:1::1]:1", 404},
		{0, "[2001:db8:0:1:ffff::2]:1", 404},
		{0, "[2001:db8:0:1::3]:1", 429},
		{0, "[2001:db8:0:2::1]:1", 404},
	}
	ta.settings.IPv6ClientBits = 64
	for i, s := range steps {
		now = now.Add(s.advance)
		if got := get(s.remote); got != s.want {
			t.Errorf("step %d: status %d, want %d", i, got, s.want)
		}
	}
	ta.settings.RateLimit.RefillInterval = time.Millisecond // A live change takes effect at once.
	now = now.Add(2 * time.Millisecond)
	if got := get("192.0.2.1:1"); got != 404 {
		t.Errorf("after the change: status %d", got)
	}
}
