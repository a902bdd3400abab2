// SPDX-License-Identifier: Apache-2.0

// Attaches the debug adapter of Visual Studio Code with the configuration that app plugin new
// writes, by the Debug Adapter Protocol.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';

const { APP_DEBUG_PORT: port, APP_SERVICE: service, APP_PLUGIN: plugin, APP_TEST_JS_DEBUG: adapter } = process.env;

/** A session is a connection of an editor to the adapter. */
class Session {
  #socket;
  #seq = 0;
  #data = Buffer.alloc(0);
  #waiting = new Map();
  #events = [];
  #listeners = [];
  reverse = () => ({});

  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => {});
  }

  static async open(address) {
    const socket = connect(address);
    await once(socket, 'connect');
    return new Session(socket);
  }

  #read(chunk) {
    this.#data = Buffer.concat([this.#data, chunk]);
    for (;;) {
      const end = this.#data.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.#data.subarray(0, end))[1]);
      if (this.#data.length < end + 4 + length) return;
      const message = JSON.parse(this.#data.subarray(end + 4, end + 4 + length));
      this.#data = this.#data.subarray(end + 4 + length);
      this.#got(message);
    }
  }

  #got(m) {
    if (process.env.APP_TEST_VERBOSE) console.error(JSON.stringify(m).slice(0, 400));
    if (m.type === 'response') {
      const { resolve, reject } = this.#waiting.get(m.request_seq);
      if (m.success) resolve(m.body);
      else reject(new Error(`${m.command}: ${m.message} ${JSON.stringify(m.body)}`));
    } else if (m.type === 'request') {
      this.#write({ type: 'response', request_seq: m.seq, command: m.command, success: true, body: this.reverse(m) });
    } else {
      this.#events.push(m);
      for (const listener of this.#listeners) listener();
    }
  }

  #write(m) {
    const body = JSON.stringify({ seq: ++this.#seq, ...m });
    this.#socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    return this.#seq;
  }

  request(command, args = {}) {
    const { promise, resolve, reject } = Promise.withResolvers?.() ?? deferred();
    this.#waiting.set(this.#write({ type: 'request', command, arguments: args }), { resolve, reject });
    return promise;
  }

  /** Returns the first event that suits and was not returned yet. */
  event(name, suits = () => true) {
    return new Promise((resolve) => {
      const look = () => {
        const i = this.#events.findIndex((e) => e.event === name && suits(e.body));
        if (i < 0) return;
        this.#listeners = this.#listeners.filter((l) => l !== look);
        resolve(this.#events.splice(i, 1)[0].body);
      };
      this.#listeners.push(look);
      look();
    });
  }

  close() {
    this.#socket.destroy();
  }
}

function deferred() {
  const d = {};
  d.promise = new Promise((resolve, reject) => Object.assign(d, { resolve, reject }));
  return d;
}

const initialize = {
  adapterID: 'pwa-node', clientID: 'vscode', linesStartAt1: true, columnsStartAt1: true, pathFormat: 'path', supportsVariableType: true,
  supportsStartDebuggingRequest: true, supportsRunInTerminalRequest: false,
};

test('the adapter of Visual Studio Code debugs a plugin', { timeout: 90_000 }, async (t) => {
  const server = spawn(process.execPath, [adapter, '0', '127.0.0.1'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const sessions = [];
  t.after(() => {
    for (const s of sessions) s.close();
    server.kill();
  });
  const [line] = await once(server.stdout, 'data');
  const address = { host: '127.0.0.1', port: Number(/:(\d+)\s*$/.exec(String(line))[1]) };
  const open = async () => {
    const s = await Session.open(address);
    sessions.push(s);
    return s;
  };

  // The session that the user starts has a child session for each plugin.
  const parent = await open();
  const started = new Promise((resolve) => {
    parent.reverse = (m) => {
      if (m.command === 'startDebugging') resolve(m.arguments);
      return {};
    };
  });
  await parent.request('initialize', initialize);
  const attached = parent.request('attach', { type: 'pwa-node', request: 'attach', name: 'Attach to guard', address: '127.0.0.1', port: Number(port), skipFiles: ['<node_internals>/**'] });
  await parent.event('initialized');
  await parent.request('configurationDone');
  await attached;
  const { configuration, request } = await started;

  const child = await open();
  await child.request('initialize', initialize);
  const ready = child.request(request, configuration);
  await child.event('initialized');
  const wanted = await child.request('setBreakpoints', { source: { path: plugin }, breakpoints: [{ line: 5, condition: "action.action === 'queryPlugins'" }] });
  assert.equal(wanted.breakpoints.length, 1);
  await child.request('setExceptionBreakpoints', { filters: [] });
  await child.request('configurationDone');
  await ready;

  const authorization = 'Basic ' + Buffer.from('app:app').toString('base64');
  const answer = fetch(service + '/plugins', { headers: { authorization } });
  let stopped = await child.event('stopped');
  if (stopped.reason !== 'breakpoint') {
    // A plugin that waits for a debugger stops at its first statement.
    await child.request('continue', { threadId: stopped.threadId });
    stopped = await child.event('stopped');
  }
  assert.equal(stopped.reason, 'breakpoint');
  const { stackFrames: [frame] } = await child.request('stackTrace', { threadId: stopped.threadId });
  assert.match(frame.name, /handleAdminAction$/);
  assert.equal(frame.line, 5);
  assert.equal(frame.source.path, plugin);
  const evaluate = async (expression) => (await child.request('evaluate', { expression, frameId: frame.id, context: 'repl' })).result;
  assert.equal(await evaluate('action.action'), "'queryPlugins'");
  assert.equal(await evaluate('this.#seen'), '0');
  assert.equal(await evaluate('this.#seen = 41'), '41');
  const { scopes } = await child.request('scopes', { frameId: frame.id });
  const { variables } = await child.request('variables', { variablesReference: scopes[0].variablesReference });
  assert.ok(variables.some((v) => v.name === 'action'), JSON.stringify(variables));
  await child.request('next', { threadId: stopped.threadId });
  const next = await child.event('stopped');
  assert.equal(next.reason, 'step');
  assert.equal((await child.request('stackTrace', { threadId: next.threadId })).stackFrames[0].line, 6);
  await child.request('continue', { threadId: next.threadId });
  await child.event('output', (o) => o.output === 'seen 42\n');
  assert.equal((await answer).status, 200);
});
