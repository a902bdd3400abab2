// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

const document = "../../docs/protocol.md"

// A speaker is a client that only knows the frames of TCP. It records the conversation.
type speaker struct {
	t      *testing.T
	name   string
	conn   net.Conn
	reader *bufio.Reader
	notes  *strings.Builder
}

func newSpeaker(t *testing.T, name, address string, notes *strings.Builder) *speaker {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &speaker{t, name, conn, bufio.NewReader(conn), notes}
}

// send sends a request and records it.
func (s *speaker) send(title string, r *wire.AppRequest) {
	s.t.Helper()
	var payload []byte
	if r != nil {
		var err error
		if payload, err = wire.MarshalOptions.Marshal(r); err != nil {
			s.t.Fatal(err)
		}
	}
	frame := append(protowire.AppendVarint(nil, uint64(len(payload))), payload...)
	if _, err := s.conn.Write(frame); err != nil {
		s.t.Fatal(err)
	}
	s.note(title, s.name+" → server", payload, r)
}

// receive reads a payload, records it with the varying values replaced, and returns it.
func (s *speaker) receive(title string) *wire.AppNotification {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	payload, err := wire.ReadFrame(s.reader, nil, 1<<20)
	if err != nil {
		s.t.Fatalf("%s waits for %s: %v", s.name, title, err)
	}
	if len(payload) == 0 {
		s.note(title, "server → "+s.name, nil, nil)
		return nil
	}
	n := &wire.AppNotification{}
	if err := proto.Unmarshal(payload, n); err != nil {
		s.t.Fatal(err)
	}
	// The bytes in the document must be those of the server, so encoding again must not change
	// them.
	if again, err := wire.MarshalOptions.Marshal(n); err != nil || !bytes.Equal(again, payload) {
		s.t.Errorf("%s: the server sent % x, which is encoded again as % x (%v)", title, payload, again, err)
	}
	noted := proto.CloneOf(n)
	steady(noted)
	fixed, err := wire.MarshalOptions.Marshal(noted)
	if err != nil {
		s.t.Fatal(err)
	}
	s.note(title, "server → "+s.name, fixed, noted)
	return n
}

// The constants replace values that differ between runs.
const (
	someTime    = 1767225600000 // 2026-01-01T00:00:00Z
	someMessage = 1234567890123456789
	someSession = "1804289383"
	someReason  = "groupId or recipientId is required"
)

// steady replaces values that differ between runs.
func steady(n *wire.AppNotification) {
	n.Timestamp = someTime
	if n.GetReason() != "" {
		n.Reason = proto.String(someReason) // The text is not part of the protocol and may change.
	}
	switch data := n.GetData().GetKind().(type) {
	case *wire.AppNotification_Data_Long:
		data.Long = someMessage
	case *wire.AppNotification_Data_UserSession:
		data.UserSession.SessionId = someSession
	}
	if m := n.GetRelayedRequest().GetCreateMessageRequest(); m != nil {
		m.MessageId, m.DeliveryDate = proto.Int64(someMessage), proto.Int64(someTime)
	}
}

func (s *speaker) note(title, direction string, payload []byte, m proto.Message) {
	s.t.Helper()
	fmt.Fprintf(s.notes, "**%s** (%s, %d bytes)\n\n```text\n", title, direction, len(payload))
	if len(payload) == 0 {
		s.notes.WriteString("(empty)\n")
	}
	for len(payload) > 0 {
		n := min(len(payload), 24)
		fmt.Fprintf(s.notes, "% x\n", payload[:n])
		payload = payload[n:]
	}
	s.notes.WriteString("```\n\n")
	if m == nil || !m.ProtoReflect().IsValid() {
		return
	}
	// protojson varies its white space intentionally.
	loose, err := protojson.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	var tight bytes.Buffer
	if err := json.Indent(&tight, loose, "", "  "); err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(s.notes, "```json\n%s\n```\n\n", tight.Bytes())
}

// TestGoldenConversation compares a conversation of two clients with the document.
func TestGoldenConversation(t *testing.T) {
	s := apptest.Start(t, role.All, "app.gateway.service-discovery.identity=gateway-1")
	for id, name := range map[int]string{1: "Ann", 2: "Bob"} {
		createUser(t, s.URL(role.Service), id, name)
	}
	var address string
	for _, url := range s.ClientURLs() {
		if strings.HasPrefix(url, "tcp://") {
			address = url
		}
	}
	var notes, ignored strings.Builder
	ann, bob := newSpeaker(t, "Ann", address, &notes), newSpeaker(t, "Bob", address, &ignored)
	login := func(user int64) *wire.AppRequest {
		return &wire.AppRequest{RequestId: proto.Int64(1), Kind: &wire.AppRequest_CreateSessionRequest{CreateSessionRequest: &wire.CreateSessionRequest{
			Version: wire.Version, UserId: user, Password: proto.String("123"), DeviceType: wire.DeviceType_BROWSER,
		}}}
	}
	bob.send("login", login(2))
	bob.receive("session")
	bob.receive("response")
	bob.notes = &notes

	ann.send("1. Ann logs in", login(1))
	ann.receive("2. The server tells her about the session")
	wantCode(t, ann.receive("3. The login succeeded"), 1000)
	ann.send("4. A heartbeat", nil)
	ann.receive("5. The heartbeat is answered")
	ann.send("6. Ann sends Bob a message", &wire.AppRequest{RequestId: proto.Int64(2), Kind: &wire.AppRequest_CreateMessageRequest{
		CreateMessageRequest: &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hello")},
	}})
	wantCode(t, ann.receive("7. The message is stored; the response has its id"), 1000)
	if n := bob.receive("8. Bob is told: the request of user 1 is relayed, with the id and the time that the server gave it"); n.GetRequesterId() != 1 {
		t.Errorf("Bob heard %v", n)
	}
	ann.send("9. Ann forgets to say for whom a message is", &wire.AppRequest{RequestId: proto.Int64(3), Kind: &wire.AppRequest_CreateMessageRequest{
		CreateMessageRequest: &wire.CreateMessageRequest{Text: proto.String("hello?")},
	}})
	wantCode(t, ann.receive("10. The request is refused, and nothing was stored"), 1102)
	ann.send("11. Ann logs out", &wire.AppRequest{RequestId: proto.Int64(4), Kind: &wire.AppRequest_DeleteSessionRequest{DeleteSessionRequest: &wire.DeleteSessionRequest{}}})
	if n := ann.receive("12. There is no response but the close notification, after which the client disconnects"); n.GetCloseStatus() != 500 {
		t.Errorf("Ann heard %v", n)
	}
	if err := Check(document, map[string]string{"conversation": notes.String()}, os.Getenv("UPDATE_GOLDEN") != ""); err != nil {
		t.Error(err)
	}
}

func wantCode(t *testing.T, n *wire.AppNotification, code int32) {
	t.Helper()
	if n.GetCode() != code {
		t.Errorf("the response is %v, want the code %d", n, code)
	}
}

// TestGoldenTables compares the tables of the document with their sources.
func TestGoldenTables(t *testing.T) {
	sections, err := Tables("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(document, sections, os.Getenv("UPDATE_GOLDEN") != ""); err != nil {
		t.Error(err)
	}
}

// TestCloseStatusesAreComplete compares the table with the constants of package wire.
func TestCloseStatusesAreComplete(t *testing.T) {
	documented := map[int]bool{}
	for _, s := range CloseStatuses {
		documented[s.Status] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/wire/status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.INT {
			found++
			if status, err := strconv.Atoi(literal.Value); err != nil || !documented[status] {
				t.Errorf("the close status %s is not documented", literal.Value)
			}
		}
		return true
	})
	if found < 10 {
		t.Errorf("status.go has %d statuses", found)
	}
}

// TestStaleDocument checks that outdated tables are detected.
func TestStaleDocument(t *testing.T) {
	path := t.TempDir() + "/doc.md"
	if err := os.WriteFile(path, []byte("a\n<!-- generated: x -->\n\nold\n\n<!-- end: x -->\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path, map[string]string{"x": "new"}, false); err == nil || !strings.Contains(err.Error(), "stale from line 4") {
		t.Errorf("a stale document: %v", err)
	}
	if err := Check(path, map[string]string{"y": "new"}, false); err == nil {
		t.Error("a missing section was not noticed")
	}
	if err := Check(path, map[string]string{"x": "new"}, true); err != nil {
		t.Fatal(err)
	}
	if err := Check(path, map[string]string{"x": "new"}, false); err != nil {
		t.Error(err)
	}
}
