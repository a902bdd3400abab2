const equal = (got, want) => {
  const a = JSON.stringify(got), b = JSON.stringify(want);
  if (a !== b) throw new Error(`got ${a}, not ${b}`);
};
const throws = async (f, text) => {
  try { await f(); } catch (e) {
    if (!String(e).includes(text)) throw new Error(`threw ${e}, not ${text}`);
    return;
  }
  throw new Error(`did not throw ${text}`);
};

const utf8 = (s) => new TextEncoder().encode(s);
const hex = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, '0')).join('');
const unhex = (s) => Uint8Array.from(s.match(/../g), (x) => parseInt(x, 16));

// A socket with what it said: events waits for the next n of them.
const socket = (options, url = `${server}/ws`) => {
  const ws = new WebSocket(url, options), list = [];
  let wake = () => {};
  for (const type of ['open', 'message', 'error', 'close']) {
    ws.addEventListener(type, (e) => {
      list.push(type === 'message' ? e.data : type === 'close' ? ['close', e.code, e.reason, e.wasClean] : type === 'error' ? ['error', e.message] : type);
      wake();
    });
  }
  return { ws, events: async (n) => { while (list.length < n) await new Promise((resolve) => { wake = resolve; }); return list.splice(0, n); } };
};
const readAll = async (stream) => { const list = []; for await (const x of stream) list.push(x); return list; };
const countTo = (n, log = []) => { let i = 0; return new ReadableStream({ pull(c) { if (i < n) c.enqueue(++i); else c.close(); }, cancel(why) { log.push(why); } }); };

const checks = {
  // streams
  async streamOfBody() {
    const r = await fetch(`${server}/parts`, { stream: true }), text = r.body.pipeThrough(new TextDecoderStream());
    equal([r.status, r.bodyUsed, (await readAll(text)).join(''), r.bodyUsed], [200, false, 'one two thrée', true]);
    await throws(() => r.text(), 'the body was read already');
  },
  async streamAsText() {
    const r = await fetch(`${server}/parts`, { stream: true });
    await throws(() => r.data, 'the body is a stream');
    equal([await r.text(), r.bodyUsed], ['one two thrée', true]);
    equal(await (await fetch(`${server}/json`, { stream: true })).json(), { a: [1, 2] });
    equal((await (await fetch(`${server}/large`, { stream: true })).bytes()).length, 2 << 20);
  },
  async streamOfEvents() {
    const stop = new AbortController(), r = await fetch(`${server}/events`, { signal: stop.signal });
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (text.length < 13) text += (await reader.read()).value;
    equal(text, 'one two thrée');
    stop.abort(new Error('enough'));
    await throws(() => reader.read(), 'enough');
  },
  async streamCancelled() {
    const r = await fetch(`${server}/events`);
    for await (const chunk of r.body) { equal(chunk instanceof Uint8Array, true); break; }
    equal((await r.body.getReader().read()).done, true);
  },
  async streamTooSlow() {
    await throws(async () => { for await (const _ of (await fetch(`${server}/events`, { timeout: 100 })).body); }, 'no answer within 100ms');
  },
  async streamOfBuffered() {
    const r = await fetch(`${server}/json`);
    equal([new TextDecoder().decode((await readAll(r.body))[0]), await r.json()], ['{"a":[1,2]}', { a: [1, 2] }]);
    equal((await readAll(new Blob(['a', 'b']).stream())).map((b) => [...b]), [[97, 98]]);
    equal(await readAll((await fetch(`${server}/empty`)).body), []);
  },
  async streamAsBody() {
    equal((await fetch(`${server}/echo`, { method: 'POST', body: ReadableStream.from(['héllo', new Uint8Array([33])]) })).data, 'héllo!');
    await throws(() => fetch(`${server}/echo`, { method: 'POST', body: ReadableStream.from([1]) }), 'typed arrays');
  },
  async streamReader() {
    const s = countTo(2), reader = s.getReader();
    equal([s.locked, await reader.read(), await reader.read(), (await reader.read()).done, await reader.closed], [true, { value: 1, done: false }, { value: 2, done: false }, true, undefined]);
    await throws(() => s.getReader(), 'has a reader already');
    await throws(() => s.cancel(), 'has a reader');
    reader.releaseLock();
    equal(s.locked, false);
    await throws(() => reader.read(), 'released');
    await throws(() => s.getReader({ mode: 'byob' }), 'byob');
  },
  async streamErrors() {
    await throws(async () => readAll(new ReadableStream({ pull() { throw new Error('dry'); } })), 'dry');
    await throws(async () => readAll(new ReadableStream({ async start() { throw new Error('no start'); } })), 'no start');
    const log = [], s = countTo(9, log);
    await s.cancel('enough');
    equal([log, await readAll(s)], [['enough'], []]);
    let c;
    const ended = new ReadableStream({ start(controller) { c = controller; c.enqueue(1); c.close(); } });
    equal([await readAll(ended), c.desiredSize], [[1], 0]);
    await throws(() => c.enqueue(2), 'closed');
  },
  async streamTee() {
    const [a, b] = countTo(3).tee();
    equal(await Promise.all([readAll(a), readAll(b)]), [[1, 2, 3], [1, 2, 3]]);
  },
  async streamPipe() {
    const got = [], log = [];
    await countTo(4).pipeThrough(new TransformStream({ transform(x, c) { if (x % 2) { c.enqueue(x); c.enqueue(-x); } }, flush(c) { c.enqueue('end'); } }))
      .pipeTo(new WritableStream({ async write(x) { got.push(x); }, close() { got.push('closed'); } }));
    equal(got, [1, -1, 3, -3, 'end', 'closed']);
    await throws(() => countTo(9, log).pipeTo(new WritableStream({ write() { throw new Error('full'); } })), 'full');
    equal(log.map(String), ['Error: full']);
    await throws(() => readAll(countTo(2).pipeThrough(new TransformStream({ transform() { throw new Error('bad'); } }))), 'bad');
    await throws(() => countTo(2).pipeTo(new WritableStream(), { signal: AbortSignal.abort(new Error('stopped')) }), 'stopped');
  },
  async streamWriter() {
    const got = [], w = new WritableStream({ write(x) { got.push(x); }, abort(e) { got.push(String(e)); } }), writer = w.getWriter();
    equal([w.locked, writer.desiredSize], [true, 1]);
    await Promise.all([writer.write(1), writer.write(2)]);
    await writer.abort('over');
    equal(got, [1, 2, 'over']);
    await throws(() => writer.write(3), 'over');
  },
  async streamText() {
    const bytes = await readAll(ReadableStream.from(['a\ud83d', '\udc4b']).pipeThrough(new TextEncoderStream()));
    equal(bytes.map((b) => [...b]), [[97], [240, 159, 145, 139]]);
    equal((await readAll(ReadableStream.from([new Uint8Array([240, 159]), new Uint8Array([145, 139])]).pipeThrough(new TextDecoderStream()))), ['👋']);
  },

  // WebSocket
  async socket() {
    const { ws, events } = socket(['first', 'other']);
    equal([ws.readyState, WebSocket.OPEN, ws.url], [0, 1, `${server.replace('http', 'ws')}/ws`]);
    await throws(() => ws.send('early'), 'InvalidStateError');
    equal(await events(1), ['open']);
    equal([ws.readyState, ws.protocol, ws.bufferedAmount], [1, 'first', 0]);
    ws.send('héllo');
    ws.send(String('x').repeat(100000));
    equal((await events(2)).map((x) => x.length), [5, 100000]);
    ws.send(new Uint8Array([1, 2, 3]).subarray(1));
    const [blob] = await events(1);
    equal([blob instanceof Blob, [...await blob.bytes()]], [true, [2, 3]]);
    ws.binaryType = 'arraybuffer';
    ws.send(new Blob(['hi']));
    equal(new TextDecoder().decode((await events(1))[0]), 'hi');
    ws.close(3000, 'bye');
    equal([ws.readyState, await events(1), ws.readyState], [2, [['close', 3000, 'bye', true]], 3]);
    ws.close();
    ws.send('late');
  },
  async socketClosed() {
    const { ws, events } = socket();
    equal(await events(1), ['open']);
    ws.send('close');
    equal(await events(1), [['close', 4001, 'as you wish', true]]);
  },
  async socketDropped() {
    const { ws, events } = socket();
    await events(1);
    ws.send('drop');
    equal(await events(2), [['error', 'the connection ended'], ['close', 1006, '', false]]);
  },
  async socketLarge() {
    const { ws, events } = socket();
    await events(1);
    ws.send('large');
    equal(await events(2), [['error', 'a message is longer than 1048576 bytes'], ['close', 1006, '', false]]);
  },
  async socketText() {
    const { ws, events } = socket();
    await events(1);
    ws.send('not UTF-8');
    equal(await events(2), [['error', 'a message is not valid UTF-8'], ['close', 1006, '', false]]);
  },
  async socketHeaders() {
    const { ws, events } = socket({ headers: { authorization: 'Bearer x' } });
    await events(1);
    ws.send('header');
    equal(await events(1), ['Bearer x']);
    ws.close();
    const { events: refused } = socket({ headers: { authorization: 'none' } });
    equal(await refused(2), [['error', `open ${server.replace('http', 'ws')}/ws: the server answered with the status 403`], ['close', 1006, '', false]]);
  },
  async socketGivenUp() {
    const { ws, events } = socket([], `${server}/slow`);
    ws.close();
    equal(await events(2), [['error', `open ${server.replace('http', 'ws')}/slow: the socket was closed before it was open`], ['close', 1006, '', false]]);
  },
  async socketHandlers() {
    const ws = new WebSocket(`${server}/ws`);
    const seen = [];
    await new Promise((resolve) => {
      ws.onopen = (e) => { seen.push(e.type); ws.send('a'); };
      ws.onmessage = ({ data, origin }) => { seen.push(data, origin); ws.close(); };
      ws.onclose = ({ code }) => { seen.push(code); resolve(); };
    });
    equal(seen, ['open', 'a', server.replace('http', 'ws'), 1000]);
  },
  async socketMisuse() {
    await throws(() => new WebSocket('nope'), 'SyntaxError');
    await throws(() => new WebSocket('ftp://a'), 'ws:// or wss://');
    await throws(() => new WebSocket('ws://a/#b'), 'fragment');
    await throws(() => new WebSocket('ws://a', ['b', 'b']), 'SyntaxError');
    const { ws, events } = socket();
    await throws(() => ws.close(1001), 'InvalidAccessError');
    await throws(() => ws.close(1000, 'x'.repeat(200)), '123 bytes');
    await events(1);
    ws.close();
    await events(1);
  },

  // fetch
  async echo() {
    const r = await fetch(`${server}/echo`, { method: 'post', headers: { 'X-Header': 'yes' }, body: 'héllo' });
    equal([r.status, r.ok, r.data, r.headers['x-method'], r.headers.get('X-HEADER'), r.headers.get('x-twice'), await r.text()],
      [200, true, 'héllo', 'POST', 'yes', '1, 2', 'héllo']);
  },
  async same() { equal([app.fetch === fetch, app.http.fetch === fetch], [true, true]); },
  async put() { equal((await fetch(`${server}/echo`, { method: 'PUT', body: new Uint8Array([104, 105]) })).data, 'hi'); },
  async form() {
    const r = await fetch(new URL('/echo', server), { method: 'POST', body: new URLSearchParams({ a: 'b c', d: 'é' }) });
    equal([r.data, r.headers['x-type']], ['a=b+c&d=%C3%A9', 'application/x-www-form-urlencoded;charset=UTF-8']);
  },
  async headerPairs() { equal((await fetch(`${server}/echo`, { headers: [['x-header', 'pair']] })).headers['x-header'], 'pair'); },
  async json() { equal(await (await fetch(`${server}/json`)).json(), { a: [1, 2] }); },
  async notJSON() { await throws(async () => (await fetch(`${server}/error`)).json(), 'SyntaxError: the body of http'); },
  async empty() { const r = await fetch(`${server}/empty`); equal([r.status, r.data, await r.text()], [204, '', '']); },
  async errorStatus() { const r = await fetch(`${server}/error`); equal([r.status, r.ok, r.data], [418, false, 'sorry\n']); },
  async redirect() { const r = await fetch(`${server}/redirect`); equal([r.status, r.redirected, r.url], [200, true, `${server}/json`]); },
  async manual() { const r = await fetch(`${server}/redirect`, { redirect: 'manual' }); equal([r.status, r.headers.location], [302, '/json']); },
  async redirectError() { await throws(() => fetch(`${server}/redirect`, { redirect: 'error' }), 'the answer is a redirect'); },
  async redirectLoop() { await throws(() => fetch(`${server}/loop`), 'more than 10 redirects'); },
  async bytes() { equal([...await (await fetch(`${server}/bytes`)).bytes()], [0, 255, 1]); },
  async large() { await throws(() => fetch(`${server}/large`), 'the answer is longer than 1048576 bytes'); },
  async timeout() { await throws(() => fetch(`${server}/slow`, { timeout: 20 }), 'no answer within 20ms'); },
  async refused() { await throws(() => fetch('http://127.0.0.1:1/'), 'fetch GET http://127.0.0.1:1/'); },
  async noURL() { await throws(() => fetch(), 'the first parameter must be a URL'); },
  async relative() { await throws(() => fetch('/x'), 'the URL must be absolute'); },
  async file() { await throws(() => fetch('file:///etc/passwd'), 'begin with http:// or https://'); },
  async objectBody() { await throws(() => fetch(server, { method: 'POST', body: {} }), 'use JSON.stringify for an object'); },
  async badTimeout() { await throws(() => fetch(server, { timeout: -1 }), 'above 0'); },
  async badHeader() { await throws(() => fetch(server, { headers: { 'a b': 'c' } }), 'fetch GET'); },
  async parallel() {
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => fetch(`${server}/echo`, { method: 'POST', body: String(i) })));
    equal(all.map((r) => Number(r.data)), Array.from({ length: 20 }, (_, i) => i));
  },

  // timers
  async order() {
    const seen = [];
    // The first one is due last, also if setting the others takes a while.
    const last = new Promise((resolve) => setTimeout(() => resolve(seen.push('b')), 1000));
    setTimeout((x) => seen.push(x), 1, 'a');
    const id = setTimeout(() => seen.push('never'), 1);
    clearTimeout(id);
    await last;
    equal(seen, ['a', 'b']);
  },
  async interval() {
    let n = 0;
    await new Promise((resolve) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); resolve(); } }, 1); });
    equal(n, 3);
  },
  async clearInside() { await new Promise((resolve) => { const id = setTimeout(() => { clearTimeout(id); clearTimeout(99); clearTimeout(); resolve(); }); }); },
  async microtask() { const seen = []; queueMicrotask(() => seen.push(1)); equal(seen, []); await null; equal(seen, [1]); },
  timerType() { return throws(() => setTimeout('code'), 'the first parameter must be a function'); },

  // text
  encoder() { equal([...new TextEncoder().encode('aé👋')], [97, 195, 169, 240, 159, 145, 139]); },
  encodeInto() { const b = new Uint8Array(3); equal([new TextEncoder().encodeInto('aéé', b), [...b]], [{ read: 2, written: 3 }, [97, 195, 169]]); },
  decoder() { equal(new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97, 255])), 'a\ufffd'); },
  decoderBOM() { equal(new TextDecoder('UTF8', { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf])), '\ufeff'); },
  decoderFatal() { return throws(() => new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255])), 'TypeError'); },
  decoderStream() {
    const d = new TextDecoder();
    equal([d.decode(new Uint8Array([240, 159]), { stream: true }), d.decode(new Uint8Array([145, 139]), { stream: true }), d.decode()], ['', '👋', '']);
  },
  decoderBuffer() { equal(new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1).slice().buffer), 'bc'); },
  decoderView() { equal(new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1)), 'bc'); },
  decoderLabel() { return throws(() => new TextDecoder('utf-16'), 'RangeError'); },
  base64() { equal([btoa('hé\xff'), atob('aOn/'), atob(' aGk ')], ['aOn/', 'hé\xff', 'hi']); },
  btoaRange() { return throws(() => btoa('👋'), 'above U+00FF'); },
  atobBad() { return throws(() => atob('?'), 'not base64'); },
  loneSurrogate() { equal(new TextDecoder().decode(new TextEncoder().encode('a\ud83d')), 'a\ufffd'); },

  // URL
  url() {
    const u = new URL('../c?x=1&y=%20#h', 'https://user:pass@Example.com:8443/a/b/');
    equal([u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash],
      ['https://user:pass@example.com:8443/a/c?x=1&y=%20#h', 'https://example.com:8443', 'https:', 'user', 'pass', 'example.com:8443',
        'example.com', '8443', '/a/c', '?x=1&y=%20', '#h']);
  },
  urlSet() {
    const u = new URL('http://a.b/');
    u.pathname = '/x y'; u.port = '81'; u.hash = 'z'; u.searchParams.append('k', 'v w');
    equal(String(u), 'http://a.b:81/x%20y?k=v+w#z');
    u.search = '?m=1';
    equal([u.searchParams.get('m'), JSON.stringify(u)], ['1', '"http://a.b:81/x%20y?m=1#z"']);
    u.href = 'https://c.d/?q=2';
    equal([u.searchParams.get('q'), u.host], ['2', 'c.d']);
  },
  urlBad() { return throws(() => new URL('nope'), '"nope" is not a URL'); },
  urlCan() { equal([URL.canParse('http://a'), URL.canParse('a'), URL.canParse('a', 'http://b')], [true, false, true]); },
  params() {
    const p = new URLSearchParams('?a=1&b=2&a=3&c=%zz+x');
    p.set('b', 'é&'); p.delete('c'); p.append('d', '');
    equal([p.getAll('a'), p.get('none'), p.has('a', '3'), p.size, p.toString(), [...p.keys()]],
      [['1', '3'], null, true, 4, 'a=1&b=%C3%A9%26&a=3&d=', ['a', 'b', 'a', 'd']]);
    p.sort();
    equal([...p].map(([k]) => k), ['a', 'a', 'b', 'd']);
    equal(new URLSearchParams([['x', 1]]).toString(), 'x=1');
  },

  // crypto
  uuid() { if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())) throw new Error('no UUID'); },
  random() { const a = new Uint32Array(8); equal(crypto.getRandomValues(a) === a, true); if (a.every((x) => x === 0)) throw new Error('zero'); },
  randomBad() { return throws(() => crypto.getRandomValues([]), 'typed array'); },
  hash() {
    equal([crypto.hash('SHA-256', 'abc', 'hex'), crypto.hash('md5', new TextEncoder().encode('abc'), 'base64'), crypto.hash('sha1', '').length],
      ['ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'kAFQmDzST7DWlj99KOF/cg==', 20]);
  },
  hmac() {
    // A derivation of a signing key as storage services ask for it.
    const day = crypto.hmac('SHA-256', 'AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', '20150830');
    const region = crypto.hmac('SHA-256', day, 'us-east-1');
    const key = crypto.hmac('SHA-256', crypto.hmac('SHA-256', region, 'iam'), 'aws4_request', 'hex');
    equal(key, 'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9');
  },
  async subtleHMAC() {
    const key = await crypto.subtle.importKey('raw', utf8('Jefe'), { name: 'hmac', hash: 'SHA-256' }, true, ['sign', 'verify']);
    const mac = await crypto.subtle.sign('HMAC', key, utf8('what do ya want for nothing?'));
    equal([hex(mac), key.algorithm, key.type, key.usages, key.extractable],
      ['5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', { name: 'HMAC', hash: { name: 'SHA-256' }, length: 32 }, 'secret', ['sign', 'verify'], true]);
    equal([await crypto.subtle.verify('HMAC', key, mac, utf8('what do ya want for nothing?')), await crypto.subtle.verify('HMAC', key, mac, utf8('else'))], [true, false]);
    const jwk = await crypto.subtle.exportKey('jwk', key);
    equal([jwk.kty, jwk.k, jwk.ext, hex(await crypto.subtle.exportKey('raw', key))], ['oct', 'SmVmZQ', true, '4a656665']);
    const again = await crypto.subtle.importKey('jwk', jwk, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    equal(hex(await crypto.subtle.sign('HMAC', again, utf8('what do ya want for nothing?'))), hex(mac));
    await throws(() => crypto.subtle.exportKey('raw', again), 'InvalidAccessError');
    await throws(() => crypto.subtle.verify('HMAC', again, mac, mac), 'InvalidAccessError');
  },
  async subtleGCM() {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['encrypt', 'decrypt']), iv = new Uint8Array(12);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new Uint8Array(16));
    equal(hex(sealed), '0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf');
    equal(hex(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed)), '00'.repeat(16));
    await throws(() => crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData: utf8('x') }, key, sealed), 'OperationError');
    await throws(() => crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(0) }, key, sealed), 'OperationError');
    await throws(() => crypto.subtle.importKey('raw', new Uint8Array(17), 'AES-GCM', false, ['encrypt']), 'DataError');
    const made = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']);
    equal((await crypto.subtle.exportKey('raw', made)).byteLength, 32);
  },
  async subtleCBC() {
    const key = await crypto.subtle.importKey('raw', unhex('2b7e151628aed2a6abf7158809cf4f3c'), 'AES-CBC', false, ['encrypt', 'decrypt']);
    const iv = unhex('000102030405060708090a0b0c0d0e0f'), plain = unhex('6bc1bee22e409f96e93d7e117393172a');
    const sealed = await crypto.subtle.encrypt({ name: 'AES-CBC', iv }, key, plain);
    equal([hex(sealed).slice(0, 32), sealed.byteLength, hex(await crypto.subtle.decrypt({ name: 'AES-CBC', iv }, key, sealed))],
      ['7649abac8119b246cee98e9b12e9197d', 32, hex(plain)]);
    await throws(() => crypto.subtle.decrypt({ name: 'AES-CBC', iv }, key, new Uint8Array(15)), 'OperationError: the data cannot be decrypted');
  },
  async subtleDerive() {
    const password = await crypto.subtle.importKey('raw', utf8('password'), 'PBKDF2', false, ['deriveBits', 'deriveKey']);
    const o = { name: 'PBKDF2', hash: 'SHA-256', salt: utf8('salt'), iterations: 4096 };
    equal(hex(await crypto.subtle.deriveBits(o, password, 256)), 'c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a');
    const key = await crypto.subtle.deriveKey(o, password, { name: 'AES-GCM', length: 128 }, true, ['encrypt']);
    equal(hex(await crypto.subtle.exportKey('raw', key)), 'c5e478d59288c841aa530db6845c4c8d');
    await throws(() => crypto.subtle.deriveBits({ ...o, iterations: 1e9 }, password, 256), 'iterations must be from 1 to 10000000');
    const ikm = await crypto.subtle.importKey('raw', unhex('0b'.repeat(22)), 'HKDF', false, ['deriveBits']);
    const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: unhex('000102030405060708090a0b0c'), info: unhex('f0f1f2f3f4f5f6f7f8f9') };
    equal(hex(await crypto.subtle.deriveBits(hkdf, ikm, 336)), '3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865');
  },
  async subtleECDSA() {
    // The example of RFC 7515, appendix A.3.
    const url = (s) => Uint8Array.from(atob(s.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    const jwk = { kty: 'EC', crv: 'P-256', x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0' };
    const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify']), a = { name: 'ECDSA', hash: 'SHA-256' };
    const signed = utf8('eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ');
    const signature = url('DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q');
    equal([await crypto.subtle.verify(a, key, signature, signed), await crypto.subtle.verify(a, key, new Uint8Array(64), signed), await crypto.subtle.verify(a, key, new Uint8Array(3), signed)], [true, false, false]);
    const raw = await crypto.subtle.exportKey('raw', key);
    equal([raw.byteLength, (await crypto.subtle.importKey('raw', raw, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify'])).type], [65, 'public']);
    await throws(() => crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-384' }, true, ['verify']), 'DataError');
    await throws(() => crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']), 'SyntaxError');
  },
  async subtlePairs() {
    const data = utf8('signed');
    for (const [a, use] of [
      [{ name: 'ECDSA', namedCurve: 'P-384' }, { name: 'ECDSA', hash: 'SHA-384' }], [{ name: 'Ed25519' }, 'Ed25519'],
      [{ name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, { name: 'RSA-PSS', saltLength: 32 }],
    ]) {
      const pair = await crypto.subtle.generateKey(a, true, ['sign', 'verify']);
      equal([pair.privateKey.usages, pair.publicKey.usages], [['sign'], ['verify']]);
      const pkcs8 = await crypto.subtle.exportKey('pkcs8', pair.privateKey), spki = await crypto.subtle.exportKey('spki', pair.publicKey);
      const key = await crypto.subtle.importKey('pkcs8', pkcs8, a, false, ['sign']), other = await crypto.subtle.importKey('spki', spki, a, false, ['verify']);
      const signature = await crypto.subtle.sign(use, key, data);
      equal([await crypto.subtle.verify(use, other, signature, data), await crypto.subtle.verify(use, other, signature, utf8('else'))], [true, false]);
      const jwk = await crypto.subtle.exportKey('jwk', pair.privateKey);
      const third = await crypto.subtle.importKey('jwk', jwk, a, false, ['sign']);
      equal(await crypto.subtle.verify(use, pair.publicKey, await crypto.subtle.sign(use, third, data), data), true);
    }
    const one = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveBits']);
    const two = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, false, ['deriveBits']);
    equal(hex(await crypto.subtle.deriveBits({ name: 'ECDH', public: two.publicKey }, one.privateKey, 256)),
      hex(await crypto.subtle.deriveBits({ name: 'ECDH', public: one.publicKey }, two.privateKey, 256)));
  },
  async subtleRSA() {
    const a = { name: 'RSA-OAEP', modulusLength: 2048, hash: 'SHA-256' };
    const { privateKey, publicKey } = await crypto.subtle.generateKey(a, false, ['encrypt', 'decrypt']);
    const sealed = await crypto.subtle.encrypt({ name: 'RSA-OAEP', label: utf8('l') }, publicKey, utf8('secret'));
    equal(hex(await crypto.subtle.decrypt({ name: 'RSA-OAEP', label: utf8('l') }, privateKey, sealed)), hex(utf8('secret')));
    await throws(() => crypto.subtle.decrypt({ name: 'RSA-OAEP' }, privateKey, sealed), 'OperationError: the data cannot be decrypted');
    await throws(() => crypto.subtle.generateKey({ ...a, modulusLength: 65536 }, false, ['encrypt']), 'modulusLength must be from 2048 to 4096');
    await throws(() => crypto.subtle.importKey('pkcs8', new Uint8Array(5), a, false, ['decrypt']), 'DataError');
    await throws(() => crypto.subtle.importKey('jwk', { kty: 'RSA', n: 'AQAB', e: 'AQAB' }, { name: 'ECDSA', namedCurve: 'P-256' }, false, []), 'DataError');
  },
  async subtleBad() {
    await throws(() => crypto.subtle.generateKey('ROT13', true, ['encrypt']), 'NotSupportedError');
    await throws(() => crypto.subtle.generateKey({ name: 'AES-GCM', length: 100 }, true, ['encrypt']), 'OperationError');
    await throws(() => crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, []), 'SyntaxError');
    await throws(() => crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-1' }, true, ['sign']), 'NotSupportedError');
    await throws(() => crypto.subtle.sign('HMAC', {}, utf8('x')), 'the key must be a CryptoKey');
    await throws(() => new CryptoKey(), 'keys are made by crypto.subtle');
    await throws(() => crypto.subtle.digest('SHA-3', utf8('x')), 'NotSupportedError');
  },

  // abort
  async abortFetch() {
    const c = new AbortController(), begun = fetch(`${server}/slow`, { signal: c.signal });
    setTimeout(() => c.abort(), 1);
    await throws(() => begun, 'AbortError: the operation was aborted');
    await throws(() => fetch(`${server}/json`, { signal: c.signal }), 'AbortError');
    equal([c.signal.aborted, c.signal.reason.name, c.signal.reason.code, c.signal.reason instanceof DOMException, c.signal.reason instanceof Error], [true, 'AbortError', 20, true, true]);
  },
  async abortTimeout() { await throws(() => fetch(`${server}/slow`, { signal: AbortSignal.timeout(5) }), 'TimeoutError: the time of 5 ms is over'); },
  async abortAny() {
    const c = new AbortController();
    const s = AbortSignal.any([c.signal, AbortSignal.timeout(60000)]);
    let seen = 0;
    s.onabort = () => { seen++; };
    s.addEventListener('abort', { handleEvent: () => { seen += 10; } });
    s.addEventListener('abort', () => { seen += 100; }, { once: true });
    c.abort('because');
    c.abort('again');
    equal([s.aborted, s.reason, seen, AbortSignal.any([AbortSignal.abort(1)]).reason], [true, 'because', 111, 1]);
    await throws(() => s.throwIfAborted(), 'because');
  },
  async notAborted() { const c = new AbortController(); equal((await fetch(`${server}/json`, { signal: c.signal })).status, 200); c.abort(); },
  async badSignal() { await throws(() => fetch(server, { signal: {} }), 'the signal must be an AbortSignal'); },
  events() {
    const t = new EventTarget(), seen = [], f = (e) => { seen.push([e.type, e.target === t]); e.preventDefault(); };
    t.addEventListener('x', f); t.addEventListener('x', f);
    const first = t.dispatchEvent(new Event('x', { cancelable: true }));
    t.removeEventListener('x', f);
    equal([first, t.dispatchEvent(new Event('x')), seen], [false, true, [['x', true]]]);
  },

  // files and forms
  async blob() {
    const b = new Blob(['hé', new Uint8Array([33]), new Blob(['!'])], { type: 'Text/Plain' });
    equal([b.size, b.type, await b.text(), [...await b.slice(1, 3).bytes()], (await b.arrayBuffer()).byteLength], [5, 'text/plain', 'hé!!', [195, 169], 5]);
    const f = new File([b], 'a.txt', { lastModified: 5 });
    equal([f.name, f.lastModified, f instanceof Blob, f.size], ['a.txt', 5, true, 5]);
    await throws(() => new Blob('text'), 'the parts must be an array');
    await throws(() => new File([]), 'a File has a name');
  },
  async blobBody() {
    const r = await fetch(`${server}/echo`, { method: 'POST', body: new Blob(['b'], { type: 'x/y' }) });
    equal([r.data, r.headers['x-type'], (await r.blob()).size], ['b', 'x/y', 1]);
  },
  async formData() {
    const f = new FormData();
    f.append('a', 'x\ny'); f.append('a', 2); f.set('f', new Blob(['\u0000bytes'], { type: 'a/b' }), 'na"me'); f.append('gone', ''); f.delete('gone');
    equal([f.getAll('a'), f.get('none'), f.has('f'), [...f.keys()], f.get('f').name], [['x\ny', '2'], null, true, ['a', 'a', 'f'], 'na"me']);
    const r = await fetch(`${server}/form`, { method: 'POST', body: f });
    equal(await r.json(), { a: ['x\r\ny', '2'], f: ['na"me', 'a/b', '\u0000bytes'] });
  },

  async subtle() { equal(new Uint8Array(await crypto.subtle.digest('SHA-512', new Uint8Array(0))).length, 64); },
  equalBytes() { equal([crypto.timingSafeEqual('a', new Uint8Array([97])), crypto.timingSafeEqual('a', 'b')], [true, false]); },
  hashBad() { return throws(() => crypto.hash('rot13', ''), 'is not one of SHA-256'); },

  // structuredClone
  clone() {
    const a = { d: new Date(5), m: new Map([[1, { x: 1 }]]), s: new Set([1]), r: /a/gi, b: new Uint8Array([1, 2]), n: null, u: undefined, l: [1, , 3] };
    a.self = a;
    const b = structuredClone(a);
    if (b === a || b.self !== b || b.m.get(1) === a.m.get(1)) throw new Error('not a copy');
    equal([b.d.getTime(), b.m.get(1), [...b.s], String(b.r), [...b.b], 'u' in b, b.l.length], [5, { x: 1 }, [1], '/a/gi', [1, 2], true, 3]);
  },
  cloneError() { const e = structuredClone(new RangeError('x')); equal([e instanceof RangeError, e.message], [true, 'x']); },
  cloneFunction() { return throws(() => structuredClone({ f() {} }), 'DataCloneError'); },

  // AppError
  appError() {
    const e = new AppError(5010, 'why');
    equal([e instanceof Error, e instanceof AppError, e.code, e.reason, e.message, String(e), AppError('SERVER_INTERNAL_ERROR').code],
      [true, true, 5010, 'why', 'why', 'AppError: why', 1200]);
    class Mine extends AppError { constructor() { super(1200, 'mine'); } }
    equal([new Mine() instanceof AppError, new Mine().code], [true, 1200]);
  },
  appErrorBad() { return throws(() => new AppError(1), 'AppError: 1 is not a status code'); },
  appErrorNothing() { return throws(() => new AppError(), 'AppError: undefined is not a status code'); },

  // matcher
  matcher() {
    const m = app.text.matcher(['bad', 'badly', 'Ωμέγα', '👋👋', 'she', 'hers']);
    equal([m.contains('a BAD day'), m.contains('good'), m.mask('badly ωΜΈΓΑ 👋👋👋'), m.mask('ushers', '#')], [true, false, '***** ***** ***', 'u#####']);
    equal(m.find('👋👋 badly, bad'), [{ end: 4, start: 0, word: '👋👋' }, { end: 10, start: 5, word: 'badly' }, { end: 15, start: 12, word: 'bad' }]);
  },
  matcherCase() { equal(app.text.matcher(new Set(['bad']), { ignoreCase: false }).contains('BAD'), false); },
  matcherWhole() { const m = app.text.matcher(['ass'], { wholeWords: true }); equal([m.contains('grass'), m.contains('an ass!')], [false, true]); },
  matcherBad() { return throws(() => app.text.matcher('bad'), 'must be an array or a Set'); },
  matcherEmpty() { return throws(() => app.text.matcher(['']), 'the word at 0'); },
  matcherMany() { const m = app.text.matcher(Array.from({ length: 10000 }, (_, i) => `word${i}x`)); equal(m.contains('this is word9999x.'), true); },

  // what is not there
  node() { equal(app.node, { id: '', role: '', version: '' }); },
  noConfig() { return throws(() => app.config('x'), 'app.config is not there on this server'); },
  noNotify() { return throws(() => app.notify({}), 'app.notify is not there on this server'); },
  noStorage() { return throws(() => app.storage.get('x'), 'app.storage is not there on this server'); },
  frozen() { return throws(() => { app.log = 1; }, 'TypeError'); },
  noRequire() { equal([typeof require, typeof process, typeof std, typeof os], ['undefined', 'undefined', 'undefined', 'undefined']); },
  async noNode() { await throws(() => import('fs'), 'Node.js modules and packages cannot be used'); },

  // the language
  async language() {
    class A { #p = 1; static { A.s = 2; } has(o) { return #p in o; } static async* gen() { yield 1; yield 2; } }
    const seen = [];
    for await (const x of A.gen()) seen.push(x);
    equal([new A().has(new A()), A.s, seen, [1, 2].at(-1), Object.hasOwn({ a: 1 }, 'a'), 'aba'.replaceAll('a', 'c'), 1_000, /(?<y>\d+)/d.exec('x12').indices.groups.y,
      'é'.match(/\p{L}/u)[0], new Error('x', { cause: 5 }).cause, 2n ** 64n === 18446744073709551616n, null ?? 'n', await Promise.any([Promise.reject(), 3])],
    [true, 2, [1, 2], 2, true, 'cbc', 1000, [1, 3], 'é', 5, true, 'n', 3]);
  },
};
