// SPDX-License-Identifier: Apache-2.0

// Writes the types of the admin interface from its OpenAPI documents. Integers of 64 bits arrive as
// strings where a number would lose digits (see src/api/json.ts).
import fs from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'

const { factory } = ts
const int64 = () => factory.createUnionTypeNode([
  factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
  factory.createKeywordTypeNode(ts.SyntaxKind.NumberKeyword),
])

for (const role of ['service', 'gateway']) {
  const ast = await openapiTS(new URL(`../docs/openapi/${role}.json`, import.meta.url), {
    transform: (schema) => (schema.format === 'int64' ? int64() : undefined),
  })
  fs.writeFileSync(new URL(`src/api/${role}.gen.d.ts`, import.meta.url), astToString(ast))
}
