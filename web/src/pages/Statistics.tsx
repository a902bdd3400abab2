// SPDX-License-Identifier: Apache-2.0

import { Card, Group, SegmentedControl, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { send, type Query } from '../api/client'
import type { Operation } from '../api/document'
import { useT } from '../i18n'
import { useMay, useSession } from '../session'
import { Chart } from '../ui/chart'
import { Problem, Waiting } from '../ui/feedback'
import { fromLocal, toLocal } from '../ui/form'

const spans: Record<string, { ms: number; divideBy: string }> = {
  day: { ms: 23 * 36e5, divideBy: 'HOUR' },
  week: { ms: 7 * 864e5, divideBy: 'DAY' },
  month: { ms: 30 * 864e5, divideBy: 'DAY' },
  year: { ms: 360 * 864e5, divideBy: 'MONTH' },
}

/** Statistics draws the results of all counting operations in the document. */
export default function Statistics() {
  const { t } = useT()
  const { documents } = useSession()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { span?: string; until?: string }
  const span = spans[search.span ?? 'month'] ?? spans.month!
  const end = new Date(search.until ?? new Date(Math.ceil(Date.now() / 36e5) * 36e5))
  const start = new Date(end.getTime() - span.ms)
  const counts = documents.service.operations.filter((o) => o.method === 'GET' && o.path.endsWith('/count') && o.parameters.some((p) => p.name === 'divideBy'))
  const set = (s: Record<string, string | undefined>) => void navigate({ to: '/statistics', search: { ...search, ...s } as never })
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">{t('statistics')}</Title>
        <Group>
          <SegmentedControl size="xs" aria-label={t('timeRange')} value={search.span ?? 'month'} onChange={(v) => set({ span: v })} data={[{ value: 'day', label: t('day') }, { value: 'week', label: t('week') }, { value: 'month', label: t('month') }, { value: 'year', label: t('year') }]} />
          <TextInput size="xs" type="datetime-local" aria-label={t('until')} value={toLocal(end.toISOString())} onChange={(e) => set({ until: fromLocal(e.currentTarget.value) })} />
        </Group>
      </Group>
      {counts.map((op) => <Counts key={op.path} operation={op} start={start} end={end} divideBy={span.divideBy} />)}
    </Stack>
  )
}

function Counts({ operation: op, start, end, divideBy }: { operation: Operation; start: Date; end: Date; divideBy: string }) {
  const { t, label } = useT()
  const may = useMay()
  const { documents } = useSession()
  const missing = may.operation(op)
  const names = op.parameters.map((p) => p.name).filter((n) => n.endsWith('StartDate')).map((n) => n.slice(0, -'StartDate'.length))
  const schema = documents.service.data(op)
  const query: Query = { divideBy }
  for (const n of names) { query[`${n}StartDate`] = start.toISOString(); query[`${n}EndDate`] = end.toISOString() }
  const result = useQuery({ queryKey: ['count', op.path, query], enabled: !missing, queryFn: async () => (await send<Record<string, { date: string; total: number | string }[]> | undefined>('GET', op.path, { query })).data ?? {} })
  const fields = Object.keys(schema.properties ?? {}).filter((f) => f.endsWith('Records'))
  if (missing) return <Problem error={new Error(t('needsPermission', { permission: missing }))} />
  return (
    <>
      <Title order={2} size="h5">{label(op.path.split('/')[1]!)}</Title>
      <Problem error={result.error} />
      {result.isPending && !result.error ? <Waiting /> : (
        <SimpleGrid cols={{ base: 1, md: 2, lg: 3 }}>
          {fields.map((f) => {
            const list = result.data?.[f] ?? []
            const sum = list.reduce((n, r) => n + Number(r.total), 0)
            return (
              <Card key={f} withBorder padding="xs">
                <Text size="sm" fw={600}>{label(f.replace(/Records$/, ''))}: {sum.toLocaleString()}</Text>
                <Chart title={label(f)} bars times={list.map((r) => new Date(r.date).getTime() / 1000)} series={[{ label: label(f.replace(/Records$/, '')), values: list.map((r) => Number(r.total)) }]} />
              </Card>
            )
          })}
        </SimpleGrid>
      )}
    </>
  )
}
