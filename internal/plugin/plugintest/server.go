// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
)

// The special users.
const (
	heldUser    = 1
	refusedUser = 2
)

// server is the server API for the fixtures.
type server struct {
	t       *testing.T
	storage plugin.Storage
	// held receives, for every blocked request for the held user, a channel that releases it.
	held chan chan<- struct{}

	mu            sync.Mutex
	properties    map[string]any
	values        map[string]any // settings
	callers       []plugin.Descriptor
	behalf        []string // on whose behalf they called
	notifications []plugin.Notification
}

func newServer(t *testing.T) *server {
	return &server{t: t, storage: plugin.NewStorage(storetest.SQLite(t)), held: make(chan chan<- struct{}), properties: map[string]any{}}
}

// usersInput and userResult are the parts of the types of queryUsers that fixtures use.
type usersInput struct {
	IDs []int64 `json:"ids"`
}

type userResult struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func (s *server) Node(role.Role) plugin.Node {
	return plugin.Node{ID: "node-1", Role: role.Service, Version: "1.0.0"}
}

func (s *server) Operations() []plugin.Operation {
	return []plugin.Operation{{Group: "users", Name: "query", ID: "queryUsers", Input: reflect.TypeFor[usersInput](), Result: reflect.TypeFor[[]userResult]()}}
}

func (s *server) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	s.callers = append(s.callers, by)
	s.behalf = append(s.behalf, plugin.OnBehalfOf(ctx))
	s.mu.Unlock()
	var in usersInput
	if err := json.Unmarshal(input, &in); err != nil || operation != "queryUsers" {
		return nil, fmt.Errorf("call %s with %s: %w", operation, input, err)
	}
	users := []userResult{}
	for _, id := range in.IDs {
		switch id {
		case refusedUser:
			return nil, apierr.New(apierr.ResourceNotFound, "no such user")
		case heldUser:
			if err := s.hold(ctx); err != nil {
				return nil, err
			}
		}
		users = append(users, userResult{ID: id, Name: fmt.Sprintf("user %d 👋", id)})
	}
	return json.Marshal(users)
}

// hold blocks until the suite releases the request.
func (s *server) hold(ctx context.Context) error {
	release := make(chan struct{})
	select {
	case s.held <- release:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.t.Context().Done():
		return s.t.Context().Err()
	}
	select {
	case <-release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.t.Context().Done():
		return s.t.Context().Err()
	}
}

func (s *server) Config(prefix string) (map[string]any, error) {
	if prefix != "suite" {
		return map[string]any{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.properties, nil
}

// configure sets the properties below suite.
func (s *server) configure(properties map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.properties = properties
}

func (s *server) Settings(by plugin.Descriptor) (map[string]any, error) {
	return plugin.SettingsOf(by, s.valuesOf(by.ID))
}

// valuesOf returns the settings that were set, for any plugin.
func (s *server) valuesOf(string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values
}

// settle sets settings.
func (s *server) settle(values map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = values
}

func (s *server) Notify(_ context.Context, by plugin.Descriptor, n plugin.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers, s.notifications = append(s.callers, by), append(s.notifications, n)
	return nil
}

// notified returns the notifications since the last call.
func (s *server) notified() []plugin.Notification {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.notifications
	s.notifications = nil
	return list
}

func (s *server) MeetingEnded(ctx context.Context, by plugin.Descriptor, meetingID int64, at time.Time) error {
	return s.storage.Set(ctx, by.ID, fmt.Sprintf("ended/%d", meetingID), []byte(at.UTC().Format(time.RFC3339Nano)))
}

func (s *server) Storage() plugin.Storage { return s.storage }

// note returns what a plugin has noted under a key, and whether there is anything.
func (s *server) note(t *testing.T, id, key string) (string, bool) {
	t.Helper()
	value, ok, err := s.storage.Get(context.Background(), id, key)
	if err != nil {
		t.Fatal(err)
	}
	return stored(value), ok
}

// wantNote checks what a plugin has noted.
func (s *server) wantNote(t *testing.T, id, key, want string) {
	t.Helper()
	if got, ok := s.note(t, id, key); !ok || got != want {
		t.Errorf("%s noted under %s\n got %q\nwant %q", id, key, got, want)
	}
}

var _ plugin.Server = (*server)(nil)
