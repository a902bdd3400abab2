// SPDX-License-Identifier: Apache-2.0

// JSON with exact integers. JavaScript numbers lose digits beyond 2^53, and ids have 64 bits.

/** Matches a complete string or number. */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const longInteger = /^-?\d{16,}$/

/** parseJson parses JSON; integers of 16 digits or more become strings. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(token, (m) => (longInteger.test(m) ? `"${m}"` : m)))
}

/** Int64 is an integer of any size that is written to JSON without quotes. */
export class Int64 {
  readonly digits: string
  constructor(value: string | number) {
    this.digits = String(value).trim()
    if (!/^-?\d+$/.test(this.digits)) throw new Error(`${this.digits} is not an integer`)
  }
}

/** writeJson is JSON.stringify with support for Int64. */
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
