// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import fs from 'node:fs'
import test from 'node:test'
import ts from 'typescript'

// The module is small and imports nothing: it is compiled here as vite compiles it.
const source = fs.readFileSync(new URL('src/api/json.ts', import.meta.url), 'utf8')
const { outputText } = ts.transpileModule(source, { compilerOptions: { target: 'ES2022', module: 'ESNext' } })
const { parseJson, writeJson, Int64 } = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)

test('integers of 64 bits stay exact', () => {
  assert.deepEqual(parseJson('{"id":9223372036854775807,"n":-9223372036854775808,"small":12}'), { id: '9223372036854775807', n: '-9223372036854775808', small: 12 })
  assert.equal(writeJson({ id: new Int64('9007199254740993'), list: [new Int64(1), null], skip: undefined, text: '1' }), '{"id":9007199254740993,"list":[1,null],"text":"1"}')
  assert.throws(() => new Int64('1x'))
})

test('other values are those of JSON', () => {
  for (const text of ['0.00333139193137141', '1.7976931348623157e+308', '[-0.12345678901234567890,1e-7]', '"1234567890123456789 \\\\"', '{"a\\"12345678901234567":"\\u0031"}', 'null', '[]', '123456789012345'])
    assert.deepEqual(parseJson(text), JSON.parse(text))
})
