// SPDX-License-Identifier: Apache-2.0

import { Button, Card, Group, Table, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { get, send } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { fail, Permitted, Problem, succeed } from './feedback'
import { When } from './format'

/** useDisconnect returns a function that closes the sessions of users, on some or all devices. */
export function useDisconnect() {
  const { t } = useT()
  const client = useQueryClient()
  return async (ids: string[], deviceTypes?: string[]) => {
    try {
      await send('PUT', '/users/online-infos/statuses', { query: { ids, deviceTypes }, body: { onlineStatus: 'OFFLINE' } })
      succeed(t('disconnected'))
    } catch (e) {
      fail(e, t('requestFailed'))
    }
    await client.invalidateQueries()
  }
}

/** Devices lists the sessions of a user with their devices. */
export function Devices({ id }: { id: string }) {
  const { t, label } = useT()
  const may = useMay()
  const disconnect = useDisconnect()
  const missing = may.call('GET', '/users/online-infos/sessions')
  const sessions = useQuery({ queryKey: ['user-sessions', id], enabled: !missing, refetchInterval: 5000, queryFn: async () => (await get('/users/online-infos/sessions', { query: { ids: [id] } }))?.[0]?.sessions ?? [] })
  if (missing) return null
  return (
    <Card withBorder padding="sm">
      <Title order={2} size="h5" mb="xs">{t('sessions')}</Title>
      <Problem error={sessions.error} />
      {(sessions.data ?? []).length === 0 ? <Text size="sm" c="dimmed">{t('notOnline')}</Text> : (
        <Table fz="sm">
          <Table.Thead><Table.Tr><Table.Th>{t('device')}</Table.Th><Table.Th>IP</Table.Th><Table.Th>{t('loggedInAt')}</Table.Th><Table.Th>{t('lastRequest')}</Table.Th><Table.Th>{t('actions')}</Table.Th></Table.Tr></Table.Thead>
          <Table.Tbody>
            {sessions.data!.map((s) => (
              <Table.Tr key={s.deviceType}>
                <Table.Td>{label(s.deviceType)}</Table.Td><Table.Td>{s.ip}</Table.Td><Table.Td><When date={s.loginDate} /></Table.Td><Table.Td><When date={s.lastRequestDate} /></Table.Td>
                <Table.Td><Group><Permitted missing={may.call('PUT', '/users/online-infos/statuses')}>{(off) => <Button size="compact-xs" variant="default" disabled={off} onClick={() => void disconnect([id], [s.deviceType])}>{t('disconnect')}</Button>}</Permitted></Group></Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Card>
  )
}
