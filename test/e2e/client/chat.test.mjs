// SPDX-License-Identifier: Apache-2.0

// Two clients chat. APP_CLIENTS is the address for clients, APP_SERVICE and APP_GATEWAY those of
// the administrative interfaces.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { admin, Client, Refused } from './client.mjs';

const { APP_CLIENTS: url, APP_SERVICE: service, APP_GATEWAY: gateway } = process.env;

let alice, bob;
const refused = (code) => (error) => error instanceof Refused && error.code === code;

before(async () => {
  for (const id of [1, 2, 3]) {
    await admin(service, 'POST', '/users', { id, password: '123', name: `user${id}` });
  }
  alice = await Client.login(url, '1');
  bob = await Client.login(url, '2');
});

after(async () => {
  await alice.close();
  await bob.close();
});

test('session information comes before the answer to a login', async () => {
  const { data } = await alice.notification('session', (n) => n.data?.userSession);
  assert.match(data.userSession.sessionId, /^\d+$/);
});

test('a wrong password is refused, and so is a request without login', async () => {
  await assert.rejects(Client.login(url, '3', { password: 'wrong' }), refused(2011));
  const stranger = await Client.connect(url);
  await assert.rejects(stranger.request({ queryUserProfilesRequest: { userIds: ['1'] } }), refused(1105));
  await stranger.close();
});

test('a private message arrives, is edited and recalled', async () => {
  const sent = await alice.request({ createMessageRequest: { recipientId: '2', text: 'hello 😀' } });
  const messageId = sent.data.long;
  const arrived = await bob.relayed('createMessageRequest');
  assert.equal(arrived.requesterId, '1');
  assert.equal(arrived.relayedRequest.createMessageRequest.messageId, messageId);
  assert.equal(arrived.relayedRequest.createMessageRequest.text, 'hello 😀');
  assert.ok(Math.abs(Number(arrived.relayedRequest.createMessageRequest.deliveryDate) - Date.now()) < 60_000);

  await alice.request({ updateMessageRequest: { messageId, text: 'hello' } });
  assert.equal((await bob.relayed('updateMessageRequest')).relayedRequest.updateMessageRequest.text, 'hello');
  await assert.rejects(bob.request({ updateMessageRequest: { messageId, text: 'mine' } }), refused(5101));

  const { data } = await bob.request({ queryMessagesRequest: { areGroupMessages: false, fromIds: ['1'] } });
  assert.deepEqual(data.messages.messages.map(({ id, text }) => ({ id, text })), [{ id: messageId, text: 'hello' }]);

  await alice.request({ updateMessageRequest: { messageId, recallDate: String(Date.now() - 1000) } });
  await bob.relayed('updateMessageRequest');
  const notice = (await bob.relayed('createMessageRequest')).relayedRequest.createMessageRequest;
  assert.equal(notice.isSystemMessage, true);
  assert.deepEqual([...notice.records[0]], [1]);
  assert.equal(notice.records[1].readBigUInt64BE(), BigInt(messageId));
  assert.equal((await bob.request({ queryMessagesRequest: { areGroupMessages: false, ids: [messageId] } })).code, 1001);
});

test('users befriend each other', async () => {
  const { data } = await alice.request({ createFriendRequestRequest: { recipientId: '2', content: 'friends?' } });
  const asked = (await bob.relayed('createFriendRequestRequest')).relayedRequest.createFriendRequestRequest;
  assert.equal(asked.content, 'friends?');
  await bob.request({ updateFriendRequestRequest: { requestId: data.long, responseAction: 'ACCEPT' } });
  await alice.relayed('updateFriendRequestRequest');
  for (const [client, other] of [[alice, '2'], [bob, '1']]) {
    const related = await client.request({ queryRelatedUserIdsRequest: {} });
    assert.deepEqual(related.data.longsWithVersion.longs, [other]);
  }
});

test('somebody is typing', async () => {
  await bob.request({ updateTypingStatusRequest: { isGroupMessage: false, toId: '1' } });
  assert.equal((await alice.relayed('updateTypingStatusRequest')).requesterId, '2');
});

test('a group chats', async () => {
  const group = (await alice.request({ createGroupRequest: { name: 'climbers' } })).data.long;
  const invitation = (await alice.request({ createGroupInvitationRequest: { groupId: group, inviteeId: '2', content: 'come' } })).data.long;
  await bob.relayed('createGroupInvitationRequest');
  await bob.request({ updateGroupInvitationRequest: { invitationId: invitation, responseAction: 'ACCEPT' } });
  await alice.relayed('updateGroupInvitationRequest');
  await bob.request({ createMessageRequest: { groupId: group, text: 'hi all' } });
  const arrived = (await alice.relayed('createMessageRequest')).relayedRequest.createMessageRequest;
  assert.equal(arrived.groupId, group);
  assert.equal(arrived.text, 'hi all');
  const members = await bob.request({ queryGroupMembersRequest: { groupId: group } });
  assert.deepEqual(members.data.groupMembersWithVersion.groupMembers.map(({ userId, role }) => [userId, role]).sort(), [['1', 'OWNER'], ['2', 'MEMBER']]);
  await assert.rejects(bob.request({ deleteGroupRequest: { groupId: group } }), refused(3202));
});

test('reading is noted', async () => {
  await bob.request({ updateConversationRequest: { userId: '1', readDate: String(Date.now()) } });
  const { data } = await alice.request({ queryConversationsRequest: { userIds: ['2'] } });
  assert.equal(data.conversations.privateConversations[0].targetId, '1');
});

test('heartbeats are answered', async () => {
  await alice.heartbeat();
  const stranger = await Client.connect(url);
  const failed = stranger.notification('failed heartbeat', (n) => n.requestId === '-100');
  stranger.send(Buffer.alloc(0));
  assert.equal((await failed).code, 2104);
  await stranger.close();
});

test('everybody sees who is online', async () => {
  const { data } = await alice.request({ queryUserOnlineStatusesRequest: { userIds: ['2', '3'] } });
  const statuses = Object.fromEntries(data.userOnlineStatuses.statuses.map(({ userId, userStatus }) => [userId, userStatus ?? 'AVAILABLE']));
  assert.deepEqual(statuses, { 2: 'AVAILABLE', 3: 'OFFLINE' });
});

test('a message reaches every device but the one that sent it', async () => {
  const phone = await Client.login(url, '1', { deviceType: 'ANDROID' });
  await alice.request({ createMessageRequest: { recipientId: '2', text: 'from the desktop' } });
  assert.equal((await phone.relayed('createMessageRequest')).relayedRequest.createMessageRequest.text, 'from the desktop');
  await bob.relayed('createMessageRequest');
  await phone.request({ createMessageRequest: { recipientId: '2', text: 'from the phone' } });
  assert.equal((await alice.relayed('createMessageRequest')).relayedRequest.createMessageRequest.text, 'from the phone');
  await bob.relayed('createMessageRequest');
  await phone.close();
});

test('the same device logs in again, and the older session ends', async () => {
  const older = await Client.login(url, '3');
  const newer = await Client.login(url, '3');
  assert.equal((await older.ended()).closeStatus, 501);
  await older.closed;
  await newer.heartbeat();
  await newer.close();
});

test('an administrator ends a session, and the user comes back', async () => {
  const kicked = await Client.login(url, '3');
  await admin(gateway, 'DELETE', '/sessions?ids=3');
  assert.equal((await kicked.ended()).closeStatus, 600);
  await kicked.closed;
  const back = await Client.login(url, '3');
  await alice.request({ createMessageRequest: { recipientId: '3', text: 'welcome back' } });
  assert.equal((await back.relayed('createMessageRequest')).relayedRequest.createMessageRequest.text, 'welcome back');
  await back.close();
});

test('logging out ends the session without an answer', async () => {
  const leaving = await Client.login(url, '3');
  leaving.request({ deleteSessionRequest: {} }).catch(() => {});
  assert.equal((await leaving.ended()).closeStatus, 500);
  await leaving.closed;
});

test('nobody got anything that was not expected', () => {
  const kinds = (client) => client.leftover.map((n) => Object.keys(n.relayedRequest ?? n.data ?? n)).flat().filter((k) => k !== 'requestId');
  assert.deepEqual(kinds(alice).filter((k) => !['createGroupMembersRequest', 'userSession'].includes(k)), []);
  assert.deepEqual(kinds(bob).filter((k) => !['createGroupMembersRequest', 'userSession'].includes(k)), []);
});
