// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// conference is a plugin with one extension that holds meetings.
func conference(members string) plugin.Source {
	source := script("", members)
	source.Data = []byte(strings.Replace(string(source.Data), "'ClientRequestHandler'", "'ConferenceServiceProvider'", 1))
	return source
}

// TestListener lets a plugin tell of meetings that ended, in each way that there is.
func TestListener(t *testing.T) {
	ended := make(chan string, 20)
	h, _ := newHost(t, Options{Server: testServer{
		ended: func(_ context.Context, by plugin.Descriptor, id int64, at time.Time) error {
			if id == 404 {
				return apierr.New(apierr.ServerUnavailable, "not now")
			}
			when := at.UTC().Format(time.RFC3339)
			if time.Since(at) < time.Hour {
				when = "now"
			}
			ended <- fmt.Sprintf("%s: %d at %s", by.ID, id, when)
			return nil
		},
	}})
	m := load(t, h, conference(`
  async start() { this.started = true; }
  async addMeetingEndedEventListener(listener) {
    if (!this.started) throw new Error('too early');
    this.listener = listener;
    await listener({ meetingId: '9007199254740993', timestamp: new Date('2024-03-28T12:00:00Z') });
  }
  async queryUploadInfo() {
    const out = { arity: String(this.listener.length) };
    const attempt = async (name, f) => { try { out[name] = String(await f()); } catch (e) { out[name] = e.name + ' ' + (e.code ?? '') + ' ' + e.message; } };
    await attempt('listener', () => this.listener({ meetingId: 5 }));
    await attempt('ended', () => app.meetings.ended('6', new Date(0)));
    await attempt('now', () => app.meetings.ended(7n));
    await attempt('refused', () => app.meetings.ended('404'));
    await attempt('text', () => app.meetings.ended('x'));
    await attempt('nothing', () => app.meetings.ended());
    await attempt('no event', () => this.listener());
    return out;
  }
  resume() {}`))
	x := m.Extensions()[0]
	for _, hook := range []plugin.Hook{plugin.Start, plugin.Pause, plugin.Resume} {
		if err := x.Hook(t.Context(), hook); err != nil {
			t.Fatal(err)
		}
	}
	var out map[string]string
	if _, err := x.Call(t.Context(), uploadInfo, []any{int64(1), (*string)(nil), nil}, &out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"arity": "1", "listener": "undefined", "ended": "undefined", "now": "undefined",
		"refused":  "AppError 1201 not now",
		"text":     "TypeError  app.meetings.ended.meetingId: \"x\" is not a whole number",
		"nothing":  "AppError 1102 meetingId: is required",
		"no event": "TypeError  addMeetingEndedEventListener: an object is expected",
	} {
		if !strings.HasPrefix(out[name], want) {
			t.Errorf("%s: %q, want %q", name, out[name], want)
		}
	}
	close(ended)
	var got []string
	for line := range ended {
		got = append(got, line)
	}
	want := "test: 9007199254740993 at 2024-03-28T12:00:00Z, test: 5 at now, test: 6 at 1970-01-01T00:00:00Z, test: 7 at now"
	if strings.Join(got, ", ") != want {
		t.Errorf("told was %q, want %q", got, want)
	}
}

// TestListenerFailures starts extensions that do not want to listen.
func TestListenerFailures(t *testing.T) {
	h, log := newHost(t, Options{})
	for _, function := range []string{
		`addMeetingEndedEventListener() { throw new Error('no, thanks'); }`,
		`async addMeetingEndedEventListener(listener) { await listener({ meetingId: '1' }); }`,
	} {
		m := load(t, h, conference(function))
		if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
			t.Error(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, part := range []string{"an extension took no listener", "no, thanks", "addMeetingEndedEventListener is not there on this server"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is missing in %s", part, log)
		}
	}
	if _, err := h.Load(t.Context(), conference(`addMeetingEndedEventListener = 5;`)); err == nil || !strings.Contains(err.Error(), "addMeetingEndedEventListener of Test must be a function") {
		t.Errorf("a listener that is no function: %v", err)
	}
}
