// SPDX-License-Identifier: Apache-2.0
//
// The globals of the web platform that few plugins use. It runs when a plugin asks for the first of
// them.
(function (host, bytes, streams) {
  'use strict';
  const { Promise, Error, TypeError, Object, Array, Map, Date, Symbol, Reflect, String, Number, Boolean, ArrayBuffer, Uint8Array, JSON } = globalThis;
  const setTimeout = globalThis.setTimeout;

  // Errors and events.

  const codes = { NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, InvalidAccessError: 15, AbortError: 20, TimeoutError: 23, DataCloneError: 25 };
  class DOMException extends Error {
    #name;
    constructor(message = '', name = 'Error') {
      super(String(message));
      this.#name = String(name);
    }
    get name() { return this.#name; }
    get code() { return codes[this.#name] ?? 0; }
  }

  class Event {
    #type; #target = null; #cancelable; #prevented = false;
    constructor(type, options = {}) { this.#type = String(type); this.#cancelable = Boolean(options?.cancelable); }
    static [Symbol.for('target')](event, target) { event.#target = target; }
    get type() { return this.#type; }
    get target() { return this.#target; }
    get currentTarget() { return this.#target; }
    get cancelable() { return this.#cancelable; }
    get defaultPrevented() { return this.#prevented; }
    preventDefault() { if (this.#cancelable) this.#prevented = true; }
  }
  const setTarget = Event[Symbol.for('target')];
  delete Event[Symbol.for('target')];

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (listener === null || listener === undefined) return;
      if (typeof listener !== 'function' && typeof listener !== 'object') throw new TypeError('the listener must be a function or an object with handleEvent');
      const list = this.#listeners.get(String(type)) ?? [];
      if (list.some((l) => l.listener === listener)) return;
      this.#listeners.set(String(type), [...list, { listener, once: Boolean(options?.once) }]);
    }
    removeEventListener(type, listener) {
      this.#listeners.set(String(type), (this.#listeners.get(String(type)) ?? []).filter((l) => l.listener !== listener));
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw new TypeError('the parameter must be an Event');
      setTarget(event, this);
      for (const { listener, once } of this.#listeners.get(event.type) ?? []) {
        if (once) this.removeEventListener(event.type, listener);
        try {
          if (typeof listener === 'function') Reflect.apply(listener, this, [event]);
          else listener.handleEvent(event);
        } catch (e) {
          setTimeout(() => { throw e; }); // It is logged, and the other listeners are called.
        }
      }
      return !event.defaultPrevented;
    }
  }

  let make;
  class AbortSignal extends EventTarget {
    #aborted = false; #reason = undefined;
    onabort = null;
    constructor(token) {
      super();
      if (token !== make) throw new TypeError('use an AbortController, AbortSignal.abort, AbortSignal.timeout or AbortSignal.any');
    }
    static [Symbol.for('abort')](signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('the operation was aborted', 'AbortError') : reason;
      const event = new Event('abort');
      if (typeof signal.onabort === 'function') signal.addEventListener('abort', signal.onabort, { once: true });
      signal.dispatchEvent(event);
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    static abort(reason) { const s = newSignal(); abort(s, reason); return s; }
    static timeout(milliseconds) {
      const ms = Number(milliseconds);
      if (!(ms >= 0)) throw new TypeError('the time must be a number of milliseconds');
      const s = newSignal();
      setTimeout(() => abort(s, new DOMException(`the time of ${ms} ms is over`, 'TimeoutError')), ms);
      return s;
    }
    static any(signals) {
      const s = newSignal(), all = [...signals];
      for (const x of all) if (!(x instanceof AbortSignal)) throw new TypeError('each must be an AbortSignal');
      const done = all.find((x) => x.aborted);
      if (done) abort(s, done.reason);
      else for (const x of all) x.addEventListener('abort', () => abort(s, x.reason), { once: true });
      return s;
    }
  }
  make = Symbol('make');
  const newSignal = () => new AbortSignal(make), abort = AbortSignal[Symbol.for('abort')];
  delete AbortSignal[Symbol.for('abort')];

  class AbortController {
    #signal = newSignal();
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
  }

  // Files and forms.

  const view = (v) => (v instanceof ArrayBuffer ? new Uint8Array(v) : new Uint8Array(v.buffer, v.byteOffset, v.byteLength));
  const join = (list) => {
    const out = new Uint8Array(list.reduce((n, b) => n + b.length, 0));
    list.reduce((at, b) => { out.set(b, at); return at + b.length; }, 0);
    return out;
  };
  class Blob {
    #data; #type;
    constructor(parts = [], options = {}) {
      if (typeof parts !== 'object' || parts === null || typeof parts[Symbol.iterator] !== 'function') throw new TypeError('the parts must be an array');
      this.#data = join([...parts].map((p) => (p instanceof Blob ? p.#data : p instanceof ArrayBuffer || ArrayBuffer.isView(p) ? view(p) : host.encode(String(p)))));
      const type = String(options?.type ?? '');
      this.#type = /^[ -~]*$/.test(type) ? type.toLowerCase() : '';
    }
    static [Symbol.for('data')](blob) { return blob.#data; }
    get size() { return this.#data.length; }
    get type() { return this.#type; }
    slice(start, end, type) {
      const b = new Blob([], { type });
      b.#data = this.#data.slice(start, end);
      return b;
    }
    stream() { return streams().ofBytes(this.#data); }
    async text() { return host.decode(new Uint8Array(0), this.#data, false, false)[0].replace(/^\ufeff/, ''); }
    async bytes() { return this.#data.slice(); }
    async arrayBuffer() { return this.#data.slice().buffer; }
  }
  const blobData = Blob[Symbol.for('data')];
  delete Blob[Symbol.for('data')];

  class File extends Blob {
    #name; #modified;
    constructor(parts, name, options = {}) {
      super(parts, options);
      if (name === undefined) throw new TypeError('a File has a name');
      this.#name = String(name);
      this.#modified = Number(options?.lastModified ?? Date.now());
    }
    get name() { return this.#name; }
    get lastModified() { return this.#modified; }
  }

  class FormData {
    #list = [];
    #entry(name, value, file) {
      if (!(value instanceof Blob)) return [String(name), String(value)];
      if (value instanceof File && file === undefined) return [String(name), value];
      return [String(name), new File([value], file ?? 'blob', { type: value.type })];
    }
    append(name, value, file) { this.#list.push(this.#entry(name, value, file)); }
    set(name, value, file) {
      const i = this.#list.findIndex((p) => p[0] === String(name)), entry = this.#entry(name, value, file);
      if (i < 0) this.#list.push(entry);
      else this.#list = this.#list.map((p, k) => (k === i ? entry : p)).filter((p, k) => k <= i || p[0] !== String(name));
    }
    delete(name) { this.#list = this.#list.filter((p) => p[0] !== String(name)); }
    get(name) { return this.#list.find((p) => p[0] === String(name))?.[1] ?? null; }
    getAll(name) { return this.#list.filter((p) => p[0] === String(name)).map((p) => p[1]); }
    has(name) { return this.#list.some((p) => p[0] === String(name)); }
    forEach(f, self) { for (const [k, v] of this.#list) Reflect.apply(f, self, [v, k, this]); }
    * entries() { for (const p of this.#list) yield [...p]; }
    * keys() { for (const p of this.#list) yield p[0]; }
    * values() { for (const p of this.#list) yield p[1]; }
    [Symbol.iterator]() { return this.entries(); }
  }

  // The body of a request and its type.
  const quoted = (s) => s.replace(/\r\n|\r|\n/g, '%0D%0A').replace(/"/g, '%22');
  const body = (v) => {
    if (v instanceof Blob) return [blobData(v), v.type];
    const boundary = `----app${host.randomUUID()}`, out = [];
    for (const [name, value] of v) {
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
      if (value instanceof File) {
        out.push(host.encode(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`), blobData(value), host.encode('\r\n'));
      } else out.push(host.encode(`${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, '\r\n')}\r\n`));
    }
    out.push(host.encode(`--${boundary}--\r\n`));
    return [join(out), `multipart/form-data; boundary=${boundary}`];
  };

  // Keys and what is done with them. The bytes of a key never leave it unless it may be exported.

  const fail = (name, message) => { throw new DOMException(message, name); };
  const call = async (op, params, ...inputs) => {
    try {
      return await host.subtle(op, JSON.stringify(params), ...inputs);
    } catch (e) {
      const [, name, message] = /^(\w+Error): (.*)$/s.exec(e.message) ?? [null, 'OperationError', e.message];
      return fail(name, message);
    }
  };
  const kinds = {
    HMAC: { secret: true, usages: ['sign', 'verify'] },
    'AES-GCM': { secret: true, usages: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'] },
    'AES-CBC': { secret: true, usages: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'] },
    PBKDF2: { secret: true, usages: ['deriveBits', 'deriveKey'] },
    HKDF: { secret: true, usages: ['deriveBits', 'deriveKey'] },
    'RSASSA-PKCS1-v1_5': { usages: ['sign', 'verify'] },
    'RSA-PSS': { usages: ['sign', 'verify'] },
    'RSA-OAEP': { usages: ['encrypt', 'decrypt'] },
    ECDSA: { usages: ['sign', 'verify'] },
    ECDH: { usages: ['deriveBits', 'deriveKey'] },
    Ed25519: { usages: ['sign', 'verify'] },
  };
  const publicUsages = ['verify', 'encrypt', 'wrapKey'];
  const nameOf = (a) => {
    const given = String(typeof a === 'object' && a !== null ? a.name : a);
    return Object.keys(kinds).find((k) => k.toLowerCase() === given.toLowerCase()) ?? fail('NotSupportedError', `the algorithm '${given}' is not one of ${Object.keys(kinds).join(', ')}`);
  };
  const hashOf = (a) => {
    const given = typeof a?.hash === 'object' && a.hash !== null ? a.hash.name : a?.hash;
    return { name: ['SHA-1', 'SHA-256', 'SHA-384', 'SHA-512'].find((h) => h === String(given).toUpperCase()) ?? fail('NotSupportedError', `the hash '${given}' is not one of SHA-1, SHA-256, SHA-384, SHA-512`) };
  };

  class CryptoKey {
    #material; #type; #extractable; #algorithm; #usages;
    constructor(token, material, type, extractable, algorithm, usages) {
      if (token !== make) throw new TypeError('keys are made by crypto.subtle');
      this.#material = material;
      this.#type = type;
      this.#extractable = Boolean(extractable);
      this.#algorithm = Object.freeze(algorithm);
      this.#usages = Object.freeze([...usages]);
    }
    static [Symbol.for('material')](key, name, usage) {
      if (!(key instanceof CryptoKey)) throw new TypeError('the key must be a CryptoKey');
      if (name && key.#algorithm.name !== name) fail('InvalidAccessError', `the key is one of ${key.#algorithm.name}, not of ${name}`);
      if (usage && !key.#usages.includes(usage)) fail('InvalidAccessError', `the key must not be used for ${usage}`);
      return key.#material;
    }
    get type() { return this.#type; }
    get extractable() { return this.#extractable; }
    get algorithm() { return this.#algorithm; }
    get usages() { return this.#usages; }
  }
  const material = CryptoKey[Symbol.for('material')];
  delete CryptoKey[Symbol.for('material')];
  const newKey = (data, type, extractable, algorithm, usages) => {
    const allowed = kinds[algorithm.name].usages;
    const fits = (u) => allowed.includes(u) && (type === 'secret' || (type === 'public') === publicUsages.includes(u));
    for (const u of usages) if (!fits(u)) fail('SyntaxError', `a ${type} key of ${algorithm.name} cannot be used for '${u}'`);
    if (usages.length === 0 && type !== 'public') fail('SyntaxError', 'a key must be of use for something');
    return new CryptoKey(make, data, type, extractable, algorithm, usages);
  };
  const described = (name, a, length) => {
    if (name === 'HMAC') return { name, hash: hashOf(a), length };
    if (name.startsWith('AES')) return { name, length };
    if (name.startsWith('RSA')) return { name, hash: hashOf(a) };
    if (name.startsWith('EC')) return { name, namedCurve: String(a.namedCurve) };
    return { name };
  };
  // What the host must know to use a key.
  const used = (algorithm) => ({ name: algorithm.name, hash: algorithm.hash?.name, curve: algorithm.namedCurve });

  const subtle = {
    async digest(a, data) {
      const h = hashOf({ hash: typeof a === 'object' && a !== null ? a.name : a });
      return host.hash(h.name, bytes(data, 'the data'), '').buffer;
    },
    async generateKey(a, extractable, usages) {
      const name = nameOf(a);
      if (name === 'PBKDF2' || name === 'HKDF') fail('NotSupportedError', `keys of ${name} are imported`);
      if (kinds[name].secret) {
        const bits = name === 'HMAC' ? a.length ?? { 'SHA-384': 1024, 'SHA-512': 1024 }[hashOf(a).name] ?? 512 : a.length;
        const data = await call('generateSecret', { name, bits });
        return newKey(data, 'secret', extractable, described(name, a, data.length * 8), [...usages]);
      }
      const data = await call('generatePair', { name, curve: a.namedCurve, bits: a.modulusLength });
      const algorithm = described(name, a), list = [...usages];
      return {
        privateKey: newKey(data, 'private', extractable, algorithm, list.filter((u) => !publicUsages.includes(u))),
        publicKey: newKey(await call('public', used(algorithm), data), 'public', true, { ...algorithm }, list.filter((u) => publicUsages.includes(u))),
      };
    },
    async importKey(format, data, a, extractable, usages) {
      const name = nameOf(a), list = [...usages];
      if (kinds[name].secret) {
        let raw;
        if (format === 'raw') raw = view(bytes(data, 'the key')).slice();
        else if (format === 'jwk') raw = await call('importJWK', { name }, JSON.stringify(data));
        else fail('NotSupportedError', `a key of ${name} is imported as raw or jwk`);
        if (name.startsWith('AES') && ![16, 24, 32].includes(raw.length)) fail('DataError', 'a key of AES has 128, 192 or 256 bits');
        if (name === 'HMAC' && raw.length === 0) fail('DataError', 'the key is empty');
        return newKey(raw, 'secret', extractable, described(name, a, raw.length * 8), list);
      }
      const algorithm = described(name, a), isPrivate = format === 'pkcs8' || (format === 'jwk' && data?.d !== undefined);
      if (!['raw', 'jwk', 'pkcs8', 'spki'].includes(format)) fail('NotSupportedError', `the format '${format}' is not one of raw, jwk, pkcs8, spki`);
      const input = format === 'jwk' ? JSON.stringify(data) : bytes(data, 'the key');
      const der = await call({ raw: 'importPoint', jwk: 'importJWK', pkcs8: 'importPrivate', spki: 'importPublic' }[format], used(algorithm), input);
      return newKey(der, isPrivate ? 'private' : 'public', extractable, algorithm, list);
    },
    async exportKey(format, key) {
      const data = material(key);
      if (!key.extractable) fail('InvalidAccessError', 'the key must not be exported');
      const params = { ...used(key.algorithm), type: key.type };
      if (format === 'jwk') {
        const jwk = JSON.parse(host.decode(new Uint8Array(0), await call('exportJWK', params, data), false, false)[0]);
        return { ...jwk, ext: true, key_ops: [...key.usages] };
      }
      const wanted = { secret: ['raw'], private: ['pkcs8'], public: ['spki', 'raw'] }[key.type];
      if (!wanted.includes(format)) fail('NotSupportedError', `a ${key.type} key is exported as ${wanted.join(', ')} or jwk`);
      if (key.type === 'public' && format === 'raw') return (await call('exportPoint', params, data)).buffer;
      return data.slice().buffer;
    },
    async sign(a, key, data) {
      const name = nameOf(a), secret = material(key, name, 'sign');
      const hash = name === 'ECDSA' ? hashOf(a).name : key.algorithm.hash?.name;
      return (await call('sign', { ...used(key.algorithm), hash, saltLength: a.saltLength }, secret, bytes(data, 'the data'))).buffer;
    },
    async verify(a, key, signature, data) {
      const name = nameOf(a), secret = material(key, name, 'verify');
      const hash = name === 'ECDSA' ? hashOf(a).name : key.algorithm.hash?.name;
      return (await call('verify', { ...used(key.algorithm), hash, saltLength: a.saltLength }, secret, bytes(data, 'the data'), bytes(signature, 'the signature')))[0] === 1;
    },
    async encrypt(a, key, data) { return crypt('encrypt', a, key, data); },
    async decrypt(a, key, data) { return crypt('decrypt', a, key, data); },
    async deriveBits(a, key, length) { return (await derive(a, key, length, 'deriveBits')).buffer; },
    async deriveKey(a, key, type, extractable, usages) {
      const name = nameOf(type);
      const bits = type.length ?? (name === 'HMAC' ? { 'SHA-384': 1024, 'SHA-512': 1024 }[hashOf(type).name] ?? 512 : 256);
      return subtle.importKey('raw', await derive(a, key, bits, 'deriveKey'), type, extractable, usages);
    },
  };
  const optional = (v, what) => (v === undefined || v === null ? new Uint8Array(0) : bytes(v, what));
  const crypt = async (op, a, key, data) => {
    const name = nameOf(a), secret = material(key, name, op);
    const params = { ...used(key.algorithm), tagLength: a.tagLength ?? 128 };
    const iv = name === 'RSA-OAEP' ? optional(a.label, 'the label') : bytes(a.iv, 'the iv');
    return (await call(op, params, secret, bytes(data, 'the data'), iv, optional(a.additionalData, 'the additional data'))).buffer;
  };
  const derive = async (a, key, length, usage) => {
    const name = nameOf(a), secret = material(key, name, usage);
    if (name === 'ECDH') return call('derive', { ...used(key.algorithm), bits: length ?? 0 }, secret, material(a.public, 'ECDH'));
    const params = { name, hash: hashOf(a).name, bits: length, iterations: a.iterations };
    return call('derive', params, secret, optional(a.salt, 'the salt'), optional(a.info, 'the info'));
  };

  return { DOMException, Event, EventTarget, AbortController, AbortSignal, Blob, File, FormData, CryptoKey, subtle: Object.freeze(subtle), body, join, data: blobData };
})
