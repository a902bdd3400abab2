// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/message"
	"example.org/app/internal/logs"
	"example.org/app/internal/metrics"
	"example.org/app/internal/password"
	"example.org/app/internal/permission"
	"example.org/app/internal/presence"
	"example.org/app/internal/recording"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// onBothEngines runs a test against each storage engine.
func onBothEngines(t *testing.T, test func(*testing.T, *harness)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newHarness(t, storetest.SQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newHarness(t, storetest.PostgreSQL(t))) })
}

// harness is the interface of both roles over a real store.
type harness struct {
	*imtest.World
	t         *testing.T
	trail     *audit.Trail
	directory *administrator.Directory
	service   *admin.API
	gateway   *admin.API
	logDir    string
	settings  *admin.Settings
	shutdowns atomic.Int32
	openTo    netip.Addr
	unhealthy atomic.Pointer[string]
	now       atomic.Int64 // of the directory, in nanoseconds; 0 means the real time

	blockedIPs        *blocklist.List[netip.Addr]
	blockedUsers      *blocklist.List[int64]
	blocklistsEnabled atomic.Bool
	blocklistTime     atomic.Int64
	// from is the address of the client; empty is that of httptest.
	from string

	userHarness
	messageHarness
	pluginHarness
	sessionHarness
}

func newHarness(t *testing.T, db *store.DB) *harness {
	t.Helper()
	h := &harness{t: t, logDir: t.TempDir(), settings: &admin.Settings{
		UseAuthentication: true, MaxBodyBytes: 1 << 20, DefaultRecords: 10, MaxRecords: 1000,
		RateLimit: admin.RateLimit{Capacity: 1e6, InitialTokens: 1e6, TokensPerPeriod: 1e6, RefillInterval: time.Second},
	}}
	h.World = imtest.New(t, db, imtest.Changes{Users: h.noteUsers, Messages: func(o *message.Options) {
		o.Deliverer, o.Sent = &h.deliveries, func(n int64) { h.count(&h.sent, n) }
	}})
	var err error
	h.directory, err = administrator.NewDirectory(t.Context(), administrator.Options{
		Store: db, IDs: h.IDs, Logger: slog.New(slog.DiscardHandler),
		Hasher: password.Hasher{Algorithm: password.BCrypt, Cost: 4},
		Now: func() time.Time {
			if ns := h.now.Load(); ns != 0 {
				return time.Unix(0, ns)
			}
			return time.Now()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.directory.EnsureRoot(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	h.openBlocklists()
	h.openSessions()
	registry := metrics.New(metrics.BuildInfo{Version: "1.2.3"})
	if err := registry.RegisterProcess(h.logDir); err != nil {
		t.Fatal(err)
	}
	common := api.Common{
		Build: api.Build{Version: "1.2.3", CommitID: "abc", BuildTime: "2024-01-01T00:00:00Z"},
		Logs:  logs.OpenFolder(h.logDir), Metrics: registry,
		Health: api.NewHealth(api.Check{Name: "store", Do: db.Ping}, api.Check{Name: "other", Do: func(context.Context) error {
			if reason := h.unhealthy.Load(); reason != nil {
				return apierr.New(apierr.ServerUnavailable, "%s", *reason)
			}
			return nil
		}}),
		Recorder:      openRecorder(t),
		Shutdown:      func() { h.shutdowns.Add(1) },
		MetricsOpenTo: func(a netip.Addr) bool { return a == h.openTo },
		Plugins:       h.openPlugins(),
	}
	opts := admin.Options{
		Title: "test", Version: "1.2.3", Tags: api.Tags, Translate: store.Code,
		Settings: func() *admin.Settings { return h.settings }, Authenticator: api.NewAuthenticator(h.directory, nil),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Trail:  h.openTrail(),
	}
	h.gateway = admin.New(opts, append(api.CommonOperations(common), api.GatewayOperations(api.Gateway{Presence: h.gate.presence})...)...)
	h.service = admin.New(opts, append(api.CommonOperations(common), api.ServiceOperations(api.Service{
		Administrators: h.directory, Audit: h.trail, BlockedIPs: h.blockedIPs, BlockedUsers: h.blockedUsers, Cluster: h.newCluster(), Settings: h.newSettings(),
		Users: h.Users, Relationships: h.Relationships, StatisticsLimits: func() api.StatisticsLimits { return h.limits }, MessageStatistics: h,
		Conversations: h.Conversations, Messages: h.Messages,
		Groups: h.Groups, GroupMessageStatistics: h,
		Presence: h.presence, NearbyLimits: func() presence.NearbyLimits { return h.nearbyLimits },
	})...)...)
	t.Cleanup(h.service.StopStreams)
	t.Cleanup(h.gateway.StopStreams)
	return h
}

// openRecorder runs a recorder of flight recordings until the test ends.
func openRecorder(t *testing.T) *recording.Recorder {
	t.Helper()
	r, err := recording.Open(recording.Options{
		Folder: t.TempDir(), Limits: func() recording.Limits { return recording.Limits{MaxTotalBytes: 64 << 20, MaxRecordings: 4} },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// reply is an answer of the interface.
type reply struct {
	status int
	header http.Header
	body   string
}

// call sends a request to the service role. An account is "name" (with the
// password "name"), "name:password", or "" for none.
func (h *harness) call(account, method, target, body string) reply {
	return h.callAPI(h.service, account, method, target, body)
}

func (h *harness) callAPI(a *admin.API, account, method, target, body string) reply {
	r := httptest.NewRequestWithContext(h.t.Context(), method, target, strings.NewReader(body))
	if h.from != "" {
		r.RemoteAddr = h.from
	}
	if account != "" {
		name, pw, ok := strings.Cut(account, ":")
		if !ok {
			pw = name
		}
		r.SetBasicAuth(name, pw)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	answer := reply{w.Code, w.Header(), w.Body.String()}
	h.keepsContract(a, method, target, answer)
	return answer
}

// must is call for requests of a test's preparation.
func (h *harness) must(account, method, target, body string) reply {
	h.t.Helper()
	r := h.call(account, method, target, body)
	if r.status >= 300 {
		h.t.Fatalf("%s %s: %d %s", method, target, r.status, r.body)
	}
	return r
}

// role creates a role, and account an administrator with the given roles whose
// password is its name. It returns the administrator's id.
func (h *harness) role(id, rank int, permissions ...string) {
	h.t.Helper()
	list, _ := json.Marshal(permissions)
	h.must("app", "POST", "/admins/roles", fmt.Sprintf(`{"id":%d,"name":"ROLE%d","permissions":%s,"rank":%d}`, id, id, list, rank))
}

func (h *harness) account(name string, roles ...int) int64 {
	h.t.Helper()
	list, _ := json.Marshal(roles)
	r := h.must("app", "POST", "/admins", fmt.Sprintf(`{"loginName":%q,"password":%q,"roleIds":%s}`, name, name, list))
	var e struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		h.t.Fatal(err)
	}
	return e.Data.ID
}

var (
	digestPattern = regexp.MustCompile(`"digest":"[0-9a-f]{64}"`)
	datePattern   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00`)
	idPattern     = regexp.MustCompile(`\d{17,19}`)
)

// plain replaces what differs between two runs.
func plain(body string) string {
	body = digestPattern.ReplaceAllString(body, `"digest":"DIGEST"`)
	return idPattern.ReplaceAllString(datePattern.ReplaceAllString(body, "DATE"), "ID")
}

func ok(data string) string {
	return `{"code":1000,"reason":"ok","timestamp":"DATE","data":` + data + `}`
}

func updated(matched, modified int) string {
	return ok(fmt.Sprintf(`{"matchedCount":%d,"modifiedCount":%d}`, matched, modified))
}

func deleted(n int) string { return ok(fmt.Sprintf(`{"deletedCount":%d}`, n)) }

// scenario is a request, the expected answer and the expected side effect.
type scenario struct {
	name, as, method, target, body string
	status                         int
	want                           string // exact body, or a part of it if it begins with "~"
	changes                        bool   // whether administrators or roles change
	after                          func(*harness)
}

// play runs scenarios in order against one harness: each sees what the earlier
// ones did.
func (h *harness) play(scenarios []scenario) {
	for _, s := range scenarios {
		h.t.Run(s.name, func(t *testing.T) {
			before := h.revision(t)
			r := h.call(s.as, s.method, s.target, s.body)
			got := plain(r.body)
			if r.status != s.status {
				t.Errorf("status %d, want %d: %s", r.status, s.status, got)
			}
			if part, isPart := strings.CutPrefix(s.want, "~"); isPart {
				if !strings.Contains(got, part) {
					t.Errorf("body %s\nlacks %s", got, part)
				}
			} else if got != s.want {
				t.Errorf("body\n%s\nwant\n%s", got, s.want)
			}
			if changed := h.revision(t) != before; changed != s.changes {
				t.Errorf("changed the store: %v, want %v", changed, s.changes)
			}
			if s.after != nil {
				s.after(h)
			}
		})
	}
}

func (h *harness) revision(t *testing.T) int64 {
	t.Helper()
	n, err := h.DB.Revision(t.Context(), store.RevisionAdmin)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPrivilegeMatrix sends every operation of both roles with no credentials,
// a wrong password, an account without the permission and one with it.
func TestPrivilegeMatrix(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.role(1, 1, "LOG_QUERY")
		h.account("loggers", 1)
		h.role(2, 1, "SHUTDOWN")
		h.account("stoppers", 2)
		guesses := 0
		for role, a := range map[string]*admin.API{"service": h.service, "gateway": h.gateway} {
			for _, op := range a.Operations() {
				without := "loggers"
				if op.Permission == permission.LogQuery {
					without = "stoppers"
				}
				before := h.revision(t)
				call := func(account string) int { return h.callAPI(a, account, op.Method, op.Path, "").status }
				// Each guess comes from another address, as guesses from one are slowed down.
				guesses++
				h.from = fmt.Sprintf("10.0.%d.%d:1024", guesses/250, guesses%250+1)
				guessed := call("app:wrong")
				h.from = ""
				got := [4]bool{call("") != 401, guessed != 401, call(without) != 401, call("app") != 401}
				want := [4]bool{op.Access == admin.Public, false, op.Access != admin.Privileged, true}
				if got != want {
					t.Errorf("%s %s %s: let in {nobody, wrong password, without permission, with it} %v, want %v", role, op.Method, op.Path, got, want)
				}
				if h.revision(t) != before && op.ID != "createAdminSession" {
					t.Errorf("%s %s %s: changed administrators without being asked to", role, op.Method, op.Path)
				}
			}
		}
		if n := h.shutdowns.Load(); n != 2 {
			t.Errorf("%d shutdowns, want one for each role", n)
		}
	})
}

// TestTable proves that the declarations follow the design rules of the
// interface and that the OpenAPI documents describe exactly them.
func TestTable(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	verbs := map[string]*regexp.Regexp{
		http.MethodGet:    regexp.MustCompile(`^(query|tail)`),
		http.MethodHead:   regexp.MustCompile(`^check`),
		http.MethodPost:   regexp.MustCompile(`^create`),
		http.MethodPut:    regexp.MustCompile(`^(update|shutdown)`),
		http.MethodDelete: regexp.MustCompile(`^delete`),
	}
	path := regexp.MustCompile(`^(/[a-z0-9.-]+)+$`)
	for role, a := range map[string]*admin.API{"service": h.service, "gateway": h.gateway} {
		var doc struct {
			OpenAPI string
			Paths   map[string]map[string]struct {
				OperationID string
				Tags        []string
				Summary     string
				Description string
				Permission  string `json:"x-permission"`
				Security    []map[string][]string
				Responses   map[string]any
				RequestBody any
				Parameters  []struct{ Name, In, Description string }
			}
			Tags []struct{ Name string }
		}
		if err := json.Unmarshal(a.Document(), &doc); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(doc.OpenAPI, "3.0.") {
			t.Errorf("%s: OpenAPI %s", role, doc.OpenAPI)
		}
		described := 0
		for _, methods := range doc.Paths {
			described += len(methods)
		}
		if described != len(a.Operations()) {
			t.Errorf("%s: %d operations are described, %d are served", role, described, len(a.Operations()))
		}
		for _, op := range a.Operations() {
			where := role + " " + op.Method + " " + op.Path
			d, found := doc.Paths[op.Path][strings.ToLower(op.Method)]
			if !found {
				t.Errorf("%s is not described", where)
				continue
			}
			if !path.MatchString(op.Path) {
				t.Errorf("%s: the path is not made of plain names", where)
			}
			if !strings.HasPrefix(op.Path, "/openapi") && !verbs[op.Method].MatchString(op.ID) {
				t.Errorf("%s: operation %q does not do what its method means", where, op.ID)
			}
			if d.OperationID != op.ID || len(d.Tags) != 1 || d.Tags[0] != op.Tag || d.Summary == "" || d.Description == "" {
				t.Errorf("%s: described as %+v", where, d)
			}
			if d.Permission != string(op.Permission) || (len(d.Security) > 0) != (op.Access != admin.Public) {
				t.Errorf("%s: permission %q, security %v", where, d.Permission, d.Security)
			}
			for _, p := range d.Parameters {
				if p.In != "query" && p.In != "header" || p.Description == "" {
					t.Errorf("%s: parameter %+v", where, p)
				}
			}
			if d.RequestBody != nil && op.Method != http.MethodPost && op.Method != http.MethodPut {
				t.Errorf("%s has a body", where)
			}
			for _, status := range []string{"400", "429", "500"} {
				if d.Responses[status] == nil {
					t.Errorf("%s: no response %s", where, status)
				}
			}
		}
	}
}

func TestBusinessPathsAreAbsentOnTheGateway(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	for _, op := range h.service.Operations() {
		common := false
		for _, g := range h.gateway.Operations() {
			common = common || g.ID == op.ID
		}
		if r := h.callAPI(h.gateway, "app", op.Method, op.Path, ""); !common && r.status != 404 {
			t.Errorf("%s %s on the gateway: %d", op.Method, op.Path, r.status)
		}
	}
}

func TestStoreErrorsHaveCodes(t *testing.T) {
	tests := map[error]apierr.Code{
		store.ErrDuplicateKey:                   apierr.RecordContainsDuplicateKey,
		store.ErrInvalidValue:                   apierr.IllegalArgument,
		store.ErrTimeout:                        apierr.ServerUnavailable,
		store.ErrUnavailable:                    apierr.ServerUnavailable,
		store.ErrClosed:                         apierr.ServerUnavailable,
		store.ErrForeignKey:                     apierr.ServerInternalError,
		apierr.New(apierr.ResourceNotFound, ""): apierr.ResourceNotFound,
	}
	for err, want := range tests {
		if got := apierr.From(store.Code(fmt.Errorf("wrapped: %w", err))).Code; got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
