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

const checks = {
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
