// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// TestStoragePluginWithoutAFunction proves that the error names the missing function.
func TestStoragePluginWithoutAFunction(t *testing.T) {
	w := newWorld(t)
	w.plugins("StorageServiceProvider", "deleteUserProfilePicture() {}")
	w.want(apierr.OK, 1, &wire.DeleteResourceRequest{Type: wire.StorageResourceType_USER_PROFILE_PICTURE})
	a := w.want(apierr.StorageNotImplemented, 1, &wire.DeleteResourceRequest{Type: wire.StorageResourceType_GROUP_PROFILE_PICTURE, IdNum: proto.Int64(1)})
	if a.Reason != "the plugin that stores files has no function deleteGroupProfilePicture" {
		t.Errorf("the reason is %q", a.Reason)
	}
}

// TestNULIsNamed proves that the error says why a text cannot be stored.
func TestNULIsNamed(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	for _, request := range []proto.Message{
		&wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("a\x00b")},
		&wire.UpdateUserRequest{Name: proto.String("a\x00b")},
	} {
		if a := w.want(apierr.IllegalArgument, 1, request); !strings.Contains(a.Reason, "U+0000") {
			t.Errorf("%T: the reason is %q", request, a.Reason)
		}
	}
}

// TestPluginKinds sends requests that only plugins can handle, without plugins.
func TestPluginKinds(t *testing.T) {
	w := newWorld(t)
	const (
		userPicture, groupPicture = wire.StorageResourceType_USER_PROFILE_PICTURE, wire.StorageResourceType_GROUP_PROFILE_PICTURE
		attachment                = wire.StorageResourceType_MESSAGE_ATTACHMENT
	)
	one, text := proto.Int64(1), proto.String("a")
	for i, test := range []struct {
		code    apierr.Code
		request proto.Message
	}{
		{apierr.IllegalArgument, &wire.CreateMessageReactionsRequest{}},
		{apierr.IllegalArgument, &wire.DeleteMessageReactionsRequest{}},

		{apierr.StorageNotImplemented, &wire.DeleteResourceRequest{Type: userPicture}},
		{apierr.StorageNotImplemented, &wire.DeleteResourceRequest{Type: groupPicture, IdNum: one}},
		{apierr.StorageNotImplemented, &wire.DeleteResourceRequest{Type: attachment, IdStr: text}},
		{apierr.IllegalArgument, &wire.DeleteResourceRequest{Type: groupPicture, IdStr: text}},
		{apierr.IllegalArgument, &wire.DeleteResourceRequest{Type: attachment}},
		{apierr.IllegalArgument, &wire.DeleteResourceRequest{Type: 9}},
		{apierr.StorageNotImplemented, &wire.QueryResourceDownloadInfoRequest{Type: userPicture, IdNum: one}},
		{apierr.StorageNotImplemented, &wire.QueryResourceDownloadInfoRequest{Type: attachment, IdNum: one}},
		{apierr.IllegalArgument, &wire.QueryResourceDownloadInfoRequest{Type: userPicture}},
		{apierr.IllegalArgument, &wire.QueryResourceDownloadInfoRequest{Type: groupPicture}},
		{apierr.StorageNotImplemented, &wire.QueryResourceUploadInfoRequest{Type: userPicture, MediaType: proto.String("image/png; q=1")}},
		{apierr.StorageNotImplemented, &wire.QueryResourceUploadInfoRequest{Type: attachment}},
		{apierr.StorageNotImplemented, &wire.QueryResourceUploadInfoRequest{Type: attachment, IdNum: proto.Int64(-5)}},
		{apierr.IllegalArgument, &wire.QueryResourceUploadInfoRequest{Type: groupPicture}},
		{apierr.IllegalArgument, &wire.QueryResourceUploadInfoRequest{Type: userPicture, MediaType: proto.String("png")}},
		{apierr.IllegalArgument, &wire.QueryResourceUploadInfoRequest{Type: userPicture, MediaType: proto.String("")}},
		{apierr.StorageNotImplemented, &wire.QueryMessageAttachmentInfosRequest{}},
		{apierr.IllegalArgument, &wire.QueryMessageAttachmentInfosRequest{CreationDateStart: proto.Int64(2), CreationDateEnd: one}},
		{apierr.StorageNotImplemented, &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdStr: text}},
		{apierr.IllegalArgument, &wire.UpdateMessageAttachmentInfoRequest{UserIdToShareWith: one}},

		{apierr.ConferenceNotImplemented, &wire.CreateMeetingRequest{UserId: one}},
		{apierr.ConferenceNotImplemented, &wire.CreateMeetingRequest{GroupId: one}},
		{apierr.IllegalArgument, &wire.CreateMeetingRequest{}},
		{apierr.IllegalArgument, &wire.CreateMeetingRequest{UserId: one, GroupId: one}},
		{apierr.ConferenceNotImplemented, &wire.DeleteMeetingRequest{Id: one}},
		{apierr.IllegalArgument, &wire.DeleteMeetingRequest{}},
		{apierr.ConferenceNotImplemented, &wire.QueryMeetingsRequest{}},
		{apierr.ConferenceNotImplemented, &wire.UpdateMeetingRequest{Id: one}},
		{apierr.IllegalArgument, &wire.UpdateMeetingRequest{}},
		{apierr.ConferenceNotImplemented, &wire.UpdateMeetingInvitationRequest{MeetingId: 1}},
		{apierr.IllegalArgument, &wire.UpdateMeetingInvitationRequest{ResponseAction: 3}},
	} {
		t.Run(fmt.Sprintf("%d %T", i, test.request), func(t *testing.T) {
			if got := w.request(1, test.request); got.Code != test.code || got.Reason == "" {
				t.Errorf("%v gives %v %q, want %v", test.request, got.Code, got.Reason, test.code)
			}
		})
	}
}
