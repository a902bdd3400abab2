// SPDX-License-Identifier: Apache-2.0

package limit_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"example.org/app/bench/limit"
	"example.org/app/bench/session"
	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestServe lets users write to each other and to a group: every acknowledged message is delivered,
// and stored once.
func TestServe(t *testing.T) {
	for _, engine := range []struct {
		name string
		url  func(t *testing.T) string
	}{
		{"sqlite", func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "app.db") }},
		{"postgresql", func(t *testing.T) string { return storetest.MigratedURL(t) }},
	} {
		t.Run(engine.name, func(t *testing.T) {
			url := engine.url(t)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			const members = 3
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- limit.Serve(ctx, limit.Options{Listener: listener, URL: url, Members: members}) }()
			var sockets []*websocket.Socket
			for user := range int64(6) {
				s, err := session.Open(listener.Addr().String(), user+1, "")
				if err != nil {
					t.Fatal(err)
				}
				sockets = append(sockets, s)
			}
			group := talk.NewGroup(session.Judge, session.ToGroup(1), sockets[:members]...)
			pair := talk.New(session.Judge, talk.Pair{Sender: sockets[3], Recipient: sockets[4], Letter: session.ToUser(5)})
			inGroup, err := group.Run(8, 100*time.Millisecond)
			if err != nil {
				t.Error(err)
			}
			private, err := pair.Run(8, 0, 100*time.Millisecond)
			if err != nil {
				t.Error(err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			group.Close()
			pair.Close()
			if int64(inGroup.Count) != 2*group.Acknowledged() || int64(private.Count) != pair.Acknowledged() {
				t.Errorf("%d and %d deliveries of %d and %d messages", inGroup.Count, private.Count, group.Acknowledged(), pair.Acknowledged())
			}
			db := storetest.Open(t, store.Options{URL: url})
			var stored, toGroup int64
			sent := false
			err = db.Read(t.Context(), func(ctx context.Context, r store.Reader) (err error) {
				if stored, err = store.CountMessages(ctx, r, store.MessageFilter{}); err != nil {
					return err
				}
				if toGroup, err = store.CountMessages(ctx, r, store.MessageFilter{IsGroupMessage: new(true)}); err != nil {
					return err
				}
				sent, err = store.HasPrivateMessage(ctx, r, 4, 5)
				return err
			})
			if err != nil || stored != group.Acknowledged()+pair.Acknowledged() || toGroup != group.Acknowledged() || !sent {
				t.Errorf("%d messages are stored, %d of them to groups, %t: %v", stored, toGroup, sent, err)
			}
		})
	}
}
