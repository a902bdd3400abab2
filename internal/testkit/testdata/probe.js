// SPDX-License-Identifier: Apache-2.0
//
// A plugin that does what the text of a message says.

class Probe extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler', 'DomainEventHandler']; }

  start() {
    const { greeting = 'Hello', times = [] } = app.config('probe');
    this.greeting = greeting;
    this.ticks = 0;
    setInterval(() => { this.ticks += 1; app.log.info('tick', new Date().toISOString()); }, 60_000);
    if (times[0] === 60) app.schedule('60s', { name: 'minute', leaderOnly: true }, async (slot) => { await app.storage.set('slot', [slot, new Date()]); });
    if (times[0] === 3600) {
      app.schedule('@hourly', async () => {
        await new Promise((resolve) => { setTimeout(resolve, 1500); });
        await app.storage.set('slot', new Date());
      });
    }
    app.log.warn('started', typeof times[0], Date.now() < 5 ? 'in 1970' : 'now');
  }

  getEndpoints() { return [{ handler: 'echo', method: 'POST', path: '/echo', summary: 'Echo', body: { type: 'object' }, result: { type: 'object' } }]; }

  echo({ body, adminId }) { return { body, adminId }; }

  async transform(clientRequest) {
    const message = clientRequest.request.createMessageRequest;
    if (!message) return undefined;
    const [command, argument] = message.text.split(' ');
    switch (command) {
      case 'fetch': {
        const answer = await fetch(argument, { method: argument.includes('other') ? 'GET' : 'POST', headers: { 'X-Probe': 'yes' }, body: argument.includes('other') ? undefined : 'grüße' }).catch((e) => ({ status: e.message, text: () => '' }));
        message.text = `${answer.status} ${await answer.text()}`;
        break;
      }
      case 'throw': setTimeout(() => { throw new Error('nobody catches this'); }, 5); return undefined;
      case 'keep': await app.storage.set('kept', { argument }); return undefined;
      case 'wait': await new Promise((resolve) => { setTimeout(resolve, Number(argument)); }); message.text = new Date().toISOString(); break;
      case 'notify': await app.notify({ recipients: [argument], notification: { createMessageRequest: { text: 'from the plugin' } } }); return undefined;
      case 'users': message.text = String((await app.api.users.query({ ids: [argument] }))?.length); break;
      case 'socket': await new Promise((resolve) => { new WebSocket(argument).onclose = resolve; }); return undefined;
      case 'refuse': throw new AppError('MESSAGE_IS_ILLEGAL', argument);
      default: message.text = `${this.greeting}, ${message.text}`;
    }
    return clientRequest;
  }

  handleDomainEvents(events) { for (const e of events) if (e.type === 'USER_CREATED') app.log.debug('created', e.userId); }
}

export const double = (n) => {
  if (n > 1000) throw new RangeError('too much');
  return 2 * n;
};

export default class extends AppPlugin {
  getDescriptor() { return { id: 'probe', version: '7' }; }

  getExtensions() { return [Probe]; }
}
