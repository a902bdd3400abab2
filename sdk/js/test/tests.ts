// SPDX-License-Identifier: Apache-2.0
//
// Code that the types of tests must accept and, after @ts-expect-error, reject.

import { afterEach, assert, beforeEach, describe, start, test, until, type FetchAnswer, type TestClient, type TestServer } from 'app:test';

describe('types', () => {
  let server: TestServer;
  const slow: FetchAnswer = { status: 503, headers: { 'retry-after': 1 }, text: 'later' };
  beforeEach(async () => {
    server = await start({
      properties: { a: { b: ['c', 1, { d: true }] }, 'e.f': null },
      answers: { 'GET https://example.org/*': [200, slow, ({ url }) => ({ json: { url } }), async () => undefined] },
      now: new Date(0),
    });
  });
  afterEach(() => server.stop());

  test('accepts', async () => {
    const ann: TestClient = await server.user({ name: 'Ann', deviceType: 'IOS' });
    const { code } = await ann.request({ createMessageRequest: { recipientId: '1', text: 'hello' } });
    const n = await ann.notification((x) => x.relayedRequest?.createMessageRequest);
    const text: string | undefined = (await ann.message({ within: 100 })).text;
    assert.equal(code, 1000);
    const changed = await server.call('ClientRequestHandler', 'transform', {
      userId: '1', deviceType: 'IOS', clientIp: '::1', requestId: '1', request: { createMessageRequest: { text } },
    });
    const again: ClientRequest | undefined = changed;
    const accepted: boolean | undefined = await server.call('UserAuthenticator', 'authenticate', {} as UserLoginInfo);
    await server.clock.advance(1000);
    const body: { a: number } = server.http.requests[0]!.json();
    const there: string = await until(async () => (await server.storage.keys())[0] ?? '');
    const e = await assert.rejects(ann.request({}), { codeName: 'MESSAGE_IS_ILLEGAL', reason: /a/ });
    assert(e instanceof AppError);
    app.log.info('seen', n.code, again?.userId, accepted, body.a, there, e.codeName, (await server.admin('GET', '/users')).json<{ data: string }>().data);
    test.skip('later');
  });

  test('refuses', async () => {
    // @ts-expect-error There is no such extension point.
    await server.call('Nothing', 'transform');
    // @ts-expect-error There is no such method.
    await server.call('ClientRequestHandler', 'change', {} as ClientRequest);
    // @ts-expect-error The argument is missing.
    await server.call('ClientRequestHandler', 'transform');
    // @ts-expect-error A request is an object.
    await (await server.user()).request('hello');
    // @ts-expect-error A test has a name.
    test(() => {});
    // @ts-expect-error The clock moves by a number.
    await server.clock.advance('1s');
  });
});
