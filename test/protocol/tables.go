// SPDX-License-Identifier: Apache-2.0

// Package protocol writes the generated parts of docs/protocol.md: the tables of requests,
// messages, enums and codes from proto/ and internal/apierr/codes.json, the conversation from a
// running server.
package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Tables returns the generated sections that need no server, by the name of their markers. root is
// the root of the tree.
func Tables(root string) (map[string]string, error) {
	files, err := compile(filepath.Join(root, "proto"))
	if err != nil {
		return nil, err
	}
	codes, err := readCodes(filepath.Join(root, "internal", "apierr", "codes.json"))
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"requests": requestTable(files), "messages": messageTables(files), "enums": enumTable(files),
		"codes": codeTable(codes), "close statuses": closeTable(),
	}, nil
}

// compile reads every .proto file of a folder, comments included.
func compile(dir string) (linker.Files, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("find .proto files in %q: %w", dir, err)
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", dir, err)
	}
	return files, nil
}

// comment returns the comment of a declaration as one line, without the name that it begins with.
func comment(d protoreflect.Descriptor) string {
	text := strings.Join(strings.Fields(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments), " ")
	return strings.ReplaceAll(text, "|", `\|`)
}

func requestTable(files linker.Files) string {
	var b strings.Builder
	b.WriteString("| Kind | Field of `AppRequest` | Meaning |\n|---|---|---|\n")
	for _, file := range files {
		request := file.Messages().ByName("AppRequest")
		if request == nil {
			continue
		}
		kinds := request.Oneofs().ByName("kind").Fields()
		for i := range kinds.Len() {
			f := kinds.Get(i)
			text := strings.TrimPrefix(comment(f.Message()), string(f.Message().Name())+" ")
			fmt.Fprintf(&b, "| %d | [`%s`](#%s) | %s |\n", f.Number(), f.Name(), anchor(f.Message()), text)
		}
	}
	return b.String()
}

// anchor returns the anchor of the heading of a message.
func anchor(m protoreflect.Descriptor) string {
	return strings.ToLower(strings.ReplaceAll(shortName(m), ".", ""))
}

// shortName returns the name without the package.
func shortName(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
}

func messageTables(files linker.Files) string {
	var b strings.Builder
	for _, file := range slices.SortedFunc(slices.Values(files), func(x, y linker.File) int { return cmp.Compare(x.Path(), y.Path()) }) {
		fmt.Fprintf(&b, "### %s\n\n", file.Path())
		writeMessages(&b, file.Messages())
	}
	return b.String()
}

func writeMessages(b *strings.Builder, messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		m := messages.Get(i)
		if m.IsMapEntry() {
			continue
		}
		fmt.Fprintf(b, "#### %s\n\n", shortName(m))
		if text := comment(m); text != "" {
			fmt.Fprintf(b, "%s\n\n", text)
		}
		if m.Fields().Len() > 0 {
			b.WriteString("| # | Field | Type | |\n|---|---|---|---|\n")
		}
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			fmt.Fprintf(b, "| %d | `%s` | %s | %s |\n", f.Number(), f.Name(), typeOf(f), label(f))
		}
		b.WriteString("\n")
		writeMessages(b, m.Messages())
	}
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return fmt.Sprintf("map of %s to %s", typeOf(f.MapKey()), typeOf(f.MapValue()))
	case f.Message() != nil:
		return fmt.Sprintf("[`%s`](#%s)", shortName(f.Message()), anchor(f.Message()))
	case f.Enum() != nil:
		return fmt.Sprintf("[`%s`](#enums)", shortName(f.Enum()))
	default:
		return "`" + f.Kind().String() + "`"
	}
}

func label(f protoreflect.FieldDescriptor) string {
	parts := []string{}
	switch oneof := f.ContainingOneof(); {
	case f.IsMap():
	case f.IsList() && f.IsPacked():
		parts = append(parts, "repeated, packed")
	case f.IsList():
		parts = append(parts, "repeated")
	case oneof != nil && !oneof.IsSynthetic():
		parts = append(parts, "one of "+string(oneof.Name()))
	case f.HasOptionalKeyword():
		parts = append(parts, "optional")
	}
	if text := comment(f); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ". ")
}

func enumTable(files linker.Files) string {
	rows := map[string]string{}
	for _, file := range files {
		for i := range file.Enums().Len() {
			e := file.Enums().Get(i)
			values := make([]string, e.Values().Len())
			for i := range values {
				v := e.Values().Get(i)
				values[i] = fmt.Sprintf("%d `%s`", v.Number(), v.Name())
			}
			rows[shortName(e)] = strings.Join(values, ", ")
		}
	}
	var b strings.Builder
	b.WriteString("| Enum | Values |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, rows[name])
	}
	return b.String()
}

type code struct {
	Name string `json:"name"`
	Code int    `json:"code"`
	HTTP int    `json:"http"`
	Text string `json:"text"`
}

func readCodes(path string) ([]code, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var codes []code
	if err := json.Unmarshal(data, &codes); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return codes, nil
}

func codeTable(codes []code) string {
	var b strings.Builder
	b.WriteString("| Code | Name | Meaning | What a client does |\n|---|---|---|---|\n")
	for _, c := range codes {
		if advice := adviceFor(c); advice != "" {
			fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", c.Code, c.Name, c.Text, advice)
		}
	}
	return b.String()
}

// advice for individual codes. Other codes get the advice of their kind.
var advice = map[int]string{
	1000: "continue",
	1001: "treat it as success without data",
	1002: "use the data that it has",
	1100: "correct the encoding; repeated mistakes block the address",
	1101: "wait a second, then resend it; otherwise the address is blocked",
	1102: "correct the argument that the reason names",
	1103: "treat it as done, or choose another key",
	1104: "request fewer records",
	1105: "log in, then resend it",
	1106: "do not send requests of this kind in this session",
	1200: "resend it once, then tell the user",
	1201: "reconnect, with a growing delay",
	2000: "update: `version` must be 1",
	2010: "reconnect and log in immediately",
	2011: "ask for the password or a new token",
	2012: "tell the user that the account cannot log in",
	2013: "log in as another device type",
	2100: "tell the user that another device is logged in",
	2103: "use the existing session of the connection",
	2104: "log in",
	5010: "tell the user that a rule of the operator rejects the text",
	6000: "hide pictures and attachments",
	8000: "hide meetings",
}

// adviceFor returns what a client should do about a code; "" for codes that only administrators
// see.
func adviceFor(c code) string {
	switch text := advice[c.Code]; {
	case text != "":
		return text
	case c.Code >= 1300 && c.Code < 2000:
		return ""
	case c.HTTP == 510 || c.HTTP == 501:
		return "hide the feature: the operator has not enabled it"
	case c.HTTP == 400 || c.HTTP == 406:
		return "correct the request"
	case c.HTTP == 409:
		return "treat it as done"
	case c.HTTP == 429 || c.HTTP == 503:
		return "wait, then resend it"
	case c.HTTP >= 500:
		return "resend it once, then tell the user"
	default:
		return "tell the user; do not resend it unchanged"
	}
}

// A CloseStatus is the reason why a server closed a session.
type CloseStatus struct {
	Status        int
	Name          string
	When, Clients string
}

// CloseStatuses are all close statuses. A test compares them with package wire.
var CloseStatuses = []CloseStatus{
	{100, "ILLEGAL_REQUEST", "a frame was too large or malformed", "correct its encoding; repeated mistakes block the address"},
	{110, "HEARTBEAT_TIMEOUT", "nothing was received for `app.gateway.session.close-idle-session-after-seconds` (180)", "reconnect; send heartbeats more often"},
	{111, "LOGIN_TIMEOUT", "no login within `session.establish-timeout-millis` of the transport (300000)", "reconnect when a user wants to log in"},
	{112, "SWITCH", "the client sent only heartbeats for a while and UDP is enabled: the session stays open", "send heartbeats over UDP; reconnect when the server sends the byte `01`, or to send a request"},
	{200, "SERVER_ERROR", "the connection failed because of the server", "reconnect, with a growing delay"},
	{201, "SERVER_CLOSED", "the server shuts down", "reconnect, with a growing delay; a load balancer selects another gateway"},
	{202, "SERVER_UNAVAILABLE", "the server cannot serve the connection now", "reconnect, with a growing delay"},
	{300, "CONNECTION_CLOSED", "never sent: clients use it for a connection that was closed without a notification", "reconnect, with a growing delay"},
	{400, "UNKNOWN_ERROR", "anything else", "reconnect, with a growing delay"},
	{500, "DISCONNECTED_BY_CLIENT", "the client sent `delete_session_request`", "stay disconnected"},
	{501, "DISCONNECTED_BY_OTHER_DEVICE", "the user logged in with another device that excludes this one, or disconnected this one", "stay disconnected and tell the user; reconnecting immediately would disconnect the other"},
	{600, "DISCONNECTED_BY_ADMIN", "an administrator closed the session", "stay disconnected and tell the user"},
	{700, "USER_IS_DELETED_OR_INACTIVATED", "the user was deleted or made inactive", "stay disconnected and tell the user"},
	{701, "USER_IS_BLOCKED", "the user or the address was blocked", "stay disconnected; new connections are closed without an answer"},
}

func closeTable() string {
	var b strings.Builder
	b.WriteString("| Status | Name | When | What a client does |\n|---|---|---|---|\n")
	for _, s := range CloseStatuses {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", s.Status, s.Name, s.When, s.Clients)
	}
	return b.String()
}
