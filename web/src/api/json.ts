// SPDX-License-Identifier: Apache-2.0

// JSON whose integers stay exact. JavaScript numbers lose digits beyond 2^53, and ids have 64 bits.

/** Matches a string or a number as a whole. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const longInteger = /^-?\d{16,}$/

/** parseJson reads JSON; integers of 16 digits or more become strings of their digits. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(token, (m) => (longInteger.test(m) ? `"${m}"` : m)))
}

/** Int64 is an integer that is written to JSON without quotes, whatever its size. */
export class Int64 {
  readonly digits: string
  constructor(value: string | number) {
    this.digits = String(value).trim()
    if (!/^-?\d+$/.test(this.digits)) throw new Error(`${this.digits} is not an integer`)
  }
}

/** writeJson is JSON.stringify that knows Int64. */
export function writeJson(v: unknown): string {
  if (v instanceof Int64) return v.digits
  if (Array.isArray(v)) return `[${v.map((x) => writeJson(x === undefined ? null : x)).join(',')}]`
  if (v !== null && typeof v === 'object') {
    return `{${Object.entries(v)
      .filter(([, x]) => x !== undefined)
      .map(([k, x]) => `${JSON.stringify(k)}:${writeJson(x)}`)
      .join(',')}}`
  }
  return JSON.stringify(v)
}
