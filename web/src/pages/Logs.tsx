// SPDX-License-Identifier: Apache-2.0

import { Button, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core'
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useState } from 'react'
import { url } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { Problem } from '../ui/feedback'
import { levels, LogView, useLogPaths, useTail } from '../ui/log'
import { NodePicker, useNode } from './Metrics'

export default function Logs() {
  const { t } = useT()
  const may = useMay()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { node?: string; path?: string; level?: string; text?: string }
  const node = useNode()
  const missing = may.call('GET', '/logs/tail')
  const { paths, first } = useLogPaths(node)
  const path = search.path ?? first
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
