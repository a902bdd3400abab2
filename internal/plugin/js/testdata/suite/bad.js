// SPDX-License-Identifier: Apache-2.0

class Actor extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }

  start() { throw new Error('no database'); }

  transform() {}
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-acts', version: '3' }; }

  getExtensions() { return [Actor]; }
}
