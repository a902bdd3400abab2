// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Button, Checkbox, Group, ScrollArea, Stack, Switch, Table, TagsInput, Text, TextInput, Title } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { useDisconnect } from '../ui/devices'
import { Permitted, Problem, Waiting } from '../ui/feedback'
import { Chip, Id, When } from '../ui/format'

const size = 100

/** Sessions shows the online users and their devices, page by page of all users. */
export default function Sessions() {
  const { t, label } = useT()
  const may = useMay()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { ids?: string; name?: string; page?: string; all?: string }
  const [chosen, setChosen] = useState<string[]>([])
  const disconnect = useDisconnect()
  const page = Number(search.page ?? 0) || 0
  const missing = may.call('GET', '/users/online-infos/sessions') ?? may.call('GET', '/users/page')
  const count = useQuery({ queryKey: ['online-by-node'], enabled: !may.call('GET', '/users/online-infos/count'), refetchInterval: 5000, queryFn: () => get('/users/online-infos/count', { query: { countByNodes: true } }) })
  const result = useQuery({
    queryKey: ['sessions', search.ids, search.name, page], enabled: !missing, refetchInterval: 5000,
    queryFn: async () => {
      const users = search.ids
        ? { total: search.ids.split(',').length, records: (await get('/users', { query: { ids: search.ids.split(','), name: search.name, size } })) ?? [] }
        : ((await get('/users/page', { query: { name: search.name, page, size } })) ?? { total: 0, records: [] })
      const ids = users.records.map((u) => String(u.id))
      const sessions = ids.length === 0 ? [] : ((await get('/users/online-infos/sessions', { query: { ids } })) ?? [])
      return { total: Number(users.total), users: users.records, sessions: new Map(sessions.map((s) => [String(s.userId), s])) }
    },
  })
  const onlyOnline = search.all === undefined
  const rows = (result.data?.users ?? []).map((u) => ({ user: u, state: result.data!.sessions.get(String(u.id)) })).filter((r) => !onlyOnline || (r.state && r.state.sessions.length > 0))
  const set = (s: Record<string, string | undefined>) => void navigate({ to: '/sessions', search: { ...search, ...s } as never, replace: 'name' in s })
  const toggle = (id: string) => setChosen((old) => (old.includes(id) ? old.filter((x) => x !== id) : [...old, id]))
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={1} size="h3">{t('sessions')}</Title>
        <Permitted missing={may.call('PUT', '/users/online-infos/statuses')}>{(off) => <Button size="compact-sm" variant="default" disabled={off || chosen.length === 0} onClick={() => void disconnect(chosen).then(() => setChosen([]))}>{t('disconnect')} ({chosen.length})</Button>}</Permitted>
      </Group>
      {count.data && <Text size="sm">{t('onlineUsers')}: <b>{String(count.data.total)}</b> {Object.entries(count.data.nodeIdToUserCount ?? {}).map(([n, c]) => `· ${n}: ${String(c)}`).join(' ')}</Text>}
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Group align="end">
        <TagsInput size="xs" flex={1} miw={200} label={label('userIds')} splitChars={[',', ' ']} acceptValueOnBlur clearable value={search.ids?.split(',') ?? []} onChange={(v) => set({ ids: v.join(',') || undefined, page: undefined })} />
        <TextInput size="xs" label={label('name')} name="session-name" value={search.name ?? ''} onChange={(e) => set({ name: e.currentTarget.value || undefined, page: undefined })} />
        <Switch size="sm" label={t('onlyOnline')} checked={onlyOnline} onChange={(e) => set({ all: e.currentTarget.checked ? undefined : '1' })} />
      </Group>
      <Problem error={result.error} />
      {result.isPending && !missing && !result.error ? <Waiting /> : (
        <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('sessions') }}>
          <Table withTableBorder fz="sm" className="dense">
            <Table.Thead><Table.Tr><Table.Th><span className="hidden-text">{t('select')}</span></Table.Th>{[t('user'), label('name'), t('state'), t('device'), 'IP', t('loggedInAt'), t('lastRequest'), t('actions')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
            <Table.Tbody>
              {rows.flatMap(({ user, state }) => (state && state.sessions.length > 0 ? state.sessions : [undefined]).map((s, i) => (
                <Table.Tr key={`${user.id}/${s?.deviceType ?? ''}`} data-session={String(user.id)}>
                  <Table.Td>{i === 0 && s && <Checkbox size="xs" aria-label={`${t('select')} ${user.id}`} checked={chosen.includes(String(user.id))} onChange={() => toggle(String(user.id))} />}</Table.Td>
                  <Table.Td><Id value={user.id} to={`/users/${user.id}`} /></Table.Td><Table.Td><Text span inherit className="cell">{user.name}</Text></Table.Td>
                  <Table.Td><Chip value={state?.status ?? 'OFFLINE'} /></Table.Td><Table.Td>{s ? label(s.deviceType) : '–'}</Table.Td><Table.Td>{s?.ip}</Table.Td>
                  <Table.Td><When date={s?.loginDate} /></Table.Td><Table.Td><When date={s?.lastRequestDate} /></Table.Td>
                  <Table.Td>{s && <Permitted missing={may.call('PUT', '/users/online-infos/statuses')}>{(off) => <Button size="compact-xs" variant="default" disabled={off} onClick={() => void disconnect([String(user.id)], [s.deviceType])}>{t('disconnect')}</Button>}</Permitted>}</Table.Td>
                </Table.Tr>
              )))}
              {rows.length === 0 && <Table.Tr><Table.Td colSpan={9}><Text ta="center" c="dimmed" p="md">{onlyOnline ? t('nobodyOnline') : t('noRecords')}</Text></Table.Td></Table.Tr>}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      {!search.ids && result.data && (
        <Group justify="flex-end">
          <Text size="sm" c="dimmed">{t('ofUsers', { from: page * size + 1, until: Math.min((page + 1) * size, result.data.total), total: result.data.total.toLocaleString() })}</Text>
          <ActionIcon variant="default" aria-label={t('previousPage')} disabled={page === 0} onClick={() => set({ page: page > 1 ? String(page - 1) : undefined })}><IconChevronLeft size={16} /></ActionIcon>
          <ActionIcon variant="default" aria-label={t('nextPage')} disabled={(page + 1) * size >= result.data.total} onClick={() => set({ page: String(page + 1) })}><IconChevronRight size={16} /></ActionIcon>
        </Group>
      )}
    </Stack>
  )
}
