// SPDX-License-Identifier: Apache-2.0
// @ts-check

import { assert, start, test, until } from 'app:test';

test('keeps a record that the service refuses, and sends it a minute later', async () => {
  const server = await start({
    properties: { 'admin-audit': { url: 'https://files.example.org/audit/' } },
    answers: { 'PUT https://files.example.org/audit/*.json': [503, 200] },
    now: '2030-01-01T00:00:00Z',
  });
  await server.createUser({ name: 'Ann', password: 'hidden' });
  const key = await until(async () => (await server.storage.keys('waiting/'))[0]);
  assert.match(key, /^waiting\/20.*\.json$/);

  await server.clock.advance(59_999);
  assert.equal(server.http.requests.length, 1);
  await server.clock.advance(1);
  assert.deepEqual(await server.storage.keys(), []);

  const [refused, taken] = server.http.requests;
  assert.equal(refused?.url, taken?.url);
  assert.equal(refused?.body, taken?.body);
  assert.match(taken?.body, /"action":"createUser"/);
  assert.doesNotMatch(taken?.body, /hidden/);
});
