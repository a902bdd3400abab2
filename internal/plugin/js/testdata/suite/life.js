// SPDX-License-Identifier: Apache-2.0

const step = async (hook) => {
  const { hang, fail } = app.config('suite');
  if (hang === hook) await new Promise(() => {});
  if (fail === hook) throw new Error('told to fail');
  await app.storage.set('hooks', `${await app.storage.get('hooks') ?? ''}${hook} `);
};

class First extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }

  start() { return step('start'); }

  onPaused() { return step('pause'); }

  async resume() { await step('resume'); }

  async onStopped() { await step('stop'); }

  handleAdminAction() {}
}

class Bare extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler', 'UserAuthenticator']; }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-life', version: '1' }; }

  getExtensions() { return [First, Bare]; }
}
