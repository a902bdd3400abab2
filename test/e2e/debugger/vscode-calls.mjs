// SPDX-License-Identifier: Apache-2.0

// Sends the requests of the debug adapter of Visual Studio Code (js-debug 1.117) while it attaches,
// stops, steps and continues, in its order and with its arguments. vscode.mjs runs the adapter
// itself, if it is installed.

import assert from 'node:assert/strict';
import test from 'node:test';

import CDP from 'chrome-remote-interface';

const { APP_DEBUG_PORT, APP_SERVICE: service, APP_PLUGIN: plugin } = process.env;

test('the calls of the adapter of Visual Studio Code', { timeout: 90_000 }, async (t) => {
  const client = await CDP({ host: '127.0.0.1', port: Number(APP_DEBUG_PORT) });
  t.after(() => client.close());
  const named = (expression) => `${expression}\n//# sourceURL=eval-323a30fc.repl\n`;
  const next = (event) => new Promise((resolve) => client.once(event, resolve));

  await assert.rejects(client.send('NodeWorker.enable', { waitForDebuggerOnStart: true }), /NodeWorker\.enable' wasn't found/);
  const parsed = next('Debugger.scriptParsed');
  await client.send('Runtime.enable', {});
  assert.ok((await client.send('Debugger.enable', {})).debuggerId);
  const script = await parsed;
  const modules = await client.send('Runtime.evaluate', { expression: named("require('module').builtinModules"), returnByValue: true, includeCommandLineAPI: true });
  assert.match(modules.exceptionDetails.exception.description, /^ReferenceError/);

  // Both are enabled twice: by the session and by its thread.
  for (const [method, params] of [
    ['Debugger.setBlackboxPatterns', { patterns: [] }], ['Runtime.enable', {}], ['Profiler.enable', {}], ['Debugger.enable', {}],
    ['Debugger.setAsyncCallStackDepth', { maxDepth: 32 }], ['Debugger.setPauseOnExceptions', { state: 'none' }],
    ['Debugger.setBlackboxPatterns', { patterns: ['^(node:)?internal\\/'] }],
  ]) {
    await client.send(method, params);
  }

  // Breakpoints are patterns of both forms of the path. The one at the beginning of the file is for
  // sources that are not known yet.
  const path = plugin.replace(/[/.]/g, '\\$&');
  const urlRegex = `file:\\/\\/${path}($|\\?)|${path}($|\\?)`;
  const entry = await client.send('Debugger.setBreakpointByUrl', { urlRegex, lineNumber: 0, columnNumber: 0 });
  const wanted = await client.send('Debugger.setBreakpointByUrl', {
    urlRegex, lineNumber: 4, columnNumber: 0,
    condition: "(()=>{try{return action.action === 'queryPlugins';}catch(e){console.error(`Breakpoint condition error: ${e.message||e}`);return false}})()",
  });
  assert.deepEqual(wanted.locations, [{ scriptId: script.scriptId, lineNumber: 4, columnNumber: 4 }]);
  const process = await client.send('Runtime.evaluate', {
    contextId: script.executionContextId, returnByValue: true, expression: named("typeof process === 'undefined' ? 'process not defined' : process.pid"),
  });
  assert.equal(process.result.value, 'process not defined');
  await client.send('Runtime.runIfWaitingForDebugger', {});

  const stopped = next('Debugger.paused');
  const authorization = 'Basic ' + Buffer.from('app:app').toString('base64');
  const answer = fetch(service + '/plugins', { headers: { authorization } });
  const { callFrames: [frame], hitBreakpoints } = await stopped;
  assert.deepEqual(hitBreakpoints, [wanted.breakpointId]);
  await client.send('Debugger.removeBreakpoint', { breakpointId: entry.breakpointId });
  const at = async (expression) => (await client.send('Debugger.evaluateOnCallFrame', {
    callFrameId: frame.callFrameId, expression: named(expression), includeCommandLineAPI: true, objectGroup: 'console', generatePreview: true,
  })).result.value;
  assert.equal(await at('action.action'), 'queryPlugins');
  assert.equal(await at('this.#seen = 41'), 41);

  const { objectId } = frame.scopeChain[0].object;
  for (const own of [{ accessorPropertiesOnly: true, ownProperties: false }, { ownProperties: true }]) {
    const { result } = await client.send('Runtime.getProperties', { objectId, generatePreview: true, ...own });
    assert.deepEqual(result.map((p) => p.name), own.ownProperties ? ['action'] : []);
  }
  const symbols = await client.send('Runtime.callFunctionOn', {
    objectId, arguments: [], functionDeclaration: 'function(){return[Symbol.for("debug.description"),Symbol.for("debug.properties")]\n//# sourceURL=eval-e2a7754f.cdp\n}',
  });
  assert.equal(symbols.result.description, 'Array(2)');

  const stepped = next('Debugger.paused');
  await client.send('Debugger.stepOver', {});
  assert.equal((await stepped).callFrames[0].location.lineNumber, 5);
  const written = next('Runtime.consoleAPICalled');
  await client.send('Debugger.resume', {});
  assert.equal((await written).args[1].value, 42);
  assert.equal((await answer).status, 200);
});
