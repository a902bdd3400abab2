// SPDX-License-Identifier: Apache-2.0

// Calls every operation with composite keys through functions that were generated from the OpenAPI
// document.
import assert from 'node:assert/strict';
import * as api from './client.ts';

api.defaults.baseUrl = process.env.APP_SERVICE ?? '';
api.defaults.headers = { Authorization: `Basic ${btoa('app:app')}` };

/** Returns the data of a response, which must be a success. */
async function data<T>(answer: Promise<{ status: number; data?: unknown }>): Promise<T> {
  const { status, data } = await answer;
  assert.equal(status, 200, JSON.stringify(data));
  return (data as { data: T }).data;
}

const updated = (matchedCount: number, modifiedCount = matchedCount) => ({ matchedCount, modifiedCount });
const deleted = (deletedCount: number) => ({ deletedCount });

// User 1 owns group 1, and the users after 1 are its members and friends of user 1.
const members = [{ groupId: 1, userId: 2 }, { groupId: 1, userId: 3 }];
assert.deepEqual(await data(api.updateGroupMembers(members, { name: 'x, [y] & "z"' })), updated(2));
assert.deepEqual(await data(api.updateGroupMembers([{ groupId: 1, userId: 2 }], { name: 'other' })), updated(1));

const friends = [{ ownerId: 1, relatedUserId: 2 }, { ownerId: 1, relatedUserId: 3 }];
assert.deepEqual(await data(api.updateUserRelationships(friends, { name: 'friend' })), updated(2));

await data(api.createUserRelationshipGroup({ ownerId: 1, index: 7, name: 'seven' }));
assert.deepEqual(await data(api.updateUserRelationshipGroups([{ ownerId: 1, groupIndex: 7 }], { name: 'seventh' })), updated(1));
const groups = await data<{ key: { index?: number }; name: string }[]>(api.queryUserRelationshipGroups({ ownerIds: [1], indexes: [7] }));
assert.equal(groups[0]?.name, 'seventh');
assert.deepEqual(await data(api.deleteUserRelationshipGroups({ keys: [{ ownerId: 1, groupIndex: 7 }] })), deleted(1));

await data(api.createGroupBlockedUser({ groupId: 1, userId: 90, requesterId: 1 }));
assert.deepEqual(await data(api.updateGroupBlockedUsers([{ groupId: 1, userId: 90 }], { requesterId: 2 })), updated(1));
assert.deepEqual(await data(api.deleteGroupBlockedUsers([{ groupId: 1, userId: 90 }])), deleted(1));

const readDate = '2024-03-28T11:43:23.291Z';
await data(api.updateConversations({ readDate }, { privateConversationKeys: [{ ownerId: 1, targetId: 2 }], groupConversationMemberKeys: [{ groupId: 1, memberId: 2 }] }));
const found = await data<{ privateConversations: { readDate: string }[] }>(api.queryConversations({ privateConversationKeys: [{ ownerId: 1, targetId: 2 }] }));
assert.equal(new Date(found.privateConversations[0]?.readDate ?? 0).getTime(), new Date(readDate).getTime());
assert.deepEqual(await data(api.deleteConversations({ privateConversationKeys: [{ ownerId: 1, targetId: 2 }] })), deleted(1));

assert.deepEqual(await data(api.deleteUserRelationships(friends)), deleted(2));
assert.deepEqual(await data(api.deleteGroupMembers({ keys: members })), deleted(2));

// A response to an invalid key says what is wrong with it.
const wrong = await api.deleteGroupBlockedUsers([{ groupId: 1 } as api.GroupUserKey]);
assert.equal(wrong.status, 400, JSON.stringify(wrong.data));
console.log('every operation with composite keys was called');
