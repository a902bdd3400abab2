// SPDX-License-Identifier: Apache-2.0

import { useQuery } from '@tanstack/react-query'
import { get, type Schemas } from '../api/client'
import { useMay } from '../session'

export type Member = Schemas['Member']

/** useMembers returns the nodes of the cluster and keeps them fresh. */
export function useMembers() {
  const may = useMay()
  return useQuery({
    queryKey: ['members'], enabled: !may.call('GET', '/cluster/members'), refetchInterval: 5000,
    queryFn: async () => ((await get('/cluster/members')) ?? []).filter((m) => m.status.hasJoinedCluster).sort((a, b) => (a.nodeType + a.key.nodeId).localeCompare(b.nodeType + b.key.nodeId)),
  })
}
