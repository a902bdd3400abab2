// SPDX-License-Identifier: Apache-2.0

for (;;) {}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-endless', version: '1' }; }

  getExtensions() { return []; }
}
