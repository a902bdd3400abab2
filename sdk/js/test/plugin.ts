// SPDX-License-Identifier: Apache-2.0
//
// Code that the types must accept and, after @ts-expect-error, reject.

class Everything extends AppExtension implements ClientRequestHandler, UserAuthenticator {
  getExtensionPoints(): ExtensionPointName[] { return ['ClientRequestHandler', 'UserAuthenticator']; }

  async start() {
    const users = await app.api.users.query({ ids: ['1', '2'] });
    const id: string | undefined = users?.[0]?.id;
    app.log.info('started', { id }, app.node.role);
    await app.storage.set('key', { nested: [1, 'a', true, null] });
    const HashMap = Java.type<{ size(): number; get(key: unknown): unknown }>('java.util.HashMap');
    const map = new HashMap({ a: 1n });
    const size: number = map.size();
    // @ts-expect-error It was not declared.
    map.clear();
    const list = new (Java.type('java.util.ArrayList'))();
    list.add('a');
    // @ts-expect-error Its result type is unknown.
    const first: string = list.get(0);
    app.log.info('list', first, list.size() as number);
    if (map instanceof HashMap && Java.isJavaObject(map)) app.log.info('map', size, HashMap.name, Java.from(map));
    for (const item of Java.to([1, 2], 'java.util.List') as JavaCollection<number>) app.log.info('item', item.toFixed());
    // @ts-expect-error The name of a class is a string.
    Java.type(7);
    const form = new FormData();
    form.append('file', new Blob(['text'], { type: 'text/plain' }), 'a.txt');
    const sent = await fetch('https://example.org', { method: 'POST', body: form, signal: AbortSignal.any([AbortSignal.timeout(1000), new AbortController().signal]) });
    console.table([{ size: (await sent.blob()).size }]);
    const secret = await crypto.subtle.importKey('raw', new Uint8Array(32), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const mac: ArrayBuffer = await crypto.subtle.sign('HMAC', secret, new TextEncoder().encode('data'));
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const jwk: JsonWebKey = await crypto.subtle.exportKey('jwk', pair.publicKey);
    app.log.info('keys', mac.byteLength, jwk.kty);
    const events = await fetch('https://example.org', { stream: true });
    for await (const line of events.body.pipeThrough(new TextDecoderStream())) app.log.info(line.trim());
    const socket = new WebSocket('wss://example.org', { protocols: ['chat'], headers: { authorization: 'Bearer x' } });
    socket.addEventListener('message', ({ data }) => app.log.info(typeof data === 'string' ? data : 'bytes'));
    socket.onclose = ({ code, reason }) => app.log.info('closed', code.toFixed(), reason);
    // @ts-expect-error An object must be converted to text.
    socket.send({ a: 1 });
    // @ts-expect-error The hash is missing.
    await crypto.subtle.importKey('raw', new Uint8Array(32), { name: 'HMAC' }, false, ['sign']);
    // @ts-expect-error Only a controller creates a signal.
    new AbortSignal();
    // @ts-expect-error Ids are strings.
    await app.api.users.query({ ids: [1] });
    // @ts-expect-error There is no such parameter.
    await app.api.users.query({ names: ['Ann'] });
    // @ts-expect-error The ids are required.
    await app.api.users.delete({});
    // @ts-expect-error There is no such operation.
    await app.api.users.drop();
  }

  transform(clientRequest: ClientRequest) {
    const message = clientRequest.request.createMessageRequest;
    if (message?.text === 'no') throw new AppError('MESSAGE_IS_ILLEGAL', 'because');
    // @ts-expect-error An id is not a number.
    clientRequest.userId = 5;
    // @ts-expect-error There is no such device.
    clientRequest.deviceType = 'TOASTER';
    return clientRequest;
  }

  // @ts-expect-error The answer is a boolean.
  authenticate(info: UserLoginInfo) { return info.password?.length; }
}

// @ts-expect-error There is no such status.
new AppError('NO_SUCH_STATUS');
// @ts-expect-error There is no DOM.
document.title = '';
// @ts-expect-error There is no Node.js.
process.exit();

export default class extends AppPlugin {
  getDescriptor() { return { id: 'everything', version: '1.0' }; }

  getExtensions() { return [Everything]; }
}
