// SPDX-License-Identifier: Apache-2.0

import { Card, Group, MultiSelect, SegmentedControl, Select, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { get } from '../api/client'
import { useT } from '../i18n'
import { useMetrics } from '../metrics'
import { Chart } from '../ui/chart'
import { Problem } from '../ui/feedback'
import { useMembers } from '../ui/nodes'

const first = ['process.cpu.usage', 'go.memory.heap.used', 'go.goroutines', 'app.client.sessions', 'http.server.requests', 'message.sent']
const ranges = { '1': 60, '5': 300, '15': 900, '60': 3600 } as const

/**
 * MetricCharts draws any metric of a node: names from the server, tags as series, counters as
 * rates.
 */
export function MetricCharts({ node }: { node: string | undefined }) {
  const { t } = useT()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { metrics?: string; range?: keyof typeof ranges }
  const chosen = search.metrics === undefined ? first : search.metrics.split(',').filter(Boolean)
  const range = ranges[search.range ?? '5'] ?? 300
  const names = useQuery({ queryKey: ['metric-names', node], enabled: node !== undefined, queryFn: async () => (await get('/metrics/names', { node })) as string[] | undefined })
  const { history: h, error } = useMetrics(node, chosen)
  const now = Date.now() / 1000
  const set = (s: Record<string, string>) => void navigate({ to: '.', search: { ...search, ...s } as never, replace: true })
  return (
    <Stack gap="xs">
      <Group align="end">
        <MultiSelect flex={1} miw={240} label={t('metrics')} data={names.data ?? chosen} value={chosen} searchable clearable size="xs" onChange={(v) => set({ metrics: v.join(',') || ',' })} name="metric-names" />
        <SegmentedControl size="xs" aria-label={t('timeRange')} value={search.range ?? '5'} onChange={(v) => set({ range: v })} data={Object.keys(ranges).map((r) => ({ value: r, label: t('minutes', { count: r }) }))} />
      </Group>
      <Problem error={names.error ?? error} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xs">
        {chosen.map((name) => {
          const series = [...h.series].filter(([id]) => id.startsWith(`${name}{`))
          const timed = series.some(([id]) => id.endsWith('#mean'))
          const draw = (title: string, unit: string | undefined, list: typeof series) => (
            <Card key={title} withBorder padding="xs">
              <Text size="sm" fw={600}>{title}</Text>
              {list.length === 0 ? <Text size="xs" c="dimmed">{t('noSamples')}</Text> : <Chart title={title} unit={unit} times={h.times} range={[now - range, now]} series={list.slice(0, 12).map(([, s]) => s)} />}
            </Card>
          )
          const unit = h.units.get(name)
          if (!timed) return draw(name, unit, series)
          return [draw(`${name} /s`, undefined, series.filter(([id]) => id.endsWith('/s'))), draw(`${name} ⌀`, unit, series.filter(([id]) => id.endsWith('#mean')))]
        })}
      </SimpleGrid>
    </Stack>
  )
}

/** NodePicker selects a node; the selection is in the URL. */
export function NodePicker({ type }: { type?: string }) {
  const { t, label } = useT()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { node?: string }
  const members = useMembers()
  const list = (members.data ?? []).filter((m) => !type || m.nodeType === type)
  return <Select size="xs" w={280} aria-label={t('node')} allowDeselect={false} data={list.map((m) => ({ value: m.key.nodeId, label: `${label(m.nodeType)} · ${m.name || m.key.nodeId}` }))}
    value={search.node ?? list[0]?.key.nodeId ?? null} onChange={(v) => void navigate({ to: '.', search: { ...search, node: v ?? undefined } as never })} />
}

export function useNode(type?: string): string | undefined {
  const search = useSearch({ strict: false }) as { node?: string }
  const members = useMembers()
  return search.node ?? members.data?.find((m) => !type || m.nodeType === type)?.key.nodeId
}

export default function Metrics() {
  const { t } = useT()
  const node = useNode()
  return (
    <Stack>
      <Group justify="space-between"><Title order={1} size="h3">{t('metrics')}</Title><NodePicker /></Group>
      <MetricCharts key={node} node={node} />
    </Stack>
  )
}
