// SPDX-License-Identifier: Apache-2.0

class Guard extends AppExtension {
  getExtensionPoints() { return ['UserAuthenticator']; }

  authenticate() { return true; }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-gateway', version: '1', 'compatible-server': 'app-gateway' }; }

  getExtensions() { return [Guard]; }
}
