// SPDX-License-Identifier: Apache-2.0

import { assert, start, test, type TestServer } from 'app:test';

test('TypeScript', async () => {
  const server: TestServer = await start({ properties: { 'typed.mark': '?' } });
  const ann = await server.user();
  const bob = await server.user();
  await ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'who' } });
  assert.equal((await bob.message()).text, 'who?');
  await assert.rejects(ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'fail' } }), { codeName: 'SERVER_INTERNAL_ERROR' });
  const failed = (await server.logs()).find((l) => l.text.includes('an extension failed'));
  assert.match(failed?.text, /not \?.*typed\.ts:13:/); // The position is in the source.
});
