// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// TestMessageProperties pins the properties of messages and conversations: their
// names, their defaults, and which may change while the server runs.
func TestMessageProperties(t *testing.T) {
	want := strings.Fields(`
		conversation.readReceipt.enabled=true,mutable,global
		conversation.readReceipt.allowMoveReadDateForward=false,mutable,global
		conversation.readReceipt.useServerTime=true,mutable,global
		conversation.readReceipt.updateReadDateWhenUserQueryingMessage=false,mutable,global
		conversation.readReceipt.updateReadDateAfterMessageSent=true,mutable,global
		conversation.typingStatus.enabled=true,mutable,global
		message.useConversationId=false,global
		message.sequenceId.useSequenceIdForGroupConversation=false,global
		message.sequenceId.useSequenceIdForPrivateConversation=false,global
		message.timeType=LOCAL_SERVER_TIME,mutable,global
		message.checkIfTargetActiveAndNotDeleted=true,mutable,global
		message.maxTextLimit=500,mutable,global
		message.maxRecordsSizeBytes=15728640,mutable,global
		message.persistMessage=true,mutable,global
		message.persistRecord=false,mutable,global
		message.persistPreMessageId=false,mutable,global
		message.persistSenderIp=false,mutable,global
		message.messageRetentionPeriodHours=0,mutable,global
		message.expiredMessagesCleanupCron=0_45_2_*_*_*
		message.deleteMessageLogicallyByDefault=true,mutable,global
		message.isRecalledMessageVisible=false,mutable,global
		message.allowSendMessagesToStranger=true,mutable,global
		message.allowSendMessagesToOneself=false,mutable,global
		message.allowRecallMessage=true,mutable,global
		message.allowEditMessageBySender=true,mutable,global
		message.idempotencyKeyLifetimeMinutes=60,mutable,global
		message.availableRecallDurationSeconds=300,mutable,global
		message.defaultAvailableMessagesNumberWithoutTotal=1000,mutable,global
		message.maxAvailableMessagesNumberWithoutTotal=1000,mutable,global
		message.defaultAvailableMessagesNumberWithTotal=1,mutable,global
		message.maxAvailableMessagesNumberWithTotal=1000,mutable,global`)
	var got []string
	for _, p := range Properties() {
		path, ok := strings.CutPrefix(p.JSONPath, "service.")
		if !ok || !strings.HasPrefix(path, "message.") && !strings.HasPrefix(path, "conversation.") || strings.HasPrefix(path, "conversation.settings.") {
			continue
		}
		line := path + "=" + strings.ReplaceAll(p.Default, " ", "_")
		if p.Mutable {
			line += ",mutable"
		}
		if p.Global {
			line += ",global"
		}
		got = append(got, line)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the properties are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
