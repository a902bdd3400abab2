// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Button, Checkbox, Drawer, Group, Menu, Modal, Progress, ScrollArea, Select, Stack, Table, Text, Title, Tooltip } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconColumns, IconDownload, IconEdit, IconEye, IconPlus, IconRefresh, IconTrash } from '@tabler/icons-react'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { flexRender, getCoreRowModel, useReactTable, type CellContext, type ColumnDef, type HeaderContext, type VisibilityState } from '@tanstack/react-table'
import { useEffect, useMemo, useRef, useState } from 'react'
import { send, type Query } from '../api/client'
import { useT } from '../i18n'
import { columnsOf, operationsOf, valueAt, type Resource } from '../resources'
import { useMay, useSession } from '../session'
import { DeleteDialog, WriteDialog } from './dialogs'
import { exportCsv } from './export'
import { fail, Permitted, Problem, Waiting } from './feedback'
import { Filters, toQuery, type Search } from './filters'
import { Id, Value, When } from './format'
import { views } from './views'

type Row = Record<string, unknown>

interface Page {
  total?: number | string
  totalIsExact?: boolean
  records: Row[]
}

interface Props {
  resource: Resource
  search: Search
  onSearch: (search: Search) => void
  /** fixed are filters that the page sets, for instance for the relationships of one user. */
  fixed?: Query
  /** preset are initial values of the form for new records. */
  preset?: Record<string, unknown>
  embedded?: boolean
}

const none: Row[] = []

const sizes = ['10', '20', '50', '100', '200']

async function fetchPage(path: string, paged: boolean, query: Query): Promise<Page> {
  const { data } = await send<Page | Row[] | undefined>('GET', path, { query })
  if (!data) return { total: 0, records: [] }
  if (Array.isArray(data)) return { records: data, total: paged ? undefined : data.length }
  return data
}

/**
 * ResourceList is the page of one collection: filters, table, paging, bulk actions and export, all
 * generated from the document.
 */
export function ResourceList({ resource, search, onSearch, fixed, preset, embedded }: Props) {
  const { t, label } = useT()
  const { documents } = useSession()
  const may = useMay()
  const client = useQueryClient()
  const d = documents.service
  const ops = useMemo(() => operationsOf(d, resource.path), [d, resource.path])
  const view = views[resource.name]
  const columns = useMemo(() => (ops ? columnsOf(d, ops.item, resource.first) : []), [d, ops]) // eslint-disable-line
  const [selected, setSelected] = useState<Record<string, boolean>>({})
  const [dialog, setDialog] = useState<'create' | 'update' | 'delete' | null>(null)
  const [created, setCreated] = useState<unknown>(null)
  const [detail, setDetail] = useState<Row | null>(null)
  const [progress, setProgress] = useState<number | null>(null)
  const stop = useRef<AbortController | null>(null)
  const stored = `console.columns.${resource.name}`
  const [visibility, setVisibility] = useState<VisibilityState>(() => {
    const saved = localStorage.getItem(stored)
    if (saved) return JSON.parse(saved) as VisibilityState
    return Object.fromEntries((resource.hidden ?? []).map((h) => [h, false]))
  })
  useEffect(() => localStorage.setItem(stored, JSON.stringify(visibility)), [stored, visibility])

  const page = Math.max(0, Number(search.page ?? 0) || 0)
  const size = Math.max(1, Number(search.size ?? 20) || 20)
  const filter = ops ? { ...toQuery(d, ops.list.parameters, search), ...fixed } : {}
  const query: Query = ops?.paged ? { ...filter, page, size } : ops?.list.parameters.some((p) => p.name === 'size') ? { ...filter, size } : filter
  const missing = may.operation(ops?.list)
  const result = useQuery({
    queryKey: ['list', resource.path, query], enabled: ops !== undefined && !missing, placeholderData: keepPreviousData,
    queryFn: () => fetchPage(ops!.list.path, ops!.paged, query),
  })
  const rows = result.data?.records ?? none
  const total = result.data?.total === undefined ? undefined : Number(result.data.total)

  const keyOf = (r: Row): string => {
    if (resource.key) return resource.key(r)
    const fields = ops?.selector?.fields
    if (fields) return fields.map((f) => String((r.key as Row | undefined)?.[f] ?? r[f])).join(':')
    return String(r.id ?? JSON.stringify(r.key ?? r))
  }
  // React would take the cells of new definitions for other components and replace them, and the
  // focus would be lost.
  const definitions = useMemo((): ColumnDef<Row>[] => [
    ...(ops?.update || ops?.remove ? [{
      id: '_select', enableHiding: false,
      header: ({ table }: HeaderContext<Row, unknown>) => <Checkbox size="xs" aria-label={t('selectAll')} checked={table.getIsAllRowsSelected()} indeterminate={table.getIsSomeRowsSelected()} onChange={table.getToggleAllRowsSelectedHandler()} />,
      cell: ({ row }: CellContext<Row, unknown>) => <Checkbox size="xs" aria-label={`${t('select')} ${row.id}`} checked={row.getIsSelected()} onChange={row.getToggleSelectedHandler()} />,
    }] : []),
    ...columns.map((c): ColumnDef<Row> => ({
      id: c.path.join('.'), header: label(c.name),
      accessorFn: (r) => valueAt(r, c.path),
      cell: ({ row, getValue }) => {
        const v = getValue()
        const own = view?.cells?.[c.path.join('.')]
        if (own) return own(row.original)
        if (c.path.join('.') === 'id' && resource.page) return <Id value={v as string} to={resource.page(row.original)} />
        if (resource.name === 'blocked-users' && c.name === 'id') return <Id value={v as string} to={`/users/${String(v)}`} />
        if (c.schema.format === 'date-time') return <When date={v as string} />
        return <Value field={c.name} value={v} record={row.original} constant={c.schema.enum !== undefined} />
      },
    })),
    {
      id: '_detail', enableHiding: false, header: '',
      cell: ({ row }) => <ActionIcon size="xs" variant="subtle" color="gray" aria-label={`${t('details')} ${row.id}`} onClick={() => setDetail(row.original)}><IconEye size={14} /></ActionIcon>,
    },
  ], [columns, label, ops, resource, t, view])
  const table = useReactTable({
    data: rows, columns: definitions, getCoreRowModel: getCoreRowModel(), getRowId: keyOf,
    state: { rowSelection: selected, columnVisibility: visibility }, onRowSelectionChange: setSelected, onColumnVisibilityChange: setVisibility,
  })
  useEffect(() => setSelected({}), [JSON.stringify(query)]) // eslint-disable-line

  // Dialogs and requests render the page again, but not the records.
  const failed = result.error !== null
  const records = useMemo(() => (
    <Table striped highlightOnHover withTableBorder verticalSpacing={4} fz="sm" className="dense">
      <Table.Thead>
        {table.getHeaderGroups().map((g) => (
          <Table.Tr key={g.id}>{g.headers.map((h) => <Table.Th key={h.id} scope="col">{h.column.id === '_detail' ? <span className="hidden-text">{t('details')}</span> : flexRender(h.column.columnDef.header, h.getContext())}</Table.Th>)}</Table.Tr>
        ))}
      </Table.Thead>
      <Table.Tbody>
        {table.getRowModel().rows.map((r) => (
          <Table.Tr key={r.id} data-row={r.id} data-deleted={r.original.deletionDate ? true : undefined} bg={r.getIsSelected() ? 'var(--mantine-primary-color-light)' : undefined}>
            {r.getVisibleCells().map((c) => <Table.Td key={c.id}>{flexRender(c.column.columnDef.cell, c.getContext())}</Table.Td>)}
          </Table.Tr>
        ))}
        {rows.length === 0 && !failed && <Table.Tr><Table.Td colSpan={99}><Text ta="center" c="dimmed" p="md">{t('noRecords')}</Text></Table.Td></Table.Tr>}
      </Table.Tbody>
    </Table>
  ), [definitions, failed, rows, selected, t, table, visibility])

  if (!ops) return <Problem error={new Error(t('notOnThisServer'))} />
  const chosen = rows.filter((r) => selected[keyOf(r)])
  const one = chosen.length === 1 ? chosen[0] : undefined
  const selection = (): Query => {
    const s = ops.selector
    if (!s) return {}
    if (s.fields) return { [s.name]: chosen.map((r) => Object.fromEntries(s.fields!.map((f) => [f, String((r.key as Row | undefined)?.[f] ?? r[f])]))) }
    return { [s.name]: chosen.map(keyOf) }
  }
  const refresh = async () => {
    setSelected({})
    setDialog(null)
    await client.invalidateQueries()
  }
  const title = t(resource.title)
  const run = async () => {
    const signal = (stop.current = new AbortController()).signal
    // Records created during the export would move others between pages.
    const bound: Query = ops.list.parameters.some((p) => p.name === resource.until) && !search[resource.until!] ? { [resource.until!]: new Date().toISOString() } : {}
    try {
      setProgress(0)
      await exportCsv(title, columns.map((c) => ({ title: c.path.join('.'), path: c.path })), keyOf, async (n) => {
        signal.throwIfAborted()
        return (await fetchPage(ops.list.path, ops.paged, { ...filter, ...bound, ...(ops.paged ? { page: n } : {}), size: 1000 })).records
      }, ops.paged, (n) => setProgress(n))
    } catch (e) {
      if (!signal.aborted) fail(e, t('exportFailed'))
    } finally {
      setProgress(null)
    }
  }
  const last = total === undefined ? rows.length < size : (page + 1) * size >= total
  return (
    <Stack gap="xs" data-resource={resource.name}>
      <Group justify="space-between">
        {embedded ? <Title order={3} size="h5">{title}</Title> : <Title order={1} size="h3">{title}</Title>}
        <Group gap={6}>
          {ops.update && (
            <Permitted missing={may.operation(ops.update)}>
              {(off) => <Button size="compact-sm" variant="default" leftSection={<IconEdit size={14} />} disabled={off || chosen.length === 0 || (ops.selector?.name === 'id' && chosen.length > 1)} onClick={() => setDialog('update')} name="update">{t('edit')}{chosen.length > 1 ? ` (${chosen.length})` : ''}</Button>}
            </Permitted>
          )}
          {ops.remove && (
            <Permitted missing={may.operation(ops.remove)}>
              {(off) => <Button size="compact-sm" variant="default" c={off || chosen.length === 0 ? undefined : 'red'} leftSection={<IconTrash size={14} />} disabled={off || chosen.length === 0} onClick={() => setDialog('delete')} name="delete">{t('delete')}{chosen.length > 0 ? ` (${chosen.length})` : ''}</Button>}
            </Permitted>
          )}
          {ops.create && (
            <Permitted missing={may.operation(ops.create)}>
              {(off) => <Button size="compact-sm" leftSection={<IconPlus size={14} />} disabled={off} onClick={() => setDialog('create')} name="create">{t('create')}</Button>}
            </Permitted>
          )}
          <Tooltip label={t('exportCsv')}><ActionIcon variant="default" size="md" aria-label={t('exportCsv')} name="export" disabled={missing !== undefined} onClick={() => void run()}><IconDownload size={16} /></ActionIcon></Tooltip>
          <Menu closeOnItemClick={false}>
            <Menu.Target><ActionIcon variant="default" size="md" aria-label={t('columns')}><IconColumns size={16} /></ActionIcon></Menu.Target>
            <Menu.Dropdown mah={400} style={{ overflow: 'auto' }}>
              {table.getAllLeafColumns().filter((c) => c.getCanHide()).map((c) => (
                <Menu.Item key={c.id} component="div"><Checkbox size="xs" label={String(c.columnDef.header)} checked={c.getIsVisible()} onChange={c.getToggleVisibilityHandler()} /></Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
          <Tooltip label={t('refresh')}><ActionIcon variant="default" size="md" aria-label={t('refresh')} loading={result.isFetching} onClick={() => void result.refetch()}><IconRefresh size={16} /></ActionIcon></Tooltip>
        </Group>
      </Group>
      {progress !== null && (
        <Group gap="xs"><Progress flex={1} aria-label={t('exportCsv')} value={total ? Math.min(100, (progress / total) * 100) : 50} animated /><Text size="xs">{t('exported', { count: progress })}</Text><Button size="compact-xs" variant="subtle" onClick={() => stop.current?.abort()}>{t('cancel')}</Button></Group>
      )}
      {missing ? <Problem error={new Error(t('needsPermission', { permission: missing }))} /> : (
        <>
          <Filters document={d} parameters={ops.list.parameters} search={search} fixed={fixed} suggestions={view?.suggestions?.(d)} onApply={(s) => onSearch({ ...search, ...s, page: undefined })} />
          <Problem error={result.error} retry={() => void result.refetch()} />
          {result.isPending && !result.error ? <Waiting /> : (
            <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, 'aria-label': title, role: 'region' }}>
              {records}
            </ScrollArea>
          )}
          <Group justify="space-between">
            <Text size="sm" c="dimmed" data-total>
              {total === undefined ? t('shown', { count: rows.length }) : result.data?.totalIsExact === false ? t('atLeast', { count: total.toLocaleString() }) : t('totalRecords', { count: total.toLocaleString() })}
            </Text>
            <Group gap={6}>
              <Select size="xs" w={80} aria-label={t('pageSize')} data={sizes.includes(String(size)) ? sizes : [...sizes, String(size)]} value={String(size)} allowDeselect={false} onChange={(v) => onSearch({ ...search, size: v ?? undefined, page: undefined })} />
              {ops.paged && <>
                <ActionIcon variant="default" aria-label={t('previousPage')} disabled={page === 0} onClick={() => onSearch({ ...search, page: page > 1 ? String(page - 1) : undefined })}><IconChevronLeft size={16} /></ActionIcon>
                <Text size="sm">{t('pageNumber', { page: page + 1 })}</Text>
                <ActionIcon variant="default" aria-label={t('nextPage')} disabled={last} onClick={() => onSearch({ ...search, page: String(page + 1) })}><IconChevronRight size={16} /></ActionIcon>
              </>}
            </Group>
          </Group>
        </>
      )}
      {dialog === 'create' && ops.create && <WriteDialog document={d} operation={ops.create} title={`${t('create')}: ${title}`} preset={preset} inputs={view?.inputs} onClose={() => setDialog(null)} onDone={(result) => { if (view?.created) setCreated(result); void refresh() }} />}
      {created !== null && view?.created && <Modal opened onClose={() => setCreated(null)} title={title} size="lg" closeButtonProps={{ 'aria-label': t('close') }} closeOnClickOutside={false}>{view.created(created)}</Modal>}
      {dialog === 'update' && ops.update && <WriteDialog document={d} operation={ops.update} title={`${t('edit')}: ${title}`} selection={ops.selector?.name === 'id' || ops.update.parameters.some((p) => p.name === 'id') ? { id: keyOf(chosen[0]!) } : selection()} count={chosen.length} initial={one} inputs={view?.inputs} onClose={() => setDialog(null)} onDone={() => void refresh()} />}
      {dialog === 'delete' && ops.remove && <DeleteDialog document={d} operation={ops.remove} title={`${t('delete')}: ${title}`} selection={selection()} count={chosen.length} names={chosen.map((r) => `${keyOf(r)}${typeof r.name === 'string' ? `  ${r.name}` : ''}`)} onClose={() => setDialog(null)} onDone={() => void refresh()} />}
      <Drawer opened={detail !== null} onClose={() => setDetail(null)} position="right" size={view?.detail ? 'lg' : 'md'} title={t('details')} closeButtonProps={{ 'aria-label': t('close') }}>
        {detail && (view?.detail ? view.detail(detail) : <RecordTable record={detail} />)}
        {detail && resource.page && <Button component={Link} to={resource.page(detail)} mt="md" size="compact-sm">{t('open')}</Button>}
      </Drawer>
    </Stack>
  )
}

/** RecordTable shows all fields of a record. */
export function RecordTable({ record }: { record: Row }) {
  const { label } = useT()
  const flat = Object.entries(record).flatMap(([k, v]) => (k === 'key' && v && typeof v === 'object' ? Object.entries(v as Row) : [[k, v] as const]))
  return (
    <Table fz="sm" variant="vertical" withTableBorder layout="fixed" className="record">
      <Table.Tbody>
        {flat.map(([k, v]) => <Table.Tr key={k}><Table.Th w={140} scope="row">{label(k)}</Table.Th><Table.Td style={{ overflowWrap: 'anywhere' }}>{typeof v === 'object' && v !== null ? <pre className="wrap">{JSON.stringify(v, null, 2)}</pre> : <Value field={k} value={v} record={record} constant={typeof v === 'string' && /^[A-Z]+(_[A-Z]+)*$/.test(v) && v.length > 2} />}</Table.Td></Table.Tr>)}
      </Table.Tbody>
    </Table>
  )
}
