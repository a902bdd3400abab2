// SPDX-License-Identifier: Apache-2.0

await new Promise(() => {});

export default class extends AppPlugin {
  getDescriptor() { return { id: 'suite-pending', version: '1' }; }

  getExtensions() { return []; }
}
