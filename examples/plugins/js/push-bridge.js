// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Push bridge: sends messages with recipients who are not online to a webhook, which can push them
// to their phones.
//
//   push-bridge.url=https://push.example.org/messages
//   push-bridge.secret=...   if set, X-Signature contains the HMAC-SHA-256 of the body

/** @implements {RequestHandlerResultHandler} */
class PushBridge extends AppExtension {
  getExtensionPoints() { return ['RequestHandlerResultHandler']; }

  start() {
    /** @type {{url?: string, secret?: string}} */
    const { url, secret } = app.config('push-bridge');
    if (!url) throw new Error('push-bridge.url is missing');
    this.url = url;
    this.secret = secret;
  }

  /**
   * @param {RequestHandlerResult} result
   * @param {string} requesterId
   * @param {wire.DeviceType} _requesterDevice
   * @param {string[]} offlineRecipientIds
   */
  async afterNotify(result, requesterId, _requesterDevice, offlineRecipientIds) {
    const message = result.notifications?.[0]?.notification?.createMessageRequest;
    if (!message || !this.url || offlineRecipientIds.length === 0) return undefined;
    const body = JSON.stringify({ recipients: offlineRecipientIds, sender: requesterId, group: message.groupId, text: message.text });
    /** @type {Record<string, string>} */
    const headers = { 'content-type': 'application/json' };
    if (this.secret) headers['x-signature'] = crypto.hmac('SHA-256', String(this.secret), body, 'hex');
    const response = await fetch(this.url, { method: 'POST', headers, body, timeout: 3000 });
    // Exceptions here are logged and counted; the sender has received the response already.
    if (!response.ok) throw new Error(`the push service answered ${response.status} ${response.data}`);
    return undefined;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'push-bridge', version: '1.0', description: 'Tells a webhook of messages to users who are offline.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [PushBridge]; }
}
