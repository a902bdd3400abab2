// SPDX-License-Identifier: Apache-2.0

import { Button, Group, Menu, Select, TagsInput, TextInput, NumberInput, Paper, SimpleGrid, Collapse, MultiSelect, Input } from '@mantine/core'
import { IconCalendar, IconFilter, IconFilterOff } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { parameterSchema, type Document, type Parameter } from '../api/document'
import type { Query } from '../api/client'
import { useT } from '../i18n'
import { fromLocal, toLocal } from './form'

export type Search = Record<string, string | undefined>

/** unfiltered are parameters that are not filters. */
const unfiltered = new Set(['page', 'size'])

export function filtersOf(parameters: Parameter[]): Parameter[] {
  return parameters.filter((p) => p.in === 'query' && !unfiltered.has(p.name))
}

/** toQuery converts the search of the URL to parameters of the operation. */
export function toQuery(d: Document, parameters: Parameter[], search: Search): Query {
  const out: Query = {}
  for (const p of filtersOf(parameters)) {
    const text = search[p.name]
    if (text === undefined || text === '') continue
    const s = parameterSchema(d, p)
    if (s.type === 'array') {
      const fields = Object.keys(d.resolve(s.items).properties ?? {})
      out[p.name] = fields.length === 0 ? text.split(',') : text.split(',').map((one) => Object.fromEntries(one.split(':').map((v, i) => [fields[i] ?? '', v])))
    } else out[p.name] = text
  }
  return out
}

const presets: { key: 'lastHour' | 'today' | 'last7Days' | 'last30Days'; start: () => Date }[] = [
  { key: 'lastHour', start: () => new Date(Date.now() - 36e5) },
  { key: 'today', start: () => new Date(new Date().setHours(0, 0, 0, 0)) },
  { key: 'last7Days', start: () => new Date(Date.now() - 7 * 864e5) },
  { key: 'last30Days', start: () => new Date(Date.now() - 30 * 864e5) },
]

interface Props {
  document: Document
  parameters: Parameter[]
  search: Search
  fixed?: Query
  /** suggestions are values that are not in the document. */
  suggestions?: Record<string, string[]>
  onApply: (search: Search) => void
}

/** Filters renders an input for every parameter of a query. */
export function Filters({ document: d, parameters, search, fixed, suggestions, onApply }: Props) {
  const { t, label } = useT()
  const filters = filtersOf(parameters).filter((p) => !(fixed && p.name in fixed))
  const [draft, setDraft] = useState<Search>(search)
  const key = JSON.stringify(search)
  useEffect(() => setDraft(search), [key]) // eslint-disable-line
  const active = filters.filter((p) => search[p.name]).length
  const [open, setOpen] = useState(active > 0)
  if (filters.length === 0) return null
  const set = (name: string, value: string | undefined) => setDraft((old) => ({ ...old, [name]: value || undefined }))
  const apply = (next: Search = draft) => onApply(Object.fromEntries(filters.map((p) => [p.name, next[p.name] || undefined])))
  const starts = filters.filter((p) => p.name.endsWith('Start') && filters.some((q) => q.name === p.name.replace(/Start$/, 'End')))
  const ranged = new Set(starts.flatMap((p) => [p.name, p.name.replace(/Start$/, 'End')]))
  return (
    <Paper withBorder p="xs">
      <Group justify="space-between">
        <Button size="compact-sm" variant="subtle" leftSection={<IconFilter size={14} />} aria-expanded={open} onClick={() => setOpen(!open)}>
          {t('filters')}{active > 0 ? ` (${active})` : ''}
        </Button>
        {active > 0 && (
          <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconFilterOff size={14} />} onClick={() => apply({})}>{t('clearFilters')}</Button>
        )}
      </Group>
      <Collapse expanded={open}>
        <form onSubmit={(e) => { e.preventDefault(); apply() }}>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 3, lg: 4 }} spacing="xs" mt="xs">
            {filters.filter((p) => !ranged.has(p.name)).map((p) => {
              const s = parameterSchema(d, p)
              const item = d.resolve(s.items)
              const common = { key: p.name, label: label(p.name), size: 'xs' as const, name: `filter-${p.name}`, title: p.description }
              if (s.type === 'boolean') {
                return <Select {...common} data={[{ value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]} clearable value={draft[p.name] ?? null} onChange={(v) => set(p.name, v ?? '')} />
              }
              if (s.enum) return <Select {...common} data={s.enum.map((v) => ({ value: v, label: label(v) }))} clearable value={draft[p.name] ?? null} onChange={(v) => set(p.name, v ?? '')} />
              if (s.type === 'array' && item.enum) {
                return <MultiSelect {...common} data={item.enum.map((v) => ({ value: v, label: label(v) }))} searchable={item.enum.length > 8} clearable value={draft[p.name]?.split(',') ?? []} onChange={(v) => set(p.name, v.join(','))} />
              }
              if (s.type === 'array') {
                const fields = Object.keys(item.properties ?? {})
                return <TagsInput {...common} data={suggestions?.[p.name]} limit={50} placeholder={fields.length > 0 ? fields.join(':') : undefined} splitChars={[',', ' ']} clearable acceptValueOnBlur value={draft[p.name]?.split(',') ?? []} onChange={(v) => set(p.name, v.join(','))} />
              }
              if (s.format === 'date-time') return <TextInput {...common} type="datetime-local" step={1} value={toLocal(draft[p.name])} onChange={(e) => set(p.name, fromLocal(e.currentTarget.value))} />
              if (s.type === 'integer' && s.format !== 'int64') return <NumberInput {...common} allowDecimal={false} min={s.minimum} max={s.maximum} value={draft[p.name] ?? ''} onChange={(v) => set(p.name, String(v))} />
              return <TextInput {...common} value={draft[p.name] ?? ''} onChange={(e) => set(p.name, e.currentTarget.value)} />
            })}
          </SimpleGrid>
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="xs" mt="xs">
            {starts.map((p) => {
              const end = p.name.replace(/Start$/, 'End')
              const title = label(p.name.replace(/Start$/, ''))
              return (
                <Input.Wrapper key={p.name} label={title} size="xs" labelElement="div" title={p.description}>
                  <Group gap={4} wrap="nowrap">
                    <TextInput size="xs" flex={1} miw={0} type="datetime-local" step={1} aria-label={`${title}: ${t('from')}`} name={`filter-${p.name}`} value={toLocal(draft[p.name])} onChange={(e) => set(p.name, fromLocal(e.currentTarget.value))} />
                    <TextInput size="xs" flex={1} miw={0} type="datetime-local" step={1} aria-label={`${title}: ${t('until')}`} name={`filter-${end}`} value={toLocal(draft[end])} onChange={(e) => set(end, fromLocal(e.currentTarget.value))} />
                    <Menu position="bottom-end">
                      <Menu.Target><Button size="compact-xs" variant="default" px={4} aria-label={`${title}: ${t('presets')}`}><IconCalendar size={14} /></Button></Menu.Target>
                      <Menu.Dropdown>
                        {presets.map((x) => <Menu.Item key={x.key} onClick={() => { set(p.name, x.start().toISOString()); set(end, undefined) }}>{t(x.key)}</Menu.Item>)}
                      </Menu.Dropdown>
                    </Menu>
                  </Group>
                </Input.Wrapper>
              )
            })}
          </SimpleGrid>
          <Group mt="xs"><Button type="submit" size="compact-sm" name="apply-filters">{t('apply')}</Button></Group>
        </form>
      </Collapse>
    </Paper>
  )
}
