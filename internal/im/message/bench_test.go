// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// BenchmarkSend measures messages of many concurrent senders, stored durably.
func BenchmarkSend(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"SQLite": storetest.SQLite, "PostgreSQL": storetest.PostgreSQL} {
		b.Run(name, func(b *testing.B) {
			db := open(b)
			generator, err := ids.New(1)
			if err != nil {
				b.Fatal(err)
			}
			c := config.Default().Service
			messages := message.New(message.Options{
				Store: db, IDs: generator, Settings: func() config.Message { return c.Message }, HasAccounts: func() bool { return false },
				ReadReceipts: func() config.ReadReceipt { return c.Conversation.ReadReceipt },
			})
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					sender := generator.Next() % 1000
					text := "Hello, how are you?"
					_, err := messages.Send(context.Background(), message.Creation{SenderID: new(sender + 1), TargetID: sender + 2, Text: &text})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
