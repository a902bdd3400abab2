// SPDX-License-Identifier: Apache-2.0

import { useQuery } from '@tanstack/react-query'
import { get, type Schemas } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'

export type Member = Schemas['Member']

/** useMembers returns the nodes of the cluster and polls for changes. */
export function useMembers() {
  const may = useMay()
  return useQuery({
    queryKey: ['members'], enabled: !may.call('GET', '/cluster/members'), refetchInterval: 5000,
    queryFn: async () => ((await get('/cluster/members')) ?? []).filter((m) => m.status.hasJoinedCluster).sort((a, b) => (a.nodeType + a.key.nodeId).localeCompare(b.nodeType + b.key.nodeId)),
  })
}

/**
 * Process is a server process: the nodes that run in it share plugins, recordings, metrics and
 * logs.
 */
export interface Process {
  /** node is the member to which requests about the process are sent. */
  node: string
  members: Member[]
}

/** processesOf groups members by process. */
export function processesOf(members: Member[]): Process[] {
  const found = new Map<string, Process>()
  for (const m of members) {
    const id = m.processId ?? m.key.nodeId
    const p = found.get(id)
    if (p) p.members.push(m)
    else found.set(id, { node: m.key.nodeId, members: [m] })
  }
  return [...found.values()]
}

/** useProcessName returns a function that names a process by its roles and nodes. */
export function useProcessName() {
  const { label } = useT()
  return (p: Process) => p.members.map((m) => `${label(m.nodeType)} · ${m.name || m.key.nodeId}`).join(', ')
}

/** wholeCluster is the target of an upload to all nodes, including future ones. */
export const wholeCluster = 'cluster'
