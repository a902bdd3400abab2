// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"

	"example.org/app/internal/role"
)

// fillField sets a field of the open dialog, whatever kind of input it has.
const fillField = `((name, value) => {
	const form = document.querySelector('form[data-dialog]')
	const named = form ? [...form.querySelectorAll('[name="' + name + '"]')] : []
	// Some inputs have their name on a hidden input behind them.
	let input = named.find(e => e.type !== 'hidden')
	for (let e = named[0]; e && !input; e = e.previousElementSibling) input = e.querySelector('input:not([type=hidden])')
	if (!input) return false
	if (input.type === 'radio') {
		named.find(e => e.value === value).click()
		return true
	}
	if (input.readOnly) {
		if (named[0].value === value) return true
		const list = document.getElementById(input.getAttribute('aria-controls'))
		const option = list && [...list.querySelectorAll('[role=option]')].find(o => o.innerText.includes('(' + value + ')'))
		if (option) option.click()
		else input.click()
		return false
	}
	if (named[0].type === 'hidden' && named[0].value.split(',').includes(value)) return true
	if (named[0].type === 'hidden' && input.value === value) {
		input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
		return false
	}
	const proto = input.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement
	input.focus()
	Object.getOwnPropertyDescriptor(proto.prototype, 'value').set.call(input, value)
	input.dispatchEvent(new Event('input', { bubbles: true }))
	return named[0].type !== 'hidden'
})`

// round describes a record that is created, changed and deleted on the page of a collection.
type round struct {
	page   string
	create []string // names of fields and their values
	filter string
	edit   []string
	shown  string // text of the row after the change
}

// hostile is a value for text fields that must be shown as plain text.
const hostile = `<b>text</b><img/src=x/onerror=window.hacked=1>`

var rounds = []round{
	{"relationships", []string{"ownerId", "41", "relatedUserId", "42", "name", hostile}, "ownerIds=41&relatedUserIds=42", []string{"name", "friend"}, "friend"},
	{"relationship-groups", []string{"ownerId", "41", "index", "77", "name", hostile}, "ownerIds=41&indexes=77", []string{"name", "close"}, "close"},
	{"friend-requests", []string{"id", "9007199254740995", "requesterId", "43", "recipientId", "44", "content", hostile, "reason", hostile}, "ids=9007199254740995", []string{"content", "please"}, "please"},
	{"user-roles", []string{"id", "771", "name", hostile, "ownedGroupLimit", "3", "ownedGroupLimitForEachGroupType", "2"}, "ids=771", []string{"ownedGroupLimit", "5"}, "5"},
	{"groups", []string{"creatorId", "41", "name", hostile, "intro", hostile, "announcement", hostile, "minimumScore", "771"}, "creatorIds=41", []string{"name", "a club"}, "a club"},
	{"group-types", []string{
		"name", hostile, "groupSizeLimit", "771", "invitationStrategy", "OWNER_MANAGER", "joinStrategy", "MEMBERSHIP_REQUEST", "groupInfoUpdateStrategy", "ALL",
		"memberInfoUpdateStrategy", "ALL", "guestSpeakable", "true", "selfInfoUpdatable", "true", "enableReadReceipt", "true", "messageEditable", "true",
	}, "size=200", []string{"name", "closed"}, "closed"},
	{"group-members", []string{"groupId", "1", "userId", "9007199254740997", "role", "GUEST", "name", hostile}, "userIds=9007199254740997", []string{"name", "guest"}, "guest"},
	{"group-questions", []string{"groupId", "1", "question", hostile, "answers", "42", "score", "771"}, "groupIds=1", []string{"question", "what?"}, "what?"},
	{"group-blocked-users", []string{"userId", "45", "groupId", "1", "requesterId", "2"}, "groupIds=1&userIds=45", []string{"requesterId", "3"}, "3"},
	{"group-invitations", []string{"id", "9007199254740999", "groupId", "1", "inviterId", "2", "inviteeId", "46", "content", hostile}, "ids=9007199254740999", []string{"content", "come"}, "come"},
	{"group-join-requests", []string{"id", "9007199254741001", "groupId", "1", "requesterId", "47", "responderId", "2", "content", hostile, "responseReason", hostile}, "ids=9007199254741001", []string{"content", "hello"}, "hello"},
	{"messages", []string{"id", "9007199254741003", "isGroupMessage", "false", "isSystemMessage", "false", "senderId", "41", "targetId", "42", "text", hostile}, "ids=9007199254741003", []string{"text", "changed"}, "changed"},
	{"blocked-users", []string{"ids", "48", "blockDurationMillis", "600000"}, "ids=48", nil, "48"},
	{"blocked-ips", []string{"ids", "192.0.2.77", "blockDurationMillis", "600000"}, "ids=192.0.2.77", nil, "192.0.2.77"},
	{"members", []string{"nodeId", "by-hand", "nodeType", "GATEWAY", "version", "1.0.0", "name", hostile, "zone", hostile}, "", []string{"name", "spare"}, "spare"},
}

// consoleRounds creates, finds, changes and deletes a record of each collection, with text that
// would run a script if it were rendered as HTML.
func consoleRounds(c *console, t *testing.T) {
	send(t, "POST", c.server.URL(role.Service)+"/users", `{"id":9007199254740997,"name":"Exact"}`)
	c.open("")
	c.wait("document.querySelector('main h1')")
	for _, r := range rounds {
		t.Run(r.page, func(t *testing.T) {
			c.t = t
			c.visit(r.page + "?" + r.filter)
			c.click("button[name=create]")
			for i := 0; i < len(r.create); i += 2 {
				c.wait(fillField + fmt.Sprintf("(%s, %s)", quote(r.create[i]), quote(r.create[i+1])))
			}
			c.click("form[data-dialog] button[type=submit]")
			c.wait("!document.querySelector('form[data-dialog]')")
			mark := hostile
			if !slices.Contains(r.create, hostile) {
				mark = r.create[1]
			}
			row := fmt.Sprintf("[...document.querySelectorAll('tr[data-row]')].find(r => r.innerText.includes(%s))", quote(mark))
			c.wait(row)
			c.noHack()
			key := eval[string](c.page, row+".dataset.row")
			box := fmt.Sprintf("tr[data-row=%s] input[type=checkbox]", quote(key))
			if r.edit != nil {
				c.wait(fmt.Sprintf("(b => b && (b.focus(), b.click(), true))(document.querySelector(%s))", quote(box)))
				c.wait("!document.querySelector('button[name=update]').disabled")
				if !eval[bool](c.page, fmt.Sprintf("document.activeElement === document.querySelector(%s)", quote(box))) {
					t.Error("the checkbox that selects a record loses the focus")
				}
				c.click("button[name=update]")
				c.wait(fillField + fmt.Sprintf("(%s, %s)", quote(r.edit[0]), quote(r.edit[1])))
				c.waitText("[data-changes]", r.edit[1])
				c.click("form[data-dialog] button[type=submit]")
				c.wait("!document.querySelector('form[data-dialog]')")
				c.waitText(fmt.Sprintf("tr[data-row=%s]", quote(key)), r.shown)
			}
			c.wait(fmt.Sprintf("(b => b && (b.checked || (b.click(), false)))(document.querySelector(%s))", quote(box)))
			c.click("button[name=delete]")
			c.click("button[name=confirm-delete]")
			c.wait(fmt.Sprintf("!document.querySelector('[data-dialog]') && (!document.querySelector(%[1]s) || document.querySelector(%[2]s))", quote(fmt.Sprintf("tr[data-row=%s]", quote(key))), quote(fmt.Sprintf("tr[data-row=%s][data-deleted]", quote(key)))))
		})
		c.t = t
	}
}
