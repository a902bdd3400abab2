// SPDX-License-Identifier: Apache-2.0
//
// The client of WebSockets. It runs when a plugin asks for it.
(function (host, web) {
  'use strict';
  const { Promise, TypeError, Error, Object, Array, Symbol, String, Number, ArrayBuffer, Uint8Array, URL } = globalThis;
  const { Event, EventTarget, DOMException, Blob } = web;
  const nothing = () => {};

  class MessageEvent extends Event {
    #data; #origin;
    constructor(type, { data = null, origin = '' } = {}) { super(type); this.#data = data; this.#origin = String(origin); }
    get data() { return this.#data; }
    get origin() { return this.#origin; }
  }
  class CloseEvent extends Event {
    #code; #reason; #clean;
    constructor(type, { code = 0, reason = '', wasClean = false } = {}) { super(type); this.#code = Number(code); this.#reason = String(reason); this.#clean = Boolean(wasClean); }
    get code() { return this.#code; }
    get reason() { return this.#reason; }
    get wasClean() { return this.#clean; }
  }
  class ErrorEvent extends Event {
    #message; #error;
    constructor(type, { message = '', error = null } = {}) { super(type); this.#message = String(message); this.#error = error; }
    get message() { return this.#message; }
    get error() { return this.#error; }
  }

  const states = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
  const syntax = (message) => { throw new DOMException(message, 'SyntaxError'); };
  const addressOf = (input) => {
    let url;
    try { url = new URL(String(input)); } catch { syntax(`'${input}' is not a URL`); }
    if (url.protocol === 'http:') url.protocol = 'ws:';
    if (url.protocol === 'https:') url.protocol = 'wss:';
    if (url.protocol !== 'ws:' && url.protocol !== 'wss:') syntax('the URL must begin with ws:// or wss://');
    if (url.hash) syntax('the URL must not have a fragment');
    return url;
  };
  const protocolsOf = (list) => {
    const names = (typeof list === 'string' ? [list] : [...list]).map(String);
    if (names.some((n) => !/^[!#-'*+\-.0-9A-Z^-z|~]+$/.test(n)) || names.some((n, i) => names.indexOf(n) !== i)) syntax('the protocols must be different names without spaces');
    return names;
  };

  let sockets = 0;
  class WebSocket extends EventTarget {
    #id; #url; #state = states.CONNECTING; #protocol = ''; #buffered = 0; #last = Promise.resolve(); #type = 'blob'; #asked = false;
    onopen = null; onmessage = null; onerror = null; onclose = null;
    constructor(url, options = []) {
      super();
      const address = addressOf(url), given = typeof options === 'string' || Array.isArray(options) ? { protocols: options } : options ?? {};
      const protocols = protocolsOf(given.protocols ?? []), headers = Object.entries(given.headers ?? {}).map(([k, v]) => [String(k), String(v)]);
      this.#url = address;
      this.#id = ++sockets;
      this.#serve(host.openSocket(this.#id, address.href, protocols, headers));
    }
    get url() { return this.#url.href; }
    get readyState() { return this.#state; }
    get protocol() { return this.#protocol; }
    get extensions() { return ''; }
    get bufferedAmount() { return this.#buffered; }
    get binaryType() { return this.#type; }
    set binaryType(type) { if (type === 'blob' || type === 'arraybuffer') this.#type = type; }

    #emit(event) {
      const f = this[`on${event.type}`];
      if (typeof f === 'function') this.addEventListener(event.type, f, { once: true });
      this.dispatchEvent(event);
    }
    #end(code, reason, wasClean, error) {
      this.#state = states.CLOSED;
      if (error) this.#emit(new ErrorEvent('error', { message: error, error: new Error(error) }));
      this.#emit(new CloseEvent('close', { code, reason, wasClean }));
    }
    async #serve(opened) {
      try {
        this.#protocol = await opened;
      } catch (e) {
        this.#end(1006, '', false, e.message);
        return;
      }
      if (this.#state === states.CONNECTING) {
        this.#state = states.OPEN;
        this.#emit(new Event('open'));
      }
      for (;;) {
        const message = await host.readSocket(this.#id);
        if (Array.isArray(message)) {
          this.#end(...message);
          return;
        }
        if (this.#state !== states.OPEN) continue;
        const data = typeof message === 'string' ? message : this.#type === 'blob' ? new Blob([message]) : message.buffer;
        this.#emit(new MessageEvent('message', { data, origin: this.#url.origin }));
      }
    }
    send(data) {
      if (this.#state === states.CONNECTING) throw new DOMException('the socket is not open yet', 'InvalidStateError');
      const content = data instanceof Blob ? web.data(data) : data instanceof ArrayBuffer ? new Uint8Array(data.slice(0))
        : ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice() : String(data);
      const size = typeof content === 'string' ? host.encode(content).length : content.length;
      this.#buffered += size;
      if (this.#state !== states.OPEN) return; // As in browsers, it only counts.
      // One after another; what fails ends the socket, and who reads it learns why.
      this.#last = this.#last.then(() => host.writeSocket(this.#id, content)).then(() => { this.#buffered -= size; }, nothing);
    }
    close(code, reason = '') {
      if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException('the code must be 1000 or from 3000 to 4999', 'InvalidAccessError');
      if (host.encode(String(reason)).length > 123) syntax('the reason must not have more than 123 bytes');
      if (this.#asked || this.#state === states.CLOSED) return;
      this.#asked = true;
      this.#state = states.CLOSING;
      this.#last.then(() => host.closeSocket(this.#id, code ?? 1000, String(reason)));
    }
  }
  for (const target of [WebSocket, WebSocket.prototype]) {
    for (const [name, value] of Object.entries(states)) Object.defineProperty(target, name, { value, enumerable: true });
  }

  return { globals: Object.freeze({ WebSocket, MessageEvent, CloseEvent, ErrorEvent }) };
})
