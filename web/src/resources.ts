// SPDX-License-Identifier: Apache-2.0

import type { Document, Operation, Schema } from './api/document'
import { parameterSchema } from './api/document'
import type { Key } from './i18n'

/**
 * Resource is a collection of the admin interface. Everything else about it is in the OpenAPI
 * document.
 */
export interface Resource {
  name: string
  path: string
  title: Key
  section: 'people' | 'groups' | 'content' | 'security' | 'access' | 'cluster'
  /** page returns the path of the page of one record. */
  page?: (record: Record<string, unknown>) => string
  /** key returns the value of the selector in a record, if that is not in the field id or key. */
  key?: (record: Record<string, unknown>) => string
  /** hidden are the columns that are hidden by default. */
  hidden?: string[]
  /** first are the first columns, if not the default ones. */
  first?: string[]
  /** until is the parameter that excludes newer records from an export. */
  until?: string
}

export const resources: Resource[] = [
  { name: 'users', path: '/users', title: 'users', section: 'people', page: (r) => `/users/${String(r.id)}`, hidden: ['userDefinedAttributes', 'profilePicture'] },
  { name: 'relationships', path: '/users/relationships', title: 'relationships', section: 'people' },
  { name: 'relationship-groups', path: '/users/relationships/groups', title: 'relationshipGroups', section: 'people' },
  { name: 'friend-requests', path: '/users/relationships/friend-requests', title: 'friendRequests', section: 'people' },
  { name: 'user-roles', path: '/users/roles', title: 'userRoles', section: 'people' },
  { name: 'groups', path: '/groups', title: 'groups', section: 'groups', page: (r) => `/groups/${String(r.id)}`, hidden: ['userDefinedAttributes'] },
  { name: 'group-types', path: '/groups/types', title: 'groupTypes', section: 'groups' },
  { name: 'group-members', path: '/groups/members', title: 'groupMembers', section: 'groups' },
  { name: 'group-questions', path: '/groups/questions', title: 'groupQuestions', section: 'groups' },
  { name: 'group-blocked-users', path: '/groups/blocked-users', title: 'groupBlockedUsers', section: 'groups' },
  { name: 'group-invitations', path: '/groups/invitations', title: 'groupInvitations', section: 'groups' },
  { name: 'group-join-requests', path: '/groups/join-requests', title: 'groupJoinRequests', section: 'groups' },
  { name: 'messages', path: '/messages', title: 'messages', section: 'content', hidden: ['records', 'senderIp', 'senderIpV6', 'preMessageId', 'sequenceId', 'burnAfter', 'referenceId'] },
  { name: 'blocked-users', path: '/blocked-clients/users', title: 'blockedUsers', section: 'security' },
  { name: 'blocked-ips', path: '/blocked-clients/ips', title: 'blockedIps', section: 'security' },
  { name: 'admins', path: '/admins', title: 'administrators', section: 'access' },
  { name: 'admin-roles', path: '/admins/roles', title: 'adminRoles', section: 'access' },
  { name: 'tokens', path: '/admins/tokens', title: 'tokens', section: 'access' },
  { name: 'audit', path: '/audit', title: 'auditLog', section: 'access', first: ['date', 'outcome', 'loginName', 'operation', 'changes', 'targetIds', 'ip', 'reason'], until: 'dateEnd', hidden: ['id', 'sequence', 'params', 'tokenId', 'adminId', 'pluginId', 'pluginVersion', 'onBehalfOf', 'nodeId', 'requestId', 'omittedChanges', 'code', 'status'] },
  { name: 'members', path: '/cluster/members', title: 'members', section: 'cluster', key: (r) => String((r.key as { nodeId: string }).nodeId), hidden: ['seed', 'leaderEligible', 'key.clusterId', 'memberPort', 'nodeVersion', 'udpAddress', 'tcpAddress'] },
]

/** Operations are the operations of a resource in the document. */
export interface Operations {
  list: Operation
  paged: boolean
  item: Schema
  create?: Operation
  update?: Operation
  remove?: Operation
  /**
   * selector is the parameter that selects records, and the fields of its objects if it is
   * composite.
   */
  selector?: { name: string; fields?: string[] }
}

export function operationsOf(d: Document, path: string): Operations | undefined {
  const page = d.find('GET', `${path}/page`)
  const list = page ?? d.find('GET', path)
  if (!list) return undefined
  const data = d.data(list)
  const item = d.resolve(page ? d.resolve(data.properties?.records).items : data.items)
  const update = d.find('PUT', path)
  const remove = d.find('DELETE', path)
  return { list, paged: page !== undefined, item, create: d.find('POST', path), update, remove, selector: selectorOf(d, remove ?? update) }
}

function selectorOf(d: Document, op: Operation | undefined): Operations['selector'] {
  const p = op?.parameters.find((x) => ['ids', 'keys', 'id'].includes(x.name))
  if (!p) return undefined
  const s = parameterSchema(d, p)
  const items = d.resolve(s.items)
  return { name: p.name, fields: items.properties ? Object.keys(items.properties) : undefined }
}

/** columnsOf lists the fields of a record; each field of a key is a column. */
export function columnsOf(d: Document, item: Schema, first: string[] = []): { name: string; path: string[]; schema: Schema }[] {
  const all = Object.entries(item.properties ?? {}).flatMap(([name, schema]) => {
    const s = d.resolve(schema)
    if ((name === 'key' || name === 'status') && s.properties) {
      return Object.entries(s.properties).map(([inner, x]) => ({ name: inner, path: [name, inner], schema: d.resolve(x) }))
    }
    return [{ name, path: [name], schema: s }]
  })
  const place = (c: { name: string }) => (first.includes(c.name) ? first.indexOf(c.name) : first.length)
  return byWeight(all, (c) => (c.path[0] === 'key' && c.name !== 'clusterId' ? 'id' : c.name)).sort((a, b) => place(a) - place(b))
}

/** weight orders fields: who, what, then the rest, dates last. */
function weight(name: string): number {
  if (name === 'id') return 0
  if (/Ids?$/.test(name)) return 2
  if (name === 'name' || name === 'loginName' || name === 'displayName') return 1
  if (name === 'deletionDate') return 9
  if (/Date$/.test(name)) return 8
  return 4
}

/** byWeight sorts fields by the weight of their names; the sort is stable. */
export function byWeight<T>(list: T[], nameOf: (x: T) => string): T[] {
  return [...list].sort((a, b) => weight(nameOf(a)) - weight(nameOf(b)))
}

export function valueAt(record: Record<string, unknown>, path: string[]): unknown {
  return path.reduce<unknown>((v, p) => (v as Record<string, unknown> | undefined)?.[p], record)
}
