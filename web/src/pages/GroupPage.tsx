// SPDX-License-Identifier: Apache-2.0

import { Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import { IconEdit, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../api/client'
import { useT } from '../i18n'
import { operationsOf } from '../resources'
import { useMay, useSession } from '../session'
import { DeleteDialog, WriteDialog } from '../ui/dialogs'
import { Permitted, Problem, Waiting } from '../ui/feedback'
import { Id } from '../ui/format'
import { RecordTable } from '../ui/list'
import { RecordTabs } from './UserPage'

const of = (id: string) => ({ groupIds: [id] })
const preset = (id: string) => ({ groupId: id })

export default function GroupPage() {
  const { t } = useT()
  const { documents } = useSession()
  const may = useMay()
  const client = useQueryClient()
  const navigate = useNavigate()
  const { id } = useParams({ strict: false }) as { id: string }
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const ops = operationsOf(documents.service, '/groups')!
  const missing = may.operation(ops.list)
  const group = useQuery({ queryKey: ['group', id], enabled: !missing, queryFn: async () => (await get('/groups', { query: { ids: [id] } }))?.[0] ?? null })
  const done = async () => { setDialog(null); await client.invalidateQueries() }
  const g = group.data
  return (
    <Stack data-group={id}>
      <Group justify="space-between">
        <Group gap="xs">
          <Title order={1} size="h3">{g?.name || t('group')}</Title><Id value={id} />
          {g?.deletionDate && <Badge className="chip" color="red" variant="light">{t('deletedMark')}</Badge>}
          {g && !g.isActive && <Badge className="chip" color="gray" variant="light">{t('inactive')}</Badge>}
        </Group>
        <Group gap={6}>
          <Permitted missing={may.operation(ops.update)}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconEdit size={14} />} disabled={off || !g} onClick={() => setDialog('edit')} name="update">{t('edit')}</Button>}</Permitted>
          <Permitted missing={may.operation(ops.remove)}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconTrash size={14} />} disabled={off || !g} onClick={() => setDialog('delete')} name="delete">{t('delete')}</Button>}</Permitted>
        </Group>
      </Group>
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Problem error={group.error} retry={() => void group.refetch()} />
      {group.isPending && !missing && !group.error ? <Waiting /> : null}
      {g === null && <Text>{t('noSuchRecord')}</Text>}
      {g && <RecordTabs id={id} at={`/groups/${id}`} label={t('group')} first={<RecordTable record={g as Record<string, unknown>} />} list={[
        { name: 'members', title: 'groupMembers', resource: 'group-members', fixed: of, preset },
        { name: 'messages', title: 'messages', resource: 'messages', fixed: (x) => ({ targetIds: [x], areGroupMessages: true }), preset: (x) => ({ targetId: x, isGroupMessage: true }) },
        { name: 'questions', title: 'groupQuestions', resource: 'group-questions', fixed: of, preset },
        { name: 'blocked-users', title: 'groupBlockedUsers', resource: 'group-blocked-users', fixed: of, preset },
        { name: 'invitations', title: 'groupInvitations', resource: 'group-invitations', fixed: of, preset },
        { name: 'join-requests', title: 'groupJoinRequests', resource: 'group-join-requests', fixed: of, preset },
        { name: 'audit', title: 'auditLog', resource: 'audit', fixed: (x) => ({ targetId: x }) },
      ]} />}
      {dialog === 'edit' && g && <WriteDialog document={documents.service} operation={ops.update!} title={`${t('edit')}: ${g.name ?? id}`} selection={{ ids: [id] }} count={1} initial={g as Record<string, unknown>} onClose={() => setDialog(null)} onDone={() => void done()} />}
      {dialog === 'delete' && g && <DeleteDialog document={documents.service} operation={ops.remove!} title={t('delete')} selection={{ ids: [id] }} count={1} names={[`${id}  ${g.name ?? ''}`]} onClose={() => setDialog(null)} onDone={() => void done().then(() => navigate({ to: '/groups' }))} />}
    </Stack>
  )
}
