// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Word filter: refuses messages that contain a forbidden word, or masks the word.
//
//   word-filter.words[0]=darn   the forbidden words
//   word-filter.mode=reject     reject (the default) or mask

/** @implements {ClientRequestHandler} */
class WordFilter extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }

  start() {
    /** @type {{words?: string[], mode?: string}} */
    const { words = [], mode = 'reject' } = app.config('word-filter');
    if (mode !== 'reject' && mode !== 'mask') throw new Error(`word-filter.mode must be reject or mask, not ${mode}`);
    // One matcher for all words: its cost depends on the length of the text and not on the number
    // of words.
    this.words = app.text.matcher(words.map(String), { wholeWords: true });
    this.mode = mode;
  }

  /** @param {ClientRequest} clientRequest */
  transform(clientRequest) {
    // New messages and changes of messages.
    const message = clientRequest.request.createMessageRequest ?? clientRequest.request.updateMessageRequest;
    if (!message?.text || !this.words?.contains(message.text)) return undefined; // Undefined leaves the request unchanged.
    if (this.mode === 'reject') throw new AppError('MESSAGE_IS_ILLEGAL', 'the message holds a word that is not allowed here');
    message.text = this.words.mask(message.text);
    return clientRequest;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'word-filter', version: '1.0', description: 'Refuses or masks forbidden words.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [WordFilter]; }
}
