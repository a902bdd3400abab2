// SPDX-License-Identifier: Apache-2.0

const text = (v) => {
  if (Array.isArray(v)) return `[${v.map(text).join(',')}]`;
  if (typeof v === 'object') return `{${Object.keys(v).sort().map((k) => `${k}=${text(v[k])}`).join(',')}}`;
  return String(v);
};

class Keeper extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }

  async start() { await app.storage.set('start', text(app.settings())); }

  async onSettingsChanged(settings) {
    await app.storage.set('changed', text(settings));
    if (settings.greeting === 'fail') throw new Error('told to fail');
  }

  handleAdminAction() {}
}

export default class extends AppPlugin {
  getDescriptor() {
    return {
      id: 'suite-settled', version: '1',
      settings: {
        type: 'object', required: ['token'],
        properties: {
          greeting: { type: 'string', minLength: 1, maxLength: 10, default: 'hi' },
          count: { type: 'integer', minimum: 0, default: 9007199254740991 },
          token: { type: 'string', minLength: 3, writeOnly: true },
          limits: { type: 'object', properties: { rates: { type: 'array', items: { type: 'number' }, default: [0.5] } } },
        },
      },
    };
  }

  getExtensions() { return [Keeper]; }
}
