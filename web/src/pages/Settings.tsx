// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Alert, Badge, Button, Card, Group, JsonInput, Modal, NumberInput, PasswordInput, ScrollArea, Select, Stack, Switch, Table, Tabs, TagsInput, Text, TextInput, Title, Tooltip } from '@mantine/core'
import { IconArrowBackUp, IconRestore, IconSearch } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, send, type Schemas } from '../api/client'
import { useT } from '../i18n'
import { useMay } from '../session'
import { Permitted, Problem, succeed, Waiting } from '../ui/feedback'
import { MapEditor, ObjectsEditor } from '../ui/collections'
import { hint, unitOf, When } from '../ui/format'
import { useMembers } from '../ui/nodes'

interface Leaf {
  path: string
  segments: string[]
  type: string
  elementType?: string
  options?: string[]
  description?: string
  value: unknown
  source: string
  mutable: boolean
  global: boolean
  sensitive: boolean
  minimum?: number
  maximum?: number
  default?: unknown
  /** elements are the fields of the objects in a list, by path. */
  elements?: Record<string, Omit<Leaf, 'path' | 'segments' | 'value' | 'source'>>
}

type Tree = { [name: string]: Tree | Record<string, unknown> }

function leavesOf(tree: Tree, segments: string[] = []): Leaf[] {
  return Object.entries(tree).flatMap(([name, v]) => {
    if (v && typeof v === 'object' && typeof (v as Record<string, unknown>).mutable === 'boolean' && typeof (v as Record<string, unknown>).type === 'string') {
      const at = [...segments, name]
      return [{ ...(v as unknown as Leaf), path: at.join('.'), segments: at }]
    }
    return v && typeof v === 'object' ? leavesOf(v as Tree, [...segments, name]) : []
  })
}

/**
 * firstRows is how many settings a search shows at first, moreRows how many are added on scrolling.
 */
const firstRows = 10
const moreRows = 40

const show = (v: unknown) => (v === undefined || v === '' ? '–' : typeof v === 'object' ? JSON.stringify(v) : String(v))
const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** patchOf builds nested objects from changed settings. */
function patchOf(changes: Map<string, unknown>, leaves: Leaf[]): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const { path, segments } of leaves) {
    if (!changes.has(path)) continue
    const value = changes.get(path)
    let group = root
    for (const s of segments.slice(0, -1)) group = (group[s] ??= {}) as Record<string, unknown>
    group[segments[segments.length - 1]!] = value
  }
  return root
}

export default function Settings() {
  const { t } = useT()
  const search = useSearch({ strict: false }) as { tab?: string; q?: string }
  const navigate = useNavigate()
  return (
    <Stack>
      <Title order={1} size="h3">{t('settings')}</Title>
      <Tabs value={search.tab ?? 'values'} onChange={(v) => void navigate({ to: '/cluster/settings', search: { tab: v === 'values' ? undefined : (v ?? undefined) } as never })} keepMounted={false}>
        <Tabs.List><Tabs.Tab value="values">{t('values')}</Tabs.Tab><Tabs.Tab value="history">{t('history')}</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="values" pt="sm"><Values /></Tabs.Panel>
        <Tabs.Panel value="history" pt="sm"><History /></Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

function Values() {
  const { t } = useT()
  const may = useMay()
  const client = useQueryClient()
  const { label } = useT()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { q?: string; node?: string }
  const members = useMembers()
  const services = (members.data ?? []).filter((m) => m.nodeType === 'SERVICE')
  const { node } = search
  const [text, setText] = useState(search.q ?? '')
  const wanted = text.trim().toLowerCase()
  const [onlyChanged, setOnlyChanged] = useState(false)
  const [onlyMutable, setOnlyMutable] = useState(false)
  const [changes, setChanges] = useState<Map<string, unknown>>(new Map())
  const [applying, setApplying] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const missing = may.call('GET', '/cluster/settings/metadata')
  const update = may.call('PUT', '/cluster/settings')
  const settings = useQuery({
    queryKey: ['settings', node], enabled: !missing,
    queryFn: async () => {
      const { data, etag } = await send<Schemas['Settings']>('GET', '/cluster/settings/metadata', { node, query: { withValue: true } })
      return { leaves: leavesOf(data.settings as Tree), etag }
    },
  })
  const leaves = settings.data?.leaves ?? []
  const index = useMemo(() => leaves.map((l) => ({ leaf: l, text: `${l.path} ${l.description ?? ''}`.toLowerCase() })), [leaves])
  const found = useMemo(() => index.filter((x) => (wanted === '' || wanted.split(/\s+/).every((w) => x.text.includes(w))) && (!onlyMutable || (x.leaf.mutable && x.leaf.global === !node)) && (!onlyChanged || x.leaf.source !== 'default' || changes.has(x.leaf.path))).map((x) => x.leaf), [index, wanted, onlyMutable, onlyChanged, changes, node])
  const groups = useMemo(() => Object.entries(Object.groupBy(found, (l) => l.segments.slice(0, Math.min(2, l.segments.length - 1)).join('.'))), [found])
  const [open, setOpen] = useState<string | null>(null)
  // Settings in view are rendered first, the rest on scrolling: typing must not wait for hundreds
  // of inputs.
  const key = `${wanted} ${onlyMutable} ${onlyChanged}`
  const [drawn, setDrawn] = useState({ key, count: firstRows })
  const count = drawn.key === key ? drawn.count : firstRows
  const change = useMemo(() => (leaf: Leaf, value: unknown) => setChanges((old) => {
    const next = new Map(old)
    if (equal(value, leaf.value)) next.delete(leaf.path)
    else next.set(leaf.path, value)
    return next
  }), [])
  const apply = async () => {
    setBusy(true)
    setError(null)
    try {
      if (node) await send('PUT', '/cluster/settings', { node, query: { updateLocalSettings: true }, body: patchOf(changes, leaves) })
      else await send('PUT', '/cluster/settings', { body: patchOf(changes, leaves), headers: settings.data?.etag ? { 'If-Match': settings.data.etag } : {} })
      succeed(t('settingsApplied', { count: changes.size }))
      setChanges(new Map())
      setApplying(false)
      await client.invalidateQueries()
    } catch (e) {
      setError(e)
      if (e instanceof ApiError && e.status === 412) await settings.refetch()
    } finally {
      setBusy(false)
    }
  }
  if (missing) return <Problem error={new Error(t('needsPermission', { permission: missing }))} />
  const all = wanted !== '' || onlyChanged
  const visible = all ? groups.map(([name, list], i) => ({ name, total: list!.length, list: list!.slice(0, Math.max(0, count - groups.slice(0, i).reduce((n, [, before]) => n + before!.length, 0))) })).filter((g) => g.list.length > 0) : groups.map(([name, list]) => ({ name, total: list!.length, list: open === name ? list! : [] }))
  return (
    <Stack gap="xs">
      <Group>
        <Select size="sm" w={240} aria-label={t('appliesTo')} name="setting-scope" allowDeselect={false} value={node ?? ''} data={[{ value: '', label: t('wholeCluster') }, ...services.map((m) => ({ value: m.key.nodeId, label: `${label(m.nodeType)} · ${m.name || m.key.nodeId}` }))]}
          onChange={(v) => { setChanges(new Map()); void navigate({ to: '/cluster/settings', search: { ...search, node: v || undefined } as never }) }} />
        <TextInput flex={1} miw={220} leftSection={<IconSearch size={14} />} placeholder={t('searchSettings', { count: leaves.length })} aria-label={t('searchSettings', { count: leaves.length })} name="setting-search" value={text} onChange={(e) => setText(e.currentTarget.value)} />
        <Switch size="sm" label={t('onlyChangeable')} checked={onlyMutable} onChange={(e) => setOnlyMutable(e.currentTarget.checked)} />
        <Switch size="sm" label={t('onlyChanged')} checked={onlyChanged} onChange={(e) => setOnlyChanged(e.currentTarget.checked)} />
        <Button variant="default" disabled={changes.size === 0} onClick={() => setChanges(new Map())}>{t('discard')}</Button>
        <Permitted missing={update}>{(off) => <Button disabled={off || changes.size === 0} onClick={() => setApplying(true)} name="apply-settings">{t('applyChanges', { count: changes.size })}</Button>}</Permitted>
      </Group>
      <Problem error={settings.error} retry={() => void settings.refetch()} />
      {settings.isPending && !settings.error ? <Waiting /> : <Text size="xs" c="dimmed" data-setting-count>{t('settingsFound', { found: found.length, total: leaves.length })}</Text>}
      {visible.map(({ name, total, list }) => (
        <Card key={name} withBorder padding="xs">
          <Button variant="subtle" size="compact-sm" justify="flex-start" fullWidth aria-expanded={all || open === name} onClick={() => setOpen(open === name ? null : name)} data-setting-group={name}>{name} ({total})</Button>
          {list.length > 0 && <Stack gap={2} mt={4}>{list.map((l) => <Row key={l.path} leaf={l} changed={changes.has(l.path)} value={changes.has(l.path) ? changes.get(l.path) : l.value} locked={update !== undefined} local={node !== undefined} onChange={change} />)}</Stack>}
        </Card>
      ))}
      {all && count < found.length && <Seen key={`${key} ${count}`} onSeen={() => setDrawn({ key, count: count + moreRows })} />}
      <Modal opened={applying} onClose={() => setApplying(false)} title={t('applyChanges', { count: changes.size })} size="lg" closeButtonProps={{ 'aria-label': t('close') }}>
        <Stack>
          <Table fz="sm" withTableBorder>
            <Table.Thead><Table.Tr><Table.Th>{t('setting')}</Table.Th><Table.Th>{t('before')}</Table.Th><Table.Th>{t('after')}</Table.Th></Table.Tr></Table.Thead>
            <Table.Tbody>{[...changes].map(([path, v]) => <Table.Tr key={path}><Table.Td style={{ overflowWrap: 'anywhere' }}>{path}</Table.Td><Table.Td>{show(leaves.find((l) => l.path === path)?.value)}</Table.Td><Table.Td>{leaves.find((l) => l.path === path)?.sensitive ? t('secretValue') : show(v)}</Table.Td></Table.Tr>)}</Table.Tbody>
          </Table>
          {error instanceof ApiError && error.status === 412 && <Alert color="yellow">{t('changedMeanwhile')}</Alert>}
          <Problem error={error} />
          <Group justify="flex-end"><Button variant="default" onClick={() => setApplying(false)}>{t('cancel')}</Button><Button loading={busy} onClick={() => void apply()} name="confirm-settings">{t('apply')}</Button></Group>
        </Stack>
      </Modal>
    </Stack>
  )
}

/** Seen calls a function when it comes close to the viewport. */
function Seen({ onSeen }: { onSeen: () => void }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) onSeen() }, { rootMargin: '600px' })
    observer.observe(place.current!)
    return () => observer.disconnect()
  }, []) // eslint-disable-line
  return <div ref={place} style={{ height: 1 }} />
}

/** Row is one setting. It is rendered again only when it changes. */
const Row = memo(function Row({ leaf, value, changed, locked, local, onChange }: { leaf: Leaf; value: unknown; changed: boolean; locked: boolean; local: boolean; onChange: (l: Leaf, v: unknown) => void }) {
  const { t } = useT()
  const name = leaf.segments[leaf.segments.length - 1]!
  const editable = leaf.mutable && leaf.global === !local && !locked
  const unit = unitOf(name)
  const range = leaf.minimum !== undefined || leaf.maximum !== undefined ? t('range', { min: leaf.minimum ?? '−∞', max: leaf.maximum ?? '∞' }) : ''
  return (
    <Group wrap="nowrap" align="start" gap="sm" py={4} data-setting={leaf.path} className="setting" style={{ borderTop: '1px solid var(--mantine-color-default-border)', flexWrap: 'wrap' }}>
      <div style={{ flex: '1 1 320px', minWidth: 0 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>{leaf.path}</Text>
        <Text size="xs" c="dimmed">{leaf.description} {range}</Text>
        <Group gap={4}>
          <Badge size="xs" variant="light" color={leaf.source === 'default' ? 'gray' : 'blue'} className="chip">{t('source')}: {leaf.source || 'default'}</Badge>
          {!leaf.mutable && <Badge size="xs" variant="light" color="gray" className="chip">{t('atStartOnly')}</Badge>}
          {leaf.mutable && !leaf.global && !local && <Badge size="xs" variant="light" color="gray" className="chip">{t('perNode')}</Badge>}
          {leaf.mutable && leaf.global && local && <Badge size="xs" variant="light" color="gray" className="chip">{t('wholeCluster')}</Badge>}
          {changed && <Badge size="xs" color="yellow" variant="light" className="chip">{t('changedMark')}</Badge>}
          {leaf.default !== undefined && !equal(leaf.default, leaf.value) && <Text size="xs" c="dimmed">{t('defaultValue', { value: show(leaf.default) })}</Text>}
        </Group>
      </div>
      <div style={{ flex: '0 1 320px', minWidth: 200 }}>
        <Editor leaf={leaf} value={value} disabled={!editable} unit={unit} onChange={(v) => onChange(leaf, v)} />
        <Text size="xs" c="dimmed">{hint(name, value)}</Text>
      </div>
      <Group gap={2}>
        {changed && <Tooltip label={t('undo')}><ActionIcon variant="subtle" aria-label={`${t('undo')} ${leaf.path}`} onClick={() => onChange(leaf, leaf.value)}><IconArrowBackUp size={16} /></ActionIcon></Tooltip>}
        {editable && leaf.default !== undefined && !equal(value, leaf.default) && <Tooltip label={t('resetToDefault')}><ActionIcon variant="subtle" aria-label={`${t('resetToDefault')} ${leaf.path}`} onClick={() => onChange(leaf, leaf.default)}><IconRestore size={16} /></ActionIcon></Tooltip>}
      </Group>
    </Group>
  )
})

const numeric = new Set(['int', 'short', 'long', 'float', 'double'])
/**
 * number parses the input; text that is not a number, or has more digits than a number can
 * represent, is sent unchanged.
 */
const number = (text: string) => (/^-?\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : text)

function Editor({ leaf, value, disabled, unit, onChange }: { leaf: Leaf; value: unknown; disabled: boolean; unit?: string; onChange: (v: unknown) => void }) {
  const { t } = useT()
  const common = { size: 'xs' as const, disabled, 'aria-label': leaf.path, name: leaf.path }
  // Secrets are never shown, but can be replaced.
  if (leaf.sensitive) return disabled || leaf.type !== 'string' ? <Text size="sm" c="dimmed">{t('secretValue')}</Text> : <PasswordInput {...common} placeholder={t('secretValue')} autoComplete="new-password" value={typeof value === 'string' && value !== leaf.value ? value : ''} onChange={(e) => onChange(e.currentTarget.value === '' ? leaf.value : e.currentTarget.value)} />
  // Read-only values are shown as text, which is easier to read than a disabled input.
  if (disabled && (typeof value !== 'object' || value === null)) return <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }} data-value={leaf.path}>{typeof value === 'boolean' ? t(value ? 'yes' : 'no') : `${show(value)}${unit && value !== undefined ? ` ${unit}` : ''}`}</Text>
  switch (leaf.type) {
    case 'boolean': return <Switch {...common} size="sm" checked={value === true} onChange={(e) => onChange(e.currentTarget.checked)} />
    case 'enum': return <Select {...common} data={leaf.options ?? []} allowDeselect={false} value={value === undefined ? null : String(value)} onChange={(v) => onChange(v)} />
    case 'int': case 'short': return <NumberInput {...common} allowDecimal={false} allowNegative min={leaf.minimum} max={leaf.maximum} clampBehavior="none" rightSection={unit ? <Text size="xs" c="dimmed">{unit}</Text> : undefined} value={(value as number | undefined) ?? ''} onChange={(v) => { if (typeof v === 'number') onChange(v) }} />
    case 'long': return <TextInput {...common} inputMode="numeric" rightSection={unit ? <Text size="xs" c="dimmed">{unit}</Text> : undefined} value={String(value ?? '')} onChange={(e) => onChange(/^-?\d{1,15}$/.test(e.currentTarget.value) ? Number(e.currentTarget.value) : e.currentTarget.value)} />
    case 'float': case 'double': return <NumberInput {...common} value={(value as number | undefined) ?? ''} onChange={(v) => { if (typeof v === 'number') onChange(v) }} />
    case 'java.util.List':
      if (leaf.elementType !== 'object') return <TagsInput {...common} data={leaf.options} value={((value as unknown[] | undefined) ?? []).map(String)} onChange={(v) => onChange(numeric.has(leaf.elementType ?? '') ? v.map(number) : v)} acceptValueOnBlur />
      if (leaf.elements && !Object.keys(leaf.elements).some((f) => f.includes('[?]'))) {
        const elements = leaf.elements
        return (
          <ObjectsEditor name={leaf.path} title={leaf.path} disabled={disabled} value={(value as Record<string, unknown>[] | undefined) ?? []} onChange={onChange} fields={Object.keys(elements).sort()} description={(f) => elements[f]!.description}
            input={(f, name, v, set) => <Editor leaf={{ ...elements[f]!, path: name, segments: f.split('.'), value: v, source: '' }} value={v} disabled={disabled} unit={unitOf(f)} onChange={set} />} />
        )
      }
      return <Json {...common} value={value} onChange={onChange} />
    case 'java.util.Map': return <MapEditor name={leaf.path} title={leaf.path} disabled={disabled} value={(value as Record<string, string> | undefined) ?? {}} onChange={onChange} />
  }
  if (typeof value === 'object' && value !== null) return <Json {...common} value={value} onChange={onChange} />
  return <TextInput {...common} value={String(value ?? '')} onChange={(e) => onChange(e.currentTarget.value)} />
}

/** Json edits lists of objects and maps; invalid JSON is kept as text and not sent. */
function Json({ value, onChange, ...common }: { value: unknown; onChange: (v: unknown) => void; disabled: boolean; size: 'xs'; name: string; 'aria-label': string }) {
  const { t } = useT()
  const [text, setText] = useState<string | null>(null)
  const shown = text ?? JSON.stringify(value ?? null, null, 1)
  return <JsonInput {...common} autosize minRows={1} maxRows={10} validationError={t('mustBeJson')} value={shown} onBlur={() => setText(null)} onChange={(v) => {
    setText(v)
    try {
      onChange(JSON.parse(v))
    } catch {
      // The input is incomplete.
    }
  }} />
}

function History() {
  const { t, label } = useT()
  const may = useMay()
  const client = useQueryClient()
  const [revert, setRevert] = useState<Schemas['SettingRevision'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [all, setAll] = useState(false)
  const update = may.call('PUT', '/cluster/settings')
  const history = useQuery({ queryKey: ['settings-history-page'], queryFn: async () => (await send<Schemas['PageSettingRevision'] | undefined>('GET', '/cluster/settings/history/page', { query: { page: 0, size: 100 } })).data?.records ?? [] })
  const go = async (query: { revertTo?: string; reset?: boolean }) => {
    setError(null)
    try {
      await send('PUT', '/cluster/settings', { query, body: {} })
      succeed(t('done'))
      setRevert(null)
      setAll(false)
      await client.invalidateQueries()
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Stack gap="xs">
      <Group justify="flex-end"><Permitted missing={update}>{(off) => <Button size="compact-sm" variant="default" disabled={off} onClick={() => setAll(true)}>{t('resetAll')}</Button>}</Permitted></Group>
      <Problem error={history.error} />
      <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('history') }}><Table withTableBorder fz="sm">
        <Table.Thead><Table.Tr>{[t('revision'), t('when'), t('who'), t('action'), t('changes'), ''].map((h, i) => <Table.Th key={i}>{h || <span className="hidden-text">{t('actions')}</span>}</Table.Th>)}</Table.Tr></Table.Thead>
        <Table.Tbody>
          {(history.data ?? []).map((r) => (
            <Table.Tr key={String(r.revision)} data-revision={String(r.revision)}>
              <Table.Td>{String(r.revision)}</Table.Td><Table.Td><When date={r.date} /></Table.Td><Table.Td>{String(r.adminId)}</Table.Td><Table.Td>{label(r.action)}</Table.Td>
              <Table.Td>{r.changes.slice(0, 20).map((c) => <Text key={c.property} size="xs" style={{ overflowWrap: 'anywhere' }}><b>{c.property}</b>: {show(c.before)} → {show(c.after)}</Text>)}{r.changes.length > 20 && <Text size="xs">… ({r.changes.length})</Text>}</Table.Td>
              <Table.Td><Permitted missing={update}>{(off) => <Button size="compact-xs" variant="default" disabled={off} name="revert" onClick={() => setRevert(r)}>{t('undoThis')}</Button>}</Permitted></Table.Td>
            </Table.Tr>
          ))}
          {(history.data ?? []).length === 0 && <Table.Tr><Table.Td colSpan={6}><Text ta="center" c="dimmed">{t('noChanges')}</Text></Table.Td></Table.Tr>}
        </Table.Tbody>
      </Table></ScrollArea>
      <Modal opened={revert !== null || all} onClose={() => { setRevert(null); setAll(false) }} title={all ? t('resetAll') : t('undoThis')} closeButtonProps={{ 'aria-label': t('close') }}>
        <Stack>
          <Text size="sm">{all ? t('resetAllText') : t('revertText', { revision: Number(revert?.revision ?? 1) - 1 })}</Text>
          <Problem error={error} />
          <Group justify="flex-end"><Button variant="default" onClick={() => { setRevert(null); setAll(false) }} data-autofocus>{t('cancel')}</Button><Button color="red" name="confirm-revert" onClick={() => void go(all ? { reset: true } : { revertTo: String(Number(revert!.revision) - 1) })}>{all ? t('resetAll') : t('undoThis')}</Button></Group>
        </Stack>
      </Modal>
    </Stack>
  )
}

