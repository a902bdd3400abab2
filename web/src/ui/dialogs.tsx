// SPDX-License-Identifier: Apache-2.0

import { Alert, Button, Code, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import { ApiError, send, type Query } from '../api/client'
import { parameterSchema, type Document, type Operation } from '../api/document'
import { useT } from '../i18n'
import { Problem, succeed, warn } from './feedback'
import { encode, Field, fieldOf, same, SchemaForm, type Inputs, type Values } from './form'
import { Value } from './format'

interface DialogProps {
  document: Document
  operation: Operation
  node?: string
  title: string
  /** selection is the query that selects the records; absent for a creation. */
  selection?: Query
  count?: number
  /** initial are the values of the record that is changed. */
  initial?: Values
  preset?: Values
  headers?: Record<string, string>
  /** inputs replace inputs that are generated from the schema. */
  inputs?: Inputs
  onClose: () => void
  onDone: (result: unknown) => void
}

/**
 * usePartial returns a function that shows the failures in a successful response and reports
 * whether there are any.
 */
export function usePartial() {
  const { t } = useT()
  return (data: unknown) => {
    const d = data as { failures?: { id?: string; reason?: string }[]; problem?: { reason: string } } | undefined
    const failed = [...(d?.failures ?? []).map((f) => `${f.id ?? ''}: ${f.reason ?? ''}`), ...(Array.isArray(data) ? data : [d]).flatMap((x) => {
      const p = (x as { problem?: { reason: string } } | undefined)?.problem
      return p ? [p.reason] : []
    })]
    if (failed.length > 0) warn(t('partlyFailed'), failed.join('; '))
    return failed.length > 0
  }
}

/**
 * WriteDialog creates or changes records with a form that is generated from the schema of the body.
 * It only sends changed fields.
 */
export function WriteDialog({ document: d, operation, node, title, selection, count, initial, preset, headers, inputs, onClose, onDone }: DialogProps) {
  const { t, label } = useT()
  const partial = usePartial()
  const schema = d.resolve(operation.body)
  const names = Object.keys(schema.properties ?? {})
  const start = useMemo<Values>(() => ({ ...Object.fromEntries(names.filter((n) => initial && n in initial).map((n) => [n, initial![n]])), ...preset }), []) // eslint-disable-line
  const [values, setValues] = useState<Values>(start)
  const [parameters, setParameters] = useState<Values>({})
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const creating = selection === undefined
  const changed = names.filter((n) => (creating ? values[n] !== undefined : !same(values[n], initial?.[n])))
  const options = operation.parameters.filter((p) => p.in === 'query' && !(selection && p.name in selection) && !['ids', 'keys', 'id'].includes(p.name))
  const field = error instanceof ApiError ? fieldOf(error.reason, names) : undefined
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      const body = encode(d, schema, Object.fromEntries(changed.map((n) => [n, values[n] === undefined ? null : values[n]])))
      const { data } = await send<unknown>(operation.method, operation.path, { node, body, headers, query: { ...selection, ...(parameters as Query) } })
      if (!partial(data)) {
        const r = data as { matchedCount?: number; modifiedCount?: number } | undefined
        succeed(r?.matchedCount !== undefined ? t('updatedCount', { matched: r.matchedCount, modified: r.modifiedCount ?? 0 }) : t('done'))
      }
      onDone(data)
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} size="lg" closeButtonProps={{ 'aria-label': t('close') }}>
      <form onSubmit={(e) => { e.preventDefault(); void submit() }} data-dialog={operation.operationId}>
        <Stack>
          {count !== undefined && count > 1 && <Alert color="blue" p="xs">{t('changesRecords', { count })}</Alert>}
          <SchemaForm document={d} schema={schema} values={values} inputs={inputs} initial={creating ? undefined : (initial ?? {})} onChange={setValues}
            errors={field && error instanceof ApiError ? { [field]: error.reason } : undefined} />
          {options.map((p) => <Field key={p.name} document={d} name={p.name} schema={{ ...parameterSchema(d, p), description: p.description }} value={parameters[p.name]} onChange={(v) => setParameters({ ...parameters, [p.name]: v })} />)}
          {!creating && changed.length > 0 && initial && (
            <Table fz="xs" withTableBorder data-changes>
              <Table.Thead><Table.Tr><Table.Th>{t('field')}</Table.Th><Table.Th>{t('before')}</Table.Th><Table.Th>{t('after')}</Table.Th></Table.Tr></Table.Thead>
              <Table.Tbody>
                {changed.map((n) => (
                  <Table.Tr key={n}>
                    <Table.Td>{label(n)}</Table.Td>
                    <Table.Td>{/password/i.test(n) ? '•••' : <Value field={n} value={initial[n]} />}</Table.Td>
                    <Table.Td>{/password/i.test(n) ? '•••' : <Value field={n} value={values[n]} />}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
          <Problem error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>{t('cancel')}</Button>
            <Button type="submit" loading={busy} disabled={changed.length === 0}>{creating ? t('create') : t('saveChanges', { count: changed.length })}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface ConfirmProps {
  document: Document
  operation: Operation
  title: string
  selection: Query
  count: number
  names: string[]
  node?: string
  onClose: () => void
  onDone: () => void
}

/**
 * DeleteDialog shows how many records will be deleted, which ones, and what is deleted with them.
 */
export function DeleteDialog({ document: d, operation, title, selection, count, names, node, onClose, onDone }: ConfirmProps) {
  const { t } = useT()
  const [parameters, setParameters] = useState<Values>({})
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const options = operation.parameters.filter((p) => p.in === 'query' && !(p.name in selection) && !['ids', 'keys', 'deleteAll'].includes(p.name))
  const submit = async () => {
    setBusy(true)
    try {
      const { data } = await send<{ deletedCount?: number | string } | undefined>('DELETE', operation.path, { node, query: { ...selection, ...(parameters as Query) } })
      succeed(t('deletedCount', { count: data?.deletedCount ?? count }))
      onDone()
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <Stack data-dialog={operation.operationId}>
        <Text fw={600}>{t('confirmDelete', { count })}</Text>
        <Code block mah={120} style={{ overflow: 'auto' }}>{names.slice(0, 50).join('\n')}{names.length > 50 ? `\n… (${names.length})` : ''}</Code>
        {operation.description && <Text size="sm" c="dimmed">{operation.description.split('\n\n')[0]}</Text>}
        {options.map((p) => <Field key={p.name} document={d} name={p.name} schema={{ ...parameterSchema(d, p), description: p.description }} value={parameters[p.name]} onChange={(v) => setParameters({ ...parameters, [p.name]: v })} />)}
        <Problem error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>{t('cancel')}</Button>
          <Button color="red" loading={busy} onClick={() => void submit()} name="confirm-delete">{t('deleteCount', { count })}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
