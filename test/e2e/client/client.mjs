// SPDX-License-Identifier: Apache-2.0

// A client of the chat protocol: WebSocket by ws, messages by protobufjs from the files in proto/.

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import WebSocket from 'ws';

const protoFolder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../proto');
const root = new protobuf.Root();
root.resolvePath = (_, target) => path.join(protoFolder, path.basename(target));
root.loadSync(readdirSync(protoFolder).filter((name) => name.endsWith('.proto')));

const AppRequest = root.lookupType('im.app.proto.AppRequest');
const AppNotification = root.lookupType('im.app.proto.AppNotification');
const toObject = { longs: String, enums: String, defaults: false };

const patience = 30_000;

/** A response with a code other than success. */
export class Refused extends Error {
  constructor({ code, reason }) {
    super(`${code} ${reason ?? ''}`);
    this.code = code;
  }
}

export class Client {
  #socket;
  #pending = new Map();
  #inbox = [];
  #waiting = [];
  #heartbeats = [];
  #nextId = 1;

  static async connect(url) {
    const client = new Client();
    client.#socket = new WebSocket(url);
    client.#socket.binaryType = 'nodebuffer';
    client.closed = new Promise((resolve) => client.#socket.on('close', resolve));
    client.#socket.on('message', (data) => client.#receive(data));
    await new Promise((resolve, reject) => {
      client.#socket.once('open', resolve);
      client.#socket.once('error', reject);
    });
    client.#socket.on('error', () => {});
    return client;
  }

  static async login(url, userId, fields = {}) {
    const client = await Client.connect(url);
    try {
      await client.request({ createSessionRequest: { version: 1, userId, password: '123', deviceType: 'DESKTOP', ...fields } });
    } catch (error) {
      await client.close();
      throw error;
    }
    return client;
  }

  #receive(data) {
    if (data.length === 0) {
      this.#heartbeats.shift()?.();
      return;
    }
    const notification = AppNotification.toObject(AppNotification.decode(data), toObject);
    if (notification.closeStatus) {
      this.#socket.close(); // The server waits for it.
    }
    const pending = this.#pending.get(notification.requestId);
    if (pending && !notification.relayedRequest) {
      this.#pending.delete(notification.requestId);
      pending(notification);
      return;
    }
    const i = this.#waiting.findIndex(({ matches }) => matches(notification));
    if (i >= 0) {
      this.#waiting.splice(i, 1)[0].resolve(notification);
    } else {
      this.#inbox.push(notification);
    }
  }

  /** Sends a request, such as { createMessageRequest: {...} }, and resolves to the answer. */
  async request(body) {
    const requestId = String(this.#nextId++);
    const payload = AppRequest.encode(AppRequest.fromObject({ requestId, ...body })).finish();
    const answer = await this.#within(`answer to ${Object.keys(body)}`, (resolve) => {
      this.#pending.set(requestId, resolve);
      this.#socket.send(payload);
    });
    if (answer.code < 1000 || answer.code > 1099) {
      throw new Refused(answer);
    }
    return answer;
  }

  /** Sends bytes as they are. */
  send(bytes) {
    this.#socket.send(bytes);
  }

  heartbeat() {
    return this.#within('heartbeat', (resolve) => {
      this.#heartbeats.push(resolve);
      this.#socket.send(Buffer.alloc(0));
    });
  }

  /** Resolves to the next notification that relays a request of this kind. */
  relayed(kind) {
    return this.notification(kind, ({ relayedRequest }) => relayedRequest?.[kind] !== undefined);
  }

  /** Resolves to the notification that ends the session. */
  ended() {
    return this.notification('close status', ({ closeStatus }) => closeStatus);
  }

  notification(what, matches) {
    const i = this.#inbox.findIndex(matches);
    if (i >= 0) {
      return Promise.resolve(this.#inbox.splice(i, 1)[0]);
    }
    return this.#within(what, (resolve) => this.#waiting.push({ matches, resolve }));
  }

  /** What arrived and nobody waited for. */
  get leftover() {
    return this.#inbox;
  }

  async close() {
    this.#socket.close();
    await this.closed;
  }

  #within(what, start) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`waited in vain for: ${what}`)), patience);
      start((value) => {
        clearTimeout(timer);
        resolve(value);
      });
    });
  }
}

/** Calls the administrative interface. */
export async function admin(base, method, path, body) {
  const response = await fetch(base + path, {
    method,
    headers: { authorization: `Basic ${Buffer.from('app:app').toString('base64')}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
  return text ? JSON.parse(text).data : undefined;
}
