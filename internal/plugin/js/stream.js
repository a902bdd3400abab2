// SPDX-License-Identifier: Apache-2.0
//
// The streams of the web platform. It runs when a plugin asks for the first of them.
(function (host, web) {
  'use strict';
  const { Promise, TypeError, RangeError, Symbol, Number, Object, Uint8Array, ArrayBuffer, TextEncoder, TextDecoder, Math } = globalThis;
  const nothing = () => {};
  const deferred = () => {
    const d = {};
    d.promise = new Promise((resolve, reject) => { d.resolve = resolve; d.reject = reject; });
    d.promise.then(nothing, nothing); // Nobody need listen.
    return d;
  };
  const run = (f) => new Promise((resolve) => resolve(f()));
  const strategy = (s, high) => {
    const n = s?.highWaterMark === undefined ? high : Number(s.highWaterMark);
    if (!(n >= 0)) throw new RangeError('highWaterMark must be a number from 0');
    return { high: n, size: s?.size ? (chunk) => s.size(chunk) : () => 1 };
  };

  class CountQueuingStrategy {
    constructor({ highWaterMark }) { this.highWaterMark = Number(highWaterMark); }
    size() { return 1; }
  }
  class ByteLengthQueuingStrategy {
    constructor({ highWaterMark }) { this.highWaterMark = Number(highWaterMark); }
    size(chunk) { return chunk.byteLength; }
  }

  // Streams that are read. What a stream is made of is hidden from the plugin in one object.

  const released = () => new TypeError('the reader was released');
  const end = (s) => {
    s.state = 'closed';
    s.source = {};
    s.ended.resolve();
    for (const r of s.requests.splice(0)) r.resolve({ value: undefined, done: true });
  };
  const fail = (s, e) => {
    if (s.state !== 'readable') return;
    s.state = 'errored';
    s.error = e;
    s.queue = [];
    s.total = 0;
    s.source = {};
    s.ended.reject(e);
    for (const r of s.requests.splice(0)) r.reject(e);
  };
  const wanted = (s) => (s.state === 'errored' ? null : s.state === 'closed' ? 0 : s.high - s.total);
  const pull = (s) => {
    if (!s.started || s.closing || s.state !== 'readable' || (s.requests.length === 0 && wanted(s) <= 0)) return;
    if (s.pulling) { s.again = true; return; }
    s.pulling = true;
    run(() => s.source.pull?.(s.controller)).then(() => {
      s.pulling = false;
      if (s.again) { s.again = false; pull(s); }
    }, (e) => fail(s, e));
  };
  const read = (s) => {
    s.disturbed = true;
    if (s.queue.length > 0) {
      const [value, size] = s.queue.shift();
      s.total -= size;
      if (s.closing && s.queue.length === 0) end(s);
      else pull(s);
      return Promise.resolve({ value, done: false });
    }
    if (s.state === 'closed') return Promise.resolve({ value: undefined, done: true });
    if (s.state === 'errored') return Promise.reject(s.error);
    const d = deferred();
    s.requests.push(d);
    pull(s);
    return d.promise;
  };
  const cancel = (s, reason) => {
    s.disturbed = true;
    if (s.state === 'closed') return Promise.resolve();
    if (s.state === 'errored') return Promise.reject(s.error);
    const { source } = s;
    s.queue = [];
    s.total = 0;
    end(s);
    return run(() => source.cancel?.(reason)).then(nothing);
  };

  class ReadableStreamDefaultController {
    #s;
    constructor(s) {
      if (s?.secret !== secret) throw new TypeError('a controller is made by its stream');
      this.#s = s;
    }
    get desiredSize() { return wanted(this.#s); }
    #open() { if (this.#s.closing || this.#s.state !== 'readable') throw new TypeError('the stream is closed'); }
    enqueue(chunk) {
      this.#open();
      const s = this.#s;
      if (s.requests.length > 0) s.requests.shift().resolve({ value: chunk, done: false });
      else {
        let size;
        try {
          size = Number(s.size(chunk));
          if (!(size >= 0)) throw new RangeError('the size of a chunk must be a number from 0');
        } catch (e) {
          fail(s, e);
          throw e;
        }
        s.queue.push([chunk, size]);
        s.total += size;
      }
      pull(s);
    }
    close() {
      this.#open();
      this.#s.closing = true;
      if (this.#s.queue.length === 0) end(this.#s);
    }
    error(e) { fail(this.#s, e); }
  }

  class ReadableStreamDefaultReader {
    #s; #ended;
    constructor(stream) {
      const s = readable(stream);
      if (s.reader) throw new TypeError('the stream has a reader already');
      this.#s = s;
      this.#ended = s.ended.promise;
      s.reader = this;
    }
    get closed() { return this.#ended; }
    async read() { if (!this.#s) throw released(); return read(this.#s); }
    async cancel(reason) { if (!this.#s) throw released(); return cancel(this.#s, reason); }
    releaseLock() {
      const s = this.#s;
      if (!s) return;
      if (s.state === 'readable') {
        this.#ended = Promise.reject(released());
        this.#ended.then(nothing, nothing);
      }
      for (const r of s.requests.splice(0)) r.reject(released());
      s.reader = null;
      this.#s = null;
    }
  }

  // An iterator releases the stream at once, also in the middle of a loop.
  const iterate = (reader, keep) => ({
    async next() {
      let step;
      try {
        step = await reader.read();
      } catch (e) {
        reader.releaseLock();
        throw e;
      }
      if (step.done) reader.releaseLock();
      return step;
    },
    async return(value) {
      const ended = keep ? undefined : reader.cancel(value);
      reader.releaseLock();
      await ended;
      return { value, done: true };
    },
    [Symbol.asyncIterator]() { return this; },
  });

  const secret = Symbol('stream');
  class ReadableStream {
    #s;
    constructor(source = {}, options = {}) {
      if (typeof source !== 'object' || source === null) throw new TypeError('the source must be an object');
      if (source.type !== undefined && source.type !== 'bytes') throw new TypeError(`there are no streams of the type '${source.type}'`);
      const s = { secret, source, state: 'readable', queue: [], total: 0, requests: [], reader: null, ended: deferred(), ...strategy(options, source.type ? 0 : 1) };
      this.#s = s;
      s.controller = new ReadableStreamDefaultController(s);
      const begun = source.start?.(s.controller);
      Promise.resolve(begun).then(() => { s.started = true; pull(s); }, (e) => fail(s, e));
    }
    static [Symbol.for('state')](stream) {
      if (typeof stream !== 'object' || stream === null || !(#s in stream)) throw new TypeError('it must be a ReadableStream');
      return stream.#s;
    }
    static from(items) {
      const it = items?.[Symbol.asyncIterator]?.() ?? items?.[Symbol.iterator]?.();
      if (!it) throw new TypeError('the parameter must be iterable');
      return new ReadableStream({
        async pull(c) { const { value, done } = await it.next(); if (done) c.close(); else c.enqueue(await value); },
        async cancel(reason) { await it.return?.(reason); },
      }, { highWaterMark: 0 });
    }
    get locked() { return this.#s.reader !== null; }
    async cancel(reason) {
      if (this.locked) throw new TypeError('the stream has a reader, which can cancel it');
      return cancel(this.#s, reason);
    }
    getReader(options = {}) {
      if (options?.mode !== undefined) throw new TypeError(`there are no readers of the mode '${options.mode}'`);
      return new ReadableStreamDefaultReader(this);
    }
    values(options = {}) { return iterate(this.getReader(), Boolean(options?.preventCancel)); }
    [Symbol.asyncIterator](options) { return this.values(options); }
    tee() {
      const reader = this.getReader(), branches = [{}, {}], both = deferred();
      let reading = null;
      const next = () => (reading ??= reader.read().then(({ value, done }) => {
        reading = null;
        for (const b of branches) if (!b.cancelled) { if (done) b.controller.close(); else b.controller.enqueue(value); }
        if (done) both.resolve();
      }, (e) => { for (const b of branches) b.controller.error(e); both.resolve(); }));
      return branches.map((b) => new ReadableStream({
        start(c) { b.controller = c; },
        pull: next,
        cancel(reason) {
          b.cancelled = true;
          b.reason = reason;
          if (branches.every((x) => x.cancelled)) reader.cancel(branches.map((x) => x.reason)).then(both.resolve, both.reject);
          return both.promise;
        },
      }));
    }
    async pipeTo(target, { preventClose, preventAbort, preventCancel, signal } = {}) {
      const writer = target.getWriter();
      let reader;
      try { reader = this.getReader(); } catch (e) { writer.releaseLock(); throw e; }
      const stopped = deferred(), stop = () => stopped.reject(signal.reason);
      if (signal?.aborted) stop();
      signal?.addEventListener('abort', stop);
      try {
        for (;;) {
          let chunk;
          try {
            await Promise.race([writer.ready, stopped.promise]);
          } catch (e) {
            if (!preventCancel) await reader.cancel(e);
            if (signal?.aborted && !preventAbort) await writer.abort(e);
            throw e;
          }
          try {
            chunk = await Promise.race([reader.read(), stopped.promise]);
          } catch (e) {
            if (!preventAbort) await writer.abort(e);
            if (signal?.aborted && !preventCancel) await reader.cancel(e);
            throw e;
          }
          if (chunk.done) break;
          writer.write(chunk.value).catch(nothing); // The next turn sees it.
        }
        await (preventClose ? writer.ready : writer.close());
      } finally {
        signal?.removeEventListener('abort', stop);
        reader.releaseLock();
        writer.releaseLock();
      }
    }
    pipeThrough({ readable: out, writable: into }, options) {
      this.pipeTo(into, options).catch(nothing); // Who reads learns of it.
      return out;
    }
  }
  const readable = ReadableStream[Symbol.for('state')];
  delete ReadableStream[Symbol.for('state')];

  // Streams that are written.

  const refill = (s) => {
    if (s.state !== 'writable') return;
    if (s.total < s.high || s.high === 0 && s.total === 0) s.ready.resolve();
    else if (s.isReady) s.ready = deferred();
    s.isReady = s.total < s.high || s.high === 0 && s.total === 0;
  };
  const spoil = (s, e) => {
    if (s.state === 'closed' || s.state === 'errored') return;
    s.state = 'errored';
    s.error = e;
    s.ready.reject(e);
    s.ready = deferred();
    s.ready.reject(e);
    s.ended.reject(e);
    s.aborter?.abort(e);
  };

  class WritableStreamDefaultController {
    #s;
    constructor(s) {
      if (s?.secret !== secret) throw new TypeError('a controller is made by its stream');
      this.#s = s;
    }
    get signal() { return (this.#s.aborter ??= new web.AbortController()).signal; }
    error(e) { spoil(this.#s, e); }
  }

  const closedFor = (s) => (s.state === 'errored' ? s.error : new TypeError('the stream is closed'));
  const write = (s, chunk) => {
    if (s.state !== 'writable') return Promise.reject(closedFor(s));
    let size;
    try { size = Number(s.size(chunk)); } catch (e) { spoil(s, e); return Promise.reject(e); }
    s.total += size;
    refill(s);
    const done = s.last.then(() => {
      if (s.state === 'errored') throw s.error;
      return s.sink.write?.(chunk, s.controller);
    }).then(() => { s.total -= size; refill(s); }, (e) => { spoil(s, e); throw e; });
    s.last = done.catch(nothing);
    return done;
  };
  const close = (s) => {
    if (s.state !== 'writable') return Promise.reject(closedFor(s));
    s.state = 'closing';
    s.ready.resolve();
    return s.last.then(() => {
      if (s.state === 'errored') throw s.error;
      return s.sink.close?.();
    }).then(() => { s.state = 'closed'; s.ended.resolve(); }, (e) => { spoil(s, e); throw e; });
  };
  const abort = (s, reason) => {
    if (s.state === 'closed' || s.state === 'errored') return Promise.resolve();
    spoil(s, reason);
    return s.last.then(() => s.sink.abort?.(reason)).then(nothing);
  };

  class WritableStreamDefaultWriter {
    #s;
    constructor(stream) {
      const s = writable(stream);
      if (s.writer) throw new TypeError('the stream has a writer already');
      this.#s = s;
      s.writer = this;
    }
    #held() { if (!this.#s) throw new TypeError('the writer was released'); return this.#s; }
    get ready() { return this.#s ? this.#s.ready.promise : Promise.reject(new TypeError('the writer was released')); }
    get closed() { return this.#s ? this.#s.ended.promise : Promise.reject(new TypeError('the writer was released')); }
    get desiredSize() { const s = this.#held(); return s.state === 'errored' ? null : s.state === 'closed' ? 0 : s.high - s.total; }
    async write(chunk) { return write(this.#held(), chunk); }
    async close() { return close(this.#held()); }
    async abort(reason) { return abort(this.#held(), reason); }
    releaseLock() { if (this.#s) { this.#s.writer = null; this.#s = null; } }
  }

  class WritableStream {
    #s;
    constructor(sink = {}, options = {}) {
      if (typeof sink !== 'object' || sink === null) throw new TypeError('the sink must be an object');
      const s = { secret, sink, state: 'writable', total: 0, ready: deferred(), isReady: false, ended: deferred(), writer: null, ...strategy(options, 1) };
      this.#s = s;
      s.controller = new WritableStreamDefaultController(s);
      s.last = Promise.resolve(sink.start?.(s.controller)).then(nothing, (e) => spoil(s, e));
      refill(s);
    }
    static [Symbol.for('state')](stream) {
      if (typeof stream !== 'object' || stream === null || !(#s in stream)) throw new TypeError('it must be a WritableStream');
      return stream.#s;
    }
    get locked() { return this.#s.writer !== null; }
    #free() { if (this.locked) throw new TypeError('the stream has a writer'); return this.#s; }
    getWriter() { return new WritableStreamDefaultWriter(this); }
    async close() { return close(this.#free()); }
    async abort(reason) { return abort(this.#free(), reason); }
  }
  const writable = WritableStream[Symbol.for('state')];
  delete WritableStream[Symbol.for('state')];

  // Streams that change what goes through them.

  class TransformStream {
    #readable; #writable;
    constructor(transformer = {}, writableOptions = {}, readableOptions = {}) {
      let out, into, room = deferred(), sent = 0;
      const controller = {
        get desiredSize() { return out.desiredSize; },
        enqueue(chunk) { sent++; out.enqueue(chunk); },
        error(e) { out.error(e); into.error(e); },
        terminate() { out.close(); into.error(new TypeError('the stream was ended')); },
      };
      const broken = (e) => { out.error(e); throw e; };
      this.#readable = new ReadableStream({
        start(c) { out = c; },
        pull() { room.resolve(); },
        cancel(reason) { into.error(reason); return transformer.cancel?.(reason); },
      }, { highWaterMark: 0, ...readableOptions });
      this.#writable = new WritableStream({
        start(c) { into = c; return transformer.start?.(controller); },
        async write(chunk) {
          await room.promise;
          room = deferred();
          sent = 0;
          await run(() => (transformer.transform ? transformer.transform(chunk, controller) : controller.enqueue(chunk))).catch(broken);
          if (sent === 0) room.resolve(); // Who reads still waits.
        },
        async close() {
          await run(() => transformer.flush?.(controller)).catch(broken);
          if (out.desiredSize !== null) out.close();
        },
        abort(reason) { out.error(reason); return transformer.cancel?.(reason); },
      }, writableOptions);
    }
    get readable() { return this.#readable; }
    get writable() { return this.#writable; }
  }

  class TextEncoderStream extends TransformStream {
    constructor() {
      const encoder = new TextEncoder();
      let half = ''; // The first half of a character can be the end of a chunk.
      super({
        transform(chunk, c) {
          let s = half + chunk;
          half = '';
          if (/[\ud800-\udbff]$/.test(s)) { half = s.slice(-1); s = s.slice(0, -1); }
          if (s) c.enqueue(encoder.encode(s));
        },
        flush(c) { if (half) c.enqueue(encoder.encode(half)); },
      });
    }
    get encoding() { return 'utf-8'; }
  }
  class TextDecoderStream extends TransformStream {
    #decoder;
    constructor(label, options) {
      const decoder = new TextDecoder(label, options);
      const send = (c, s) => { if (s) c.enqueue(s); };
      super({
        transform(chunk, c) { send(c, decoder.decode(chunk, { stream: true })); },
        flush(c) { send(c, decoder.decode()); },
      });
      this.#decoder = decoder;
    }
    get encoding() { return this.#decoder.encoding; }
    get fatal() { return this.#decoder.fatal; }
    get ignoreBOM() { return this.#decoder.ignoreBOM; }
  }

  // Streams of bytes of the host.

  const part = 65536;
  const ofBytes = (data) => {
    let at = 0;
    return new ReadableStream({
      pull(c) {
        if (at < data.length) c.enqueue(data.slice(at, at = Math.min(at + part, data.length)));
        if (at >= data.length) c.close();
      },
    }, { highWaterMark: 0 });
  };
  const ofHost = (next, stop) => new ReadableStream({
    async pull(c) {
      const chunk = await next();
      if (chunk === undefined) { stop(); c.close(); } else c.enqueue(chunk);
    },
    cancel: stop,
  }, { highWaterMark: 0 });
  const collect = async (stream) => {
    const list = [];
    for await (const chunk of stream) {
      if (typeof chunk === 'string') list.push(host.encode(chunk));
      else if (chunk instanceof ArrayBuffer) list.push(new Uint8Array(chunk));
      else if (ArrayBuffer.isView(chunk)) list.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      else throw new TypeError('the chunks of the stream must be typed arrays');
    }
    return web.join(list);
  };
  const disturbed = (stream) => Boolean(readable(stream).disturbed);

  return {
    globals: Object.freeze({
      ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController, WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController,
      TransformStream, TextEncoderStream, TextDecoderStream, CountQueuingStrategy, ByteLengthQueuingStrategy,
    }),
    ofBytes, ofHost, collect, disturbed,
  };
})
