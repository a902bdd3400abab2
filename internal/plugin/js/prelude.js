// SPDX-License-Identifier: Apache-2.0
//
// The globals of a plugin, on top of the functions of the host. It runs before the plugin, in its
// engine; what it needs of the language it takes now, so that a plugin that changes a prototype
// breaks only itself.
(function (host) {
  'use strict';
  // A test holds the clock: what asks for the present time gets that of the clock.
  if (host.now) {
    const Real = globalThis.Date, { now } = host, { construct } = globalThis.Reflect;
    const Held = function Date(...args) {
      return new.target ? construct(Real, args.length ? args : [now()], new.target) : new Real(now()).toString();
    };
    globalThis.Object.defineProperties(Held, globalThis.Object.getOwnPropertyDescriptors(Real));
    globalThis.Object.defineProperty(Held, 'now', { value: () => now(), writable: true, configurable: true });
    globalThis.Object.defineProperty(Real.prototype, 'constructor', { value: Held, writable: true, configurable: true });
    globalThis.Date = Held;
  }
  const { Promise, Error, TypeError, RangeError, SyntaxError, EvalError, ReferenceError, URIError, Object, Array, Map, Set, Date,
    RegExp, Symbol, Reflect, String, Number, Boolean, BigInt, ArrayBuffer, DataView, Uint8Array, JSON, Math } = globalThis;
  const then = Promise.prototype.then;
  const isArray = Array.isArray;
  const { stringify } = JSON;
  const bigAsText = (_, v) => (typeof v === 'bigint' ? String(v) : v);

  const define = (target, values) => {
    for (const key of Reflect.ownKeys(values)) {
      Object.defineProperty(target, key, { value: values[key], writable: true, configurable: true, enumerable: false });
    }
  };
  const hide = (object, key, value) => Object.defineProperty(object, key, { value, writable: true, configurable: true });
  const text = (v, what) => {
    if (typeof v !== 'string') throw new TypeError(`${what} must be a string, not ${v === null ? 'null' : typeof v}`);
    return v;
  };
  const bytes = (v, what) => {
    if (typeof v === 'string' || v instanceof ArrayBuffer || ArrayBuffer.isView(v)) return v;
    throw new TypeError(`${what} must be a string, an ArrayBuffer or a typed array`);
  };

  // What plugins extend and throw.

  class AppPlugin { static get isAppPlugin() { return true; } }
  class AppExtension { static get isAppExtension() { return true; } }

  function AppError(code, reason) {
    const error = Reflect.construct(Error, reason === undefined ? [] : [String(reason)], new.target ?? AppError);
    const status = host.code(code);
    hide(error, 'code', status[0]);
    hide(error, 'codeName', status[1]);
    hide(error, 'reason', reason === undefined || reason === null ? status[2] : String(reason));
    if (reason === undefined) hide(error, 'message', status[2]);
    return error;
  }
  AppError.prototype = Object.create(Error.prototype, {
    constructor: { value: AppError, writable: true, configurable: true },
    name: { value: 'AppError', writable: true, configurable: true },
  });
  Object.setPrototypeOf(AppError, Error);

  // Logging.

  const log = (level) => (...args) => host.log(level, ...args);
  let indent = '';
  const say = (level) => (...args) => (indent ? host.say(level, indent + (args.length && typeof args[0] === 'string' ? args.shift() : ''), ...args) : host.say(level, ...args));
  // A debugger, if there may be one, is told of a call of the console as it was made.
  const told = (type, f) => (host.tell ? (...args) => { host.tell(type, ...args); return f(...args); } : f);
  const counts = new Map(), clocks = new Map();
  const label = (l) => (l === undefined ? 'default' : String(l));
  const elapsed = (type) => (l, ...args) => {
    if (!clocks.has(label(l))) console.warn(`there is no timer '${label(l)}'`);
    else told(type, say('info'))(`${label(l)}: ${Date.now() - clocks.get(label(l))} ms`, ...args);
  };
  const group = (...args) => { if (args.length) say('info')(...args); indent += '  '; };
  const cell = (v) => (typeof v === 'string' ? v : host.inspect(v));
  // One line of the log for each line of the table.
  const table = (data, columns) => {
    if (typeof data !== 'object' || data === null) { say('info')(data); return; }
    const rows = data instanceof Map || data instanceof Set ? [...data.entries()] : Object.entries(data);
    const isRow = (v) => typeof v === 'object' && v !== null;
    const names = columns ? [...columns].map(String) : [...new Set(rows.flatMap(([, v]) => (isRow(v) ? Object.keys(v) : [])))];
    const values = rows.some(([, v]) => !isRow(v));
    const lines = [['(index)', ...names, ...(values ? ['Values'] : [])],
      ...rows.map(([k, v]) => [cell(k), ...names.map((n) => (isRow(v) && n in v ? cell(v[n]) : '')), ...(values ? [isRow(v) ? '' : cell(v)] : [])])];
    const widths = lines[0].map((_, i) => Math.max(...lines.map((l) => l[i].length)));
    for (const l of lines) say('info')(l.map((c, i) => c.padEnd(widths[i])).join(' | '));
  };
  const console = {
    log: told('log', say('info')), info: told('info', say('info')), warn: told('warning', say('warn')), error: told('error', say('error')),
    debug: told('debug', say('debug')), dirxml: told('dirxml', say('info')), table: told('table', table),
    dir: (v) => told('dir', say('info'))(v),
    assert: (ok, ...args) => { if (!ok) told('assert', (...a) => say('error')('assertion failed:', ...a))(...args); },
    trace: told('trace', (...args) => say('debug')('Trace:', ...args, new Error().stack.split('\n').filter((l) => !l.includes('<prelude>')).join('\n'))),
    count: (l) => { const k = label(l); counts.set(k, (counts.get(k) ?? 0) + 1); told('count', say('info'))(`${k}: ${counts.get(k)}`); },
    countReset: (l) => { counts.delete(label(l)); },
    time: (l) => { clocks.set(label(l), Date.now()); },
    timeLog: elapsed('log'),
    timeEnd: (l) => { elapsed('timeEnd')(l); clocks.delete(label(l)); },
    group: told('startGroup', group), groupCollapsed: told('startGroupCollapsed', group), groupEnd: told('endGroup', () => { indent = indent.slice(2); }),
  };

  // Timers.

  const timer = (repeat) => (f, delay, ...args) => {
    if (typeof f !== 'function') throw new TypeError('the first parameter must be a function');
    const ms = Number(delay);
    return host.timer(args.length ? () => f(...args) : f, ms > 0 ? ms : 0, repeat);
  };
  const clear = (id) => { if (typeof id === 'number') host.clearTimer(id); };
  const queueMicrotask = (f) => {
    if (typeof f !== 'function') throw new TypeError('the parameter must be a function');
    Reflect.apply(then, Promise.resolve(), [() => { f(); }]);
  };

  // Text and bytes.

  class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(s = '') { return host.encode(String(s)); }
    encodeInto(s, target) {
      let read = 0, written = 0;
      for (const c of String(s)) {
        const b = host.encode(c);
        if (written + b.length > target.length) break;
        target.set(b, written);
        written += b.length;
        read += c.length;
      }
      return { read, written };
    }
  }

  class TextDecoder {
    #fatal; #bom; #rest = new Uint8Array(0); #started = false;
    constructor(label = 'utf-8', options = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`the encoding '${label}' is not supported, only utf-8 is`);
      this.#fatal = Boolean(options.fatal);
      this.#bom = Boolean(options.ignoreBOM);
    }
    get encoding() { return 'utf-8'; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#bom; }
    decode(input = new Uint8Array(0), { stream = false } = {}) {
      if (typeof input === 'string') throw new TypeError('the input must be an ArrayBuffer or a typed array');
      bytes(input, 'the input');
      const [s, rest] = host.decode(this.#rest, input, this.#fatal, stream);
      this.#rest = rest;
      let out = s;
      if (!this.#started && s.length > 0) {
        if (!this.#bom && s.charCodeAt(0) === 0xfeff) out = s.slice(1);
        this.#started = true;
      }
      if (!stream) { this.#started = false; this.#rest = new Uint8Array(0); }
      return out;
    }
  }

  const atob = (s) => host.atob(String(s));
  const btoa = (s) => host.btoa(String(s));

  // URLs.

  class URLSearchParams {
    #list = []; #url = null;
    constructor(init = '') {
      if (init instanceof URLSearchParams) this.#list = init.#list.map((p) => [...p]);
      else if (typeof init === 'object' && init !== null) {
        const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
        this.#list = pairs.map((p) => {
          if (p.length !== 2) throw new TypeError('each parameter must be a pair of name and value');
          return [String(p[0]), String(p[1])];
        });
      } else this.#parse(String(init));
    }
    static [Symbol.for('attach')](params, url) { params.#url = url; return params; }
    static [Symbol.for('reset')](params, query) { params.#parse(query); }
    #parse(s) { this.#list = host.parseForm(s.startsWith('?') ? s.slice(1) : s); }
    #changed() { if (this.#url) this.#url(this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name), String(value)]); this.#changed(); }
    delete(name, value) {
      this.#list = this.#list.filter((p) => p[0] !== String(name) || (value !== undefined && p[1] !== String(value)));
      this.#changed();
    }
    get(name) { return this.#list.find((p) => p[0] === String(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter((p) => p[0] === String(name)).map((p) => p[1]); }
    has(name, value) { return this.#list.some((p) => p[0] === String(name) && (value === undefined || p[1] === String(value))); }
    set(name, value) {
      const i = this.#list.findIndex((p) => p[0] === String(name));
      if (i < 0) this.#list.push([String(name), String(value)]);
      else {
        this.#list[i][1] = String(value);
        this.#list = this.#list.filter((p, k) => k <= i || p[0] !== String(name));
      }
      this.#changed();
    }
    sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#changed(); }
    forEach(f, self) { for (const [k, v] of this.#list) Reflect.apply(f, self, [v, k, this]); }
    * entries() { for (const p of this.#list) yield [...p]; }
    * keys() { for (const p of this.#list) yield p[0]; }
    * values() { for (const p of this.#list) yield p[1]; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return host.formatForm(this.#list); }
  }

  const attachParams = URLSearchParams[Symbol.for('attach')], resetParams = URLSearchParams[Symbol.for('reset')];
  delete URLSearchParams[Symbol.for('attach')];
  delete URLSearchParams[Symbol.for('reset')];

  const parts = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
  class URL {
    #p; #params;
    constructor(input, base) {
      this.#p = host.parseURL(String(input), base === undefined ? undefined : String(base));
      this.#params = attachParams(new URLSearchParams(this.#p[9]), (query) => {
        this.#p = host.setURL(this.#p[0], 'search', query);
      });
    }
    static canParse(input, base) {
      try { return Boolean(new URL(input, base)); } catch { return false; }
    }
    static [Symbol.for('get')](url, i) { return url.#p[i]; }
    static [Symbol.for('set')](url, name, value) {
      url.#p = name === 'href' ? host.parseURL(String(value)) : host.setURL(url.#p[0], name, String(value));
      resetParams(url.#params, url.#p[9]);
    }
    get searchParams() { return this.#params; }
    toString() { return this.#p[0]; }
    toJSON() { return this.#p[0]; }
  }
  const getPart = URL[Symbol.for('get')], setPart = URL[Symbol.for('set')];
  delete URL[Symbol.for('get')];
  delete URL[Symbol.for('set')];
  parts.forEach((name, i) => Object.defineProperty(URL.prototype, name, {
    get() { return getPart(this, i); },
    set: name === 'origin' ? undefined : function (v) { setPart(this, name, v); },
    enumerable: true, configurable: true,
  }));

  // What few plugins use is made when it is asked for.

  let web, streams;
  const loadWeb = () => (web ??= host.part('web')(host, bytes, () => loadStreams()));
  const loadStreams = () => (streams ??= host.part('stream')(host, loadWeb()));

  // Requests.

  class Headers {
    constructor(init) {
      if (init === undefined || init === null) return;
      const pairs = init instanceof Headers || typeof init[Symbol.iterator] !== 'function' ? Object.entries(init) : [...init];
      for (const [k, v] of pairs) this.append(k, v);
    }
    append(name, value) {
      const key = String(name).toLowerCase();
      this[key] = Object.hasOwn(this, key) ? `${this[key]}, ${value}` : String(value);
    }
    set(name, value) { this[String(name).toLowerCase()] = String(value); }
    delete(name) { delete this[String(name).toLowerCase()]; }
    get(name) { const key = String(name).toLowerCase(); return Object.hasOwn(this, key) ? this[key] : null; }
    has(name) { return Object.hasOwn(this, String(name).toLowerCase()); }
    forEach(f, self) { for (const [k, v] of Object.entries(this)) Reflect.apply(f, self, [v, k, this]); }
    entries() { return Object.entries(this)[Symbol.iterator](); }
    keys() { return Object.keys(this)[Symbol.iterator](); }
    values() { return Object.values(this)[Symbol.iterator](); }
    [Symbol.iterator]() { return this.entries(); }
  }

  class Response {
    #bytes; #text; #stream; #used = false;
    constructor(raw, stream) {
      this.status = raw.status;
      this.statusText = raw.statusText;
      this.ok = raw.status >= 200 && raw.status < 300;
      this.url = raw.url;
      this.redirected = raw.redirected;
      this.headers = new Headers(raw.headers);
      this.#bytes = raw.body;
      this.#stream = stream;
    }
    get data() {
      if (!this.#bytes) throw new TypeError('the body is a stream: use await text(), json(), bytes() or body');
      return (this.#text ??= host.decode(new Uint8Array(0), this.#bytes, false, false)[0].replace(/^\ufeff/, ''));
    }
    get body() { return (this.#stream ??= loadStreams().ofBytes(this.#bytes)); }
    get bodyUsed() { return this.#used || Boolean(this.#stream && loadStreams().disturbed(this.#stream)); }
    async #all() {
      if (this.#bytes) return;
      if (this.bodyUsed || this.#stream.locked) throw new TypeError('the body was read already');
      this.#used = true;
      this.#bytes = await loadStreams().collect(this.#stream);
    }
    async text() { await this.#all(); return this.data; }
    async json() {
      await this.#all();
      try {
        return JSON.parse(this.data);
      } catch (e) {
        throw new SyntaxError(`the body of ${this.url} (status ${this.status}) is not JSON: ${e.message}`);
      }
    }
    async bytes() { await this.#all(); return this.#bytes.slice(); }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async blob() { return new (loadWeb().Blob)([await this.bytes()], { type: this.headers.get('content-type') ?? '' }); }
  }

  let requests = 0;
  async function fetch(input, options = {}) {
    if (input === undefined || input === null) throw new TypeError('fetch: the first parameter must be a URL');
    if (typeof options !== 'object' || options === null) throw new TypeError('fetch: the options must be an object');
    const headers = new Headers(options.headers);
    let body = options.body;
    if (body === undefined || body === null) body = undefined;
    else if (body instanceof URLSearchParams) {
      body = body.toString();
      if (!headers.has('content-type')) headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
    } else if (web && (body instanceof web.Blob || body instanceof web.FormData)) {
      const [data, type] = web.body(body);
      body = data;
      if (type && !headers.has('content-type')) headers.set('content-type', type);
    } else if (streams && body instanceof streams.globals.ReadableStream) body = await streams.collect(body);
    else if (typeof body !== 'string' && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body)) {
      throw new TypeError('fetch: the body must be a string, a Uint8Array, a Blob, FormData, URLSearchParams or a ReadableStream; use JSON.stringify for an object');
    }
    const timeout = options.timeout ?? 300000;
    if (typeof timeout !== 'number' || !(timeout > 0)) throw new TypeError('fetch: the timeout must be a number of milliseconds above 0');
    const signal = options.signal ?? undefined;
    if (signal !== undefined && (!web || !(signal instanceof web.AbortSignal))) throw new TypeError('fetch: the signal must be an AbortSignal');
    signal?.throwIfAborted();
    const id = ++requests, stream = Boolean(options.stream), abort = () => host.abort(id);
    const end = () => { signal?.removeEventListener('abort', abort); abort(); };
    const failed = (e) => { end(); signal?.throwIfAborted(); throw e; };
    signal?.addEventListener('abort', abort);
    let raw;
    try {
      raw = await host.fetch(String(input), String(options.method ?? 'GET').toUpperCase(), Object.entries(headers), body, timeout,
        String(options.redirect ?? 'follow'), id, stream);
    } catch (e) {
      failed(e);
    }
    const next = async () => {
      try { return await host.readStream(id); } catch (e) { return failed(e); }
    };
    if (raw.body === undefined) return new Response(raw, loadStreams().ofHost(next, end));
    signal?.removeEventListener('abort', abort);
    return new Response(raw);
  }

  // Cryptography.

  const encoded = (f, encoding) => {
    if (encoding !== undefined && encoding !== 'hex' && encoding !== 'base64') throw new TypeError("the encoding must be 'hex' or 'base64'");
    return f(encoding ?? '');
  };
  const algorithm = (a) => (typeof a === 'object' && a !== null ? String(a.name) : String(a));
  const crypto = {
    randomUUID: () => host.randomUUID(),
    getRandomValues(array) { host.randomFill(array); return array; },
    hash: (name, data, encoding) => encoded((e) => host.hash(algorithm(name), bytes(data, 'the data'), e), encoding),
    hmac: (name, key, data, encoding) => encoded((e) => host.hmac(algorithm(name), bytes(key, 'the key'), bytes(data, 'the data'), e), encoding),
    timingSafeEqual: (a, b) => host.equal(bytes(a, 'the first parameter'), bytes(b, 'the second parameter')),
    get subtle() { return loadWeb().subtle; },
  };

  // Copies.

  const errorTypes = { Error, TypeError, RangeError, SyntaxError, EvalError, ReferenceError, URIError };
  function structuredClone(value) {
    const seen = new Map();
    const refuse = (what) => { const e = new TypeError(`structuredClone: ${what} cannot be copied`); hide(e, 'name', 'DataCloneError'); throw e; };
    const copy = (v) => {
      if (typeof v === 'function') refuse('a function');
      if (typeof v === 'symbol') refuse('a symbol');
      if (typeof v !== 'object' || v === null) return v;
      if (seen.has(v)) return seen.get(v);
      const keep = (c) => { seen.set(v, c); return c; };
      if (v instanceof Date) return keep(new Date(v.getTime()));
      if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
      if (v instanceof ArrayBuffer) return keep(v.slice(0));
      if (v instanceof DataView) return keep(new DataView(copy(v.buffer), v.byteOffset, v.byteLength));
      if (ArrayBuffer.isView(v)) return keep(new v.constructor(copy(v.buffer), v.byteOffset, v.length));
      if (v instanceof Boolean || v instanceof Number || v instanceof String || v instanceof BigInt) return keep(Object(v.valueOf()));
      if (v instanceof Promise) refuse('a promise');
      if (v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) refuse('a weak collection');
      if (v instanceof Map) { const c = keep(new Map()); for (const [k, x] of [...v]) c.set(copy(k), copy(x)); return c; }
      if (v instanceof Set) { const c = keep(new Set()); for (const x of [...v]) c.add(copy(x)); return c; }
      if (v instanceof Error) {
        const c = keep(new (errorTypes[v.name] ?? Error)(v.message));
        if ('cause' in v) hide(c, 'cause', copy(v.cause));
        hide(c, 'stack', v.stack);
        return c;
      }
      const c = keep(isArray(v) ? new Array(v.length) : {});
      for (const k of Object.keys(v)) c[k] = copy(v[k]);
      return c;
    };
    return copy(value);
  }

  // The server.

  class Matcher {
    #handle;
    constructor(words, options = {}) {
      const list = isArray(words) ? words : typeof words?.[Symbol.iterator] === 'function' && typeof words !== 'string' ? [...words] : null;
      if (!list) throw new TypeError('app.text.matcher: the words must be an array or a Set of strings');
      this.#handle = host.matcher(list, Boolean(options.ignoreCase ?? true), Boolean(options.wholeWords ?? false));
    }
    contains(s) { return host.matchContains(this.#handle, text(s, 'the text')); }
    find(s) { return host.matchFind(this.#handle, text(s, 'the text')); }
    mask(s, mark = '*') { return host.matchMask(this.#handle, text(s, 'the text'), text(mark, 'the mark')); }
  }

  const api = {};
  host.operations.forEach(([group, name], i) => { (api[group] ??= {})[name] = (input) => host.api(i, input); });
  for (const group of Object.values(api)) Object.freeze(group);

  const storage = {
    async get(key) { const s = await host.storageGet(text(key, 'the key')); return s === undefined ? undefined : JSON.parse(s); },
    async set(key, value) {
      const s = JSON.stringify(value);
      if (s === undefined) throw new TypeError('app.storage.set: the value must be one that JSON can hold; use delete to remove a key');
      await host.storageSet(text(key, 'the key'), s);
    },
    async delete(key) { return host.storageDelete(text(key, 'the key')); },
    async keys(prefix = '') { return host.storageKeys(text(prefix, 'the prefix')); },
  };

  // Schedules.

  const schedule = (when, options, task) => {
    if (typeof options === 'function' && task === undefined) return schedule(when, {}, options);
    if (typeof task !== 'function') throw new TypeError('app.schedule: the last parameter must be a function');
    if (typeof when === 'number' && !Number.isFinite(when)) throw new TypeError('app.schedule: the interval must be a finite number of milliseconds');
    const times = typeof when === 'number' ? `${Math.trunc(when)}ms` : text(when, 'app.schedule: the first parameter');
    const { name = '', leaderOnly = false } = options ?? {};
    if (typeof leaderOnly !== 'boolean') throw new TypeError('app.schedule: leaderOnly must be true or false');
    const [id, known] = host.schedule(text(name, 'app.schedule: the name'), times, leaderOnly, task);
    return Object.freeze({ name: known, cancel: () => host.unschedule(id) });
  };

  // One process can be two nodes; it is the one that called the plugin.
  const node = {};
  ['id', 'role', 'version'].forEach((key, i) => Object.defineProperty(node, key, { get: () => host.node()[i], enumerable: true }));
  Object.freeze(node);

  const app = {
    log: Object.freeze({ error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') }),
    fetch,
    http: Object.freeze({ fetch }),
    node,
    get shadow() { return host.node()[3]; },
    config: (prefix = '') => host.config(text(prefix, 'the prefix')),
    settings: () => host.settings(),
    schedule,
    api: Object.freeze(api),
    notify: async (notification) => { await host.notify(notification); },
    meetings: Object.freeze({ ended: async (meetingId, timestamp) => { await host.meetingEnded({ meetingId, timestamp }); } }),
    text: Object.freeze({ matcher: (words, options) => new Matcher(words, options) }),
    storage: Object.freeze(storage),
  };

  define(globalThis, {
    AppPlugin, AppExtension, AppError, app: Object.freeze(app), load: (source) => host.load(source), fetch, Headers, console,
    setTimeout: timer(false), setInterval: timer(true), clearTimeout: clear, clearInterval: clear, queueMicrotask,
    TextEncoder, TextDecoder, atob, btoa, URL, URLSearchParams, crypto: Object.freeze(crypto), structuredClone, self: globalThis,
  });

  // Whoever does not use something does not pay for it.
  const lazy = (name, make) => Object.defineProperty(globalThis, name, {
    get() { const v = make(); define(globalThis, { [name]: v }); return v; },
    set(v) { define(globalThis, { [name]: v }); },
    configurable: true, enumerable: false,
  });
  lazy('Java', () => host.java());
  for (const name of ['DOMException', 'Event', 'EventTarget', 'AbortController', 'AbortSignal', 'Blob', 'File', 'FormData', 'CryptoKey']) lazy(name, () => loadWeb()[name]);
  for (const name of ['ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamDefaultController', 'WritableStream', 'WritableStreamDefaultWriter',
    'WritableStreamDefaultController', 'TransformStream', 'TextEncoderStream', 'TextDecoderStream', 'CountQueuingStrategy', 'ByteLengthQueuingStrategy']) {
    lazy(name, () => loadStreams().globals[name]);
  }
  let sockets;
  for (const name of ['WebSocket', 'MessageEvent', 'CloseEvent', 'ErrorEvent']) lazy(name, () => (sockets ??= host.part('socket')(host, loadWeb())).globals[name]);

  return {
    AppPlugin, AppExtension, AppError,
    // serve calls the handler of an endpoint. Without write it answers with JSON.
    serve: async function (handler, request, write) {
      const answer = await Reflect.apply(handler, this, [request]);
      if (!write) return answer === undefined ? undefined : stringify(answer, bigAsText);
      if (answer === undefined || answer === null) return undefined;
      const isPart = (v) => typeof v === 'string' || v instanceof ArrayBuffer || ArrayBuffer.isView(v);
      if (isPart(answer)) { await write(answer); return undefined; }
      if (typeof answer !== 'object' || !(Symbol.asyncIterator in answer || Symbol.iterator in answer)) {
        throw new TypeError('an endpoint with a contentType must answer with a string, bytes, or an iterable of them, such as a generator');
      }
      for await (const part of answer) await write(bytes(part, 'a part of the answer'));
      return undefined;
    },
    adopt: (thenable) => new Promise((resolve) => resolve(thenable)),
    watch: (promise, id) => {
      Reflect.apply(then, promise, [(v) => host.answered(id, true, v), (e) => host.answered(id, false, e)]);
    },
  };
})
