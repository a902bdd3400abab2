// SPDX-License-Identifier: Apache-2.0
// @ts-check
//
// Webhook bridge: sends every change of users, groups and messages to another system, in order and
// without loss. While the webhook does not respond with 2xx, the same events are sent again after 1
// second, then 2, 4, …, at most 60, also by another node or after a restart. The webhook may get an
// event more than once, so it should deduplicate by id.
//
//   webhook-bridge.url=https://crm.example.org/events
//   webhook-bridge.types[0]=USER_CREATED  the types to send; all types if not set
//   webhook-bridge.secret=...             if set, X-Signature contains the HMAC-SHA-256 of the body

/** @implements {DomainEventConsumer} */
class WebhookBridge extends AppExtension {
  getExtensionPoints() { return ['DomainEventConsumer']; }

  start() {
    /** @type {{url?: string, types?: string[], secret?: string}} */
    const { url, types, secret } = app.config('webhook-bridge');
    if (!url) throw new Error('webhook-bridge.url is missing');
    this.url = url;
    this.types = types;
    this.secret = secret;
  }

  /** @param {DomainEvent[]} events */
  async consumeDomainEvents(events) {
    const wanted = events.filter((e) => !this.types || this.types.includes(e.type));
    if (!this.url || wanted.length === 0) return;
    const body = JSON.stringify(wanted);
    /** @type {Record<string, string>} */
    const headers = { 'content-type': 'application/json' };
    if (this.secret) headers['x-signature'] = crypto.hmac('SHA-256', String(this.secret), body, 'hex');
    const response = await fetch(this.url, { method: 'POST', headers, body, timeout: 4000 });
    if (!response.ok) throw new Error(`the webhook answered ${response.status}`); // They are delivered again.
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'webhook-bridge', version: '1.0', description: 'Tells a webhook of every change, and loses none.', 'compatible-servers': ['SERVICE'] }; }

  getExtensions() { return [WebhookBridge]; }
}
