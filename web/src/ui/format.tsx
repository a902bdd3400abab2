// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Badge, Code, Group, Text, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy, IconMinus } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { useT } from '../i18n'

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31536e6], ['month', 2628e6], ['day', 864e5], ['hour', 36e5], ['minute', 6e4], ['second', 1e3],
]

export function relative(date: Date, language: string, now = Date.now()): string {
  const diff = date.getTime() - now
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  for (const [unit, size] of units) if (Math.abs(diff) >= size || unit === 'second') return format.format(Math.round(diff / size), unit)
  return ''
}

/** When shows a date in local time with a relative hint. */
export function When({ date }: { date: string | number | undefined | null }) {
  const { language } = useT()
  if (date === undefined || date === null || date === '') return null
  const d = new Date(date)
  if (Number.isNaN(d.getTime())) return <>{String(date)}</>
  return (
    <Tooltip label={`${relative(d, language)} · ${d.toISOString()}`}>
      <Text span inherit style={{ whiteSpace: 'nowrap' }}>{d.toLocaleString(language)}</Text>
    </Tooltip>
  )
}

export function Copy({ text }: { text: string }) {
  const { t } = useT()
  const [done, setDone] = useState(false)
  return (
    <Tooltip label={done ? t('copied') : t('copy')}>
      <ActionIcon size="xs" variant="subtle" color="gray" aria-label={`${t('copy')} ${text}`}
        onClick={(e) => {
          e.stopPropagation()
          void navigator.clipboard.writeText(text).then(() => { setDone(true); setTimeout(() => setDone(false), 1500) })
        }}>
        {done ? <IconCheck size={12} /> : <IconCopy size={12} />}
      </ActionIcon>
    </Tooltip>
  )
}

/** userFields and groupFields are the fields that contain the id of a user or a group. */
const userFields = new Set(['ownerId', 'relatedUserId', 'creatorId', 'userId', 'senderId', 'requesterId', 'responderId', 'recipientId', 'inviterId', 'inviteeId', 'successorId'])
const groupFields = new Set(['groupId'])

export function Id({ value, to }: { value: string | number; to?: string }) {
  const text = String(value)
  return (
    <Group gap={2} wrap="nowrap" display="inline-flex">
      <Text span inherit ff="monospace" fz="xs" style={{ whiteSpace: 'nowrap' }}>
        {to ? <Link to={to} className="link">{text}</Link> : text}
      </Text>
      <Copy text={text} />
    </Group>
  )
}

/** linkOf returns the page of the record that a field refers to. */
export function linkOf(field: string, value: unknown, record?: Record<string, unknown>): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  if (userFields.has(field)) return `/users/${value}`
  if (groupFields.has(field)) return `/groups/${value}`
  if (field === 'targetId') return record?.isGroupMessage ? `/groups/${value}` : `/users/${value}`
  return undefined
}

const statusColors: Record<string, string> = {
  STARTED: 'green', RUNNING: 'green', PAUSED: 'yellow', STOPPED: 'gray', LOADED: 'blue', REJECTED: 'red', UP: 'green', DOWN: 'red', DEGRADED: 'yellow',
  PENDING: 'blue', ACCEPTED: 'green', ACCEPTED_WITHOUT_CONFIRM: 'green', DECLINED: 'red', IGNORED: 'gray', EXPIRED: 'gray', CANCELED: 'gray',
  AVAILABLE: 'green', BUSY: 'red', OFFLINE: 'gray', RECORDING: 'red', CLOSED: 'gray',
}

export function Chip({ value }: { value: string }) {
  const { label } = useT()
  return <Badge size="sm" variant="light" color={statusColors[value] ?? 'gray'} className="chip">{label(value)}</Badge>
}

/** Value renders a value by its field and type. Text from users is always rendered as text. */
export function Value({ field, value, record, constant }: { field: string; value: unknown; record?: Record<string, unknown>; constant?: boolean }): ReactNode {
  if (value === undefined || value === null || value === '') return <Text span inherit c="dimmed">–</Text>
  if (typeof value === 'boolean') return value ? <IconCheck size={14} aria-label="true" /> : <IconMinus size={14} aria-label="false" color="gray" />
  if (typeof value === 'string' || typeof value === 'number') {
    if (/(Date|Time)$/.test(field) && typeof value === 'string' && /^\d{4}-/.test(value)) return <When date={value} />
    if (constant) return <Chip value={String(value)} />
    if (field === 'id' || /Id$/.test(field)) return <Id value={value} to={linkOf(field, value, record)} />
    return <Text span inherit className="cell" title={String(value)}>{String(value)}</Text>
  }
  if (Array.isArray(value) && value.every((x) => typeof x !== 'object')) {
    const shown = value.slice(0, 4).join(', ')
    return <Text span inherit className="cell" title={value.join(', ')}>{value.length > 4 ? `${shown} … (${value.length})` : shown || '–'}</Text>
  }
  const text = JSON.stringify(value)
  return text === '{}' || text === '[]' ? <Text span inherit c="dimmed">–</Text> : <Code className="cell" title={text}>{text}</Code>
}

export function bytes(n: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let i = 0
  while (Math.abs(n) >= 1024 && i < names.length - 1) { n /= 1024; i++ }
  return `${i === 0 ? n : n.toFixed(n < 10 ? 2 : 1)} ${names[i]}`
}

/** duration formats milliseconds. */
export function duration(ms: number): string {
  if (ms < 0) return String(ms)
  const parts: string[] = []
  for (const [name, size] of [['d', 864e5], ['h', 36e5], ['min', 6e4], ['s', 1e3], ['ms', 1]] as const) {
    const n = Math.floor(ms / size)
    if (n > 0) { parts.push(`${n} ${name}`); ms -= n * size }
    if (parts.length === 2) break
  }
  return parts.join(' ') || '0 ms'
}

/** unitOf returns the unit in the name of a setting or field. */
export function unitOf(name: string): string | undefined {
  const m = /(Millis|Seconds|Minutes|Hours|Days|Bytes|MB|Percentage)$/.exec(name)
  return m ? { Millis: 'ms', Seconds: 's', Minutes: 'min', Hours: 'h', Days: 'd', Bytes: 'B', MB: 'MB', Percentage: '%' }[m[1]!] : undefined
}

/** hint formats a large value in a larger unit. */
export function hint(name: string, value: unknown): string {
  if (typeof value !== 'number') return ''
  if (name.endsWith('Millis')) return value >= 1000 ? duration(value) : ''
  if (name.endsWith('Seconds')) return value >= 60 ? duration(value * 1000) : ''
  if (name.endsWith('Bytes')) return value >= 1024 ? bytes(value) : ''
  return ''
}

/** grants formats what a plugin may do, or which grants it waits for. */
export function grants(g: Schemas['GrantsRecord'] | undefined): string | undefined {
  return g && ([...g.permissions, ...g.hosts, ...(g.java ? ['Java'] : [])].join(', ') || '–')
}
