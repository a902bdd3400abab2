// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Moderation: sends the text of each message to an HTTP service, and refuses or masks texts with a
// high score. The service gets {"text": "…"} and responds with {"score": 0.93, "masked": "…"}: a
// score from 0 to 1, and the masked text. The settings are below plugins.moderation of
// /cluster/settings and can be changed while the plugin runs.
//
// The strictness is part of the version: the default of threshold below. README.md in this folder
// shows how to try a stricter version as a shadow first.

/**
 * @typedef {{url: string, token?: string, threshold: number, action: 'REJECT' | 'MASK',
 *   timeoutMillis: number, onFailure: 'ALLOW' | 'REFUSE'}} Settings
 */

/** @implements {ClientRequestHandler} */
class Moderation extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }

  start() { this.onSettingsChanged(app.settings()); }

  /** @param {Settings} settings */
  onSettingsChanged(settings) { this.settings = settings; }

  /** @param {ClientRequest} clientRequest */
  async transform(clientRequest) {
    // New messages and changes of messages.
    const message = clientRequest.request.createMessageRequest ?? clientRequest.request.updateMessageRequest;
    const settings = this.settings;
    if (!message?.text || !settings) return undefined; // Undefined leaves the request unchanged.
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
    // A shadow asks about the same text a second time: the service need not count it.
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
