// SPDX-License-Identifier: Apache-2.0

import { Badge, Button, Group, Stack, Tabs, Text, Title } from '@mantine/core'
import { IconEdit, IconPlugOff, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { get, type Query } from '../api/client'
import { useT, type Key } from '../i18n'
import { operationsOf, resources } from '../resources'
import { useMay, useSession } from '../session'
import { DeleteDialog, WriteDialog } from '../ui/dialogs'
import { Permitted, Problem, Waiting } from '../ui/feedback'
import type { Search } from '../ui/filters'
import { Chip, Id } from '../ui/format'
import { RecordTable, ResourceList } from '../ui/list'
import { Devices, useDisconnect } from '../ui/devices'

interface Tab {
  name: string
  title: Key
  resource: string
  fixed: (id: string) => Query
  preset?: (id: string) => Record<string, unknown>
}

const tabs: Tab[] = [
  { name: 'relationships', title: 'relationships', resource: 'relationships', fixed: (id) => ({ ownerIds: [id] }), preset: (id) => ({ ownerId: id }) },
  { name: 'related', title: 'relatedTo', resource: 'relationships', fixed: (id) => ({ relatedUserIds: [id] }), preset: (id) => ({ relatedUserId: id }) },
  { name: 'requests-sent', title: 'requestsSent', resource: 'friend-requests', fixed: (id) => ({ requesterIds: [id] }), preset: (id) => ({ requesterId: id }) },
  { name: 'requests-received', title: 'requestsReceived', resource: 'friend-requests', fixed: (id) => ({ recipientIds: [id] }), preset: (id) => ({ recipientId: id }) },
  { name: 'groups', title: 'groups', resource: 'groups', fixed: (id) => ({ memberIds: [id] }), preset: (id) => ({ creatorId: id }) },
  { name: 'memberships', title: 'memberships', resource: 'group-members', fixed: (id) => ({ userIds: [id] }), preset: (id) => ({ userId: id }) },
  { name: 'messages', title: 'messagesSent', resource: 'messages', fixed: (id) => ({ senderIds: [id] }), preset: (id) => ({ senderId: id }) },
  { name: 'received', title: 'messagesReceived', resource: 'messages', fixed: (id) => ({ targetIds: [id], areGroupMessages: false }), preset: (id) => ({ targetId: id }) },
  { name: 'audit', title: 'auditLog', resource: 'audit', fixed: (id) => ({ targetId: id }) },
]

/** RecordTabs shows lists of what belongs to one record. Tab, filters and page are in the URL. */
export function RecordTabs({ id, list, at, first, label }: { id: string; list: Tab[]; at: string; first: React.ReactNode; label: string }) {
  const { t } = useT()
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const tab = list.find((x) => x.name === search.tab)
  return (
    <Tabs value={search.tab ?? 'record'} onChange={(v) => void navigate({ to: at, search: (v === 'record' ? {} : { tab: v }) as never })} keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="record">{label}</Tabs.Tab>
        {list.map((x) => <Tabs.Tab key={x.name} value={x.name}>{t(x.title)}</Tabs.Tab>)}
      </Tabs.List>
      <Tabs.Panel value="record" pt="md">{first}</Tabs.Panel>
      {tab && (
        <Tabs.Panel value={tab.name} pt="md">
          <ResourceList key={tab.name} embedded resource={resources.find((r) => r.name === tab.resource)!} fixed={tab.fixed(id)} preset={tab.preset?.(id)} search={search}
            onSearch={(s) => void navigate({ to: at, search: { ...s, tab: tab.name } as never })} />
        </Tabs.Panel>
      )}
    </Tabs>
  )
}

export default function UserPage() {
  const { t } = useT()
  const { documents } = useSession()
  const may = useMay()
  const client = useQueryClient()
  const navigate = useNavigate()
  const { id } = useParams({ strict: false }) as { id: string }
  const [dialog, setDialog] = useState<'edit' | 'delete' | 'block' | null>(null)
  const ops = operationsOf(documents.service, '/users')!
  const block = documents.service.find('POST', '/blocked-clients/users')
  const missing = may.operation(ops.list)
  const user = useQuery({ queryKey: ['user', id], enabled: !missing, queryFn: async () => (await get('/users', { query: { ids: [id] } }))?.[0] ?? null })
  const status = useQuery({ queryKey: ['user-status', id], enabled: !may.call('GET', '/users/online-infos/statuses'), refetchInterval: 5000, queryFn: async () => (await get('/users/online-infos/statuses', { query: { ids: [id] } }))?.[0] ?? null })
  const disconnect = useDisconnect()
  const blocked = useQuery({ queryKey: ['user-blocked', id], enabled: !may.call('GET', '/blocked-clients/users'), queryFn: async () => (await get('/blocked-clients/users', { query: { ids: [id] } }))?.[0] ?? null })
  const done = async () => { setDialog(null); await client.invalidateQueries() }
  const u = user.data
  const online = status.data && status.data.userStatus !== 'OFFLINE'
  return (
    <Stack data-user={id}>
      <Group justify="space-between">
        <Group gap="xs">
          <Title order={1} size="h3">{u?.name || t('user')}</Title><Id value={id} />
          {status.data && <Chip value={status.data.userStatus} />}
          {u?.deletionDate && <Badge className="chip" color="red" variant="light">{t('deletedMark')}</Badge>}
          {u && !u.isActive && <Badge className="chip" color="gray" variant="light">{t('inactive')}</Badge>}
          {blocked.data && <Badge className="chip" color="red" variant="light">{t('blocked')}</Badge>}
        </Group>
        <Group gap={6}>
          <Permitted missing={may.call('PUT', '/users/online-infos/statuses')}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconPlugOff size={14} />} disabled={off || !online} onClick={() => void disconnect([id])}>{t('disconnect')}</Button>}</Permitted>
          {block && <Permitted missing={may.operation(block)}>{(off) => <Button size="compact-sm" variant="default" disabled={off} onClick={() => setDialog('block')}>{t('block')}</Button>}</Permitted>}
          <Permitted missing={may.operation(ops.update)}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconEdit size={14} />} disabled={off || !u} onClick={() => setDialog('edit')} name="update">{t('edit')}</Button>}</Permitted>
          <Permitted missing={may.operation(ops.remove)}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconTrash size={14} />} disabled={off || !u} onClick={() => setDialog('delete')} name="delete">{t('delete')}</Button>}</Permitted>
        </Group>
      </Group>
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Problem error={user.error} retry={() => void user.refetch()} />
      {user.isPending && !missing && !user.error ? <Waiting /> : null}
      {u === null && <Text>{t('noSuchRecord')}</Text>}
      {u && <RecordTabs id={id} at={`/users/${id}`} list={tabs} label={t('user')} first={<Stack><RecordTable record={u as Record<string, unknown>} /><Devices id={id} /></Stack>} />}
      {dialog === 'edit' && u && <WriteDialog document={documents.service} operation={ops.update!} title={`${t('edit')}: ${u.name}`} selection={{ ids: [id] }} count={1} initial={u as Record<string, unknown>} onClose={() => setDialog(null)} onDone={() => void done()} />}
      {dialog === 'block' && block && <WriteDialog document={documents.service} operation={block} title={`${t('block')}: ${u?.name ?? id}`} preset={{ ids: [id] }} onClose={() => setDialog(null)} onDone={() => void done()} />}
      {dialog === 'delete' && u && <DeleteDialog document={documents.service} operation={ops.remove!} title={t('delete')} selection={{ ids: [id] }} count={1} names={[`${id}  ${u.name}`]} onClose={() => setDialog(null)} onDone={() => void done().then(() => navigate({ to: '/users' }))} />}
    </Stack>
  )
}
