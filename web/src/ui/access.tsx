// SPDX-License-Identifier: Apache-2.0

import { Alert, Button, Checkbox, Code, Group, Input, MultiSelect, ScrollArea, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../api/client'
import { useT } from '../i18n'
import { useMay, useSession } from '../session'
import { Problem, Waiting } from './feedback'
import type { FieldProps } from './form'
import { Copy } from './format'

/** actionOf returns a permission without the name of its group. */
const actionOf = (group: string, permission: string) => (permission.startsWith(`${group}_`) ? permission.slice(group.length + 1) : permission)

/**
 * PermissionTree selects permissions by group. Administrators can only grant permissions that they
 * have.
 */
export function PermissionTree({ name, value, required, error, changed, onChange }: FieldProps) {
  const { t, label } = useT()
  const { session } = useSession()
  const may = useMay()
  const [text, setText] = useState('')
  const missing = may.call('GET', '/admins/permissions')
  const all = useQuery({ queryKey: ['permissions'], enabled: !missing, staleTime: Infinity, queryFn: async () => (await get('/admins/permissions')) ?? [] })
  const chosen = new Set(((value as string[] | undefined) ?? []).map(String))
  // Without the permission to query the list, it consists of the administrator's own permissions,
  // which are all that can be granted.
  const list = all.data ?? (missing ? session.permissions.map((p) => ({ group: p.slice(0, p.lastIndexOf('_')), permission: p })) : [])
  const held = (p: string) => session.permissions.includes(p)
  const wanted = text.trim().toLowerCase()
  const shown = list.filter((p) => wanted === '' || p.permission.toLowerCase().includes(wanted) || label(p.permission).toLowerCase().includes(wanted))
  const groups = Object.entries(Object.groupBy(shown, (p) => p.group))
  const set = (permissions: string[], on: boolean) => {
    const next = new Set(chosen)
    for (const p of permissions) if (held(p)) { if (on) next.add(p); else next.delete(p) }
    // Listed permissions in their order, then unlisted ones.
    onChange([...list.map((p) => p.permission).filter((p) => next.has(p)), ...[...next].filter((p) => !list.some((x) => x.permission === p))])
  }
  const known = list.map((p) => p.permission)
  return (
    <Input.Wrapper label={`${label(name)} (${chosen.size} / ${Math.max(known.length, chosen.size)})`} withAsterisk={required} error={error} labelElement="div" description={t('onlyHeldPermissions')} inputWrapperOrder={['label', 'description', 'input', 'error']}>
      <Stack gap={6} mt={4} data-permissions data-changed={changed || undefined}>
        <Problem error={all.error} retry={() => void all.refetch()} />
        {all.isPending && !missing && !all.error && <Waiting />}
        <Group gap={6}>
          <TextInput size="xs" flex={1} miw={140} leftSection={<IconSearch size={12} />} placeholder={t('search')} aria-label={`${t('search')}: ${label(name)}`} name="permission-search" value={text} onChange={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => { if (e.key === 'Enter') e.preventDefault() }} />
          <Button size="compact-xs" variant="default" disabled={list.length === 0} name="all-permissions" onClick={() => set(shown.map((p) => p.permission), true)}>{t('selectAll')}</Button>
          <Button size="compact-xs" variant="default" disabled={list.length === 0} name="query-permissions" onClick={() => set(shown.map((p) => p.permission).filter((p) => p.endsWith('_QUERY')), true)}>{t('selectQueries')}</Button>
          <Button size="compact-xs" variant="default" disabled={list.length === 0} name="no-permissions" onClick={() => set([...chosen].filter((p) => wanted === '' || shown.some((s) => s.permission === p)), false)}>{t('selectNone')}</Button>
        </Group>
        <ScrollArea.Autosize mah={340} type="auto" viewportProps={{ tabIndex: 0, role: 'group', 'aria-label': label(name) }}>
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs" verticalSpacing={6}>
            {groups.map(([group, permissions]) => {
              const names = permissions!.map((p) => p.permission)
              const on = names.filter((p) => chosen.has(p)).length
              const none = !names.some(held)
              return (
                <div key={group} role="group" aria-label={label(group)} data-permission-group={group}>
                  <Checkbox size="xs" fw={600} label={`${label(group)} (${on}/${names.length})`} checked={on === names.length} indeterminate={on > 0 && on < names.length} disabled={none} name={`group-${group}`}
                    onChange={() => set(names, names.filter(held).some((p) => !chosen.has(p)))} />
                  <Group gap={6} ml={22} mt={2}>
                    {names.map((p) => <Checkbox key={p} size="xs" label={label(actionOf(group, p))} title={held(p) ? p : t('needsPermission', { permission: p })} checked={chosen.has(p)} disabled={!held(p)} name={p} data-permission={p} onChange={(e) => set([p], e.currentTarget.checked)} />)}
                  </Group>
                </div>
              )
            })}
          </SimpleGrid>
          {groups.length === 0 && !all.isPending && <Text size="sm" c="dimmed">{t('noRecords')}</Text>}
        </ScrollArea.Autosize>
      </Stack>
    </Input.Wrapper>
  )
}

/** RolePicker selects roles of administrators by name. */
export function RolePicker(p: FieldProps) {
  const { label } = useT()
  const may = useMay()
  const roles = useQuery({ queryKey: ['admin-roles'], enabled: !may.call('GET', '/admins/roles'), queryFn: async () => (await get('/admins/roles', { query: { size: 1000 } })) ?? [] })
  const chosen = ((p.value as unknown[] | undefined) ?? []).map(String)
  const data = (roles.data ?? []).map((r) => ({ value: String(r.id), label: `${r.name} (${String(r.id)})` }))
  return <MultiSelect label={label(p.name)} description={p.description} withAsterisk={p.required} error={p.error} name={p.name} data-changed={p.changed || undefined} searchable size="sm" inputWrapperOrder={['label', 'input', 'description', 'error']}
    data={[...data, ...chosen.filter((c) => !data.some((d) => d.value === c)).map((c) => ({ value: c, label: c }))]} value={chosen} onChange={p.onChange} />
}

/** NewToken shows a token, which the server never shows again. */
export function NewToken({ token }: { token: string }) {
  const { t } = useT()
  return (
    <Stack data-new-token>
      <Alert color="yellow" p="xs">{t('tokenOnce')}</Alert>
      <Group gap="xs" wrap="nowrap"><Code block flex={1} style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>{token}</Code><Copy text={token} /></Group>
      <Text size="sm">{t('tokenUse')}</Text>
      <Code block>{`Authorization: Bearer ${token}`}</Code>
    </Stack>
  )
}
