// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// S3Storage checks that pictures and attachments are stored in a bucket, and that only permitted
// users can access them.
func S3Storage(t *testing.T, file string) {
	b := newBucket(t)
	s := Start(t, file, "s3-storage.endpoint="+b.URL, "s3-storage.bucket-prefix="+bucketPrefix, "s3-storage.region=eu-west-1",
		"s3-storage.access-key="+accessKey, "s3-storage.secret-key="+secretKey)
	if status, body := Admin(t, s, "POST", "/users", `{"id":7,"name":"Cid","password":"secret"}`); status != 200 {
		t.Fatal(body)
	}
	ann, bob, cid := LogIn(t, s, 5), LogIn(t, s, 6), LogIn(t, s, 7)

	const attachment = wire.StorageResourceType_MESSAGE_ATTACHMENT
	name, mediaType, toBob, annID, cidID := "Grüße.txt", "text/plain", int64(6), int64(5), int64(7)

	// A picture is visible to all users.
	form := info(ann.Request(&wire.QueryResourceUploadInfoRequest{Type: wire.StorageResourceType_USER_PROFILE_PICTURE}))
	if form["id"] != "5" || form["id"] != form["key"] {
		t.Errorf("the upload of a picture has the id %q and the key %q", form["id"], form["key"])
	}
	if status, body := upload(t, form, "a portrait"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	forged := maps.Clone(form)
	forged["id"] = "6"
	if status, _ := upload(t, forged, "a moustache"); status != 403 {
		t.Errorf("the picture of another was changed: %d", status)
	}
	picture := &wire.QueryResourceDownloadInfoRequest{Type: wire.StorageResourceType_USER_PROFILE_PICTURE, IdNum: &annID}
	if status, body := Send(t, "GET", info(bob.Request(picture))["url"], "", nil); status != 200 || body != "a portrait" {
		t.Errorf("%d %s", status, body)
	}
	ann.Request(&wire.DeleteResourceRequest{Type: wire.StorageResourceType_USER_PROFILE_PICTURE})
	if status, _ := Send(t, "GET", info(bob.Request(picture))["url"], "", nil); status != 404 {
		t.Errorf("the picture is still there: %d", status)
	}

	// An attachment for Bob is visible to Cid only after it is shared.
	form = info(ann.Request(&wire.QueryResourceUploadInfoRequest{Type: attachment, IdNum: &toBob, Name: &name, MediaType: &mediaType}))
	if status, body := upload(t, form, "hello Bob"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	id := attachmentID(t, form)
	download := &wire.QueryResourceDownloadInfoRequest{Type: attachment, IdNum: &id}
	for _, c := range []*chat.Tester{ann, bob} {
		if status, body := Send(t, "GET", info(c.Request(download))["url"], "", nil); status != 200 || body != "hello Bob" {
			t.Errorf("%d %s", status, body)
		}
	}
	if n := cid.Response(download); n.GetReason() != "the attachment is not shared with you" {
		t.Errorf("Cid heard %d %q", n.GetCode(), n.GetReason())
	}
	share := &wire.UpdateMessageAttachmentInfoRequest{AttachmentIdNum: &id, UserIdToShareWith: &cidID}
	if n := bob.Response(share); n.GetReason() != "only who uploaded an attachment may change it" {
		t.Errorf("Bob heard %d %q", n.GetCode(), n.GetReason())
	}
	ann.Request(share)
	cid.Request(download)
	ann.Request(&wire.UpdateMessageAttachmentInfoRequest{AttachmentIdNum: &id, UserIdToUnshareWith: &cidID})
	cid.Response(download)

	// Ann's uploads.
	infos := ann.Request(&wire.QueryMessageAttachmentInfosRequest{}).GetData().GetStorageResourceInfos().GetInfos()
	if len(infos) != 1 || infos[0].GetIdNum() != id || infos[0].GetName() != name || infos[0].GetMediaType() != mediaType || infos[0].GetUploaderId() != 5 {
		t.Errorf("Ann uploaded %v", infos)
	}
	ann.Request(&wire.DeleteResourceRequest{Type: attachment, IdNum: &id})
	if n := ann.Response(download); n.GetReason() != "there is no such attachment" {
		t.Errorf("Ann heard %d %q", n.GetCode(), n.GetReason())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.files) != 0 {
		t.Errorf("left is %v", b.files)
	}
}

// S3StorageOfGroups checks that only owners and managers can change the picture of a group.
func S3StorageOfGroups(t *testing.T, file string) {
	b := newBucket(t)
	s := Start(t, file, "s3-storage.endpoint="+b.URL, "s3-storage.bucket-prefix="+bucketPrefix, "s3-storage.region=eu-west-1",
		"s3-storage.access-key="+accessKey, "s3-storage.secret-key="+secretKey)
	ann, bob := LogIn(t, s, 5), LogIn(t, s, 6)
	group := ann.Request(&wire.CreateGroupRequest{Name: "Friends"}).GetData().GetLong()
	picture := &wire.QueryResourceUploadInfoRequest{Type: wire.StorageResourceType_GROUP_PROFILE_PICTURE, IdNum: &group}
	if status, body := upload(t, info(ann.Request(picture)), "a picture"); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if n := bob.Response(picture); n.GetReason() != "you must be OWNER or MANAGER of the group" {
		t.Errorf("Bob heard %d %q", n.GetCode(), n.GetReason())
	}
	toGroup := -group
	form := info(ann.Request(&wire.QueryResourceUploadInfoRequest{Type: wire.StorageResourceType_MESSAGE_ATTACHMENT, IdNum: &toGroup}))
	id := attachmentID(t, form)
	// Clients that use ids as strings find the attachment, too.
	text := strconv.FormatInt(id, 10)
	download := &wire.QueryResourceDownloadInfoRequest{Type: wire.StorageResourceType_MESSAGE_ATTACHMENT, IdStr: &text}
	if n := bob.Response(download); n.GetReason() != "the attachment is not shared with you" {
		t.Errorf("Bob heard %d %q", n.GetCode(), n.GetReason())
	}
	if status, body := Admin(t, s, "POST", "/groups/members", fmt.Sprintf(`{"groupId":%d,"userId":6,"role":"MEMBER"}`, group)); status != 200 {
		t.Fatal(body)
	}
	bob.Request(download)
}

// attachmentID returns the id of an upload, which must be the key of the object and an exact
// JavaScript number.
func attachmentID(t *testing.T, form map[string]string) int64 {
	t.Helper()
	id, err := strconv.ParseInt(form["id"], 10, 64)
	if err != nil || id < 0 || id >= 1<<53 || form["id"] != form["key"] {
		t.Fatalf("the upload has the id %q and the key %q", form["id"], form["key"])
	}
	return id
}
