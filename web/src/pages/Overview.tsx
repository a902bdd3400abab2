// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Badge, Button, Card, Group, Menu, Progress, ScrollArea, SimpleGrid, Stack, Table, Text, Title, Tooltip } from '@mantine/core'
import { IconCrown, IconDots } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ApiError, get, url, type Schemas } from '../api/client'
import { useT } from '../i18n'
import { latest, useMetrics } from '../metrics'
import { useMay } from '../session'
import { ChangeSummary, Who } from '../ui/audit'
import { Problem, Waiting } from '../ui/feedback'
import { bytes, Chip, duration, Id, When } from '../ui/format'
import { processesOf, useMembers, type Member } from '../ui/nodes'

/** names are the metrics of each node in the overview. */
const names = ['process.cpu.usage', 'system.cpu.usage', 'system.memory.free', 'system.memory.total', 'disk.free', 'disk.total', 'process.uptime', 'process.start.time', 'go.memory.heap.used', 'message.sent', 'app.client.request', 'app.client.sessions', 'http.server.requests']

interface Reading {
  process: string
  messages?: number
  requests?: number
  http?: number
  errors?: number
}

export default function Overview() {
  const { t, label } = useT()
  const may = useMay()
  const members = useMembers()
  const [readings, setReadings] = useState<Record<string, Reading>>({})
  const online = useQuery({ queryKey: ['online'], enabled: !may.call('GET', '/users/online-infos/count'), refetchInterval: 5000, queryFn: () => get('/users/online-infos/count') })
  const leader = useQuery({ queryKey: ['leader'], enabled: !may.call('GET', '/cluster/members/leader'), refetchInterval: 5000, queryFn: async () => (await get('/cluster/members/leader'))?.key.nodeId ?? null })
  const history = useQuery({ queryKey: ['settings-history'], enabled: !may.call('GET', '/cluster/settings/history'), refetchInterval: 15000, queryFn: async () => (await get('/cluster/settings/history', { query: { size: 5 } })) ?? [] })
  const changes = useQuery({ queryKey: ['latest-changes'], enabled: !may.call('GET', '/audit'), refetchInterval: 10_000, queryFn: async () => (await get('/audit', { query: { outcomes: ['DONE'], size: 8 } })) ?? [] })
  const plugins = useQuery({
    queryKey: ['plugin-trouble', members.data?.map((m) => m.key.nodeId)], enabled: members.data !== undefined && !may.call('GET', '/plugins'), refetchInterval: 10000,
    queryFn: async () => {
      const trouble: { node: string; id: string; reason: string }[] = []
      await Promise.all(processesOf(members.data!).map(async ({ node }) => {
        try {
          const list = (await get('/plugins', { node, query: { includeRejected: true } })) ?? []
          const ids = list.filter((p) => !p.rejected).map((p) => p.id)
          for (const p of list) if (p.rejected) trouble.push({ node, id: p.id, reason: p.rejected.reason })
          if (ids.length === 0) return
          for (const p of (await get('/plugins', { node, query: { ids } })) ?? []) {
            for (const e of p.extensions) {
              if (e.quarantine) trouble.push({ node, id: p.id, reason: e.quarantine })
              else if (Number(e.errors ?? 0) > 0 && e.lastError) trouble.push({ node, id: p.id, reason: e.lastError.reason })
            }
          }
        } catch (e) {
          if (!(e instanceof ApiError)) throw e // The table shows unreachable nodes as such.
        }
      }))
      return trouble
    },
  })
  const { gone, dismiss } = useGone(members.data)
  const missing = may.call('GET', '/cluster/members')
  const unique = Object.values(Object.fromEntries(Object.values(readings).map((r) => [r.process, r])))
  const sum = (f: (r: Reading) => number | undefined) => unique.reduce<number | undefined>((s, r) => (f(r) === undefined ? s : (s ?? 0) + f(r)!), undefined)
  const perSecond = (v: number | undefined) => (v === undefined ? '–' : v.toFixed(v < 10 ? 1 : 0))
  const count = (type: string) => members.data?.filter((m) => m.nodeType === type).length ?? 0
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">{t('overview')}</Title>
        {members.dataUpdatedAt > 0 && <Text size="xs" c="dimmed" data-refreshed>{t('refreshedAt', { time: new Date(members.dataUpdatedAt).toLocaleTimeString() })}</Text>}
      </Group>
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Problem error={members.error} />
      <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="xs">
        <Figure label={t('services')} value={String(count('SERVICE'))} />
        <Figure label={t('gateways')} value={String(count('GATEWAY'))} />
        <Figure label={t('onlineUsers')} value={online.data ? Number(online.data.total).toLocaleString() : '–'} to="/sessions" />
        <Figure label={t('messagesPerSecond')} value={perSecond(sum((r) => r.messages))} to="/statistics" />
        <Figure label={t('requestsPerSecond')} value={perSecond(sum((r) => (r.requests ?? 0) + (r.http ?? 0)))} />
        <Figure label={t('errorsPerSecond')} value={perSecond(sum((r) => r.errors))} bad={(sum((r) => r.errors) ?? 0) > 0} />
      </SimpleGrid>
      {members.data ? (
        <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('members') }}>
          <Table withTableBorder fz="sm" className="dense" verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>{[t('node'), t('role'), t('state'), t('cpu'), t('memory'), t('disk'), t('uptime'), t('version'), t('actions')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {members.data.map((m) => <NodeRow key={m.key.nodeId} member={m} leads={leader.data === m.key.nodeId} onReading={(r) => setReadings((old) => ({ ...old, [m.key.nodeId]: r }))} />)}
              {gone.map(({ member: m, since }) => (
                <Table.Tr key={m.key.nodeId} data-gone={m.key.nodeId}>
                  <Table.Td><Group gap={4} wrap="nowrap"><Id value={m.key.nodeId} />{m.name && <Text size="xs" c="dimmed">{m.name}</Text>}</Group></Table.Td>
                  <Table.Td>{label(m.nodeType)}</Table.Td>
                  <Table.Td colSpan={6}><Group gap={6} wrap="nowrap"><Chip value="DOWN" /><Text size="xs" c="red">{t('nodeLeft')} <When date={since} /></Text></Group></Table.Td>
                  <Table.Td><Button size="compact-xs" variant="default" onClick={() => dismiss(m.key.nodeId)}>{t('dismiss')}</Button></Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      ) : !missing && <Waiting />}
      <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
        <Card withBorder padding="sm">
          <Title order={2} size="h5" mb="xs">{t('pluginsInTrouble')}</Title>
          {(plugins.data ?? []).length === 0 ? <Text size="sm" c="dimmed">{t('none')}</Text> : plugins.data!.map((p) => (
            <Text key={p.node + p.id + p.reason} size="sm" style={{ overflowWrap: 'anywhere' }}><Link className="link" to="/cluster/plugin" search={{ node: p.node } as never}>{p.id}</Link>: {p.reason}</Text>
          ))}
        </Card>
        <Card withBorder padding="sm">
          <Title order={2} size="h5" mb="xs">{t('lastChanges')}</Title>
          {(changes.data ?? []).length === 0 ? <Text size="sm" c="dimmed">{t('none')}</Text> : changes.data!.map((r) => (
            <Text key={String(r.id)} size="sm" data-latest={r.operation} style={{ overflowWrap: 'anywhere' }}><When date={r.date} /> · <Who record={r} /> · <Link className="link" to="/audit" search={{ ids: String(r.id) } as never}>{r.operation}</Link> <ChangeSummary record={r} /></Text>
          ))}
          <Text size="sm" mt={4}><Link className="link" to="/audit">{t('auditLog')}</Link></Text>
        </Card>
        <Card withBorder padding="sm">
          <Title order={2} size="h5" mb="xs">{t('lastSettings')}</Title>
          {(history.data ?? []).length === 0 ? <Text size="sm" c="dimmed">{t('none')}</Text> : history.data!.map((r: Schemas['SettingRevision']) => (
            <Text key={String(r.revision)} size="sm" style={{ overflowWrap: 'anywhere' }}><When date={r.date} /> · {t('administrator')} {String(r.adminId)} · {r.changes.map((c) => c.property).slice(0, 3).join(', ') || r.action}</Text>
          ))}
          <Text size="sm" mt={4}><Link className="link" to="/cluster/settings" search={{ tab: 'history' } as never}>{t('settingsHistory')}</Link></Text>
        </Card>
      </SimpleGrid>
    </Stack>
  )
}

/** useGone returns the nodes that left the cluster while the page was open. */
function useGone(members: Member[] | undefined) {
  const seen = useRef(new Map<string, Member>())
  const [gone, setGone] = useState<{ member: Member; since: number }[]>([])
  useEffect(() => {
    if (!members) return
    const ids = new Set(members.map((m) => m.key.nodeId))
    for (const m of members) seen.current.set(m.key.nodeId, m)
    setGone((old) => {
      const kept = old.filter((g) => !ids.has(g.member.key.nodeId))
      const fresh = [...seen.current.values()].filter((m) => !ids.has(m.key.nodeId) && !kept.some((k) => k.member.key.nodeId === m.key.nodeId)).map((member) => ({ member, since: Date.now() }))
      return fresh.length === 0 && kept.length === old.length ? old : [...kept, ...fresh]
    })
  }, [members])
  const dismiss = (id: string) => {
    seen.current.delete(id)
    setGone((old) => old.filter((g) => g.member.key.nodeId !== id))
  }
  return { gone, dismiss }
}

function Figure({ label, value, to, bad }: { label: string; value: string; to?: string; bad?: boolean }) {
  return (
    <Card withBorder padding="xs">
      <Text size="xs" c="dimmed">{to ? <Link className="link" to={to}>{label}</Link> : label}</Text>
      <Text fz={24} fw={700} c={bad ? 'red' : undefined}>{value}</Text>
    </Card>
  )
}

function Bar({ used, text, label }: { used: number | undefined; text: string; label: string }) {
  if (used === undefined) return <Text size="xs" c="dimmed">–</Text>
  return (
    <Tooltip label={text}>
      <Group gap={6} wrap="nowrap" w={90}>
        <Progress flex={1} size="md" value={used * 100} color={used > 0.9 ? 'red' : used > 0.75 ? 'yellow' : 'blue'} aria-label={`${label} ${(used * 100).toFixed(0)} %`} />
        <Text size="xs">{(used * 100).toFixed(0)}%</Text>
      </Group>
    </Tooltip>
  )
}

function NodeRow({ member: m, leads, onReading }: { member: Member; leads: boolean; onReading: (r: Reading) => void }) {
  const { t, label } = useT()
  const may = useMay()
  const id = m.key.nodeId
  const { history: h, error, at } = useMetrics(id, names, 3000)
  const health = useQuery({
    queryKey: ['health', id], refetchInterval: 5000, retry: false,
    queryFn: async () => {
      try {
        await get('/health', { node: id })
        return ''
      } catch (e) {
        return e instanceof ApiError ? e.reason : String(e)
      }
    },
  })
  useEffect(() => {
    if (at === undefined) return
    let errors: number | undefined
    for (const [key, s] of h.series) if (key.startsWith('http.server.requests{') && /outcome:(SERVER_ERROR)/.test(key) && key.endsWith('}/s')) errors = (errors ?? 0) + (s.values[s.values.length - 1] ?? 0)
    onReading({ process: `${m.memberHost} ${latest(h, 'process.start.time') ?? id}`, messages: latest(h, 'message.sent', '/s'), requests: latest(h, 'app.client.request', '/s'), http: latest(h, 'http.server.requests', '/s'), errors: errors ?? 0 })
  }, [at]) // eslint-disable-line
  const ratio = (free: string, total: string) => {
    const f = latest(h, free), all = latest(h, total)
    return f === undefined || !all ? undefined : 1 - f / all
  }
  const uptime = latest(h, 'process.uptime')
  const bad = !m.status.isHealthy || (health.data ?? '') !== '' || error !== null
  return (
    <Table.Tr data-node={id}>
      <Table.Td><Group gap={4} wrap="nowrap">{leads && <Tooltip label={t('leader')}><IconCrown size={14} aria-label={t('leader')} /></Tooltip>}<Id value={id} to={`/nodes/${id}`} />{m.name && <Text size="xs" c="dimmed">{m.name}</Text>}</Group></Table.Td>
      <Table.Td>{label(m.nodeType)}</Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap"><Chip value={bad ? 'DOWN' : 'UP'} />{!m.status.isActive && <Badge size="sm" className="chip" color="gray" variant="light">{t('inactive')}</Badge>}</Group>
        {bad && <Text size="xs" c="red" maw={260} style={{ whiteSpace: 'normal' }}>{health.data || (error ? (error as Error).message : t('unhealthy'))}</Text>}
      </Table.Td>
      <Table.Td><Bar used={latest(h, 'system.cpu.usage')} label={t('cpu')} text={t('ofProcess', { value: `${((latest(h, 'process.cpu.usage') ?? 0) * 100).toFixed(1)} %` })} /></Table.Td>
      <Table.Td><Bar used={ratio('system.memory.free', 'system.memory.total')} label={t('memory')} text={t('ofProcess', { value: bytes(latest(h, 'go.memory.heap.used') ?? 0) })} /></Table.Td>
      <Table.Td><Bar used={ratio('disk.free', 'disk.total')} label={t('disk')} text={`${bytes(latest(h, 'disk.free') ?? 0)} / ${bytes(latest(h, 'disk.total') ?? 0)}`} /></Table.Td>
      <Table.Td>{uptime === undefined ? '–' : duration(uptime * 1000)}</Table.Td>
      <Table.Td>{m.nodeVersion.version}</Table.Td>
      <Table.Td>
        <Menu position="bottom-end">
          <Menu.Target><ActionIcon variant="subtle" size="sm" aria-label={`${t('actions')} ${id}`}><IconDots size={16} /></ActionIcon></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item component={Link} to={`/nodes/${id}`}>{t('details')}</Menu.Item>
            <Menu.Item component={Link} to="/logs" search={{ node: id } as never}>{t('logs')}</Menu.Item>
            <Menu.Item component="a" href={url('/threaddump', id)} target="_blank" disabled={may.call('GET', '/threaddump') !== undefined}>{t('threadDump')}</Menu.Item>
            <Menu.Item component="a" href={url('/heapdump', id)} download disabled={may.call('GET', '/heapdump') !== undefined}>{t('heapDump')}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Table.Td>
    </Table.Tr>
  )
}
