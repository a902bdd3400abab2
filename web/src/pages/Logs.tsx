// SPDX-License-Identifier: Apache-2.0

import { Button, Group, Select, Stack, Text, TextInput, Title, useComputedColorScheme } from '@mantine/core'
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { get, url } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { Problem } from '../ui/feedback'
import { NodePicker, useNode } from './Metrics'

interface Line {
  n: number
  level: string
  text: string
}

const levels = ['DEBUG', 'INFO', 'WARN', 'ERROR']

/** maxLines bounds the memory of the page. */
const maxLines = 20_000

/** parseLine finds the level of a line in any of the formats of the server. */
export function parseLine(n: number, text: string): Line {
  const m = /"level":"(\w+)"|\blevel=(\w+)|^\S+\s+(DEBUG|INFO|WARN|ERROR)\b/.exec(text)
  return { n, text, level: (m?.[1] ?? m?.[2] ?? m?.[3] ?? 'INFO').toUpperCase() }
}

/** useTail follows a log file. Lines are collected and shown in batches, so that a busy log does not freeze the page. */
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
    source.onerror = () => setLost(true) // The browser connects again by itself.
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
  useComputedColorScheme('light')
  const rows = useVirtualizer({ count: lines.length, getScrollElement: () => scroll.current, estimateSize: () => 18, overscan: 30 })
  useEffect(() => {
    if (stick.current && lines.length > 0) rows.scrollToIndex(lines.length - 1)
  }, [lines.length]) // eslint-disable-line
  return (
    <div ref={scroll} role="log" aria-label={t('logs')} tabIndex={0} style={{ height, overflow: 'auto', border: '1px solid var(--mantine-color-default-border)' }}
      onScroll={(e) => { const el = e.currentTarget; stick.current = el.scrollHeight - el.scrollTop - el.clientHeight < 40 }}>
      <div style={{ height: rows.getTotalSize(), position: 'relative', minWidth: 'max-content' }}>
        {rows.getVirtualItems().map((r) => (
          <div key={r.key} className="logline" data-level={lines[r.index]!.level} style={{ position: 'absolute', top: 0, transform: `translateY(${r.start}px)`, height: 18 }}>{lines[r.index]!.text}</div>
        ))}
      </div>
    </div>
  )
}

export default function Logs() {
  const { t } = useT()
  const may = useMay()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { node?: string; path?: string; level?: string; text?: string }
  const node = useNode()
  const missing = may.call('GET', '/logs/tail')
  const paths = useQuery({ queryKey: ['log-paths', node], enabled: node !== undefined && !missing, queryFn: async () => ((await get('/logs/paths', { node })) ?? []) as string[] })
  const path = search.path ?? paths.data?.find((p) => /^app[^/]*\.log$/.test(p)) ?? paths.data?.[0]
  const [paused, setPaused] = useState(false)
  const { lines, lost, clear } = useTail(missing ? undefined : node, path, paused)
  const set = (s: Record<string, string | undefined>) => void navigate({ to: '.', search: { ...search, ...s } as never, replace: true })
  const level = search.level ?? 'DEBUG'
  const text = useDeferredValue((search.text ?? '').toLowerCase())
  const shown = useMemo(() => {
    const least = levels.indexOf(level)
    return lines.filter((l) => (least <= 0 || levels.indexOf(l.level) >= least) && (text === '' || l.text.toLowerCase().includes(text)))
  }, [lines, level, text])
  if (missing) return <Problem error={new Error(t('needsPermission', { permission: missing }))} />
  return (
    <Stack gap="xs">
      <Group justify="space-between"><Title order={1} size="h3">{t('logs')}</Title><NodePicker /></Group>
      <Group gap="xs">
        <Select size="xs" w={220} aria-label={t('file')} allowDeselect={false} data={paths.data ?? []} value={path ?? null} onChange={(v) => set({ path: v ?? undefined })} />
        <Select size="xs" w={110} aria-label={t('level')} allowDeselect={false} data={levels} value={level} onChange={(v) => set({ level: v === 'DEBUG' ? undefined : (v ?? undefined) })} />
        <TextInput size="xs" flex={1} miw={160} placeholder={t('filterText')} aria-label={t('filterText')} name="log-filter" value={search.text ?? ''} onChange={(e) => set({ text: e.currentTarget.value || undefined })} />
        <Button size="compact-sm" variant="default" leftSection={paused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />} onClick={() => setPaused(!paused)} name="pause">{paused ? t('resume') : t('pause')}</Button>
        <Button size="compact-sm" variant="default" leftSection={<IconTrash size={14} />} onClick={clear}>{t('clear')}</Button>
        {path && node && <Button size="compact-sm" variant="default" leftSection={<IconDownload size={14} />} component="a" href={url('/logs', node, { path })} download>{t('download')}</Button>}
      </Group>
      <Problem error={paths.error} />
      {lost && <Text size="sm" c="red" role="status">{t('reconnecting')}</Text>}
      <LogView lines={shown} />
      <Text size="xs" c="dimmed" data-log-count>{t('linesShown', { shown: shown.length, total: lines.length })}</Text>
    </Stack>
  )
}
