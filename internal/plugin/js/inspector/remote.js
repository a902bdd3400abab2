// SPDX-License-Identifier: Apache-2.0
//
// Describes values of a plugin to a debugger. kindOf returns what only the engine knows about an
// object, insideOf its internal contents; read and write access the variables of instrumented code.
// It runs in the engine of the plugin before the plugin, and captures the built-ins that it needs
// then. It also makes functions print their original source.
(function (kindOf, insideOf, read, write) {
  'use strict';
  const { Object, Reflect, Array, Map, Set, WeakMap, WeakSet, Date, RegExp, Error, Promise, ArrayBuffer, Symbol, String, JSON, Number, Function, ReferenceError, TypeError } = globalThis;
  const call = (f, self, ...args) => Reflect.apply(f, self, args);
  const toString = Function.prototype.toString, symbolText = Symbol.prototype.toString;
  const regexpText = RegExp.prototype.toString, dateText = Date.prototype.toString, dateValue = Date.prototype.getTime;
  const mapSize = Reflect.getOwnPropertyDescriptor(Map.prototype, 'size').get, setSize = Reflect.getOwnPropertyDescriptor(Set.prototype, 'size').get;
  const mapEntries = Map.prototype.entries, setValues = Set.prototype.values;
  const replace = String.prototype.replace;
  const inserted = /\v\f[^]*?(?:\f\v|$)/g;

  const original = { toString() { return this === original ? 'function toString() {\n    [native code]\n}' : call(replace, call(toString, this), inserted, ''); } }.toString;
  Object.defineProperty(Function.prototype, 'toString', { value: original, writable: true, configurable: true });

  const quiet = (f, otherwise) => { try { return f(); } catch { return otherwise; } };
  const className = (v) => quiet(() => {
    for (let p = v; p !== null && kindOf(p) !== 'proxy'; p = Reflect.getPrototypeOf(p)) {
      const d = Reflect.getOwnPropertyDescriptor(p, 'constructor');
      if (d && typeof d.value === 'function') {
        const n = Reflect.getOwnPropertyDescriptor(d.value, 'name');
        if (n && typeof n.value === 'string' && n.value) return n.value;
      }
    }
    return 'Object';
  }, 'Object');
  const isa = (v, c) => quiet(() => v instanceof c, false);
  const subtype = (v) => {
    const known = kindOf(v);
    if (known) return known;
    if (Array.isArray(v)) return 'array';
    if (ArrayBuffer.isView(v)) return isa(v, globalThis.DataView) ? 'dataview' : 'typedarray';
    for (const [c, n] of [[RegExp, 'regexp'], [Date, 'date'], [Map, 'map'], [Set, 'set'], [WeakMap, 'weakmap'], [WeakSet, 'weakset'],
      [Error, 'error'], [ArrayBuffer, 'arraybuffer']]) if (isa(v, c)) return n;
    return undefined;
  };
  const data = (v, key) => quiet(() => { const d = Reflect.getOwnPropertyDescriptor(v, key); return d && d.value; }, undefined);
  const describe = (v, kind, name) => quiet(() => {
    switch (kind) {
      case 'array': return `${name}(${data(v, 'length')})`;
      case 'typedarray': return `${name}(${v.length})`;
      case 'arraybuffer': return `${name}(${v.byteLength})`;
      case 'regexp': return call(regexpText, v);
      case 'date': return Number.isNaN(call(dateValue, v)) ? 'Invalid Date' : call(dateText, v);
      case 'dataview': return `${name}(${v.byteLength})`;
      case 'proxy': return `Proxy(${name})`;
      case 'map': return `${name}(${call(mapSize, v)})`;
      case 'set': return `${name}(${call(setSize, v)})`;
      case 'error': {
        const head = String(v), stack = data(v, 'stack');
        return typeof stack === 'string' && stack ? head + '\n' + stack.trimEnd() : head;
      }
    }
    return name;
  }, name);

  // Evaluates code with the variables that an accessor names: those that occur in the code are read
  // before and written after. No code of the plugin runs except by the evaluation. An uninitialised
  // variable does not exist.
  const words = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu, match = String.prototype.match;
  const look = (access, code) => {
    const names = [], values = [];
    for (const n of new Set(call(match, code, words) ?? [])) {
      const found = n === 'this' || n === 'eval' ? undefined : read(access, n);
      if (found) { names.push(n); values.push(found[0]); }
    }
    const run = Function('__app_code', '__app_back', ...names, `try{return eval(__app_code)}finally{__app_back(${names.join()})}`);
    const back = (...now) => { for (let i = 0; i < now.length; i++) if (!Object.is(now[i], values[i])) write(access, names[i], now[i]); };
    return call(run, read(access, 'this')?.[0], code, back, ...values);
  };

  const primitive = (v) => {
    const type = typeof v;
    switch (type) {
      case 'number':
        if (Number.isFinite(v) && !Object.is(v, -0)) return { type, value: v, description: String(v) };
        return { type, unserializableValue: Object.is(v, -0) ? '-0' : String(v), description: Object.is(v, -0) ? '-0' : String(v) };
      case 'bigint': return { type, unserializableValue: String(v) + 'n', description: String(v) + 'n' };
      case 'string': case 'boolean': return { type, value: v };
      case 'undefined': return { type };
      case 'symbol': return { type, description: call(symbolText, v) };
    }
    return v === null ? { type: 'object', subtype: 'null', value: null, description: undefined } : undefined;
  };
  const remote = (v) => {
    const p = primitive(v);
    if (p) return p;
    if (typeof v === 'function') return { type: 'function', className: className(v), description: quiet(() => call(original, v), 'function') };
    const kind = subtype(v), name = kind === 'generator' ? 'Generator' : className(kind === 'proxy' ? insideOf(v)[0] ?? {} : v);
    return { type: 'object', subtype: kind, className: name, description: describe(v, kind, name) };
  };

  const short = (s) => (s.length > 100 ? s.slice(0, 100) + '…' : s);
  const previewOf = (name, v) => {
    const r = remote(v);
    const value = r.type === 'string' ? short(r.value) : r.type === 'function' ? '' : short(String(r.description ?? (r.type === 'undefined' ? 'undefined' : r.subtype === 'null' ? 'null' : r.value) ?? r.unserializableValue));
    return { name, type: r.type, subtype: r.subtype, value };
  };
  const entryOf = ({ name: _, value, ...rest }) => ({ ...rest, description: value, overflow: false, properties: [] });
  // Properties of the prototype that are displayed like own properties, by kind of object.
  const told = {
    map: [[Map.prototype, 'size']], set: [[Set.prototype, 'size']],
    regexp: ['dotAll', 'flags', 'global', 'hasIndices', 'ignoreCase'].map((n) => [RegExp.prototype, n]),
    arraybuffer: ['byteLength', 'maxByteLength', 'resizable'].map((n) => [ArrayBuffer.prototype, n]),
    dataview: ['buffer', 'byteLength', 'byteOffset'].map((n) => [globalThis.DataView.prototype, n]),
    typedarray: ['buffer', 'byteLength', 'byteOffset', 'length', Symbol.toStringTag].map((n) => [Reflect.getPrototypeOf(globalThis.Uint8Array.prototype), n]),
  };
  const getters = new Map();
  for (const list of Object.values(told)) {
    for (const p of list) getters.set(p, Reflect.getOwnPropertyDescriptor(p[0], p[1])?.get);
  }
  const preview = (v) => {
    const r = remote(v);
    const p = { type: r.type, subtype: r.subtype, description: short(r.description ?? ''), overflow: false, properties: [] };
    const limit = r.subtype === 'array' || r.subtype === 'typedarray' ? 100 : 5;
    const add = (entry) => {
      if (p.properties.length >= limit) p.overflow = true;
      else p.properties.push(entry);
      return !p.overflow;
    };
    quiet(() => {
      const inside = r.subtype === 'promise' || r.subtype === 'proxy' ? insideOf(v) : undefined;
      if (r.subtype === 'promise') {
        add(previewOf('[[PromiseState]]', inside[0]));
        add(previewOf('[[PromiseResult]]', inside[1]));
      }
      const own = r.subtype === 'proxy' ? inside[0] : v;
      if (typeof own !== 'object' || own === null || kindOf(own) === 'proxy') return;
      if (r.subtype === 'regexp') add(previewOf('lastIndex', data(own, 'lastIndex')));
      for (const key of Reflect.ownKeys(own)) {
        const d = Reflect.getOwnPropertyDescriptor(own, key);
        if (!d || !d.enumerable) continue;
        const name = typeof key === 'symbol' ? call(symbolText, key) : key;
        if (!add('value' in d ? previewOf(name, d.value) : { name, type: 'accessor', value: '' })) break;
      }
      for (const t of told[r.subtype] ?? []) {
        const get = getters.get(t);
        if (get) add(previewOf(typeof t[1] === 'symbol' ? call(symbolText, t[1]) : t[1], call(get, v)));
      }
      const entries = r.subtype === 'map' ? call(mapEntries, v) : r.subtype === 'set' ? call(setValues, v) : undefined;
      if (entries) {
        p.entries = [];
        for (const e of entries) {
          if (p.entries.length >= 5) { p.overflow = true; break; }
          const entry = { value: entryOf(previewOf('', r.subtype === 'map' ? e[1] : e)) };
          if (r.subtype === 'map') entry.key = entryOf(previewOf('', e[0]));
          p.entries.push(entry);
        }
      }
    });
    return p;
  };

  // Each property is its name, its flags, and its values: value, get, set, symbol.
  const properties = (v, own, accessorsOnly) => {
    const list = [], seen = new Set();
    // The properties of a proxy are those of its target: to query it would run code of the plugin.
    for (let o = kindOf(v) === 'proxy' ? insideOf(v)[0] ?? {} : v, isOwn = true; o !== null && (isOwn || !own); o = Reflect.getPrototypeOf(o), isOwn = false) {
      if (kindOf(o) === 'proxy') break;
      for (const key of Reflect.ownKeys(o)) {
        if (seen.has(key)) continue;
        seen.add(key);
        const d = Reflect.getOwnPropertyDescriptor(o, key);
        if (!d || (accessorsOnly && 'value' in d)) continue;
        list.push([
          JSON.stringify({
            name: typeof key === 'symbol' ? call(symbolText, key) : key, writable: d.writable, configurable: d.configurable, enumerable: d.enumerable, isOwn,
          }), 'value' in d, d.value, d.get, d.set, typeof key === 'symbol' ? key : undefined,
        ]);
      }
    }
    return list;
  };
  const internals = (v) => {
    const list = [], kind = subtype(v);
    if (kind === 'proxy') {
      const [target, handler] = insideOf(v);
      return [['[[Handler]]', handler ?? null], ['[[Target]]', target ?? null], ['[[IsRevoked]]', handler === undefined]];
    }
    const proto = Reflect.getPrototypeOf(v);
    if (proto !== null) list.push(['[[Prototype]]', proto]);
    if (kind === 'promise') {
      const [state, result] = insideOf(v);
      list.push(['[[PromiseState]]', state], ['[[PromiseResult]]', result]);
    }
    if (kind === 'map') list.push(['[[Entries]]', [...call(mapEntries, v)].map(([key, value]) => ({ key, value }))]);
    if (kind === 'set') list.push(['[[Entries]]', [...call(setValues, v)]]);
    return list;
  };

  return {
    remote: (v, withPreview) => {
      const r = remote(v);
      if (withPreview && r.type === 'object' && v !== null) r.preview = preview(v);
      return JSON.stringify(r);
    },
    isObject: (v) => (typeof v === 'object' && v !== null) || typeof v === 'function' || typeof v === 'symbol',
    properties, internals, look,
    assign: (name, value) => Function('__app_value', `${name}=__app_value`)(value),
    uninitialised: (name) => { throw new ReferenceError(`${name} is not initialized`); },
    constant: (name) => { throw new TypeError(`'${name}' is read-only`); },
    json: (v) => JSON.stringify(v),
    property: (name, v) => JSON.stringify(previewOf(name, v)),
    unserializable: (s) => (s.endsWith('n') ? globalThis.BigInt(s.slice(0, -1)) : Number(s)),
  };
});
