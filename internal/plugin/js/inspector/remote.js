// SPDX-License-Identifier: Apache-2.0
//
// Describes values of a plugin for a debugger. It runs in the engine of the plugin before the plugin, and takes what it
// needs of the language then. Also makes functions print as their author wrote them.
(function () {
  'use strict';
  const { Object, Reflect, Array, Map, Set, WeakMap, WeakSet, Date, RegExp, Error, Promise, ArrayBuffer, Symbol, String, JSON, Number, Function } = globalThis;
  const call = (f, self, ...args) => Reflect.apply(f, self, args);
  const toString = Function.prototype.toString, symbolText = Symbol.prototype.toString;
  const regexpText = RegExp.prototype.toString, dateText = Date.prototype.toISOString, dateValue = Date.prototype.getTime;
  const mapSize = Reflect.getOwnPropertyDescriptor(Map.prototype, 'size').get, setSize = Reflect.getOwnPropertyDescriptor(Set.prototype, 'size').get;
  const mapEntries = Map.prototype.entries, setValues = Set.prototype.values;
  const replace = String.prototype.replace;
  const inserted = /\/\*\uE0D1\*\/[^]*?(?:\/\*\uE0D2\*\/|$)/g;

  const original = { toString() { return this === original ? 'function toString() {\n    [native code]\n}' : call(replace, call(toString, this), inserted, ''); } }.toString;
  Object.defineProperty(Function.prototype, 'toString', { value: original, writable: true, configurable: true });

  const quiet = (f, otherwise) => { try { return f(); } catch { return otherwise; } };
  const className = (v) => quiet(() => {
    for (let p = v; p !== null; p = Reflect.getPrototypeOf(p)) {
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
    if (Array.isArray(v)) return 'array';
    if (ArrayBuffer.isView(v)) return isa(v, globalThis.DataView) ? 'dataview' : 'typedarray';
    for (const [c, n] of [[RegExp, 'regexp'], [Date, 'date'], [Map, 'map'], [Set, 'set'], [WeakMap, 'weakmap'], [WeakSet, 'weakset'],
      [Error, 'error'], [Promise, 'promise'], [ArrayBuffer, 'arraybuffer']]) if (isa(v, c)) return n;
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
      case 'map': return `${name}(${call(mapSize, v)})`;
      case 'set': return `${name}(${call(setSize, v)})`;
      case 'error': {
        const head = String(v), stack = data(v, 'stack');
        return typeof stack === 'string' && stack ? head + '\n' + stack.trimEnd() : head;
      }
    }
    return name;
  }, name);

  // Evaluates code with the variables that a function of the instrumented code knows: those that the code names are read
  // before and written after. Nothing of the plugin runs but the code.
  const words = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu, match = String.prototype.match;
  const look = (access, code) => {
    if (access('', 3)) return access(code, 4);
    const names = [], values = [];
    for (const n of new Set(call(match, code, words) ?? [])) {
      if (n === 'this' || n === 'eval' || !access(n, 2)) continue;
      const found = quiet(() => [access(n, 0)], undefined); // A variable that is not initialised yet is not there.
      if (found) { names.push(n); values.push(found[0]); }
    }
    const run = Function('__app_code', '__app_back', ...names, `try{return eval(__app_code)}finally{__app_back(${names.join()})}`);
    const back = (...now) => { for (let i = 0; i < now.length; i++) if (!Object.is(now[i], values[i])) access(names[i], 1, now[i]); };
    return call(run, quiet(() => access('this', 0), undefined), code, back, ...values);
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
    return v === null ? { type: 'object', subtype: 'null', value: null } : undefined;
  };
  const remote = (v) => {
    const p = primitive(v);
    if (p) return p;
    if (typeof v === 'function') return { type: 'function', className: className(v), description: quiet(() => call(original, v), 'function') };
    const kind = subtype(v), name = className(v);
    return { type: 'object', subtype: kind, className: name, description: describe(v, kind, name) };
  };

  const short = (s) => (s.length > 100 ? s.slice(0, 100) + '…' : s);
  const previewOf = (name, v) => {
    const r = remote(v);
    const value = r.type === 'string' ? short(r.value) : r.type === 'function' ? '' : short(String(r.description ?? r.value ?? r.unserializableValue ?? r.type));
    return { name, type: r.type, subtype: r.subtype, value };
  };
  const preview = (v) => {
    const r = remote(v);
    const p = { type: r.type, subtype: r.subtype, description: short(r.description ?? ''), overflow: false, properties: [] };
    const limit = r.subtype === 'array' || r.subtype === 'typedarray' ? 100 : 5;
    quiet(() => {
      for (const key of Reflect.ownKeys(v)) {
        const d = Reflect.getOwnPropertyDescriptor(v, key);
        if (!d || !d.enumerable) continue;
        if (p.properties.length >= limit) { p.overflow = true; break; }
        const name = typeof key === 'symbol' ? call(symbolText, key) : key;
        p.properties.push('value' in d ? previewOf(name, d.value) : { name, type: 'accessor', value: '' });
      }
      const entries = r.subtype === 'map' ? call(mapEntries, v) : r.subtype === 'set' ? call(setValues, v) : undefined;
      if (entries) {
        p.entries = [];
        for (const e of entries) {
          if (p.entries.length >= 5) { p.overflow = true; break; }
          const { name: _, ...value } = previewOf('', r.subtype === 'map' ? e[1] : e);
          const entry = { value: { ...value, description: value.value, overflow: false, properties: [] } };
          if (r.subtype === 'map') {
            const { name: __, ...k } = previewOf('', e[0]);
            entry.key = { ...k, description: k.value, overflow: false, properties: [] };
          }
          p.entries.push(entry);
        }
      }
    });
    return p;
  };

  // Each property is its name, its flags, and its values: value, get, set, symbol.
  const properties = (v, own, accessorsOnly) => {
    const list = [], seen = new Set();
    for (let o = v, isOwn = true; o !== null && (isOwn || !own); o = Reflect.getPrototypeOf(o), isOwn = false) {
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
    const list = [];
    const proto = Reflect.getPrototypeOf(v);
    if (proto !== null) list.push(['[[Prototype]]', proto]);
    const kind = subtype(v);
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
    json: (v) => JSON.stringify(v),
    unserializable: (s) => (s.endsWith('n') ? globalThis.BigInt(s.slice(0, -1)) : Number(s)),
  };
});
