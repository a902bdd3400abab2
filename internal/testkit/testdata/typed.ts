// SPDX-License-Identifier: Apache-2.0

interface Options { mark?: string }

class Typed extends AppExtension implements ClientRequestHandler {
  readonly #options: Options = app.config('typed') as Options;

  getExtensionPoints(): ExtensionPointName[] { return ['ClientRequestHandler']; }

  transform(clientRequest: ClientRequest) {
    const message = clientRequest.request.createMessageRequest;
    if (!message) return undefined;
    if (message.text === 'fail') throw new Error(`not ${this.#options.mark ?? 'here'}`);
    message.text += this.#options.mark ?? '!';
    return clientRequest;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'typed' }; }

  getExtensions() { return [Typed]; }
}
