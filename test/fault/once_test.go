// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestOnce pauses a service that processes messages, and kills one between the commit of a message
// and its response: every sender is answered long before a call times out, and every message is
// stored once, in the order in which it was sent.
func TestOnce(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.cluster.nats.url=" + nats.URL(),
		// Longer than the test, so that waiting for a time-out fails it.
		"app.cluster.rpc.request-timeout-millis=600000", "app.store.timeout-millis=600000", "app.store.lock-timeout-millis=600000",
	}, openClients...)
	services := map[string]*process{}
	for _, name := range []string{"service-0", "service-1"} {
		services[name] = start(t, "service", name, append(set, "app.store.url="+db.URL()+"&application_name="+name)...)
	}
	gateway := start(t, "gateway", "gateway", append(set, "app.store.url="+db.URL())...)
	const users = 9
	createUsers(t, services["service-0"], users)
	ann := chat.LogIn(t, gateway.clients[0], 1, chat.WithPassword("secret"))
	bob := chat.LogIn(t, gateway.clients[0], 2, chat.WithPassword("secret"))
	send := func(to int64, text string) *wire.AppNotification {
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		response, err := ann.Do(ctx, &wire.CreateMessageRequest{RecipientId: &to, Text: &text})
		if err != nil || response.GetCode() != 1000 {
			t.Errorf("%q was answered %v, %v", text, response, err)
		}
		return response
	}
	stored := func(text string) (list []int64) {
		for _, m := range storedMessages(t, db.URL()) {
			if m.text == text {
				list = append(list, m.id)
			}
		}
		return list
	}

	clustertest.Freeze(t, services["service-1"].Process.Pid)
	// Both services process some of the conversations.
	var texts []string
	var clock stopwatch
	clock.acknowledge()
	var answers sync.WaitGroup
	const each = 3
	var ids [users + 1][each]int64
	for n := range each {
		for to := int64(2); to <= users; to++ {
			text := fmt.Sprintf("%d to %d", n, to)
			texts = append(texts, text)
			id, err := ann.Send(&wire.CreateMessageRequest{RecipientId: &to, Text: &text})
			if err != nil {
				t.Fatal(err)
			}
			answers.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
				defer cancel()
				response, err := ann.Await(ctx, func(n *wire.AppNotification) bool { return n.GetRequestId() == id && n.Code != nil })
				if err != nil || response.GetCode() != 1000 {
					t.Errorf("%q was answered %v, %v", text, response, err)
				}
				ids[to][n] = response.GetData().GetLong()
				clock.acknowledge()
			})
		}
	}
	answers.Wait()
	for to, list := range ids {
		if !slices.IsSorted(list[:]) {
			t.Errorf("the messages to %d have the ids %v", to, list)
		}
	}
	clustertest.Thaw(t, services["service-1"].Process.Pid)
	// The service stores its queued messages before later ones.
	eventually(t, "the service works again", func() bool {
		status, _ := services["service-1"].call("GET", "/health", "")
		return status == 200
	})
	for to := int64(2); to <= users; to++ {
		send(to, "after")
	}
	f := figures{inverted: unknown, undelivered: unknown, repeated: unknown, late: unknown}
	for _, text := range texts {
		switch found := stored(text); len(found) {
		case 1:
		case 0:
			f.lost++
			t.Errorf("%q is not stored", text)
		default:
			f.doubled++
			t.Errorf("%q is stored %d times", text, len(found))
		}
	}
	f.acknowledged = len(texts)
	record(t, f, unknown, clock.stop())
	if t.Failed() {
		return
	}

	conn, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range []string{
		"CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END'",
		// The trigger runs when the transaction commits.
		"CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON message_key DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()",
		"SELECT pg_advisory_lock(42)",
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	waiting := func(name string) (found string) {
		eventually(t, "a service waits for a lock", func() bool {
			err := conn.QueryRow(t.Context(), "SELECT application_name FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE $1", name).Scan(&found)
			return err == nil
		})
		return found
	}
	answered := make(chan *wire.AppNotification, 1)
	go func() { answered <- send(2, "commit") }()
	first := waiting("service-%")
	services[first].signal(syscall.SIGKILL)
	// The gateway retries the message, and the other service finds that a transaction is storing
	// it.
	second := map[string]string{"service-0": "service-1", "service-1": "service-0"}[first]
	waiting(second)
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_unlock(42)"); err != nil {
		t.Fatal(err)
	}
	response := <-answered
	if found := stored("commit"); len(found) != 1 || found[0] != response.GetData().GetLong() {
		t.Errorf("the messages %v are stored, the answer is %v", found, response)
	}
	bob.Expect(func(n *wire.AppNotification) bool {
		return n.GetRelayedRequest().GetCreateMessageRequest().GetText() == "commit"
	})

	// A client sends a message again, also in another session.
	var want int64
	for i := range 3 {
		if i == 2 {
			ann = chat.LogIn(t, gateway.clients[0], 1, chat.WithPassword("secret"))
		}
		request := &wire.AppRequest{
			RequestId: proto.Int64(1_000_000 + int64(i)),
			CustomAttributes: []*wire.Value{{ListValue: []*wire.Value{
				{Kind: &wire.Value_StringValue{StringValue: "idempotency-key"}}, {Kind: &wire.Value_StringValue{StringValue: "a"}},
			}}},
			Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("again")}},
		}
		payload, err := wire.MarshalOptions.Marshal(request)
		ann.Must(err)
		ann.Must(ann.SendPayload(payload))
		response := ann.Expect(func(n *wire.AppNotification) bool { return n.GetRequestId() == request.GetRequestId() && n.Code != nil })
		if id := response.GetData().GetLong(); response.GetCode() != 1000 || i > 0 && id != want {
			t.Errorf("sent again, the message was answered %v, want %d", response, want)
		} else {
			want = id
		}
	}
	if found := stored("again"); len(found) != 1 || found[0] != want {
		t.Errorf("the messages %v are stored, want %d", found, want)
	}
}
