// SPDX-License-Identifier: Apache-2.0

package plugintest

import "strings"

// A Fixture names a plugin that every language must provide. The comment of its name defines
// exactly what it does: a class has no hooks and functions except those mentioned.
//
// Classes are identified by their simple names; a language may put them into packages.
//
// # Text
//
// Fixtures format values as text, in the same way in every language:
//
//   - an absent value: -
//   - a text, a number, true and false: unchanged. Integers are decimal; other numbers in the suite
//     are such that every language formats them alike, as -179.75
//   - a value of an enum: its name
//   - a time: the milliseconds since 1970 in UTC
//   - a list: [a,b,c]
//   - an object or a map: {a=1,b=2}, sorted by name. Absent and empty values (text, list or map)
//     are omitted.
//
// Several values are separated by |. To note something is to store its text in the storage of the
// plugin, under a key; a host may store the text itself or the text as JSON.
//
// # The server
//
// Fixtures use the server API of plugins. Its operation users.query (queryUsers) returns one user
// for each requested id: the id and the name "user <id> 👋". Two ids are special: the suite blocks
// requests for user 1 as long as it needs, and requests for user 2 are refused with the code 1302
// and the reason "no such user".
type Fixture string

const (
	// Echo has the id suite-echo, version 1.2.3, provider "the suite", license MIT, description
	// "answers 👋", and is for GATEWAY and SERVICE. Together its extensions have every function of
	// every extension point:
	//
	//   - Gate implements AdminActionHandler, UserAuthenticator, UserOnlineStatusChangeHandler and
	//     NotificationHandler;
	//   - Serve implements ClientRequestHandler, RequestHandlerResultHandler,
	//     ExpiredMessageDeletionNotifier, StorageServiceProvider, ConferenceServiceProvider,
	//     DomainEventHandler and DomainEventConsumer.
	//
	// Every function first notes its arguments, in order, under its own name, except the first
	// argument of a function that returns it, the clientRequest of handle, and the notification of
	// NotificationHandler.handle. Of customAttributes it notes their number. Then it returns, by
	// the type of its result:
	//
	//   - the type of its first parameter (transform, beforeNotify, afterNotify,
	//     getMessagesToDelete): that argument
	//   - authenticate: true if the password is "yes", false if it is "no", otherwise null or
	//     undefined
	//   - ClientRequestHandler.handle: code 1000, as reason the clientIp, and one notification: the
	//     request itself, to the userId, forwarded to the requester's other sessions
	//   - a map of texts: one entry, seen, with the noted text
	//   - a list of StorageResourceInfo: two. The first has the requesterId as idNum and
	//     uploaderId, 👋 as idStr and name, an empty mediaType, and was created at -1 ms; the second
	//     has no id, the name n, the mediaType m, the uploaderId 0, and was created at 0 ms
	//   - MeetingAccess: the noted text as accessToken
	//   - countActiveMeetingsByUserId: 2147483647 if the userId is positive, otherwise -2147483648
	//
	// NotificationHandler.handle also notifies recipientIds and offlineRecipientIds, in this order,
	// of the relayed request of its notification, if there is one.
	// queryUserProfilePictureUploadInfo also notifies the requesterId of a request that has nothing
	// but the customAttributes.
	Echo Fixture = "echo"

	// Life has the id suite-life and version 1, and nothing else in its descriptor. Its extensions
	// are, in this order:
	//
	//   - First implements AdminActionHandler and has all hooks. Each of them reads the properties
	//     below "suite": if hang is its name, it waits forever, cancellably; if fail is its name,
	//     it throws an exception with the text "told to fail". Otherwise it appends its name to the
	//     text noted under "hooks", with a space after it. Its handleAdminAction does nothing.
	//   - Bare names ClientRequestHandler and UserAuthenticator and has no hook and no function.
	Life Fixture = "life"

	// Acts has the id suite-acts and version 1. Its only extension, Actor, implements
	// ClientRequestHandler.
	//
	// transform returns the request; its clientIp becomes the version of the plugin.
	//
	// handle does what clientIp says:
	//
	//   - nothing: returns null or undefined
	//   - count: increments a number that all code of the plugin shares, and no other plugin (a
	//     global or static variable, initially 0), and returns it as the reason
	//   - refuse: throws the exception of the SDK that refuses, with the code 5010 and the reason
	//     "not you 👋"
	//   - throw: throws another exception with the text "broken 👋"
	//   - wait: waits forever, cancellably
	//   - spin: runs forever, without waiting
	//   - hold: requests user 1 with users.query, and then returns the userId as the reason
	//   - ask: requests user 2 with users.query and ignores exceptions
	//   - background: throws an exception with the text "nobody catches this 👋" in code that
	//     belongs to no call, in a timer or its own thread
	//   - anything else: returns clientIp as the reason
	//
	// Results have the code 1000. The hook stop notes "yes" under "stopped-1", where 1 is the
	// version.
	Acts Fixture = "acts"

	// Acts2 is Acts with version 2 instead of 1.
	Acts2 Fixture = "acts2"

	// BadSuccessor has the id suite-acts and version 3. Its only extension, Actor, implements
	// ClientRequestHandler; its hook start throws an exception with the text "no database", and its
	// transform returns null or undefined.
	BadSuccessor Fixture = "bad"

	// ForGateway has the id suite-gateway and version 1, and is for GATEWAY only. Its only
	// extension, Guard, implements UserAuthenticator and returns true.
	ForGateway Fixture = "gateway"

	// Broken throws an exception with the text "born dead" while it is being loaded, in its first
	// code.
	Broken Fixture = "broken"

	// Endless has the id suite-endless. Its first code runs forever while it is being loaded,
	// without waiting.
	Endless Fixture = "endless"

	// Pending has the id suite-pending. It waits forever while it is being loaded, cancellably.
	Pending Fixture = "pending"

	// Uses has the id suite-uses and version 1. Its only extension, User, implements
	// ClientRequestHandler. handle does what clientIp says, and returns the code 1000 and a text as
	// the reason:
	//
	//   - node: id, role and version of the node
	//   - config: the properties below "suite"
	//   - api: requests the users 9223372036854775807 and -9223372036854775808; id and name of each
	//   - refused: requests user 2 and catches the refusal; its code and reason
	//   - notify: notifies the userId of the request; the text is ok
	//   - storage: in this order: reads "none"; stores "text 👋" under "a", and "x" under "b/1";
	//     reads "a"; all keys; the keys that begin with "b/"; whether deleting "a" found something;
	//     the same again; all keys. The text consists of the seven values that were read
	//   - badkey: stores something under the empty key and catches the refusal; its code
	//   - ended: reports that meeting 7 ended at 2026-01-02T03:04:05.678Z; the text is ok
	Uses Fixture = "uses"

	// Settled has the id suite-settled, version 1 and settings: greeting, a string of 1 to 10
	// characters with the default "hi"; count, an integer of at least 0 with the default
	// 9007199254740991; token, a string of at least 3 characters that is writeOnly and required;
	// and the object limits with rates, an array of numbers with the default [0.5].
	//
	// Its only extension, Keeper, implements AdminActionHandler, whose function does nothing. start
	// notes the settings as text under "start", onSettingsChanged its argument under "changed"; if
	// greeting is "fail", it throws an exception with the text "told to fail" after that.
	Settled Fixture = "settled"

	// Scheduled has the id suite-scheduled and version 1. Its only extension, Timer, implements
	// AdminActionHandler, whose function does nothing. Its hook start fails the first time that it
	// runs, after it has created a schedule; see below.
	//
	// start creates the schedule tick with the interval 1s, whose function stores "yes" under
	// "tick" if its argument is a time of whole seconds; fail with the interval 1000 ms, given as a
	// number or duration, which throws an exception with the text "told to fail"; gone with the
	// interval 1s, which it cancels immediately, storing "true false" under "gone": the results of
	// the first and a second cancel; and one with the times "0 3 * * *" without a name, with
	// leaderOnly. Then it tries to create schedules that are refused, and stores the codes under
	// "refused", separated by spaces: the schedule tick once more, the times "x", the interval
	// 999ms, and the times "0 0 30 2 *". If nothing is stored under "again", it stores "yes" there
	// and throws an exception.
	Scheduled Fixture = "scheduled"

	// Bridged has the id suite-bridged and version 1. Its only extension, Bridge, implements
	// DomainEventHandler and DomainEventConsumer. handleDomainEvents stores the type of its first
	// event under "handled". consumeDomainEvents throws an exception with the text "told to fail"
	// the first two times that it is called; then it appends to the text stored under "consumed",
	// for each event, its type, its userId and a comma, with a space between the two.
	Bridged Fixture = "bridged"
)

// Fixtures are all fixtures.
var Fixtures = []Fixture{Echo, Life, Acts, Acts2, BadSuccessor, ForGateway, Broken, Endless, Pending, Uses, Settled, Scheduled, Bridged}

// simple returns the name of a class without its package.
func simple(class string) string { return class[strings.LastIndexAny(class, ".$")+1:] }
