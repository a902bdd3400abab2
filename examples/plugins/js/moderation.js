// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Moderation: asks an HTTP service about the text of each message, and refuses or masks what it rates too high. The service
// gets {"text": "…"} and answers with {"score": 0.93, "masked": "…"}: a score from 0 to 1, and the text without what is
// wrong in it. What is set while the plugin runs are the settings below plugins.moderation of /cluster/settings.
//
// How strict it is belongs to the version: the default of threshold below. A stricter version is tried as a shadow first, which
// README.md of this folder walks through.

/** @typedef {{url: string, token?: string, threshold: number, action: 'REJECT' | 'MASK', timeoutMillis: number, onFailure: 'ALLOW' | 'REFUSE'}} Settings */

/** @implements {ClientRequestHandler} */
class Moderation extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }

  start() { this.onSettingsChanged(app.settings()); }

  /** @param {Settings} settings */
  onSettingsChanged(settings) { this.settings = settings; }

  /** @param {ClientRequest} clientRequest */
  async transform(clientRequest) {
    // Sent messages and messages that are changed afterwards.
    const message = clientRequest.request.createMessageRequest ?? clientRequest.request.updateMessageRequest;
    const settings = this.settings;
    if (!message?.text || !settings) return undefined; // Nothing leaves the request as it is.
    let rating;
    try {
      rating = await this.rate(message.text, settings);
    } catch (e) {
      app.log.warn(`a message could not be checked: ${e}`);
      if (settings.onFailure === 'ALLOW') return undefined;
      throw new AppError('MESSAGE_IS_ILLEGAL', 'messages cannot be checked at present; please try again later');
    }
    if (rating.score < settings.threshold) return undefined;
    if (settings.action === 'REJECT' || typeof rating.masked !== 'string') throw new AppError('MESSAGE_IS_ILLEGAL', 'the message breaks the rules of this place');
    message.text = rating.masked;
    return clientRequest;
  }

  /**
   * @param {string} text
   * @param {Settings} settings
   * @returns {Promise<{score: number, masked?: string}>}
   */
  async rate(text, settings) {
    /** @type {Record<string, string>} */
    const headers = { 'content-type': 'application/json' };
    if (settings.token) headers.authorization = `Bearer ${settings.token}`;
    // A shadow asks about the same text once more: the service need not count it.
    if (app.shadow) headers['x-shadow'] = 'true';
    const response = await fetch(settings.url, { method: 'POST', headers, body: JSON.stringify({ text }), timeout: settings.timeoutMillis });
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    const rating = /** @type {{score: number, masked?: string}} */ (await response.json());
    if (typeof rating?.score !== 'number') throw new Error('the service answered without a score');
    return rating;
  }
}

export default class extends AppPlugin {
  getDescriptor() {
    return {
      id: 'moderation',
      version: '1.0',
      description: 'Refuses or masks messages that a service rates too high.',
      'compatible-servers': ['SERVICE'],
      settings: {
        type: 'object',
        required: ['url'],
        properties: {
          url: { type: 'string', description: 'Where the service is.' },
          token: { type: 'string', writeOnly: true, description: 'Token for the service.' },
          threshold: { type: 'number', minimum: 0, maximum: 1, default: 0.9, description: 'From which score on a message is refused or masked.' },
          action: { type: 'string', enum: ['REJECT', 'MASK'], default: 'REJECT', description: 'What is done with such a message.' },
          timeoutMillis: { type: 'integer', minimum: 1, maximum: 60000, default: 2000, description: 'How long the service may take.' },
          onFailure: { type: 'string', enum: ['ALLOW', 'REFUSE'], default: 'ALLOW', description: 'What is done with messages while the service does not answer.' },
        },
      },
    };
  }

  getExtensions() { return [Moderation]; }
}
