// SPDX-License-Identifier: Apache-2.0

import { afterEach, assert, beforeEach, describe, start, test, until } from 'app:test';
import { double } from './probe.js';

const url = 'https://service.example.org/';
const order = [];
let server;

const say = async (text) => {
  const ann = await server.user({ name: 'Ann' }), bob = await server.user({ name: 'Bob' });
  await ann.request({ createMessageRequest: { recipientId: bob.userId, text } });
  return (await bob.message()).text;
};

describe('server', () => {
  beforeEach(async () => {
    order.push('before');
    server = await start({
      plugin: './probe.js',
      properties: { probe: { greeting: 'Good day', times: [1] }, 'app.service.message.allow-recall-message': false },
      answers: { [`POST ${url}*`]: [{ status: 201, headers: { 'x-a': 1 }, json: { a: 'ü' } }, 500, { error: 'no route' }, ({ body, headers }) => ({ text: `${body} ${headers['x-probe']}` })] },
    });
  });
  afterEach(() => { order.push('after'); });

  test('changes a message', async () => {
    assert.deepEqual(server.plugin, { id: 'probe', version: '7' });
    assert.equal(await say('Bob'), 'Good day, Bob');
    assert.deepEqual((await server.logs()).find((l) => l.level === 'warn'), { level: 'warn', text: 'started number now' });
  });

  test('refuses one', async () => {
    assert.deepEqual(order, ['before', 'after', 'before']);
    const error = await assert.rejects(say('refuse because'), AppError);
    assert.equal(error.reason, 'because');
    assert.equal(error.codeName, 'MESSAGE_IS_ILLEGAL');
  });

  test('answers requests', async () => {
    const ann = await server.user(), bob = await server.user();
    const texts = [];
    for (let i = 0; i < 5; i++) {
      await ann.request({ createMessageRequest: { recipientId: bob.userId, text: `fetch ${url}${i}` } });
      texts.push((await bob.message()).text);
    }
    assert.deepEqual(texts, ['201 {"a":"ü"}', '500 ', `fetch POST ${url}2: no route `, '200 grüße yes', '200 grüße yes']);
    assert.equal(server.http.requests.length, 5);
    server.http.answer(`${url}5`, async () => 204);
    await ann.request({ createMessageRequest: { recipientId: bob.userId, text: `fetch ${url}5` } });
    assert.equal((await bob.message()).text, '204 ');
    assert.deepEqual([...server.http.requests[5].bytes], [...new TextEncoder().encode('grüße')]);
  });

  test('shows what the plugin did', async () => {
    const ann = await server.user({ name: 'Ann' });
    const send = (text) => ann.request({ createMessageRequest: { recipientId: ann.userId, text } }).catch(() => {});
    await send('keep this');
    assert.deepEqual(await server.storage.get('kept'), { argument: 'this' });
    assert.deepEqual(await server.storage.keys(), ['kept']);
    await send(`users ${ann.userId}`);
    assert.deepEqual((await server.apiCalls()).map((c) => c.operation), ['users.query']);
    await send(`notify ${ann.userId}`);
    const [sent] = await server.notifications();
    assert.deepEqual(sent.recipients, [ann.userId]);
    assert.equal((await ann.notification((n) => n.relayedRequest?.createMessageRequest?.text === 'from the plugin')).relayedRequest.createMessageRequest.text, 'from the plugin');
    assert.equal((await server.api.users.query({ ids: [ann.userId] }))[0].name, 'Ann');
    await until(async () => (await server.logs()).some((l) => l.text === `created ${ann.userId}`));
    await ann.close();
    await assert.rejects(ann.request({ createMessageRequest: { text: 'x' } }), /connection of the client has ended/);
  });

  test('calls extension points', async () => {
    const request = (text) => ({ userId: '5', deviceType: 'IOS', clientIp: '127.0.0.1', request: { requestId: '1', createMessageRequest: { text } } });
    const changed = await server.call('ClientRequestHandler', 'transform', request('Bob'));
    assert.equal(changed.request.createMessageRequest.text, 'Good day, Bob');
    assert.equal(changed.userId, '5');
    assert.equal(await server.call('ClientRequestHandler', 'transform', request('keep x')), undefined);
    await assert.rejects(server.call('ClientRequestHandler', 'transform', request('refuse so')), { codeName: 'MESSAGE_IS_ILLEGAL', reason: 'so' });
    await assert.rejects(server.call('ClientRequestHandler', 'transform', {}), /TypeError.*probe.js:/);
    assert.equal(await server.call('DomainEventHandler', 'handleDomainEvents', [{ type: 'USER_CREATED', date: new Date(), userId: '77' }]), undefined);
    assert.ok((await server.logs()).some((l) => l.text === 'created 77'));
    await assert.rejects(server.call('ClientRequestHandler', 'handle', request('Bob')), /the plugin has no ClientRequestHandler.handle/);
    await assert.rejects(server.call('Nothing', 'handle'), /there is no extension point Nothing/);
  });

  test('serves endpoints', async () => {
    const answer = await server.admin('POST', '/plugins/endpoints/probe/echo', { a: [1] });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json().data, { body: { a: [1] }, adminId: '0' });
    assert.equal((await server.admin('GET', '/nothing')).status, 404);
    await assert.rejects(server.admin('GET', 'nothing'), TypeError);
  });

  test('begins with an empty database', async () => {
    assert.deepEqual(await server.storage.keys(), []);
    await server.stop();
    await assert.rejects(server.storage.keys(), /there is no server/);
    server = await start({ plugin: './probe.js' });
    assert.equal(await say('Bob'), 'Hello, Bob');
  });
});

test('holds the clock', async () => {
  server = await start({ plugin: './probe.js', now: 0, answers: { [url]: () => new Promise(() => {}) } });
  const ticks = async () => (await server.logs()).filter((l) => l.text.startsWith('tick')).map((l) => l.text);
  assert.equal((await server.logs()).find((l) => l.level === 'warn').text, 'started undefined in 1970');
  await server.clock.advance(59_999);
  assert.deepEqual(await ticks(), []);
  await server.clock.advance(60_001);
  assert.deepEqual(await ticks(), ['tick 1970-01-01T00:01:00.000Z', 'tick 1970-01-01T00:02:00.000Z']);
  assert.equal((await server.clock.now()).getTime(), 120_000);

  const ann = await server.user(), bob = await server.user();
  const sent = ann.request({ createMessageRequest: { recipientId: bob.userId, text: 'wait 1000' } });
  let got;
  bob.message().then((m) => { got = m.text; });
  await until(async () => { await server.clock.advance(100); return got; }); // The request may not have arrived yet.
  await sent;
  assert.match(got, /^1970-01-01T00:02:0[1-9]/);

  // A request that an async function answers does not stop the clock.
  ann.request({ createMessageRequest: { recipientId: bob.userId, text: `fetch ${url}` } }).catch(() => {});
  await until(() => server.http.requests.length);
  await server.clock.advance(60_000);
});

test('runs schedules', async () => {
  const begin = Date.parse('2030-01-01T00:00:30Z');
  server = await start({ plugin: './probe.js', now: begin, properties: { 'probe.times': [60] } });
  await server.clock.advance(29_999);
  assert.deepEqual(await server.storage.keys(), []);
  await server.clock.advance(60_001);
  assert.deepEqual(await server.storage.get('slot'), ['2030-01-01T00:02:00.000Z', '2030-01-01T00:02:00.000Z']);
  await server.stop();

  server = await start({ plugin: './probe.js', now: begin, properties: { 'probe.times': [3600] } });
  await server.clock.advance(3_600_000);
  assert.equal(await server.storage.get('slot'), '2030-01-01T01:00:01.500Z'); // It waited for its own timer.
});

test('tests functions alone', () => {
  assert.equal(double(4), 8);
  assert.throws(() => double(2000), RangeError);
  assert.throws(() => double(2000), /much/);
  assert.throws(() => double(2000), { name: 'RangeError', message: /^too/ });
});

describe('assert', () => {
  const { AssertionError } = assert;
  const same = [
    [NaN, NaN], [[1, [2]], [1, [2]]], [{ a: 1, b: undefined }, { b: undefined, a: 1 }], [new Date(5), new Date(5)], [/a/g, /a/g],
    [new Map([[{ k: 1 }, 'v']]), new Map([[{ k: 1 }, 'v']])], [new Set([{ a: 1 }, 2]), new Set([2, { a: 1 }])], [new Uint8Array([1, 2]), new Uint8Array([1, 2])],
    [new Error('a'), new Error('a')], [1n, 1n], [new ArrayBuffer(2), new ArrayBuffer(2)],
  ];
  const different = [
    [0, -0], [1, '1'], [[1], [1, 2]], [{ a: 1 }, { a: 1, b: undefined }], [{ a: 1, b: 2 }, { a: 1 }], [new Date(5), new Date(6)], [/a/g, /a/],
    [new Map([[1, 2]]), new Map([[1, 3]])], [new Set([1]), new Set([2])], [new Uint8Array([1]), new Uint8Array([2])], [new Uint8Array([1]), [1]],
    [new Error('a'), new Error('b')], [null, {}], [{}, []], [1n, 2n], [new (class A {})(), {}],
  ];
  test('compares', () => {
    const a = { name: 'a' }, b = { name: 'a' };
    a.self = a;
    b.self = b;
    for (const [x, y] of [...same, [a, b]]) {
      assert.deepEqual(x, y);
      assert.throws(() => assert.notDeepEqual(x, y), AssertionError);
    }
    for (const [x, y] of different) {
      assert.notDeepEqual(x, y);
      assert.throws(() => assert.deepEqual(x, y), AssertionError);
    }
  });
  test('refuses', async () => {
    for (const f of [
      () => assert(0), () => assert.ok(''), () => assert.equal({}, {}), () => assert.notEqual(1, 1), () => assert.match('a', /b/), () => assert.match(1, /1/),
      () => assert.doesNotMatch('a', /a/), () => assert.fail('so'), () => assert.throws(() => {}), () => assert.throws(() => { throw new Error('a'); }, TypeError),
      () => assert.throws(() => { throw new Error('a'); }, /b/), () => assert.throws(() => { throw new Error('a'); }, { message: 'b' }), () => assert.throws(async () => {}),
    ]) assert.throws(f, AssertionError);
    await assert.rejects(assert.rejects(Promise.resolve(7)), /was not rejected: it is 7/);
    await assert.rejects(assert.rejects(async () => { throw new Error('a'); }, TypeError), AssertionError);
    assert.equal(await assert.rejects(Promise.reject('text')), 'text');
    assert.throws(() => assert(false, new TypeError('own')), TypeError);
    assert.throws(() => assert.equal(1, 2, 'why'), /^why: 1 is not 2$/);
    await assert.rejects(until(() => false, { within: 1, what: 'it' }), /it did not hold within 1 ms/);
  });
});
