// SPDX-License-Identifier: Apache-2.0
// @ts-check

import { assert, describe, start, test } from 'app:test';

const words = ['darn', 'Grüße'];

describe('word filter', () => {
  test('refuses a forbidden word', async () => {
    const server = await start({ properties: { 'word-filter': { words } } });
    const ann = await server.user({ name: 'Ann' });
    const bob = await server.user({ name: 'Bob' });
    await assert.rejects(ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'well, DARN' } }), { codeName: 'MESSAGE_IS_ILLEGAL' });
    await ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'darned' } }); // Only whole words match.
    assert.equal((await bob.message()).text, 'darned');
  });

  test('masks it', async () => {
    const server = await start({ properties: { 'word-filter': { words, mode: 'mask' } } });
    const ann = await server.user({ name: 'Ann' });
    const bob = await server.user({ name: 'Bob' });
    await ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'darn $1, GRÜSSE and grüße!' } });
    assert.equal((await bob.message()).text, '**** $1, GRÜSSE and *****!');
  });

  test('refuses other modes', async () => {
    await assert.rejects(start({ properties: { 'word-filter': { words, mode: 'shout' } } }), /word-filter.mode must be reject or mask, not shout/);
  });
});
