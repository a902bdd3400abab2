// SPDX-License-Identifier: Apache-2.0

import { Button, Card, Group, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ApiError, get, url, type Schemas } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { Permitted, Problem } from '../ui/feedback'
import { Chip, Id } from '../ui/format'
import { RecordTable } from '../ui/list'
import { useMembers } from '../ui/nodes'
import { MetricCharts } from './Metrics'

export default function NodePage() {
  const { t } = useT()
  const may = useMay()
  const { id } = useParams({ strict: false }) as { id: string }
  const members = useMembers()
  const member = members.data?.find((m) => m.key.nodeId === id)
  const health = useQuery({
    queryKey: ['health-parts', id], refetchInterval: 5000, retry: false,
    queryFn: async () => {
      try {
        return (await get('/health', { node: id })) as Schemas['HealthReport'] | undefined
      } catch (e) {
        const data = e instanceof ApiError ? (e.body as { data?: Schemas['HealthReport'] } | undefined)?.data : undefined
        if (data) return data
        throw e
      }
    },
  })
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs"><Title order={1} size="h3">{t('node')}</Title><Id value={id} /></Group>
        <Group gap={6}>
          <Button size="compact-sm" variant="default" component={Link} to="/logs" search={{ node: id } as never}>{t('logs')}</Button>
          <Button size="compact-sm" variant="default" component={Link} to="/cluster/plugin" search={{ node: id } as never}>{t('plugins')}</Button>
          <Permitted missing={may.call('GET', '/threaddump')}>{(off) => <Button size="compact-sm" variant="default" component="a" href={url('/threaddump', id)} target="_blank" disabled={off}>{t('threadDump')}</Button>}</Permitted>
          <Permitted missing={may.call('GET', '/heapdump')}>{(off) => <Button size="compact-sm" variant="default" component="a" href={url('/heapdump', id)} download disabled={off}>{t('heapDump')}</Button>}</Permitted>
        </Group>
      </Group>
      {members.data && !member && <Problem error={new Error(t('nodeGone'))} />}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Card withBorder padding="sm">
          <Title order={2} size="h5" mb="xs">{t('health')}</Title>
          <Problem error={health.error} />
          <Table fz="sm"><Table.Tbody>{(health.data?.parts ?? []).map((p) => <Table.Tr key={p.name}><Table.Td>{p.name}</Table.Td><Table.Td><Chip value={p.status} /></Table.Td><Table.Td><Text size="sm">{p.reason}</Text></Table.Td></Table.Tr>)}</Table.Tbody></Table>
        </Card>
        <Card withBorder padding="sm">{member && <RecordTable record={{ nodeType: member.nodeType, name: member.name, zone: member.zone, version: member.nodeVersion.version, registrationDate: member.registrationDate, adminApiAddress: member.adminApiAddress, wsAddress: member.wsAddress, priority: member.priority, isActive: member.status.isActive, isLeaderEligible: member.isLeaderEligible }} />}</Card>
      </SimpleGrid>
      <MetricCharts node={id} />
    </Stack>
  )
}
