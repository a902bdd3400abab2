// SPDX-License-Identifier: Apache-2.0

import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { get, url } from '../api/client'
import { parseJson } from '../api/json'
import { useT } from '../i18n'
import { useMay } from '../session'

/** Line is a line of a log. */
export interface Line {
  n: number
  level: string
  text: string
  /** plugin is the id of the plugin that wrote the line or that it is about. */
  plugin?: string
}

export const levels = ['DEBUG', 'INFO', 'WARN', 'ERROR']

/** maxLines limits the memory of the page. */
const maxLines = 20_000

/**
 * parseLine parses a line in any log format of the server. JSON is converted to a readable form.
 */
export function parseLine(n: number, text: string): Line {
  if (text.startsWith('{')) {
    try {
      const { time, level, msg, ...rest } = parseJson(text) as Record<string, unknown>
      const fields = Object.entries(rest).map(([k, v]) => `${k}=${typeof v === 'string' ? (/[\s"=]/.test(v) ? JSON.stringify(v) : v) : JSON.stringify(v)}`)
      return { n, level: String(level ?? 'INFO').toUpperCase(), text: [clock(time), String(level ?? ''), String(msg ?? ''), ...fields].join(' '), plugin: typeof rest.plugin === 'string' ? rest.plugin : undefined }
    } catch {
      // Show it unchanged.
    }
  }
  const m = /\blevel=(\w+)|^\S+\s+(DEBUG|INFO|WARN|ERROR)\b/.exec(text)
  return { n, text, level: (m?.[1] ?? m?.[2] ?? 'INFO').toUpperCase(), plugin: /\bplugin=(\S+)/.exec(text)?.[1] }
}

/** clock formats the time of a line in local time with milliseconds. */
function clock(time: unknown): string {
  const d = new Date(String(time))
  if (Number.isNaN(d.getTime())) return String(time ?? '')
  const two = (n: number, digits = 2) => String(n).padStart(digits, '0')
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${two(d.getMilliseconds(), 3)}`
}

/** useLogPaths returns the log files of a node, and the one to show first. */
export function useLogPaths(node: string | undefined) {
  const may = useMay()
  const paths = useQuery({ queryKey: ['log-paths', node], enabled: node !== undefined && !may.call('GET', '/logs/paths'), queryFn: async () => ((await get('/logs/paths', { node })) ?? []) as string[] })
  return { paths, first: paths.data?.find((p) => p === 'app.log') ?? paths.data?.find((p) => /^app[^/]*\.log$/.test(p)) ?? paths.data?.[0] }
}

/**
 * useTail follows a log file. Lines are collected and shown in batches, so that a busy log does not
 * freeze the page.
 */
export function useTail(node: string | undefined, path: string | undefined, paused: boolean) {
  const [lines, setLines] = useState<Line[]>([])
  const [lost, setLost] = useState(false)
  const waiting = useRef<Line[]>([])
  const held = useRef(paused)
  held.current = paused
  useEffect(() => {
    setLines([])
    waiting.current = []
    if (!node || !path) return
    let n = 0
    const source = new EventSource(url('/logs/tail', node, { path, lines: 500, follow: true }))
    source.onopen = () => { setLost(false); waiting.current = []; setLines([]) }
    source.onmessage = (e) => {
      waiting.current.push(parseLine(n++, String(e.data)))
      if (waiting.current.length > maxLines) waiting.current.splice(0, waiting.current.length - maxLines)
    }
    source.onerror = () => setLost(true) // The browser reconnects automatically.
    const timer = setInterval(() => {
      if (held.current || waiting.current.length === 0) return
      const batch = waiting.current
      waiting.current = []
      setLines((old) => (old.length + batch.length > maxLines ? [...old, ...batch].slice(-maxLines) : [...old, ...batch]))
    }, 200)
    return () => { source.close(); clearInterval(timer) }
  }, [node, path])
  return { lines, lost, clear: () => setLines([]) }
}

export function LogView({ lines, height = '65vh' }: { lines: Line[]; height?: string }) {
  const { t } = useT()
  const scroll = useRef<HTMLDivElement>(null)
  const stick = useRef(true)
  const top = useRef(0)
  // Scrolling up stops following. New lines must not be mistaken for that.
  const follow = (el: HTMLElement) => {
    if (el.scrollHeight - el.scrollTop - el.clientHeight < 40) stick.current = true
    else if (el.scrollTop < top.current) stick.current = false
    top.current = el.scrollTop
  }
  const rows = useVirtualizer({ count: lines.length, getScrollElement: () => scroll.current, estimateSize: () => 18, overscan: 30 })
  useEffect(() => {
    if (stick.current && lines.length > 0) rows.scrollToIndex(lines.length - 1)
  }, [lines.length]) // eslint-disable-line
  return (
    <div ref={scroll} role="log" aria-label={t('logs')} tabIndex={0} style={{ height, overflow: 'auto', border: '1px solid var(--mantine-color-default-border)' }}
      onScroll={(e) => follow(e.currentTarget)}>
      <div style={{ height: rows.getTotalSize(), position: 'relative', minWidth: 'max-content' }}>
        {rows.getVirtualItems().map((r) => (
          <div key={r.key} className="logline" data-level={lines[r.index]!.level} style={{ position: 'absolute', top: 0, transform: `translateY(${r.start}px)`, height: 18 }}>{lines[r.index]!.text}</div>
        ))}
      </div>
    </div>
  )
}
