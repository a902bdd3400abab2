// SPDX-License-Identifier: Apache-2.0

import { valueAt } from '../resources'

type Row = Record<string, unknown>

/**
 * csvCell quotes a value. It escapes a leading formula character, which spreadsheets would
 * evaluate.
 */
export function csvCell(v: unknown): string {
  let text = v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v)
  if (/^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text)) text = `'${text}`
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A Target receives a file in chunks. */
interface Target {
  write: (text: string) => Promise<void>
  /** finish returns the file. */
  finish: () => Promise<Blob>
  discard: () => Promise<void>
}

const prefix = 'export-'
/**
 * expiry is when a finished export is removed from the storage: the browser has copied it by then.
 */
const expiry = 60 * 60_000

/**
 * inStorage writes the file to the browser's storage for this site, so that the page never holds
 * more than one chunk.
 */
async function inStorage(): Promise<Target> {
  const folder = await navigator.storage.getDirectory()
  for await (const [name, entry] of folder.entries()) {
    if (!name.startsWith(prefix) || entry.kind !== 'file') continue
    const { lastModified } = await (entry as FileSystemFileHandle).getFile()
    // Another tab may still be writing it.
    if (Date.now() - lastModified > expiry) await folder.removeEntry(name).catch(() => undefined)
  }
  const name = prefix + crypto.randomUUID()
  const file = await folder.getFileHandle(name, { create: true })
  const stream = await file.createWritable()
  return {
    write: (text) => stream.write(text),
    finish: async () => { await stream.close(); return file.getFile() },
    discard: async () => { await stream.abort(); await folder.removeEntry(name) },
  }
}

/**
 * inMemory is for browsers without such a storage, and for pages over plain HTTP from another
 * machine, which cannot use it.
 */
function inMemory(): Target {
  const parts: Blob[] = []
  return {
    write: async (text) => { parts.push(new Blob([text])) },
    finish: async () => new Blob(parts),
    discard: async () => { parts.length = 0 },
  }
}

/**
 * exportCsv writes all pages of a list into one file. A record that moved to the next page during
 * the export is written once.
 */
export async function exportCsv(name: string, columns: { title: string; path: string[] }[], keyOf: (r: Row) => string, fetchRows: (page: number) => Promise<Row[]>, paged: boolean, onProgress: (n: number) => void) {
  const target = await inStorage().catch(inMemory)
  try {
    await target.write('\uFEFF' + columns.map((c) => csvCell(c.title)).join(',') + '\r\n')
    let count = 0
    let before = new Set<string>()
    for (let page = 0; ; page++) {
      const found = await fetchRows(page)
      const rows = found.filter((r) => !before.has(keyOf(r)))
      before = new Set(found.map(keyOf))
      await target.write(rows.map((r) => columns.map((c) => csvCell(valueAt(r, c.path))).join(',') + '\r\n').join(''))
      count += rows.length
      onProgress(count)
      if (found.length === 0 || !paged) break
    }
    save(await target.finish(), `${name}.csv`)
  } catch (e) {
    await target.discard().catch(() => undefined)
    throw e
  }
}

/** save downloads a file. */
export function save(file: Blob, name: string) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(file)
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000)
}
