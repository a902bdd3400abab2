// SPDX-License-Identifier: Apache-2.0

import { Badge, Button, Code, Group, Stack, Table, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { get, send, type Schemas } from '../api/client'
import { useT, type Key } from '../i18n'
import { useMay, useSession } from '../session'
import { WriteDialog } from './dialogs'
import { fail, Permitted, Problem, succeed } from './feedback'
import { bytes, Chip, When } from './format'

type Cluster = Schemas['ClusterRecord']
type Version = Schemas['VersionRecord']
type Rollout = Schemas['RolloutRecord']

type Decision = { action: string; title: Key }

const nextStep: Decision = { action: 'NEXT', title: 'nextStep' }
const decisions: Record<string, Decision[]> = {
  RUNNING: [{ action: 'PAUSE', title: 'pause' }, { action: 'PROMOTE', title: 'promote' }, { action: 'ABORT', title: 'abort' }],
  PAUSED: [{ action: 'RESUME', title: 'resume' }, { action: 'PROMOTE', title: 'promote' }, { action: 'ABORT', title: 'abort' }],
}

/** useScope returns a function that describes the scope of a rollout and its figures. */
function useScope() {
  const { t, label } = useT()
  return (r: Rollout): string[] => {
    const lines = []
    if (r.mode !== 'NODES') lines.push(t('percentOfUsers', { percentage: r.percentage ?? 0 }))
    if (r.userIds?.length) lines.push(`${label('userIds')}: ${r.userIds.join(', ')}`)
    if (r.nodeIds.length) lines.push(`${label('nodes')}: ${r.nodeIds.join(', ')}`)
    if (r.mode === 'SHADOW') lines.push(t('onCopiesOfCalls'))
    const step = (r.steps ?? []).filter((s) => s.startDate).length
    if (step) lines.push(t('stepOf', { step, steps: r.steps!.length }))
    const figures = (of: object) => Object.entries(of).map(([name, count]) => `${label(name)} ${count}`).join(', ')
    for (const n of r.nodes ?? []) lines.push(`${n.nodeId}: ${figures(n.shadow)}`)
    if (r.figures) lines.push(`${label('candidate')}: ${figures(r.figures.shadow ?? r.figures.candidate)}`)
    return lines
  }
}

/**
 * ClusterPlugin shows a plugin of the cluster: its state on each node, its versions and its
 * rollouts.
 */
export function ClusterPlugin({ id, cluster }: { id: string; cluster: Cluster }) {
  const { t, label } = useT()
  const may = useMay()
  const { documents } = useSession()
  const scope = useScope()
  const client = useQueryClient()
  const [trying, setTrying] = useState<Version | null>(null)
  const [busy, setBusy] = useState(false)
  const versions = useQuery({ queryKey: ['plugin-versions', id, cluster.revision], placeholderData: keepPreviousData, queryFn: async () => (await get('/plugins/versions', { query: { ids: [id] } })) ?? [] })
  const rollouts = useQuery({ queryKey: ['plugin-rollouts', id, cluster.revision], placeholderData: keepPreviousData, refetchInterval: cluster.rollout ? 3000 : false, queryFn: async () => (await get('/plugins/rollouts', { query: { pluginIds: [id] } })) ?? [] })
  /** trial is true while a version is being rolled out, whichever response reported it first. */
  const trial = cluster.rollout !== undefined || (rollouts.data ?? []).some((r) => r.status in decisions)
  // A change is refused if the plugin is no longer in the shown state.
  const headers = { 'If-Match': `"${cluster.revision}"` }
  // Disable actions until the plugin is shown with the change.
  const refresh = async () => {
    setBusy(true)
    await Promise.all(['plugins', 'plugin-versions', 'plugin-rollouts'].map((key) => client.invalidateQueries({ queryKey: [key] })))
    setBusy(false)
  }
  const change = async (f: () => Promise<unknown>) => {
    setBusy(true)
    try {
      await f()
      succeed(t('done'))
    } catch (e) {
      fail(e, t('requestFailed'))
    }
    await refresh()
  }
  const update = may.call('PUT', '/plugins/versions')
  const create = documents.service.find('POST', '/plugins/rollouts')
  const head = (names: string[]) => <Table.Thead><Table.Tr>{names.map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
  return (
    <Stack data-cluster-plugin={id}>
      <Title order={3} size="h6">{label('nodes')}</Title>
      <Table fz="xs" withTableBorder data-plugin-nodes>
        {head([t('node'), t('state'), t('version'), label('reason')])}
        <Table.Tbody>
          {cluster.nodes.map((n) => <Table.Tr key={n.nodeId}><Table.Td>{n.nodeId}</Table.Td><Table.Td><Chip value={n.state} /></Table.Td><Table.Td>{n.number ? `${n.number} (${n.version ?? '–'})` : '–'}{n.candidate && <Group gap={4} data-candidate={n.candidate.state}><Text size="xs">{t('besideIt', { version: `${n.candidate.number} (${n.candidate.version ?? '–'})` })}</Text><Chip value={n.candidate.state} /></Group>}</Table.Td><Table.Td style={{ overflowWrap: 'anywhere' }}>{n.reason ?? n.candidate?.reason ?? '–'}</Table.Td></Table.Tr>)}
        </Table.Tbody>
      </Table>
      <Title order={3} size="h6">{t('versions')}</Title>
      <Problem error={versions.error} retry={() => void versions.refetch()} />
      <Table fz="xs" withTableBorder data-versions>
        {head([t('version'), label('uploadDate'), label('size'), label('digest'), t('actions')])}
        <Table.Tbody>
          {(versions.data ?? []).map((v) => (
            <Table.Tr key={v.number} data-version={v.number} data-active={v.active}>
              <Table.Td>{v.number} ({v.version ?? '–'}) {v.active && <Badge size="xs" className="chip" variant="light" color="green">{t('active')}</Badge>}</Table.Td>
              <Table.Td><When date={v.uploadDate} /></Table.Td><Table.Td>{bytes(Number(v.size))}</Table.Td><Table.Td><Code>{v.digest.slice(0, 12)}</Code></Table.Td>
              <Table.Td>
                {!v.active && (
                  <Group gap={4} wrap="nowrap">
                    <Permitted missing={update}>{(off) => <Button size="compact-xs" variant="default" name="activate-version" disabled={off || busy || trial} onClick={() => void change(() => send('PUT', '/plugins/versions', { query: { id }, headers, body: { number: v.number } }))}>{t('activate')}</Button>}</Permitted>
                    <Permitted missing={create && may.operation(create)}>{(off) => <Button size="compact-xs" variant="default" name="try-version" disabled={off || busy || trial} onClick={() => setTrying(v)}>{t('tryOnNodes')}</Button>}</Permitted>
                    <Permitted missing={may.call('DELETE', '/plugins/versions')}>{(off) => <Button size="compact-xs" variant="default" name="delete-version" disabled={off || busy} onClick={() => void change(() => send('DELETE', '/plugins/versions', { query: { id, numbers: [String(v.number)] } }))}>{t('delete')}</Button>}</Permitted>
                  </Group>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Title order={3} size="h6">{t('rollouts')}</Title>
      <Problem error={rollouts.error} retry={() => void rollouts.refetch()} />
      {rollouts.data?.length === 0 ? <Text size="sm" c="dimmed">{t('noRollouts')}</Text> : (
        <Table fz="xs" withTableBorder data-rollouts>
          {head([t('version'), t('state'), t('appliesTo'), t('startedAt'), t('actions')])}
          <Table.Tbody>
            {(rollouts.data ?? []).map((r: Rollout) => (
              <Table.Tr key={String(r.id)} data-rollout={r.status}>
                <Table.Td>{r.number}</Table.Td>
                <Table.Td><Chip value={r.status} />{r.reason && <Text size="xs" c="red" maw={260}>{r.reason}</Text>}</Table.Td>
                <Table.Td>{scope(r).map((line) => <Text key={line} size="xs" style={{ overflowWrap: 'anywhere' }}>{line}</Text>)}</Table.Td><Table.Td><When date={r.startDate} /></Table.Td>
                <Table.Td>
                  <Group gap={4} wrap="nowrap">
                    {[...(decisions[r.status] ?? []), ...(r.status === 'RUNNING' && r.steps?.some((s) => !s.startDate) ? [nextStep] : [])].map((d) => <Permitted key={d.action} missing={may.call('PUT', '/plugins/rollouts')}>{(off) => <Button size="compact-xs" variant="default" name={`rollout-${d.action}`} disabled={off || busy} onClick={() => void change(() => send('PUT', '/plugins/rollouts', { query: { id: String(r.id) }, body: { action: d.action } }))}>{t(d.title)}</Button>}</Permitted>)}
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {trying && create && (
        <WriteDialog document={documents.service} operation={create} headers={headers} title={t('tryOnNodes')} preset={{ pluginId: id, number: trying.number, nodeIds: cluster.nodes.slice(0, 1).map((n) => n.nodeId) }}
          onClose={() => setTrying(null)} onDone={() => { setTrying(null); void refresh() }} />
      )}
    </Stack>
  )
}
