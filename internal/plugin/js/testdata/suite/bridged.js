// SPDX-License-Identifier: Apache-2.0

let calls = 0;

class Bridge extends AppExtension {
  getExtensionPoints() { return ['DomainEventHandler', 'DomainEventConsumer']; }

  async handleDomainEvents(events) { await app.storage.set('handled', events[0].type); }

  async consumeDomainEvents(events) {
    if (++calls <= 2) throw new Error('told to fail');
    const before = await app.storage.get('consumed') ?? '';
    await app.storage.set('consumed', before + events.map((e) => `${e.type} ${e.userId},`).join(''));
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-bridged', version: '1' }; }

  getExtensions() { return [Bridge]; }
}
