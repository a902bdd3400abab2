// SPDX-License-Identifier: Apache-2.0

const show = (v) => {
  if (v === undefined || v === null) return '-';
  if (Array.isArray(v)) return `[${v.map(show).join(',')}]`;
  if (typeof v === 'object') return `{${Object.keys(v).sort().map((k) => `${k}=${show(v[k])}`).join(',')}}`;
  return String(v);
};

const uses = {
  node: () => [app.node.id, app.node.role, app.node.version],

  config: () => [app.config('suite')],

  async api() {
    const users = await app.api.users.query({ ids: ['9223372036854775807', -9223372036854775808n] });
    return users.flatMap((u) => [u.id, u.name]);
  },

  async refused() {
    try {
      return [await app.api.users.query({ ids: [2] })];
    } catch (e) {
      if (!(e instanceof AppError)) throw e;
      return [e.code, e.reason];
    }
  },

  async notify(request) {
    await app.notify({ recipients: [request.userId], notification: request.request });
    return ['ok'];
  },

  async storage() {
    const none = await app.storage.get('none');
    await app.storage.set('a', 'text 👋');
    await app.storage.set('b/1', 'x');
    return [
      none, await app.storage.get('a'), await app.storage.keys(), await app.storage.keys('b/'),
      await app.storage.delete('a'), await app.storage.delete('a'), await app.storage.keys(),
    ];
  },

  async ended() {
    await app.meetings.ended('7', new Date('2026-01-02T03:04:05.678Z'));
    return ['ok'];
  },

  badkey: () => app.storage.set('', 'x').then(() => ['kept'], (e) => [e.code]),
};

class User extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }

  async handle(request) {
    const values = await uses[request.clientIp](request);
    return { code: 1000, reason: values.map(show).join('|') };
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-uses', version: '1' }; }

  getExtensions() { return [User]; }
}
