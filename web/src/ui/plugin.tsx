// SPDX-License-Identifier: Apache-2.0

import { Group, ScrollArea, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, type ReactNode } from 'react'
import { ApiError, get, type Schemas } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { write } from './chart'
import { ClusterPlugin } from './cluster-plugin'
import { Problem } from './feedback'
import { bytes, Chip, duration, grants, When } from './format'
import { RecordTable } from './list'
import { LogView, useLogPaths, useTail } from './log'

type Plugin = Schemas['PluginRecord']

/** Timing is the durations of the calls of one function. */
interface Timing {
  name: string
  calls: number
  failed: number
  seconds: number
  max: number
}

/** timingsOf sums up plugin.calls by extension, point and method. */
export function timingsOf(metrics: Schemas['Metric'][]): Timing[] {
  const found = new Map<string, Timing>()
  for (const s of metrics.flatMap((m) => m.measurements ?? [])) {
    const tags = Object.fromEntries((s.tags ?? []).map((x) => [x.slice(0, x.indexOf(':')), x.slice(x.indexOf(':') + 1)]))
    const v = s.measurements as Record<string, number | string>
    const name = `${tags.extension}: ${tags.point}.${tags.method}`
    const sum = found.get(name) ?? { name, calls: 0, failed: 0, seconds: 0, max: 0 }
    sum.calls += Number(v.count)
    if (tags.outcome === 'error' || tags.outcome === 'timeout') sum.failed += Number(v.count)
    sum.seconds += Number(v.total)
    sum.max = Math.max(sum.max, Number(v.max))
    found.set(name, sum)
  }
  return [...found.values()].sort((a, b) => b.seconds - a.seconds)
}

/** usageOf returns the known resource usage of a plugin, and the exceeded limits. */
function usageOf(p: Plugin): Record<string, string | undefined> {
  const size = (n: Plugin['memory']) => (n === undefined ? undefined : bytes(Number(n)))
  return { memory: size(p.memory), allocated: size(p.allocated), processorTime: p.cpuMillis === undefined ? undefined : duration(Number(p.cpuMillis)), excess: p.excess }
}

/** Work shows the schedules, event deliveries and endpoints of a plugin's extensions. */
function Work({ plugin: p }: { plugin: Plugin }) {
  const { t, label } = useT()
  const table = (name: string, title: string, heads: string[], rows: ReactNode[][]) => rows.length > 0 && (
    <>
      <Title order={3} size="h6">{title}</Title>
      <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': title }}>
        <Table fz="xs" withTableBorder data-work={name}>
          <Table.Thead><Table.Tr>{heads.map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
          <Table.Tbody>{rows.map((cells, i) => <Table.Tr key={i}>{cells.map((cell, j) => <Table.Td key={j} style={{ overflowWrap: 'anywhere' }}>{cell ?? '–'}</Table.Td>)}</Table.Tr>)}</Table.Tbody>
        </Table>
      </ScrollArea>
    </>
  )
  const date = (d: string | undefined) => d && <When date={d} />
  return (
    <>
      {table('schedules', t('schedules'), [label('name'), label('when'), label('nextDate'), label('lastDate'), label('runs'), t('errors'), t('lastError')],
        p.extensions.flatMap((e) => (e.schedules ?? []).map((s) => [s.name, s.leaderOnly ? `${s.when}, ${t('onOneNode')}` : s.when, date(s.nextDate), date(s.lastDate), String(s.runs), String(s.failures), s.lastError])))}
      {table('events', t('eventDelivery'), [label('extensionClass'), t('node'), label('position'), label('waiting'), label('lost'), t('errors'), t('lastError')],
        p.extensions.flatMap((e) => (e.delivery ? [[e.extensionClass, e.delivery.nodeId, String(e.delivery.position), String(e.delivery.waiting), String(e.delivery.lost), String(e.delivery.failures), e.delivery.lastError]] : [])))}
      {table('endpoints', t('endpoints'), [label('method'), label('path'), label('summary'), label('permission')],
        p.extensions.flatMap((e) => (e.endpoints ?? []).map((o) => [o.method, o.path, o.summary, o.permission])))}
    </>
  )
}

/**
 * PluginDetails shows the resource usage of a plugin, its extensions, the durations of its calls,
 * and its log as it grows.
 */
export function PluginDetails({ node, plugin: p }: { node: string; plugin: Plugin }) {
  const { t, label } = useT()
  const may = useMay()
  const timings = useQuery({
    queryKey: ['plugin-calls', node, p.id], enabled: !may.call('GET', '/metrics'), refetchInterval: 3000,
    queryFn: async () => {
      try {
        return timingsOf(((await get('/metrics', { node, query: { names: ['plugin.calls'], tags: [`plugin:${p.id}`] } })) ?? []) as Schemas['Metric'][])
      } catch (e) {
        if (e instanceof ApiError && e.status < 500 && e.status > 0) return [] // The plugin was not called yet, so the metric does not exist.
        throw e
      }
    },
  })
  const noLogs = may.call('GET', '/logs/tail')
  const { first } = useLogPaths(node)
  const { lines, lost } = useTail(noLogs ? undefined : node, first, false)
  const own = useMemo(() => lines.filter((l) => l.plugin === p.id), [lines, p.id])
  return (
    <Stack data-plugin-details={p.id}>
      <RecordTable record={{ id: p.id, version: p.version, provider: p.provider, license: p.license, description: p.description, fileName: p.fileName, loadedDate: p.loadedDate, renewals: p.renewals, ...usageOf(p), granted: grants(p.granted), missingGrants: grants(p.missingGrants), waitingVersion: p.waitingVersion && `${p.waitingVersion.version} (${label('missingGrants')}: ${grants(p.waitingVersion.missingGrants) ?? '–'})` }} />
      <Title order={3} size="h6">{t('extensions')}</Title>
      <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('extensions') }}>
        <Table fz="xs" withTableBorder>
          <Table.Thead><Table.Tr>{[label('extensionClass'), t('state'), t('calls'), t('errors'), label('timeouts'), label('queueLength'), t('lastError')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
          <Table.Tbody>
            {p.extensions.map((e) => (
              <Table.Tr key={e.extensionClass}>
                <Table.Td><Text size="xs" fw={600}>{e.extensionClass}</Text><Text size="xs" c="dimmed">{(e.functions ?? e.extensionPointClasses).join(', ')}</Text></Table.Td>
                <Table.Td><Chip value={e.state ?? 'LOADED'} /></Table.Td><Table.Td>{String(e.calls ?? 0)}</Table.Td><Table.Td>{String(e.errors ?? 0)}</Table.Td><Table.Td>{String(e.timeouts ?? 0)}</Table.Td><Table.Td>{String(e.queueLength ?? 0)}</Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>{e.quarantine ?? (e.lastError ? <>{e.lastError.in}: {e.lastError.reason} <When date={e.lastError.date} /></> : '–')}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      <Work plugin={p} />
      {p.cluster && <ClusterPlugin id={p.id} cluster={p.cluster} />}
      <Title order={3} size="h6">{t('timeOfCalls')}</Title>
      {(timings.data ?? []).length === 0 ? <Text size="sm" c="dimmed">{t('noCalls')}</Text> : (
        <Table fz="xs" withTableBorder data-timings>
          <Table.Thead><Table.Tr>{[t('function'), t('calls'), t('errors'), t('meanTime'), t('maxTime')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
          <Table.Tbody>{timings.data!.map((x) => <Table.Tr key={x.name}><Table.Td style={{ overflowWrap: 'anywhere' }}>{x.name}</Table.Td><Table.Td>{x.calls.toLocaleString()}</Table.Td><Table.Td>{x.failed.toLocaleString()}</Table.Td><Table.Td>{write('seconds', x.calls > 0 ? x.seconds / x.calls : null)}</Table.Td><Table.Td>{write('seconds', x.max)}</Table.Td></Table.Tr>)}</Table.Tbody>
        </Table>
      )}
      <Group justify="space-between"><Title order={3} size="h6">{t('logs')}</Title>{lost && <Text size="xs" c="red" role="status">{t('reconnecting')}</Text>}</Group>
      {noLogs ? <Problem error={new Error(t('needsPermission', { permission: noLogs }))} /> : <LogView lines={own} height="32vh" />}
    </Stack>
  )
}
