// SPDX-License-Identifier: Apache-2.0
//
// The module 'app:test' for tests of plugins, and their runner. It is bundled before each test
// file.

const host = globalThis.__app_functions;
delete globalThis.__app_functions;
const { api, storage } = app;
const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;

// Formatting values.

const show = (value, depth = 4) => {
  const seen = new Set();
  const text = (v, left) => {
    switch (typeof v) {
      case 'string': return JSON.stringify(v);
      case 'bigint': return `${v}n`;
      case 'function': return v.name ? `function ${v.name}` : 'function';
      case 'symbol': case 'undefined': case 'boolean': return String(v);
      case 'number': return Object.is(v, -0) ? '-0' : String(v);
      default:
    }
    if (v === null) return 'null';
    if (v instanceof Error) return `${v.name}: ${v.message}`;
    if (v instanceof Date) return Number.isNaN(v.getTime()) ? 'Invalid Date' : `Date ${v.toISOString()}`;
    if (v instanceof RegExp) return String(v);
    if (seen.has(v)) return '(itself)';
    if (left === 0) return Array.isArray(v) ? '[…]' : '{…}';
    seen.add(v);
    const list = (begin, items, end) => (items.length ? `${begin}${items.join(', ')}${end}` : begin.trimEnd() + end.trimStart());
    try {
      if (Array.isArray(v) || ArrayBuffer.isView(v) && !(v instanceof DataView)) {
        const items = [...v].slice(0, 100).map((x) => text(x, left - 1));
        if (v.length > 100) items.push(`… ${v.length - 100} more`);
        return list(Array.isArray(v) ? '[' : `${v.constructor.name} [`, items, ']');
      }
      if (v instanceof Map) return list('Map { ', [...v].map(([k, x]) => `${text(k, left - 1)} => ${text(x, left - 1)}`), ' }');
      if (v instanceof Set) return list('Set { ', [...v].map((x) => text(x, left - 1)), ' }');
      const name = Object.getPrototypeOf(v)?.constructor?.name;
      const key = (k) => (/^[A-Za-z_$][\w$]*$/.test(k) ? k : JSON.stringify(k));
      return list(`${name && name !== 'Object' ? `${name} ` : ''}{ `, Object.keys(v).map((k) => `${key(k)}: ${text(v[k], left - 1)}`), ' }');
    } finally {
      seen.delete(v);
    }
  };
  return text(value, depth);
};

// Assertions.

class AssertionError extends Error {
  constructor(message) {
    super(message);
    Object.defineProperty(this, 'name', { value: 'AssertionError', configurable: true });
  }
}

/** difference returns where and how two values differ, undefined if they are equal. */
const difference = (a, b, path = '', pairs = new Map()) => {
  if (Object.is(a, b)) return undefined;
  const differ = (why) => ({ path, why: why ?? `${show(a)} is not ${show(b)}` });
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return differ();
  if (pairs.get(a) === b) return undefined; // Already being compared.
  pairs.set(a, b);
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return differ();
  if (a instanceof Date) return Object.is(a.getTime(), b.getTime()) ? undefined : differ();
  if (a instanceof RegExp) return String(a) === String(b) && a.lastIndex === b.lastIndex ? undefined : differ();
  if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return differ();
  if (a instanceof ArrayBuffer) return difference(new Uint8Array(a), new Uint8Array(b), path, pairs);
  if (a instanceof DataView) return difference(new Uint8Array(a.buffer, a.byteOffset, a.byteLength), new Uint8Array(b.buffer, b.byteOffset, b.byteLength), path, pairs);
  if (a instanceof Number || a instanceof String || a instanceof Boolean || a instanceof BigInt) return Object.is(a.valueOf(), b.valueOf()) ? undefined : differ();
  if (a instanceof Set) {
    if (a.size !== b.size) return differ(`it has ${a.size} elements, not ${b.size}`);
    const rest = [...b];
    for (const x of a) {
      const i = rest.findIndex((y) => !difference(x, y));
      if (i < 0) return differ(`${show(x)} is not expected in it`);
      rest.splice(i, 1);
    }
    return undefined;
  }
  if (a instanceof Map) {
    if (a.size !== b.size) return differ(`it has ${a.size} entries, not ${b.size}`);
    for (const [k, x] of a) {
      const there = b.has(k) ? [b.get(k)] : [...b].filter(([other]) => !difference(k, other)).map(([, y]) => y);
      if (!there.length) return differ(`the key ${show(k)} is not expected in it`);
      const d = difference(x, there[0], `${path}.get(${show(k)})`, pairs);
      if (d) return d;
    }
    return undefined;
  }
  if ((Array.isArray(a) || ArrayBuffer.isView(a)) && a.length !== b.length) return differ(`it has ${a.length} elements, not ${b.length}: ${show(a)}`);
  for (const k of Reflect.ownKeys(a)) {
    if (!Object.prototype.propertyIsEnumerable.call(a, k)) continue;
    const at = Array.isArray(a) || ArrayBuffer.isView(a) ? `${path}[${String(k)}]` : `${path}.${String(k)}`;
    if (!Object.hasOwn(b, k)) return { path: at, why: `${show(a[k])} is not expected` };
    const d = difference(a[k], b[k], at, pairs);
    if (d) return d;
  }
  for (const k of Reflect.ownKeys(b)) {
    if (Object.prototype.propertyIsEnumerable.call(b, k) && !Object.hasOwn(a, k)) return { path: `${path}.${String(k)}`, why: `${show(b[k])} is missing` };
  }
  return undefined;
};

const fail = (message, fallback) => { throw message instanceof Error ? message : new AssertionError(message === undefined ? fallback : `${message}: ${fallback}`); };

/**
 * matches fails unless an error is as expected: a class, a pattern of its message, or properties.
 */
const matches = (error, expected, message) => {
  if (expected === undefined) return;
  if (expected instanceof RegExp) {
    const text = error instanceof Error ? error.message : String(error);
    if (!expected.test(text)) fail(message, `the error ${show(error)} does not match ${expected}`);
  } else if (typeof expected === 'function') {
    if (!(error instanceof expected)) fail(message, `the error ${show(error)} is not of the class ${expected.name}`);
  } else if (typeof expected === 'object' && expected !== null) {
    for (const [k, v] of Object.entries(expected)) {
      const d = v instanceof RegExp && typeof error?.[k] === 'string' ? (v.test(error[k]) ? undefined : { path: '', why: `${show(error[k])} does not match ${v}` }) : difference(error?.[k], v);
      if (d) fail(message, `the error ${show(error)} has another ${k}${d.path}: ${d.why}`);
    }
  } else throw new TypeError('the expected error must be a class, a regular expression or an object with properties');
};

const assert = (value, message) => assert.ok(value, message);
Object.assign(assert, {
  AssertionError,
  ok(value, message) { if (!value) fail(message, `${show(value)} is not true`); },
  equal(actual, expected, message) { if (!Object.is(actual, expected)) fail(message, `${show(actual)} is not ${show(expected)}`); },
  notEqual(actual, expected, message) { if (Object.is(actual, expected)) fail(message, `both are ${show(actual)}`); },
  deepEqual(actual, expected, message) {
    const d = difference(actual, expected);
    if (d) fail(message, d.path ? `the values differ at ${d.path.replace(/^\./, '')}: ${d.why}\n  actual:   ${show(actual)}\n  expected: ${show(expected)}` : d.why);
  },
  notDeepEqual(actual, expected, message) { if (!difference(actual, expected)) fail(message, `both are ${show(actual)}`); },
  match(text, pattern, message) {
    if (typeof text !== 'string') fail(message, `${show(text)} is not a string`);
    if (!pattern.test(text)) fail(message, `${show(text)} does not match ${pattern}`);
  },
  doesNotMatch(text, pattern, message) { if (typeof text !== 'string' || pattern.test(text)) fail(message, `${show(text)} must not match ${pattern}`); },
  throws(f, expected, message) {
    if (typeof f !== 'function') throw new TypeError('assert.throws: the first parameter must be a function');
    let error, value;
    try { value = f(); } catch (e) { error = [e]; }
    if (!error && typeof value?.then === 'function') {
      value.then(() => {}, () => {});
      fail(message, 'the function returned a promise: use await assert.rejects');
    }
    if (!error) fail(message, 'the function threw nothing');
    matches(error[0], expected, message);
    return error[0];
  },
  async rejects(promise, expected, message) {
    let error, value;
    try { value = await (typeof promise === 'function' ? promise() : promise); } catch (e) { error = [e]; }
    if (!error) fail(message, `the promise was not rejected: it is ${show(value)}`);
    matches(error[0], expected, message);
    return error[0];
  },
  fail(message = 'failed') { fail(message instanceof Error ? message : undefined, String(message)); },
});
Object.freeze(assert);

// Declarations.

const tests = [];
let group = { name: '', before: [], after: [], parent: null };
let running = null; // The running test.
let declared = false; // Whether the file was evaluated to its end.

const declare = (skip) => (name, f) => {
  if (typeof name !== 'string' || name.trim() === '') throw new TypeError('test: the first parameter must be the name of the test');
  if (!skip && typeof f !== 'function') throw new TypeError(`test "${name}": the second parameter must be a function`);
  if (declared) throw new Error(`test "${name}": tests are declared at the top level of the file or in describe, not by tests`);
  const full = group.name ? `${group.name} > ${name}` : name;
  if (tests.some((t) => t.name === full)) throw new Error(`test "${full}" is declared twice: names must differ`);
  tests.push({ name: full, f, skip, group });
};
const test = declare(false);
test.skip = declare(true);

const describe = (name, f) => {
  if (typeof name !== 'string' || typeof f !== 'function') throw new TypeError('describe: the parameters must be a name and a function');
  if (declared) throw new Error(`describe "${name}": groups are declared at the top level of the file`);
  const outer = group;
  group = { name: outer.name ? `${outer.name} > ${name}` : name, before: [], after: [], parent: outer };
  try {
    if (typeof f()?.then === 'function') throw new TypeError(`describe "${name}": the function must not be async`);
  } finally {
    group = outer;
  }
};
const hook = (list, name) => (f) => {
  if (typeof f !== 'function') throw new TypeError(`${name}: the parameter must be a function`);
  if (declared) throw new Error(`${name} must be called at the top level of the file or in describe`);
  group[list].push(f);
};
const beforeEach = hook('before', 'beforeEach'), afterEach = hook('after', 'afterEach');

// Timers of tests are tracked, because a remaining one would fire during another test.

const counted = (set, once) => (f, ms, ...args) => {
  const owner = running;
  const id = set((...a) => { if (once) owner?.timers.delete(id); f(...a); }, ms, ...args);
  owner?.timers.add(id);
  return id;
};
const uncounted = (clear) => (id) => { running?.timers.delete(id); clear(id); };
Object.assign(globalThis, {
  setTimeout: counted(setTimeout, true), setInterval: counted(setInterval, false), clearTimeout: uncounted(clearTimeout), clearInterval: uncounted(clearInterval),
});
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** until polls a condition, which may be async, and returns its first truthy result. */
const until = async (condition, { within = limit * 2 / 3, what = 'the condition' } = {}) => {
  for (const end = Date.now() + within; ;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new AssertionError(`${what} did not hold within ${within} ms`);
    await pause(5);
  }
};
let limit = 30000;

// Servers.

/** at adds the caller's stack to an error of the server: a promise of the host has no stack. */
const at = (here, promise) => promise.catch((e) => {
  if (e instanceof Error && !(e instanceof AssertionError)) Object.defineProperty(e, 'stack', { value: here.stack, writable: true, configurable: true });
  throw e;
});

const textOf = (bytes) => new TextDecoder().decode(bytes);
const isObject = (v) => typeof v === 'object' && v !== null;

class Client {
  #id; #inbox = []; #seen = 0;
  constructor(id, userId) {
    this.#id = id;
    this.userId = userId;
  }
  async request(request) {
    if (!isObject(request)) throw new TypeError('request: the parameter must be an object with the request, as { createMessageRequest: { … } }');
    return at(new Error(), host.request(this.#id, request));
  }
  async #more(wait) {
    const more = await host.notifications(this.#id, this.#seen, wait);
    this.#seen += more.length;
    this.#inbox.push(...more);
    return more.length > 0;
  }
  async notification(match = () => true, { within = limit * 2 / 3 } = {}) {
    for (const end = Date.now() + within; ;) {
      const i = this.#inbox.findIndex((n) => match(n));
      if (i >= 0) return this.#inbox.splice(i, 1)[0];
      const left = end - Date.now();
      if (left <= 0 || !(await this.#more(left)) && left < 10) {
        const got = this.#inbox.length ? `; there is ${this.#inbox.map((n) => show(n)).join(', ')}` : '';
        throw new AssertionError(`user ${this.userId} got no such notification within ${within} ms${got}`);
      }
    }
  }
  async message(options) {
    const n = await this.notification((x) => x.relayedRequest?.createMessageRequest, options);
    return n.relayedRequest.createMessageRequest;
  }
  async notifications() { await this.#more(0); return this.#inbox.splice(0); }
  async close() { await host.disconnect(this.#id); }
}

class Clock {
  async now() { return new Date(await host.now()); }
  async advance(ms) {
    if (typeof ms !== 'number' || !(ms >= 0)) throw new TypeError('clock.advance: the parameter must be a number of milliseconds, 0 or more');
    await at(new Error(), host.advance(ms));
  }
}

const statusOf = (answer) => (typeof answer === 'number' ? { status: answer } : answer);
const escape = (s) => s.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

class Http {
  #answers = [];
  requests = [];
  constructor(answers) { for (const [request, answer] of Object.entries(answers)) this.answer(request, answer); }
  answer(request, answer) {
    const m = /^(?:([A-Z]+) )?(https?:\/\/.+)$/.exec(request);
    if (!m) throw new TypeError(`the request "${request}" must be a URL, with a method before it or not, as 'POST https://example.org/*'`);
    const list = Array.isArray(answer) ? [...answer] : [answer];
    if (!list.length || list.some((a) => typeof a !== 'number' && typeof a !== 'function' && !isObject(a))) {
      throw new TypeError(`the answer to "${request}" must be a status, an object, a function, or an array of them`);
    }
    this.#answers.unshift({ request, method: m[1], url: new RegExp(`^${m[2].split('*').map(escape).join('.*')}$`), list });
  }
  /** take responds to a request of the plugin. */
  async take({ id, method, url, headers, body }) {
    const bytes = Uint8Array.from(atob(body), (c) => c.charCodeAt(0));
    const request = { method, url, headers, body: textOf(bytes), bytes, json() { return JSON.parse(this.body); } };
    this.requests.push(request);
    let answer;
    try {
      answer = await this.#respond(id, request);
    } catch (e) {
      answer = { problem: `the answer to ${method} ${url} failed: ${e instanceof Error ? `${e.message}\n${e.stack}` : show(e)}` };
    }
    await host.answer(id, answer);
  }
  async #respond(id, request) {
    const known = this.#answers.find((a) => (!a.method || a.method === request.method) && a.url.test(request.url));
    if (!known) {
      const declared = this.#answers.length ? `answers are declared for ${this.#answers.map((a) => a.request).join(', ')}` : 'no answer is declared: use start({ answers }) or server.http.answer()';
      return { problem: `unexpected request ${request.method} ${request.url}; ${declared}` };
    }
    let answer = known.list.length > 1 ? known.list.shift() : known.list[0];
    if (typeof answer === 'function') {
      answer = answer(request);
      if (typeof answer?.then === 'function') { await host.hold(id); answer = await answer; }
    }
    const { status = 200, headers = {}, json, text, bytes, error } = statusOf(answer ?? {});
    if (error !== undefined) return { error: String(error) };
    const all = json === undefined ? { ...headers } : { 'content-type': 'application/json', ...headers };
    const body = json !== undefined ? new TextEncoder().encode(JSON.stringify(json)) : bytes ?? new TextEncoder().encode(text ?? '');
    return { status, headers: Object.entries(all).map(([k, v]) => [k, String(v)]), body };
  }
}

// serve passes the requests of plugins to the test's server, as long as the file runs.
let served;
const serve = async () => {
  for (;;) {
    const r = await host.nextRequest();
    if (!r) return;
    served.take(r);
  }
};
let serving;

class Server {
  constructor(info, http) {
    this.plugin = info;
    this.http = http;
    this.clock = new Clock();
    this.api = api;
    this.storage = storage;
  }
  async createUser({ password = 'secret', ...user } = {}) {
    const { id } = await at(new Error(), api.users.create({ body: { ...user, password } }));
    return id;
  }
  async login({ userId, ...login }) { return new Client(await at(new Error(), host.login({ ...login, userId: String(userId) })), String(userId)); }
  user({ password = 'secret', deviceType, ...user } = {}) {
    const make = async () => this.login({ userId: await this.createUser({ ...user, password }), password, deviceType });
    return at(new Error(), make());
  }
  async call(point, method, ...args) {
    const f = host[`${point}.${method}`];
    if (!f) throw new TypeError(`there is no extension point ${point} with a method ${method}`);
    return at(new Error(), f(...args));
  }
  async admin(method, path, body) {
    if (typeof path !== 'string' || !path.startsWith('/')) throw new TypeError("admin: the parameters must be a method and a path, as 'GET' and '/users?ids=1'");
    const answer = await at(new Error(), host.admin({ method: String(method), path, body }));
    return { ...answer, json() { return JSON.parse(this.body); } };
  }
  async logs() { return host.logs(); }
  async notifications() { return host.sent(); }
  async apiCalls() { return host.apiCalls(); }
  async stop() { await host.stop(); }
}

const start = async ({ plugin = '', properties = {}, answers = {}, now } = {}) => {
  if (!running) throw new Error('start() must be called in a test or in beforeEach');
  const http = new Http(answers), here = new Error();
  const time = now === undefined ? '' : new Date(now).toISOString();
  served = http;
  serving ??= serve();
  return new Server(await at(here, host.start({ plugin, properties, now: time })), http);
};

// Running a test.

const failures = (errors) => {
  if (errors.length === 0) return;
  let [first] = errors;
  if (!(first instanceof Error)) first = new Error(`${show(first)} was thrown, which is not an Error`);
  else if (first instanceof AppError) {
    const { stack } = first;
    first = new Error(`AppError ${first.codeName}: ${first.reason}`);
    Object.defineProperty(first, 'stack', { value: stack });
  }
  throw first;
};

class TestRunner extends AppExtension {
  getExtensionPoints() { return ['TestRunner']; }
  list(timeout) {
    declared = true;
    limit = timeout;
    return tests.map(({ name, skip }) => ({ name, skip }));
  }
  async run(i) {
    const { f, group: inner } = tests[i];
    const groups = [];
    for (let g = inner; g; g = g.parent) groups.unshift(g);
    const self = { timers: new Set() }, errors = [];
    running = self;
    const attempt = async (g) => { try { await g(); } catch (e) { errors.push(e); } };
    for (const g of groups.flatMap((x) => x.before)) if (!errors.length) await attempt(g);
    if (!errors.length) await attempt(f);
    for (const g of groups.reverse().flatMap((x) => x.after)) await attempt(g);
    const left = self.timers.size;
    for (const id of self.timers) clearTimeout(id);
    if (running === self) running = null;
    if (left && !errors.length) errors.push(new AssertionError(`the test left ${left === 1 ? 'a timer' : `${left} timers`} running: clear timers, and await what takes time`));
    failures(errors);
  }
}

export { test, describe, beforeEach, afterEach, assert, start, until };
export default class extends AppPlugin {
  getDescriptor() { return { id: 'app-test' }; }

  getExtensions() { return [TestRunner]; }
}
