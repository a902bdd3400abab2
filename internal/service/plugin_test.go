// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
	"example.org/app/internal/service"
	"example.org/app/internal/wire"
)

// plugins installs plugins in JavaScript, each with one extension that has these functions.
func (w *world) plugins(point string, functions ...string) *notebook {
	w.T.Helper()
	notes := &notebook{lines: make(chan string, 100)}
	host, err := js.New(js.Options{Points: plugin.Points, Log: slog.New(notes)})
	if err != nil {
		w.T.Fatal(err)
	}
	settings := config.Default().Plugin
	manager := plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Service}, Hosts: []plugin.Host{host}, Logger: slog.New(slog.DiscardHandler),
		Settings: func() config.Plugin { return settings },
	})
	w.options.Plugins = manager.Calls
	w.dispatcher = service.New(w.options)
	w.T.Cleanup(func() {
		w.notifier.Flush()
		if err := manager.Close(context.Background()); err != nil {
			w.T.Error(err)
		}
	})
	for i, body := range functions {
		code := fmt.Sprintf(`
class Extension extends AppExtension { getExtensionPoints() { return ['%s']; } %s }
export default class extends AppPlugin {
  getDescriptor() { return {id: 'p%d'}; }
  getExtensions() { return [Extension]; }
}`, point, body, i)
		p, err := manager.Load(w.T.Context(), plugin.JavaScript, plugin.Source{Name: fmt.Sprintf("p%d.js", i), Data: []byte(code)})
		if err != nil {
			w.T.Fatal(err)
		}
		for _, s := range manager.Do(w.T.Context(), p, plugin.Start) {
			if s.Err != nil {
				w.T.Fatal(s.Err)
			}
		}
	}
	return notes
}

// notebook collects the log lines of plugins.
type notebook struct{ lines chan string }

func (n *notebook) Enabled(context.Context, slog.Level) bool { return true }
func (n *notebook) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n *notebook) WithGroup(string) slog.Handler            { return n }

func (n *notebook) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.Value.String()
		return true
	})
	select {
	case n.lines <- line:
	default:
	}
	return nil
}

// wantLine waits for a line with this part.
func (n *notebook) wantLine(t testing.TB, part string) {
	t.Helper()
	end := time.After(time.Minute)
	for {
		select {
		case line := <-n.lines:
			if strings.Contains(line, part) {
				return
			}
			t.Logf("also written: %s", line)
		case <-end:
			t.Fatalf("nobody wrote %q", part)
		}
	}
}

func TestTransformByPlugins(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	friend := w.online(2, desktop, "gateway1")
	w.plugins("ClientRequestHandler", `
  transform(r) {
    const m = r.request.createMessageRequest;
    if (!m) return;
    if (m.text === 'bad') throw new AppError(5010, 'that word');
    if (m.text === 'broken') throw new TypeError('x');
    if (m.text === 'nothing') return {...r, request: null};
    if (m.text === 'other') return {...r, userId: '2', request: {queryMessagesRequest: {areGroupMessages: false}}};
    m.text = m.text.toUpperCase();
    return r;
  }`, `
  async transform(r) { if (r.request.createMessageRequest) r.request.createMessageRequest.text += '!'; return r; }`)
	send := func(code apierr.Code, text string) answer {
		t.Helper()
		return w.want(code, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: &text})
	}
	id := send(apierr.OK, "hello").Data.GetLong()
	if got := w.stored(id).Text; *got != "HELLO!" {
		t.Errorf("stored is %q", *got)
	}
	if got := w.received(friend); len(got) != 1 || got[0].GetRelayedRequest().GetCreateMessageRequest().GetText() != "HELLO!" || got[0].GetRelayedRequest().GetRequestId() != 77 {
		t.Errorf("received was %v", got)
	}
	if a := send(apierr.MessageIsIllegal, "bad"); a.Reason != "that word" {
		t.Errorf("the reason is %q", a.Reason)
	}
	send(apierr.ServerInternalError, "broken")
	send(apierr.ServerInternalError, "nothing")
	send(apierr.NoContent, "other") // User 2 would have found a message; the requester cannot be changed.
}

func TestHandleByPlugins(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	phone, friend, other := w.online(1, android, "gateway2"), w.online(2, desktop, "gateway1"), w.online(3, desktop, "gateway1")
	w.plugins("ClientRequestHandler", `
  handle(r) {
    switch (r.request.createMessageRequest?.text) {
    case 'long': return {response: {long: '12345678901234567'}, notifications: [{recipients: ['3'], forwardToRequesterOtherOnlineSessions: true, notification: r.request}]};
    case 'refused': return {code: 1302, reason: r.clientIp};
    case 'thrown': throw new AppError(1300, 'you may not');
    case 'nonsense': return {code: 77};
    }
  }`, `handle(r) { if (r.request.createMessageRequest?.text === 'long') throw new Error('asked although the first answered'); }`)
	send := func(code apierr.Code, text string) answer {
		t.Helper()
		return w.want(code, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: &text})
	}
	if a := send(apierr.OK, "long"); a.Data.GetLong() != 12345678901234567 {
		t.Errorf("the answer is %v", a)
	}
	w.wantNotified(1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("long")}, phone, other)
	if a := send(apierr.ResourceNotFound, "refused"); a.Reason != "192.0.2.1" {
		t.Errorf("the answer is %v", a)
	}
	send(apierr.Unauthorized, "thrown")
	send(apierr.ServerInternalError, "nonsense")
	send(apierr.OK, "by the server")
	if got := w.received(friend); len(got) != 1 {
		t.Errorf("received was %v", got)
	}
}

func TestNotifyByPlugins(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3, 4)
	group := w.Group(1, 2, 3, 4)
	phone, friend := w.online(1, android, "gateway2"), w.online(2, desktop, "gateway1")
	w.online(2, browser, "gateway2")
	notes := w.plugins("RequestHandlerResultHandler", `
  beforeNotify(result, requester, device) {
    app.log.info('before ' + JSON.stringify([requester, device, result.response, result.notifications.map(n => [n.recipients, n.forwardToRequesterOtherOnlineSessions])]));
    const text = result.notifications[0]?.notification.createMessageRequest?.text;
    if (text === 'silent') return {...result, notifications: []};
    if (text === 'changed') { result.notifications[0].notification.createMessageRequest.text = 'CHANGED'; result.notifications[0].recipients = ['2']; return result; }
    if (text === 'broken') throw new Error('no');
  }`, `
  afterNotify(result, requester, device, offline) {
    app.log.info('after ' + JSON.stringify([requester, offline, result.notifications.length, result.notifications[0].notification.createMessageRequest.text]));
  }`)
	send := func(text string) int64 {
		t.Helper()
		return w.want(apierr.OK, 1, &wire.CreateMessageRequest{GroupId: &group, Text: &text}).Data.GetLong()
	}
	texts := func(s session) (list []string) {
		for _, n := range w.received(s) {
			if n.GetRequesterId() != 1 {
				t.Errorf("the requester is %d", n.GetRequesterId())
			}
			list = append(list, n.GetRelayedRequest().GetCreateMessageRequest().GetText())
		}
		return list
	}
	id := send("hello")
	notes.wantLine(t, fmt.Sprintf(`before ["1","DESKTOP",{"long":"%d"},[[["2","3","4"],true]]]`, id))
	notes.wantLine(t, `after ["1",["3","4"],1,"hello"]`)
	if got := append(texts(phone), texts(friend)...); !slices.Equal(got, []string{"hello", "hello"}) {
		t.Errorf("received were %v", got)
	}
	send("silent")
	notes.wantLine(t, "before ")
	send("changed")
	notes.wantLine(t, `after ["1",[],1,"CHANGED"]`)
	send("broken")
	notes.wantLine(t, `after ["1",["3","4"],1,"broken"]`)
	if got := texts(friend); !slices.Equal(got, []string{"CHANGED", "broken"}) {
		t.Errorf("received were %v", got)
	}
	w.want(apierr.IllegalArgument, 1, &wire.CreateMessageRequest{})
	w.want(apierr.NoContent, 3, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), Ids: []int64{1}})
	w.notifier.Flush()
	for len(notes.lines) > 0 {
		if line := <-notes.lines; strings.Contains(line, "before") {
			t.Errorf("a request that did not succeed was shown: %s", line)
		}
	}
}

func TestNotifyUsers(t *testing.T) {
	w := newWorld(t)
	friend := w.online(2, desktop, "gateway1")
	note := requestOf(0, &wire.CreateMessageRequest{Text: proto.String("from a plugin")})
	if err := w.notifier.NotifyUsers(t.Context(), note, []int64{2, 3}); err != nil {
		t.Fatal(err)
	}
	if got := w.received(friend); len(got) != 1 || got[0].GetRelayedRequest().GetCreateMessageRequest().GetText() != "from a plugin" {
		t.Errorf("received was %v", got)
	}
	if err := w.notifier.NotifyUsers(t.Context(), nil, []int64{2}); apierr.From(err).Code != apierr.IllegalArgument {
		t.Error(err)
	}
	if err := w.notifier.NotifyUsers(t.Context(), note, nil); apierr.From(err).Code != apierr.IllegalArgument {
		t.Error(err)
	}
}

func TestStorageByPlugins(t *testing.T) {
	w := newWorld(t)
	const (
		userPicture, groupPicture = wire.StorageResourceType_USER_PROFILE_PICTURE, wire.StorageResourceType_GROUP_PROFILE_PICTURE
		attachment                = wire.StorageResourceType_MESSAGE_ATTACHMENT
	)
	// Each function returns how it was called.
	var functions strings.Builder
	for _, m := range plugin.StorageServiceProvider.Methods {
		answer := ""
		switch {
		case m == plugin.QueryMessageAttachmentInfosUploadedByRequester:
			answer = "return [{idNum: '7', name: 'a.png', mediaType: 'image/png', uploaderId: '1', creationDate: new Date(5)}];"
		case m == plugin.QueryUserProfilePictureDownloadInfo:
			answer = "if (args[1] === '9') return;"
			fallthrough
		case m.Result != nil && strings.HasSuffix(m.Name, "Info") || strings.Contains(m.Name, "UploadInfoIn"):
			answer += "return {url: '" + m.Name + "', id: '1'};"
		}
		if m != plugin.DeleteGroupProfilePicture { // One that it does not have.
			fmt.Fprintf(&functions, "%s(...args) { app.log.info('%s ' + JSON.stringify(args)); if (args[0] === '13') throw new AppError(6100, 'no'); %s }\n", m.Name, m.Name, answer)
		}
	}
	notes := w.plugins("StorageServiceProvider", functions.String())
	one, text := proto.Int64(1), proto.String("a")
	custom := []*wire.Value{{Kind: &wire.Value_StringValue{StringValue: "c"}}}
	for _, tt := range []struct {
		code    apierr.Code
		request proto.Message
		called  string
	}{
		{apierr.OK, &wire.DeleteResourceRequest{Type: userPicture, CustomAttributes: custom}, `deleteUserProfilePicture ["1",[{"stringValue":"c"}]]`},
		{apierr.OK, &wire.DeleteResourceRequest{Type: attachment, IdStr: text}, `deleteMessageAttachment ["1",null,"a",[]]`},
		{apierr.StorageNotImplemented, &wire.DeleteResourceRequest{Type: groupPicture, IdNum: one}, ""},
		{apierr.OK, &wire.QueryResourceDownloadInfoRequest{Type: userPicture, IdNum: one}, `queryUserProfilePictureDownloadInfo ["1","1",[]]`},
		{apierr.NoContent, &wire.QueryResourceDownloadInfoRequest{Type: userPicture, IdNum: proto.Int64(9)}, `queryUserProfilePictureDownloadInfo`},
		{apierr.OK, &wire.QueryResourceDownloadInfoRequest{Type: groupPicture, IdNum: one}, `queryGroupProfilePictureDownloadInfo ["1","1",[]]`},
		{apierr.OK, &wire.QueryResourceDownloadInfoRequest{Type: attachment, IdNum: one}, `queryMessageAttachmentDownloadInfo ["1","1",null,[]]`},
		{apierr.OK, &wire.QueryResourceUploadInfoRequest{Type: userPicture, Name: text, MediaType: proto.String("image/png")}, `queryUserProfilePictureUploadInfo ["1","a","image/png",[]]`},
		{apierr.OK, &wire.QueryResourceUploadInfoRequest{Type: groupPicture, IdNum: one}, `queryGroupProfilePictureUploadInfo ["1","1",null,null,[]]`},
		{apierr.OK, &wire.QueryResourceUploadInfoRequest{Type: attachment}, `queryMessageAttachmentUploadInfo ["1",null,null,[]]`},
		{apierr.OK, &wire.QueryResourceUploadInfoRequest{Type: attachment, IdNum: proto.Int64(-5)}, `queryMessageAttachmentUploadInfoInGroupConversation ["1","5",null,null,[]]`},
		{apierr.OK, &wire.QueryResourceUploadInfoRequest{Type: attachment, IdNum: proto.Int64(5)}, `queryMessageAttachmentUploadInfoInPrivateConversation ["1","5",null,null,[]]`},
		{apierr.OK, &wire.QueryMessageAttachmentInfosRequest{}, `queryMessageAttachmentInfosUploadedByRequester ["1",null]`},
		{apierr.NoContent, &wire.QueryMessageAttachmentInfosRequest{InPrivateConversation: proto.Bool(true), UserIds: []int64{2}, AreSharedByMe: proto.Bool(true)}, `queryMessageAttachmentInfosInPrivateConversations ["1",[],null,true]`},
		{apierr.NoContent, &wire.QueryMessageAttachmentInfosRequest{InPrivateConversation: proto.Bool(false), UserIds: []int64{2}}, `queryMessageAttachmentInfosInGroupConversations ["1",[],["2"],null]`},
		{apierr.NoContent, &wire.QueryMessageAttachmentInfosRequest{GroupIds: []int64{3}, UserIds: []int64{2}, CreationDateEnd: one}, `queryMessageAttachmentInfosInGroupConversations ["1",["3"],["2"],{"end":"1970-01-01T00:00:00.001Z"}]`},
		{apierr.NoContent, &wire.QueryMessageAttachmentInfosRequest{UserIds: []int64{2}}, `queryMessageAttachmentInfosInPrivateConversations ["1",["2"],null,null]`},
		{apierr.OK, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdNum: one, UserIdToShareWith: proto.Int64(2), GroupIdToShareWith: one}, `shareMessageAttachmentWithUser ["1","1",null,"2"]`},
		{apierr.OK, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdStr: text, GroupIdToShareWith: proto.Int64(2), UserIdToUnshareWith: one}, `shareMessageAttachmentWithGroup ["1",null,"a","2"]`},
		{apierr.OK, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdStr: text, UserIdToUnshareWith: proto.Int64(2)}, `unshareMessageAttachmentWithUser ["1",null,"a","2"]`},
		{apierr.OK, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdStr: text, GroupIdToUnshareWith: proto.Int64(2)}, `unshareMessageAttachmentWithGroup ["1",null,"a","2"]`},
		{apierr.OK, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdStr: text}, ""},
	} {
		a := w.want(tt.code, 1, tt.request)
		if tt.called != "" {
			notes.wantLine(t, tt.called)
		}
		name, _, _ := strings.Cut(tt.called, " ")
		if _, queries := tt.request.(*wire.QueryMessageAttachmentInfosRequest); queries && tt.code == apierr.OK {
			want := &wire.StorageResourceInfo{IdNum: proto.Int64(7), Name: proto.String("a.png"), MediaType: proto.String("image/png"), UploaderId: 1, CreationDate: 5}
			if got := a.Data.GetStorageResourceInfos().GetInfos(); len(got) != 1 || !proto.Equal(got[0], want) {
				t.Errorf("%s: %v", name, got)
			}
		} else if strings.HasPrefix(name, "query") && tt.code == apierr.OK {
			if got := a.Data.GetStringsWithVersion().GetStrings(); !slices.Equal(got, []string{"id", "1", "url", name}) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if a := w.want(apierr.Code(6100), 13, &wire.DeleteResourceRequest{Type: userPicture}); a.Reason != "no" {
		t.Errorf("the reason is %q", a.Reason)
	}
}
