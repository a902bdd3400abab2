// SPDX-License-Identifier: Apache-2.0

package plugintest

import "strings"

// A Fixture names a plugin that every language has to supply. What it does is the comment of its name, and nothing else:
// where a hook or a function is not mentioned, the class does not have it.
//
// Classes are known by their simple names; a language may put them into packages.
//
// # Text
//
// Fixtures show values as text, in the same way in every language:
//
//   - what is absent: -
//   - a text, a number, true and false: as they are. Integers are decimal; other numbers in the suite are such that
//     every language writes them alike, as -179.75
//   - a value of an enum: its name
//   - a moment: the milliseconds since 1970 in UTC
//   - a list: [a,b,c]
//   - an object or a map: {a=1,b=2}, sorted by name. What is absent or empty (a text, list or map) is left out.
//
// Several values are shown with | between them. To note something is to keep its text in the storage of the plugin,
// under a key; a host may store the text itself or the text as JSON.
//
// # The server
//
// Fixtures use what plugins can use of the server. Its operation users.query (queryUsers) answers with one user for each
// of the ids that it is asked for: the id and the name "user <id> 👋". Two ids are different: user 1 is held back by the
// suite for as long as it likes, and user 2 is refused with the code 1302 and the reason "no such user".
type Fixture string

const (
	// Echo has the id suite-echo, version 1.2.3, provider "the suite", license MIT, description "answers 👋", and is made
	// for GATEWAY and SERVICE. Together its extensions have every function of every extension point:
	//
	//   - Gate implements AdminActionHandler, UserAuthenticator, UserOnlineStatusChangeHandler and NotificationHandler;
	//   - Serve implements ClientRequestHandler, RequestHandlerResultHandler, ExpiredMessageDeletionNotifier,
	//     StorageServiceProvider, ConferenceServiceProvider, DomainEventHandler and DomainEventConsumer.
	//
	// Every function first notes its arguments, in order, under its own name, apart from the first argument of a
	// function that answers with it, the clientRequest of handle, and the notification of NotificationHandler.handle.
	// Of customAttributes their number is shown. Then it answers, by the type of its result:
	//
	//   - the type of its first parameter (transform, beforeNotify, afterNotify, getMessagesToDelete): that argument
	//   - authenticate: true if the password is "yes", false if it is "no", else nothing
	//   - ClientRequestHandler.handle: code 1000, as reason the clientIp, and one notification: the request itself, to
	//     the userId, forwarded to the requester's other sessions
	//   - a map of texts: one entry, seen, with the text that was noted
	//   - a list of StorageResourceInfo: two. The first has the requesterId as idNum and uploaderId, 👋 as idStr and
	//     name, an empty mediaType, and was created at -1 ms; the second has no id, the name n, the mediaType m,
	//     the uploaderId 0, and was created at 0 ms
	//   - MeetingAccess: the text that was noted as accessToken
	//   - countActiveMeetingsByUserId: 2147483647 if the userId is positive, else -2147483648
	//
	// NotificationHandler.handle moreover notifies recipientIds and offlineRecipientIds, in this order, of the relayed
	// request of its notification, if there is one. queryUserProfilePictureUploadInfo moreover notifies the requesterId of a
	// request that has nothing but the customAttributes.
	Echo Fixture = "echo"

	// Life has the id suite-life and version 1, and no more in its descriptor. Its extensions are, in this order:
	//
	//   - First implements AdminActionHandler and has all hooks. Each of them reads the properties below "suite": if hang
	//     is its name, it waits forever, in a way that can be cancelled; if fail is its name, it throws an exception
	//     with the text "told to fail". Otherwise it appends its name to what is noted under "hooks", with a space
	//     after it. Its handleAdminAction does nothing.
	//   - Bare names ClientRequestHandler and UserAuthenticator and has no hook and no function.
	Life Fixture = "life"

	// Acts has the id suite-acts and version 1. Its only extension, Actor, implements ClientRequestHandler.
	//
	// transform answers with the request; its clientIp becomes the version of the plugin.
	//
	// handle does what clientIp says:
	//
	//   - nothing: answers with nothing
	//   - count: adds 1 to a number that all code of the plugin shares, and no other plugin (a global or static
	//     variable, at first 0), and answers with it as the reason
	//   - refuse: throws the exception of the SDK that refuses, with the code 5010 and the reason "not you 👋"
	//   - throw: throws another exception with the text "broken 👋"
	//   - wait: waits forever, in a way that can be cancelled
	//   - spin: runs forever, without waiting for anything
	//   - hold: asks for the user 1 by users.query, and then answers with the userId as the reason
	//   - ask: asks for the user 2 by users.query and does not care about exceptions
	//   - background: lets code that no call waits for throw an exception with the text "nobody catches this 👋", in a timer or
	//     a thread of its own
	//   - anything else: answers with clientIp as the reason
	//
	// Answers have the code 1000. The hook stop notes "yes" under "stopped-1", where 1 is the version.
	Acts Fixture = "acts"

	// Acts2 is Acts with version 2 in the place of 1.
	Acts2 Fixture = "acts2"

	// BadSuccessor has the id suite-acts and version 3. Its only extension, Actor, implements ClientRequestHandler; its
	// hook start throws an exception with the text "no database", and its transform answers with nothing.
	BadSuccessor Fixture = "bad"

	// ForGateway has the id suite-gateway and version 1, and is made for GATEWAY only. Its only extension, Guard,
	// implements UserAuthenticator and answers with true.
	ForGateway Fixture = "gateway"

	// Broken throws an exception with the text "born dead" when it is loaded: what runs first in it does.
	Broken Fixture = "broken"

	// Endless has the id suite-endless. What runs first in it, when it is loaded, runs forever, without waiting for
	// anything.
	Endless Fixture = "endless"

	// Pending has the id suite-pending. It waits forever when it is loaded, in a way that can be cancelled.
	Pending Fixture = "pending"

	// Uses has the id suite-uses and version 1. Its only extension, User, implements ClientRequestHandler. handle does
	// what clientIp says, and answers with the code 1000 and a text as the reason:
	//
	//   - node: id, role and version of the node
	//   - config: the properties below "suite"
	//   - api: asks for the users 9223372036854775807 and -9223372036854775808; id and name of each
	//   - refused: asks for the user 2 and catches the refusal; its code and reason
	//   - notify: notifies the userId of the request; the text is ok
	//   - storage: in this order: what is kept under "none"; keeps "text 👋" under "a", and "x" under "b/1"; what is kept
	//     under "a"; all keys; the keys that begin with "b/"; whether deleting "a" found something; the same again; all keys.
	//     The seven values that were read are the text
	//   - badkey: keeps something under the empty key and catches the refusal; its code
	//   - ended: says that the meeting 7 ended at 2026-01-02T03:04:05.678Z; the text is ok
	Uses Fixture = "uses"

	// Settled has the id suite-settled, version 1 and settings: greeting, a string of 1 to 10 characters with the default
	// "hi"; count, an integer of at least 0 with the default 9007199254740991; token, a string of at least 3 characters
	// that is writeOnly and required; and the object limits with rates, an array of numbers with the default [0.5].
	//
	// Its only extension, Keeper, implements AdminActionHandler, whose function does nothing. start notes the settings as text
	// under "start", onSettingsChanged its argument under "changed"; if greeting is "fail", it throws an exception with
	// the text "told to fail" after that.
	Settled Fixture = "settled"

	// Scheduled has the id suite-scheduled and version 1. Its only extension, Timer, implements AdminActionHandler, whose
	// function does nothing. Its hook start fails the first time that it runs, after it has asked for a schedule; see below.
	//
	// start asks for the schedule tick of 1s, whose function keeps "yes" under "tick" if its argument is a time of whole seconds;
	// for fail of 1000 ms, given as a number or duration, which throws an exception with the text "told to fail"; for gone
	// of 1s, which it cancels at once, keeping "true false" under "gone": what the first and a second cancel returned; and for
	// the times "0 3 * * *" without a name, with leaderOnly. Then it asks for what is refused, and keeps the codes under
	// "refused", separated by blanks: the schedule tick once more, the times "x", the interval 999ms, and the times
	// "0 0 30 2 *". If there is nothing under "again", it keeps "yes" there and throws an exception.
	Scheduled Fixture = "scheduled"

	// Bridged has the id suite-bridged and version 1. Its only extension, Bridge, implements DomainEventHandler and
	// DomainEventConsumer. handleDomainEvents keeps the type of its first event under "handled". consumeDomainEvents throws an
	// exception with the text "told to fail" the first two times that it is called; then it appends to what is kept under
	// "consumed", for each event, its type, its userId and a comma, with a blank between the two.
	Bridged Fixture = "bridged"
)

// Fixtures are all fixtures.
var Fixtures = []Fixture{Echo, Life, Acts, Acts2, BadSuccessor, ForGateway, Broken, Endless, Pending, Uses, Settled, Scheduled, Bridged}

// simple is the name of a class without its package.
func simple(class string) string { return class[strings.LastIndexAny(class, ".$")+1:] }
