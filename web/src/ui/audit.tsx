// SPDX-License-Identifier: Apache-2.0

import { Alert, Badge, Code, Stack, Table, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { useT } from '../i18n'
import { same } from './form'
import { Chip, Id, linkOf, Value, When } from './format'

export type AuditRecord = Schemas['AuditRecord']
type Change = Schemas['AuditChange']

/** keyText formats the key of a changed record. */
const keyText = (key: Change['key']) => Object.entries(key ?? {}).map(([k, v]) => (k === 'id' ? String(v) : `${k} ${String(v)}`)).join(', ')

/** changedFields returns the fields that a change modified. */
export function changedFields(c: Change): string[] {
  return [...new Set([...Object.keys(c.before ?? {}), ...Object.keys(c.after ?? {})])].filter((f) => !same(c.before?.[f], c.after?.[f]))
}

/** ChangeSummary describes the changes of a request in one line. */
export function ChangeSummary({ record: r }: { record: AuditRecord }) {
  const { label } = useT()
  const changes = r.changes ?? []
  const first = changes[0]
  if (!first) return <Text span inherit c="dimmed">–</Text>
  const more = changes.length - 1 + Number(r.omittedChanges ?? 0)
  const fields = first.action === 'UPDATE' ? changedFields(first).map(label) : []
  return (
    <Text span inherit className="cell">
      {label(first.action)} {label(first.record)} {keyText(first.key)}{fields.length > 0 ? `: ${fields.slice(0, 4).join(', ')}` : ''}{more > 0 ? ` (+${more})` : ''}
    </Text>
  )
}

/** Who shows the administrator or the plugin of a record. */
export function Who({ record: r }: { record: AuditRecord }) {
  const { t } = useT()
  return <>{r.pluginId ? `${t('plugin')} ${r.pluginId}` : r.loginName || (r.adminId === undefined ? '–' : String(r.adminId))}</>
}

/** AuditDetail shows a record with the values before and after each change. */
export function AuditDetail({ record: r }: { record: AuditRecord }) {
  const { t, label } = useT()
  const rows: [string, React.ReactNode][] = [
    [t('when'), <When date={r.date} />],
    [t('who'), <Text span inherit><Who record={r} />{r.onBehalfOf ? ` (${r.onBehalfOf})` : ''}</Text>],
    [label('operation'), <Link className="link" to="/api" search={{ op: r.operation } as never}>{r.operation}</Link>],
    [label('outcome'), <Chip value={r.outcome} />],
    [label('reason'), r.reason],
    [t('code'), `${r.code} · HTTP ${r.status}`],
    ['IP', r.ip],
    [t('node'), <Id value={r.nodeId} to={`/nodes/${r.nodeId}`} />],
    [t('requestId'), r.requestId && <Id value={r.requestId} />],
    [label('tokenId'), r.tokenId && <Id value={r.tokenId} />],
    [label('pluginVersion'), r.pluginVersion],
    [label('targetIds'), r.targetIds.join(', ')],
  ]
  return (
    <Stack gap="sm" data-audit={String(r.id)}>
      <Table fz="sm" variant="vertical" withTableBorder layout="fixed" className="record">
        <Table.Tbody>{rows.filter(([, v]) => v !== undefined && v !== '').map(([k, v]) => <Table.Tr key={k}><Table.Th w={140} scope="row">{k}</Table.Th><Table.Td style={{ overflowWrap: 'anywhere' }}>{v}</Table.Td></Table.Tr>)}</Table.Tbody>
      </Table>
      {r.params !== undefined && <div><Text size="sm" fw={600}>{t('parameters')}</Text><Code block><pre className="wrap">{JSON.stringify(r.params, null, 2)}</pre></Code></div>}
      {(r.changes ?? []).map((c, i) => <ChangeTable key={i} change={c} />)}
      {Number(r.omittedChanges ?? 0) > 0 && <Alert color="blue" p="xs">{t('omittedChanges', { count: String(r.omittedChanges) })}</Alert>}
    </Stack>
  )
}

function ChangeTable({ change: c }: { change: Change }) {
  const { t, label } = useT()
  const changed = new Set(changedFields(c))
  const fields = [...new Set([...Object.keys(c.before ?? {}), ...Object.keys(c.after ?? {})])].sort((a, b) => Number(changed.has(b)) - Number(changed.has(a)))
  const link = c.record === 'user' ? linkOf('userId', c.key?.id as string) : c.record === 'group' ? linkOf('groupId', c.key?.id as string) : undefined
  return (
    <div data-change={`${c.action} ${c.record}`}>
      <Text size="sm" fw={600} mb={4}><Badge size="sm" variant="light" className="chip" color={c.action === 'DELETE' ? 'red' : c.action === 'CREATE' ? 'green' : 'blue'}>{label(c.action)}</Badge> {label(c.record)} {link ? <Link className="link" to={link}>{keyText(c.key)}</Link> : keyText(c.key)}</Text>
      {fields.length > 0 && (
        <Table fz="xs" withTableBorder layout="fixed" className="record">
          <Table.Thead><Table.Tr><Table.Th w="30%">{t('field')}</Table.Th><Table.Th>{t('before')}</Table.Th><Table.Th>{t('after')}</Table.Th></Table.Tr></Table.Thead>
          <Table.Tbody>
            {fields.map((f) => (
              <Table.Tr key={f} className={changed.has(f) ? 'diff' : undefined} data-field={f}>
                <Table.Th scope="row" fw={changed.has(f) ? 600 : 400}>{label(f)}</Table.Th>
                <Table.Td className="removed">{c.before && f in c.before ? <Value field={f} value={c.before[f]} /> : '–'}</Table.Td>
                <Table.Td className="added">{c.after && f in c.after ? <Value field={f} value={c.after[f]} /> : '–'}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  )
}
