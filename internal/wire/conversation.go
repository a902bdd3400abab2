// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// The field numbers of CreateMessageRequest that are parsed by hand.
const (
	fieldGroupID     = 3
	fieldRecipientID = 4
)

// queries are the kinds of read-only requests.
var queries = sync.OnceValue(func() map[Kind]bool {
	all := map[Kind]bool{}
	for _, k := range Kinds() {
		all[k] = strings.HasPrefix(k.String(), "QUERY_")
	}
	return all
})

// Query reports whether requests of the kind are read-only, so that they may be executed more than
// once.
func (k Kind) Query() bool { return queries()[k] }

// ConversationKey returns a number that identifies the conversation of an encoded AppRequest of the
// kind CREATE_MESSAGE from a user, the same for both users of a private conversation. It is 0 for a
// request without a conversation.
func ConversationKey(userID int64, payload []byte) uint64 {
	body := field(payload, protowire.Number(KindCreateMessage))
	if group, ok := number(body, fieldGroupID); ok {
		return GroupConversationKey(group)
	}
	if recipient, ok := number(body, fieldRecipientID); ok {
		return PrivateConversationKey(userID, recipient)
	}
	return 0
}

// GroupConversationKey is the ConversationKey of messages to a group.
func GroupConversationKey(groupID int64) uint64 { return spread(^spread(uint64(groupID))) }

// PrivateConversationKey is the ConversationKey of messages between two users.
func PrivateConversationKey(a, b int64) uint64 {
	return spread(spread(uint64(min(a, b))) ^ uint64(max(a, b)))
}

// spread mixes the bits of a number (the finalizer of SplitMix64), and never returns 0.
func spread(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return max(x^x>>31, 1)
}

// field returns the last length-delimited field with the number; nil if there is none.
func field(message []byte, wanted protowire.Number) (found []byte) {
	scan(message, func(number protowire.Number, typ protowire.Type, value []byte) {
		if number == wanted && typ == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(value)
		}
	})
	return found
}

// number returns the last varint field with the number.
func number(message []byte, wanted protowire.Number) (found int64, ok bool) {
	scan(message, func(number protowire.Number, typ protowire.Type, value []byte) {
		if number == wanted && typ == protowire.VarintType {
			n, _ := protowire.ConsumeVarint(value)
			found, ok = int64(n), true
		}
	})
	return found, ok
}

// scan calls fn for each field up to the first malformed one.
func scan(message []byte, fn func(number protowire.Number, typ protowire.Type, value []byte)) {
	for len(message) > 0 {
		number, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(number, typ, message)
		if size < 0 {
			return
		}
		fn(number, typ, message[:size])
		message = message[size:]
	}
}
