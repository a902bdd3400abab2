// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

func TestConversationKey(t *testing.T) {
	key := func(user int64, body *wire.CreateMessageRequest) uint64 {
		payload, err := proto.Marshal(&wire.AppRequest{RequestId: proto.Int64(7), Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: body}})
		if err != nil {
			t.Fatal(err)
		}
		return wire.ConversationKey(user, payload)
	}
	private := func(from, to int64) uint64 {
		return key(from, &wire.CreateMessageRequest{RecipientId: &to, Text: proto.String("hello"), Records: [][]byte{{1, 2}}})
	}
	group := func(user, id int64) uint64 { return key(user, &wire.CreateMessageRequest{GroupId: &id}) }
	if private(1, 2) != private(2, 1) || group(1, 9) != group(2, 9) {
		t.Error("the users of a conversation have different keys for it")
	}
	seen := map[uint64]bool{}
	for id := int64(1); id <= 1000; id++ {
		for _, k := range []uint64{private(1, id+1), private(-1, id+1), group(1, id)} {
			if k == 0 || seen[k] {
				t.Fatalf("the key %d is used twice or is 0", k)
			}
			seen[k] = true
		}
	}
	if k := key(1, &wire.CreateMessageRequest{}); k != 0 {
		t.Errorf("a message without recipient has the key %d", k)
	}
	for _, payload := range [][]byte{nil, {0x42}, {0x42, 0xff}, {0x42, 1, 0x18}} {
		if k := wire.ConversationKey(1, payload); k != 0 {
			t.Errorf("%x has the key %d", payload, k)
		}
	}
	if !wire.KindQueryMessages.Query() || wire.KindCreateMessage.Query() || wire.Kind(0).Query() {
		t.Error("what changes nothing is not known")
	}
}
