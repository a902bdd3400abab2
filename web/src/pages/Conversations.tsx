// SPDX-License-Identifier: Apache-2.0

import { Button, Checkbox, Group, ScrollArea, Stack, Table, TagsInput, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { get, type Query } from '../api/client'
import { useT } from '../i18n'
import { useMay, useSession } from '../session'
import { DeleteDialog, WriteDialog } from '../ui/dialogs'
import { Permitted, Problem, Waiting } from '../ui/feedback'
import { Id, When } from '../ui/format'

/**
 * Conversations shows the read positions of users. Without a filter, it shows those of the first
 * users and groups.
 */
export default function Conversations() {
  const { t, label } = useT()
  const { documents } = useSession()
  const may = useMay()
  const client = useQueryClient()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { ownerIds?: string; groupIds?: string }
  const [chosen, setChosen] = useState<{ ownerId: string; targetId: string }[]>([])
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const missing = may.call('GET', '/conversations')
  const result = useQuery({
    queryKey: ['conversations', search], enabled: !missing,
    queryFn: async () => {
      let ownerIds = search.ownerIds?.split(','), groupIds = search.groupIds?.split(',')
      if (!ownerIds && !groupIds) {
        const empty = { records: [] as { id: string | number }[] }
        const [users, groups] = await Promise.all([
          may.call('GET', '/users/page') ? empty : get('/users/page', { query: { size: 100 } }),
          may.call('GET', '/groups/page') ? empty : get('/groups/page', { query: { size: 20 } }),
        ])
        ownerIds = (users ?? empty).records.map((u) => String(u.id))
        groupIds = (groups ?? empty).records.map((g) => String(g.id))
      }
      if (!ownerIds?.length && !groupIds?.length) return undefined
      // A query returns either private or group conversations.
      const [own, grouped] = await Promise.all([
        ownerIds?.length ? get('/conversations', { query: { ownerIds } }) : undefined,
        groupIds?.length ? get('/conversations', { query: { groupIds } }) : undefined,
      ])
      return { privateConversations: own?.privateConversations ?? [], groupConversations: grouped?.groupConversations ?? [] }
    },
  })
  const set = (s: Record<string, string | undefined>) => void navigate({ to: '/conversations', search: { ...search, ...s } as never })
  const selection: Query = { privateConversationKeys: chosen }
  const done = async () => { setDialog(null); setChosen([]); await client.invalidateQueries() }
  const update = documents.service.find('PUT', '/conversations'), remove = documents.service.find('DELETE', '/conversations')
  const keys = (result.data?.privateConversations ?? []).map((c) => ({ ownerId: String(c.key.ownerId), targetId: String(c.key.targetId), readDate: c.readDate }))
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={1} size="h3">{t('conversations')}</Title>
        <Group gap={6}>
          <Permitted missing={may.operation(update)}>{(off) => <Button size="compact-sm" variant="default" disabled={off || chosen.length === 0} onClick={() => setDialog('edit')}>{t('edit')} ({chosen.length})</Button>}</Permitted>
          <Permitted missing={may.operation(remove)}>{(off) => <Button size="compact-sm" variant="default" disabled={off || chosen.length === 0} onClick={() => setDialog('delete')}>{t('delete')} ({chosen.length})</Button>}</Permitted>
        </Group>
      </Group>
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Group grow>
        <TagsInput size="xs" label={label('ownerIds')} splitChars={[',', ' ']} acceptValueOnBlur clearable value={search.ownerIds?.split(',') ?? []} onChange={(v) => set({ ownerIds: v.join(',') || undefined })} />
        <TagsInput size="xs" label={label('groupIds')} splitChars={[',', ' ']} acceptValueOnBlur clearable value={search.groupIds?.split(',') ?? []} onChange={(v) => set({ groupIds: v.join(',') || undefined })} />
      </Group>
      {!search.ownerIds && !search.groupIds && <Text size="xs" c="dimmed">{t('conversationsOfFirst')}</Text>}
      <Problem error={result.error} retry={() => void result.refetch()} />
      {result.isPending && !missing && !result.error && <Waiting />}
      <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('conversations') }}>
        <Table withTableBorder fz="sm" className="dense">
          <Table.Thead><Table.Tr><Table.Th><span className="hidden-text">{t('select')}</span></Table.Th>{[label('ownerId'), label('targetId'), label('readDate')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
          <Table.Tbody>
            {keys.map((k) => {
              const at = chosen.findIndex((c) => c.ownerId === k.ownerId && c.targetId === k.targetId)
              return (
                <Table.Tr key={`${k.ownerId}:${k.targetId}`}>
                  <Table.Td><Checkbox size="xs" aria-label={`${t('select')} ${k.ownerId}:${k.targetId}`} checked={at >= 0} onChange={() => setChosen(at >= 0 ? chosen.filter((_, i) => i !== at) : [...chosen, { ownerId: k.ownerId, targetId: k.targetId }])} /></Table.Td>
                  <Table.Td><Id value={k.ownerId} to={`/users/${k.ownerId}`} /></Table.Td><Table.Td><Id value={k.targetId} to={`/users/${k.targetId}`} /></Table.Td><Table.Td><When date={k.readDate} /></Table.Td>
                </Table.Tr>
              )
            })}
            {(result.data?.groupConversations ?? []).flatMap((g) => Object.entries((g.memberIdToReadDate ?? {}) as Record<string, string>).map(([user, date]) => (
              <Table.Tr key={`g${g.groupId}:${user}`}><Table.Td /><Table.Td><Id value={user} to={`/users/${user}`} /></Table.Td><Table.Td>{t('group')} <Id value={g.groupId} to={`/groups/${g.groupId}`} /></Table.Td><Table.Td><When date={date} /></Table.Td></Table.Tr>
            )))}
            {result.data && keys.length === 0 && result.data.groupConversations.length === 0 && <Table.Tr><Table.Td colSpan={4}><Text ta="center" c="dimmed" p="md">{t('noRecords')}</Text></Table.Td></Table.Tr>}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      {dialog === 'edit' && update && <WriteDialog document={documents.service} operation={update} title={t('edit')} selection={{ ...selection, groupConversationMemberKeys: undefined }} count={chosen.length} initial={chosen.length === 1 ? { readDate: keys.find((k) => k.ownerId === chosen[0]!.ownerId && k.targetId === chosen[0]!.targetId)?.readDate } : undefined} onClose={() => setDialog(null)} onDone={() => void done()} />}
      {dialog === 'delete' && remove && <DeleteDialog document={documents.service} operation={remove} title={t('delete')} selection={{ ...selection, ownerIds: undefined, groupIds: undefined }} count={chosen.length} names={chosen.map((c) => `${c.ownerId} → ${c.targetId}`)} onClose={() => setDialog(null)} onDone={() => void done()} />}
    </Stack>
  )
}
