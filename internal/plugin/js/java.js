// SPDX-License-Identifier: Apache-2.0
//
// The global Java, on top of the functions of the host. It runs when a plugin uses that name for
// the first time.
(function (host) {
  'use strict';
  const { Object, Reflect, Symbol, Proxy, Map, Set, Number, String, TypeError, Error, Array, Function } = globalThis;
  const isArray = Array.isArray;
  const hidden = (object, key, value) => Object.defineProperty(object, key, { value, configurable: true });

  // Methods are found by their names and called on what they are called on, so that one function
  // serves all classes.

  const methods = new Map();
  const method = (name) => {
    let f = methods.get(name);
    if (f === undefined) methods.set(name, f = host.method(name));
    return f;
  };

  const isIndex = (key) => typeof key === 'string' && /^(0|[1-9]\d{0,9})$/.test(key);
  const isSignature = (key) => typeof key === 'string' && key.endsWith(')') && key.includes('(');

  // What is not among the members of a class arrives here: indexes, and methods with the types of
  // their parameters.
  const base = (get, set) => new Proxy(Object.create(Object.prototype), {
    get(target, key, receiver) {
      if (get !== undefined && isIndex(key)) return get(receiver, key);
      return isSignature(key) ? method(key) : Reflect.get(target, key, receiver);
    },
    set(target, key, value, receiver) {
      if (set !== undefined && isIndex(key)) {
        set(receiver, key, value);
        return true;
      }
      throw new TypeError(`${receiver[Symbol.toStringTag] ?? 'the object'} has no field ${String(key)}`);
    },
  });
  const plainBase = base();
  const arrayBase = base((object, key) => host.get(object, key), (object, key, value) => host.set(object, key, value));
  const listBase = base((object, key) => object.get(Number(key)), (object, key, value) => object.set(Number(key), value));

  const copied = { value() { return host.copy(this)[Symbol.iterator](); }, configurable: true };
  const walk = function* (iterator) { while (iterator.hasNext()) yield iterator.next(); };

  const json = function () {
    const copy = host.copy(this);
    return copy instanceof Map ? Object.fromEntries(copy) : [...copy];
  };
  // What makes a CompletionStage something to await.
  const then = function (resolve, reject) {
    this.whenComplete((value, exception) => {
      if (exception === null) resolve(value);
      else reject(Java.isJavaObject(exception) ? caught(exception) : exception);
    });
  };
  const caught = (exception) => {
    const cause = exception instanceof Java.type('java.util.concurrent.CompletionException') ? exception.getCause() : null;
    if (cause === null) return error(exception, exception.toString(), '', '');
    return Java.isJavaObject(cause) ? error(cause, cause.toString(), '', '') : cause;
  };

  // The prototype of the objects of a class.
  const type = (name, shape, names, fields) => {
    const known = new Set(names);
    const isList = shape === 'iterable' && known.has('get') && known.has('size');
    const proto = Object.create(shape === 'array' ? arrayBase : isList ? listBase : plainBase);
    for (const m of names) hidden(proto, m, method(m));
    for (const f of fields) {
      if (known.has(f)) continue;
      Object.defineProperty(proto, f, { get() { return host.get(this, f); }, set(v) { host.set(this, f, v); }, configurable: true });
    }
    hidden(proto, Symbol.toStringTag, name);
    hidden(proto, Symbol.toPrimitive, function (hint) {
      const text = shape === 'array' ? `${name}` : this.toString();
      return hint === 'number' ? Number(text) : text;
    });
    if (shape === 'array' || shape === 'map' || shape === 'iterable' && known.has('size')) Object.defineProperty(proto, Symbol.iterator, copied);
    else if (shape === 'iterable') hidden(proto, Symbol.iterator, function () { return walk(this.iterator()); });
    else if (known.has('hasNext') && known.has('next')) hidden(proto, Symbol.iterator, function () { return walk(this); });
    if (shape === 'array') Object.defineProperty(proto, 'length', { get() { return host.get(this, 'length'); }, configurable: true });
    else if (shape === 'iterable' && known.has('size')) Object.defineProperty(proto, 'length', { get() { return this.size(); }, configurable: true });
    if (!known.has('toJSON')) hidden(proto, 'toJSON', shape === 'object' ? function () { return this.toString(); } : json);
    if (known.has('whenComplete') && known.has('toCompletableFuture')) hidden(proto, 'then', then);
    return proto;
  };

  const classBase = new Proxy(Function.prototype, {
    get: (target, key, receiver) => (isSignature(key) ? method(key).bind(receiver) : Reflect.get(target, key, receiver)),
  });

  // A class: a function that makes objects, with the static members.
  const makeClass = (handle, name, names, fields) => {
    const Class = function (...args) {
      if (new.target === undefined) throw new TypeError(`${name} is a class of Java: use new`);
      return host.construct(handle, ...args);
    };
    Object.setPrototypeOf(Class, classBase);
    hidden(Class, host.key, handle);
    hidden(Class, 'name', name);
    hidden(Class, 'toString', () => `class ${name}`);
    hidden(Class, Symbol.toPrimitive, () => `class ${name}`);
    hidden(Class, Symbol.hasInstance, (v) => host.instance(handle, v));
    Object.defineProperty(Class, 'class', { get: () => host.get(Class, 'class'), configurable: true });
    const known = new Set(names);
    for (const m of names) hidden(Class, m, method(m).bind(Class));
    for (const f of fields) {
      if (known.has(f) || f === 'prototype') continue;
      Object.defineProperty(Class, f, { get: () => host.get(Class, f), set: (v) => { host.set(Class, f, v); }, configurable: true });
    }
    return Object.preventExtensions(Class);
  };

  // What a plugin catches when Java throws.
  const error = (exception, text, location, stack) => {
    const colon = text.indexOf(': ');
    const name = colon < 0 ? text : text.slice(0, colon);
    const e = new Error(colon < 0 ? '' : text.slice(colon + 2));
    hidden(e, 'name', name);
    hidden(e, 'className', name);
    hidden(e, 'javaException', exception);
    hidden(e, 'javaStack', stack);
    hidden(e, 'javaLocation', location);
    return e;
  };

  const text = (v, what) => {
    if (typeof v !== 'string') throw new TypeError(`${what} must be a string, not ${v === null ? 'null' : typeof v}`);
    return v;
  };

  const Java = {
    type: (name) => host.type(text(name, 'Java.type: the name of the class')),
    from: (object) => {
      if (!host.isJava(object)) throw new TypeError('Java.from: an array, a collection or a map of Java is expected');
      return host.copy(object);
    },
    to: (values, type = 'java.lang.Object[]') => {
      const Class = typeof type === 'string' ? Java.type(type) : type;
      if (typeof Class !== 'function' || !host.isJava(Class)) throw new TypeError('Java.to: the type must be a class of Java or its name');
      return new Class(values);
    },
    isJavaObject: (v) => host.isJava(v),
  };

  return {
    Java: Object.freeze(Java), type, makeClass, error,
    // What becomes of an object that goes to Java: a map, or an object whose functions can be
    // called.
    isRecord: (v) => {
      const proto = Object.getPrototypeOf(v);
      if (proto !== null && proto !== Object.prototype) return false;
      for (const key of Object.keys(v)) if (typeof v[key] === 'function') return false;
      return true;
    },
    entries: (v) => (v instanceof Map ? [...v].flat() : isArray(v) ? v : [...v]),
    map: (...list) => {
      const m = new Map();
      for (let i = 0; i < list.length; i += 2) m.set(list[i], list[i + 1]);
      return m;
    },
    watch: (promise, id) => { promise.then((v) => host.settled(id, true, v), (e) => host.settled(id, false, e)); },
  };
})
