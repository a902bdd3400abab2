// SPDX-License-Identifier: Apache-2.0
//
// A plugin whose endpoints use features of JSON Schema that OpenAPI 3.0 lacks, to lint the document
// with their conversion. Its id needs no escapes in URLs, because Spectral only finds operations at
// paths without escapes.

const page = { $defs: { size: { type: 'integer', exclusiveMinimum: 0, maximum: 100, default: 10, description: 'How many.' } } };

class Endpoints extends AppExtension {
  getEndpoints() {
    return [
      { handler: 'list', method: 'GET', path: '/things', summary: 'List things', description: 'Lists **things**.', permission: 'USER_QUERY',
        query: { ...page, type: 'object', required: ['kinds'], additionalProperties: false, properties: {
          size: { $ref: '#/$defs/size' }, kinds: { type: 'array', items: { type: 'string', enum: ['A', 'B'] }, uniqueItems: true }, since: { type: 'string', format: 'date-time' },
        } },
        result: { type: 'array', items: { type: 'object', required: ['id'], properties: {
          id: { type: ['string', 'integer', 'null'] }, name: { type: ['string', 'null'], examples: ['thing'] }, kind: { const: 'A' }, parent: { $ref: '#/items' },
          tags: { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
        } } } },
      { handler: 'put', method: 'PUT', path: '/things', summary: 'Change a thing',
        body: { oneOf: [{ type: 'object', required: ['name'], properties: { name: { type: 'string', minLength: 1 }, secret: { type: 'string', format: 'password', writeOnly: true } } }, { type: 'null' }] } },
      { handler: 'add', method: 'POST', path: '/things', summary: 'Add things', body: { type: 'array', prefixItems: [{ type: 'string' }], items: true, minItems: 1 }, result: {} },
      { handler: 'remove', method: 'DELETE', path: '/things', summary: 'Remove things', query: { type: 'object', properties: { ids: { type: 'array', items: { type: 'integer' } } } } },
      { handler: 'image', method: 'GET', path: '/image.png', summary: 'Show a picture', contentType: 'image/png' },
      { handler: 'csv', method: 'GET', path: '/things.csv', summary: 'Export things', contentType: 'text/csv; charset=utf-8' },
    ];
  }

  list() { return []; }
  put() {}
  add() { return null; }
  remove() {}
  image() { return new Uint8Array(); }
  csv() { return ''; }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'endpoints', version: '1' }; }

  getExtensions() { return [Endpoints]; }
}
