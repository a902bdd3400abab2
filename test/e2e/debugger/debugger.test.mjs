// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import test from 'node:test';

import CDP from 'chrome-remote-interface';

const { APP_DEBUG_HOST: host, APP_DEBUG_PORT: port, APP_SERVICE: service } = process.env;

test('a plugin is debugged while the server calls it', async () => {
  const [target] = await CDP.List({ host, port });
  assert.match(target.url, /\/guard\.js$/);
  assert.equal((await CDP.Version({ host, port }))['Protocol-Version'], '1.3');

  // As with Node.js: the first target, and the protocol that the server describes.
  const client = await CDP({ host, port });
  const { Debugger, Runtime } = client;
  try {
    const parsed = new Promise((resolve) => Debugger.scriptParsed(resolve));
    await Runtime.enable();
    await Debugger.enable();
    const script = await parsed;
    const { scriptSource } = await Debugger.getScriptSource({ scriptId: script.scriptId });
    const line = scriptSource.split('\n').findIndex((l) => l.includes('this.#seen++'));
    const { locations } = await Debugger.setBreakpointByUrl({ url: script.url, lineNumber: line, condition: "action.action === 'queryPlugins'" });
    assert.equal(locations[0].lineNumber, line);
    await Runtime.runIfWaitingForDebugger();

    const written = new Promise((resolve) => Runtime.consoleAPICalled(resolve));
    const paused = new Promise((resolve) => Debugger.paused(resolve));
    const authorization = 'Basic ' + Buffer.from('app:app').toString('base64');
    const answer = fetch(service + '/plugins', { headers: { authorization } });
    const { callFrames: [frame], hitBreakpoints } = await paused;
    assert.equal(hitBreakpoints.length, 1);
    assert.equal(frame.functionName, 'handleAdminAction');
    const at = (expression) => Debugger.evaluateOnCallFrame({ callFrameId: frame.callFrameId, expression }).then((r) => r.result.value);
    assert.equal(await at('this.#seen'), 0);
    assert.equal(await at('action.action'), 'queryPlugins');
    const local = frame.scopeChain.find((s) => s.type === 'local');
    const { result } = await Runtime.getProperties({ objectId: local.object.objectId, ownProperties: true });
    assert.deepEqual(result.map((p) => p.name), ['action']);
    assert.equal(await at('this.#seen = 41'), 41);
    await Debugger.resume();
    assert.equal((await written).args[1].value, 42);
    assert.equal((await answer).status, 200);
  } finally {
    await client.close();
  }
});
