// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// spanCollector is an OpenTelemetry collector.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlp.Span
}

func newSpanCollector(t *testing.T) *spanCollector {
	c := &spanCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := new(collector.ExportTraceServiceRequest)
		unzipped, err := gzip.NewReader(r.Body)
		if err == nil {
			var data []byte
			if data, err = io.ReadAll(unzipped); err == nil {
				err = proto.Unmarshal(data, in)
			}
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("the collector got %s %v: %v", r.URL, r.Header, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range in.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
	}))
	t.Cleanup(c.Close)
	return c
}

// find returns the spans of a trace, or of all if it is empty, with a name.
func (c *spanCollector) find(trace, name string) (found []*otlp.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.GetName() == name && (trace == "" || hex.EncodeToString(s.GetTraceId()) == trace) {
			found = append(found, s)
		}
	}
	return found
}

// begun returns the names of root spans.
func (c *spanCollector) begun() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if len(s.GetParentSpanId()) == 0 && !slices.Contains(names, s.GetName()) {
			names = append(names, s.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// wait waits for a span whose parent has the given name; "" means a root span.
func (c *spanCollector) wait(t *testing.T, trace, name, parent string) (found *otlp.Span) {
	t.Helper()
	eventually(t, fmt.Sprintf("the collector gets %q below %q", name, parent), func() bool {
		for _, s := range c.find(trace, name) {
			isParent := func(p *otlp.Span) bool { return slices.Equal(p.GetSpanId(), s.GetParentSpanId()) }
			if parent == "" && len(s.GetParentSpanId()) == 0 || parent != "" && slices.ContainsFunc(c.find(trace, parent), isParent) {
				found = s
				return true
			}
		}
		return false
	})
	return found
}

// TestSpansOfRequests checks the spans of an admin request, the load of a plugin, and a client's
// message from one gateway over a service with a plugin to its recipient.
func TestSpansOfRequests(t *testing.T) {
	need.Time(t)
	spans := newSpanCollector(t)
	parents := make(chan string, 10)
	outside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { parents <- r.Header.Get("traceparent") }))
	defer outside.Close()
	server := clustertest.Listen(t)
	dir := folderOf(t, map[string]string{"words.js": pluginScript("words", "'ClientRequestHandler'", `
  async transform(r) {
    const message = r.request.createMessageRequest;
    if (!message) return;
    await fetch(app.config('outside').url);
    message.text = message.text.replaceAll('darn', '*');
    return r;
  }`), "tasks.js": pluginScript("tasks", "'DomainEventHandler', 'DomainEventConsumer'", `
  start() { app.schedule('1s', { name: 'tick' }, () => {}); }
  handleDomainEvents(events) {}
  consumeDomainEvents(events) {}`)})
	set := []string{
		"app.telemetry.tracing.enabled=true", "app.telemetry.tracing.sample-rate=1", "app.telemetry.tracing.endpoint=" + spans.URL + "/v1/traces", "outside.url=" + outside.URL,
		"app.store.url=" + storetest.MigratedURL(t), "app.cluster.nats.url=" + server.URL(), "app.cluster.nats.token=secret",
		"app.service.message.allow-send-messages-to-stranger=true", "app.service.message.check-if-target-active-and-not-deleted=false",
	}
	service := apptest.Start(t, []role.Role{role.Service}, slices.Concat(set, []string{"app.plugin.dir=" + dir, "app.plugin.abort-on-failure=true"})...)
	gateway := apptest.Start(t, []role.Role{role.Gateway}, set...)
	spans.wait(t, "", "load plugin", "")
	for _, id := range []string{"5", "6"} {
		want(t, service, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}

	// An admin request belongs to the trace of its caller.
	const caller = "0af7651916cd43dd8448eb211c80319c"
	request, _ := http.NewRequestWithContext(t.Context(), "GET", service.URL(role.Service)+"/users?ids=5", nil)
	request.SetBasicAuth("app", "app")
	request.Header.Set("traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := response.Header.Get("traceresponse"); !strings.HasPrefix(got, "00-"+caller+"-") {
		t.Errorf("traceresponse is %q", got)
	}
	spans.wait(t, caller, "sql read", "queryUsers")
	if got := hex.EncodeToString(spans.find(caller, "queryUsers")[0].GetParentSpanId()); got != "b7ad6b7169203331" {
		t.Errorf("the parent of the request is %s", got)
	}

	sender, reader := chat.Connect(t, gateway.ClientURLs()[1]), chat.Connect(t, gateway.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	reader.MustLogin(6, chat.WithPassword("secret"))
	sender.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(6), Text: proto.String("well, darn")}, 1000)
	if got := reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); got != "well, *" {
		t.Errorf("the message is %q", got)
	}
	kind := wire.KindCreateMessage.String()
	trace := hex.EncodeToString(spans.wait(t, "", kind, "").GetTraceId())
	for _, step := range [][2]string{
		{"call client.request", kind},
		{"handle client.request", "call client.request"},
		{"ClientRequestHandler.transform", "handle client.request"},
		{"store message", "handle client.request"},
		{"sql write", "store message"},
		{"call session.deliver", "handle client.request"},
		{"handle session.deliver", "call session.deliver"},
	} {
		spans.wait(t, trace, step[0], step[1])
	}
	called := spans.find(trace, "ClientRequestHandler.transform")[0]
	if text := fmt.Sprint(called.GetAttributes()) + fmt.Sprint(called.GetEvents()); !strings.Contains(text, `"words"`) || !strings.Contains(text, "request.createMessageRequest.text") ||
		!strings.Contains(text, "text of 10 characters") || strings.Contains(text, "darn") {
		t.Errorf("the span of the plugin is %s", text)
	}
	if got := <-parents; got != "00-"+trace+"-"+hex.EncodeToString(called.GetSpanId())+"-01" {
		t.Errorf("the plugin fetched with %q, its span is %s", got, hex.EncodeToString(called.GetSpanId()))
	}
	login := wire.KindCreateSession.String()
	for _, step := range [][2]string{
		{"call client.password", login},
		{"handle client.password", "call client.password"},
		{"Schedule.run", "run schedule"},
		{"DomainEventHandler.handleDomainEvents", "deliver events"},
		{"DomainEventConsumer.consumeDomainEvents", "deliver events"},
		{"sql write", "deliver events"},
	} {
		spans.wait(t, "", step[0], step[1])
	}
	if text := fmt.Sprint(spans.find("", login)); !strings.Contains(text, `"app.user.id"`) || strings.Contains(text, "secret") {
		t.Errorf("the spans of logins are %s", text)
	}

	// Heartbeats have no spans.
	for range 10 {
		sender.Beat()
	}
	sender.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(6), Text: proto.String("after heartbeats")}, 1000)
	eventually(t, "the collector gets what came after the heartbeats", func() bool { return len(spans.find("", kind)) == 2 })
	if got := spans.begun(); !slices.Equal(got, []string{kind, login, "createUser", "deliver events", "load plugin", "run schedule"}) {
		t.Errorf("traces begin with %q", got)
	}
	want(t, service, role.Service, "PUT", "/cluster/settings", `{"telemetry":{"tracing":{"sampleRate":0}}}`, 200)
	eventually(t, "no more is sampled", func() bool {
		response, err := http.Get(service.URL(role.Service) + "/health")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return strings.HasSuffix(response.Header.Get("traceresponse"), "-00")
	})
}

// TestCollectorsThatHang proves that requests do not wait for an unresponsive collector.
func TestCollectorsThatHang(t *testing.T) {
	need.Time(t)
	release, asked := make(chan struct{}), make(chan struct{}, 1000)
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer hangs.Close()
	defer close(release)
	s := apptest.Start(t, role.All,
		"app.telemetry.tracing.enabled=true", "app.telemetry.tracing.sample-rate=1", "app.telemetry.tracing.endpoint="+hangs.URL, "app.telemetry.tracing.max-queue-size=10",
	)
	for range 100 {
		want(t, s, role.Service, "GET", "/users?ids=5", "", 204)
	}
	<-asked
	for range 100 {
		want(t, s, role.Service, "GET", "/users?ids=5", "", 204)
	}
	s.Stop()
}

// TestTracesOfRemoteLogins logs in through an HTTP server, which gets the trace of the login.
func TestTracesOfRemoteLogins(t *testing.T) {
	spans := newSpanCollector(t)
	parents := make(chan string, 10)
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("traceparent")
		_, _ = io.WriteString(w, `{"authenticated":true,"statements":[]}`)
	}))
	defer outside.Close()
	server := apptest.Start(t, role.All, "app.telemetry.tracing.enabled=true", "app.telemetry.tracing.sample-rate=1",
		"app.telemetry.tracing.endpoint="+spans.URL+"/v1/traces", "app.gateway.session.identity-access-management.type=HTTP",
		"app.gateway.session.identity-access-management.http.request.url="+outside.URL)
	chat.Connect(t, server.ClientURLs()[1]).MustLogin(5)
	span := spans.wait(t, "", "authenticate", wire.KindCreateSession.String())
	if got, want := <-parents, fmt.Sprintf("00-%x-%x-01", span.GetTraceId(), span.GetSpanId()); got != want {
		t.Errorf("traceparent is %q, not %q", got, want)
	}
}
