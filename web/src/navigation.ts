// SPDX-License-Identifier: Apache-2.0

import { IconActivity, IconApi, IconBan, IconBook, IconChartLine, IconDashboard, IconDeviceMobile, IconFileText, IconHistory, IconKey, IconLink, IconMessage, IconMessages, IconNetwork, IconPlug, IconQuestionMark, IconPlayerRecord, IconRecordMail, IconSettings, IconShield, IconTerminal2, IconUser, IconUserCheck, IconUserPlus, IconUsers, IconUsersGroup, type Icon } from '@tabler/icons-react'
import type { Documents } from './api/document'
import type { Key } from './i18n'
import { operationsOf, resources } from './resources'

export const sections = ['cluster', 'people', 'groups', 'content', 'security', 'access', 'tools'] as const
export type Section = (typeof sections)[number]

export interface PageLink {
  to: string
  title: Key
  section: Section
  icon: Icon
  /** permission returns the permission of the page's main request. */
  permission?: (d: Documents) => string | undefined
  /** present reports whether the server has what the page shows. */
  present?: (d: Documents) => boolean
}

const icons: Record<string, Icon> = {
  users: IconUser, relationships: IconLink, 'relationship-groups': IconUsers, 'friend-requests': IconUserPlus, 'user-roles': IconShield,
  groups: IconUsersGroup, 'group-types': IconShield, 'group-members': IconUsers, 'group-questions': IconQuestionMark, 'group-blocked-users': IconBan,
  'group-invitations': IconRecordMail, 'group-join-requests': IconUserCheck, messages: IconMessage, 'blocked-users': IconBan, 'blocked-ips': IconBan,
  admins: IconUser, 'admin-roles': IconShield, tokens: IconKey, audit: IconHistory, members: IconNetwork,
}

const needs = (method: string, path: string) => (d: Documents) => (d.service.find(method, path) ?? d.gateway.find(method, path))?.permission

const special: PageLink[] = [
  { to: '/', title: 'overview', section: 'cluster', icon: IconDashboard, permission: needs('GET', '/cluster/members') },
  { to: '/cluster/plugin', title: 'plugins', section: 'cluster', icon: IconPlug, permission: needs('GET', '/plugins') },
  { to: '/cluster/settings', title: 'settings', section: 'cluster', icon: IconSettings, permission: needs('GET', '/cluster/settings/metadata') },
  { to: '/metrics', title: 'metrics', section: 'cluster', icon: IconActivity },
  { to: '/logs', title: 'logs', section: 'cluster', icon: IconFileText, permission: needs('GET', '/logs/tail') },
  { to: '/recordings', title: 'recordings', section: 'cluster', icon: IconPlayerRecord, permission: needs('GET', '/flight-recordings') },
  { to: '/sessions', title: 'sessions', section: 'people', icon: IconDeviceMobile, permission: needs('GET', '/users/online-infos/sessions') },
  { to: '/conversations', title: 'conversations', section: 'content', icon: IconMessages, permission: needs('GET', '/conversations') },
  { to: '/statistics', title: 'statistics', section: 'content', icon: IconChartLine, permission: needs('GET', '/users/count') },
  { to: '/playground', title: 'playground', section: 'tools', icon: IconTerminal2 },
  { to: '/api', title: 'apiDocumentation', section: 'tools', icon: IconApi },
]

export const pages: PageLink[] = [
  ...special,
  ...resources.map((r): PageLink => ({
    to: `/${r.name}`, title: r.title, section: r.section, icon: icons[r.name] ?? IconBook,
    permission: (d) => operationsOf(d.service, r.path)?.list.permission, present: (d) => operationsOf(d.service, r.path) !== undefined,
  })),
]

/** visiblePages returns the pages that apply to this server. */
export function visiblePages(d: Documents): PageLink[] {
  return pages.filter((p) => p.present?.(d) ?? true)
}
