// SPDX-License-Identifier: Apache-2.0

import { Modal, ScrollArea, Stack, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useDebouncedValue, useHotkeys } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { get } from '../api/client'
import { useT } from '../i18n'
import { visiblePages } from '../navigation'
import { useMay, useSession } from '../session'

const events = new EventTarget()
export const openPalette = () => events.dispatchEvent(new Event('open'))

/** most is the maximum number of suggested users, and of groups. */
const most = 5

/** Palette finds pages, users and groups by name and records by id. */
export function Palette() {
  const { t } = useT()
  const { documents } = useSession()
  const may = useMay()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const show = () => { setText(''); setAt(0); setOpen(true) }
  useHotkeys([['mod+K', show]], [])
  useEffect(() => {
    events.addEventListener('open', show)
    return () => events.removeEventListener('open', show)
  }, [])
  const wanted = text.trim().toLowerCase()
  const [name] = useDebouncedValue(text.trim(), 150)
  const named = useQuery({
    queryKey: ['named', name], enabled: open && name !== '', placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const query = { name, size: most }
      const [users, groups] = await Promise.all([may.call('GET', '/users') ? [] : get('/users', { query, signal }), may.call('GET', '/groups') ? [] : get('/groups', { query, signal })])
      return [
        ...(users ?? []).map((u) => ({ to: `/users/${u.id}`, title: u.name, hint: `${t('user')} ${u.id}`, search: {} })),
        ...(groups ?? []).map((g) => ({ to: `/groups/${g.id}`, title: g.name ?? '', hint: `${t('group')} ${g.id}`, search: {} })),
      ]
    },
  })
  const found = visiblePages(documents).filter((p) => wanted === '' || t(p.title).toLowerCase().includes(wanted) || p.to.includes(wanted)).map((p) => ({ to: p.to, title: t(p.title), hint: t(p.section), search: {} }))
  if (wanted !== '') found.push(...(named.data ?? []))
  if (/^-?\d+$/.test(wanted)) {
    found.unshift(
      { to: `/users/${wanted}`, title: `${t('user')} ${wanted}`, hint: t('people'), search: {} },
      { to: `/groups/${wanted}`, title: `${t('group')} ${wanted}`, hint: t('groups'), search: {} },
      { to: '/messages', title: `${t('message')} ${wanted}`, hint: t('content'), search: { ids: wanted } },
    )
  } else if (wanted !== '') found.push({ to: '/cluster/settings', title: t('findSetting', { text: text.trim() }), hint: t('settings'), search: { q: text.trim() } })
  const choose = (i: number) => {
    const f = found[i]
    if (!f) return
    setOpen(false)
    void navigate({ to: f.to, search: f.search as never })
  }
  return (
    <Modal opened={open} onClose={() => setOpen(false)} title={t('search')} size="md" closeButtonProps={{ 'aria-label': t('close') }}>
      <TextInput data-autofocus leftSection={<IconSearch size={14} />} placeholder={t('palettePlaceholder')} aria-label={t('search')} name="palette" value={text}
        onChange={(e) => { setText(e.currentTarget.value); setAt(0) }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown') { e.preventDefault(); setAt(Math.min(at + 1, found.length - 1)) }
          if (e.key === 'ArrowUp') { e.preventDefault(); setAt(Math.max(at - 1, 0)) }
          if (e.key === 'Enter') { e.preventDefault(); choose(at) }
        }} />
      <ScrollArea.Autosize mah={360} mt="xs">
        <Stack gap={0}>
          {found.map((f, i) => (
            <UnstyledButton key={`${f.to}${f.title}`} data-found p={6} bg={i === at ? 'var(--mantine-primary-color-light)' : undefined} onClick={() => choose(i)}>
              <Text size="sm">{f.title} <Text span size="xs" c="dimmed">{f.hint}</Text></Text>
            </UnstyledButton>
          ))}
        </Stack>
      </ScrollArea.Autosize>
    </Modal>
  )
}
