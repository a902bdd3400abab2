// SPDX-License-Identifier: Apache-2.0

import { Accordion, Badge, Button, Code, Group, SegmentedControl, Stack, Table, Text, TextInput, Title } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useRef, useState } from 'react'
import { ApiError, send, url, type Query } from '../api/client'
import { parameterSchema, type Document, type Operation, type Schema } from '../api/document'
import { useT } from '../i18n'
import { useMay, useSession } from '../session'
import { Permitted, Problem } from '../ui/feedback'
import { encode, Field, SchemaForm, type Values } from '../ui/form'
import { NodePicker, useNode } from './Metrics'

const colors: Record<string, string> = { GET: 'blue', POST: 'green', PUT: 'yellow', DELETE: 'red', HEAD: 'gray' }

/** ApiDocs shows the operations of a role and sends requests from the page. */
export default function ApiDocs() {
  const { t } = useT()
  const { documents } = useSession()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { role?: string; q?: string; op?: string }
  // A link to an operation scrolls to it; one that the user opens stays in place.
  const linked = useRef(search.op)
  const show = (item: HTMLElement | null) => { if (item) { linked.current = undefined; item.scrollIntoView({ block: 'start' }) } }
  const role = search.role === 'gateway' ? 'gateway' : 'service'
  const d = documents[role]
  const text = useDeferredValue((search.q ?? '').toLowerCase())
  const set = (s: Record<string, string | undefined>) => void navigate({ to: '/api', search: { ...search, ...s } as never, replace: true, resetScroll: false })
  const found = d.operations.filter((o) => !o.path.startsWith('/openapi/') && `${o.method} ${o.path} ${o.operationId} ${o.summary} ${o.permission ?? ''}`.toLowerCase().includes(text))
  const groups = Object.entries(Object.groupBy(found, (o) => o.tags[0] ?? ''))
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">{t('apiDocumentation')}</Title>
        <Group gap="xs"><SegmentedControl size="xs" aria-label={t('role')} value={role} onChange={(v) => set({ role: v })} data={['service', 'gateway']} /><NodePicker type={role.toUpperCase()} /></Group>
      </Group>
      <Text size="sm" c="dimmed">{d.raw.info.description}</Text>
      <TextInput placeholder={t('search')} aria-label={t('search')} name="api-search" value={search.q ?? ''} onChange={(e) => set({ q: e.currentTarget.value || undefined })} />
      {groups.map(([tag, list]) => (
        <section key={tag} aria-label={tag} className="narrow">
          <Title order={2} size="h5" mb={4}>{tag.replace(/Controller$/, '')}</Title>
          <Accordion variant="contained" chevronPosition="left" value={search.op ?? null} onChange={(v) => set({ op: v ?? undefined })}>
            {list!.map((o) => (
              <Accordion.Item key={o.operationId} value={o.operationId} ref={o.operationId === linked.current ? show : undefined} style={{ scrollMarginTop: 60 }}>
                <Accordion.Control><Group gap="xs"><Badge w={70} className="chip" color={colors[o.method]} variant="light" radius="sm">{o.method}</Badge><Code>{o.path}</Code><Text size="sm" c="dimmed">{o.summary}</Text></Group></Accordion.Control>
                <Accordion.Panel>{search.op === o.operationId && <OperationView document={d} operation={o} role={role} />}</Accordion.Panel>
              </Accordion.Item>
            ))}
          </Accordion>
        </section>
      ))}
    </Stack>
  )
}

function typeOf(d: Document, s: Schema | undefined): string {
  if (!s) return ''
  if (s.$ref) return s.$ref.slice(s.$ref.lastIndexOf('/') + 1)
  const r = d.resolve(s)
  if (r.type === 'array') return `${typeOf(d, r.items)}[]`
  return [r.type ?? (r.properties ? 'object' : ''), r.format].filter(Boolean).join(' ')
}

function OperationView({ document: d, operation: o, role }: { document: Document; operation: Operation; role: string }) {
  const { t } = useT()
  const may = useMay()
  const node = useNode(role.toUpperCase())
  const [parameters, setParameters] = useState<Values>({})
  const [values, setValues] = useState<Values>({})
  const [answer, setAnswer] = useState<string | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const body = o.body ? d.resolve(o.body) : undefined
  const query: Query = {}
  for (const p of o.parameters.filter((x) => x.in === 'query')) {
    const v = parameters[p.name]
    const s = parameterSchema(d, p)
    if (v === undefined) continue
    query[p.name] = (typeof v === 'string' && s.type === 'array' ? JSON.parse(v) : v) as Query[string]
  }
  const stream = o.responses['200']?.content && !('application/json' in o.responses['200'].content)
  const run = async () => {
    setBusy(true)
    setError(null)
    setAnswer(null)
    try {
      const result = await send<unknown>(o.method, o.path, { node, query, body: body && Object.keys(values).length > 0 ? encode(d, body, values) : undefined })
      setAnswer(`${result.status}${result.requestId ? `  X-Request-Id: ${result.requestId}` : ''}\n${typeof result.data === 'string' ? result.data : JSON.stringify(result.data ?? null, null, 2)}`.slice(0, 200_000))
    } catch (e) {
      setError(e instanceof ApiError ? e : new Error(String(e)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack gap="xs" data-operation={o.operationId} className="narrow">
      <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>{o.description}</Text>
      {o.parameters.length > 0 && <Title order={3} size="h6">{t('parameters')}</Title>}
      {o.parameters.map((p) => <Field key={p.name} document={d} name={p.name} schema={{ ...parameterSchema(d, p), description: `${p.in} · ${typeOf(d, p.schema)} · ${p.description ?? ''}` }} required={p.required} value={parameters[p.name]} onChange={(v) => setParameters({ ...parameters, [p.name]: v })} />)}
      {body && <><Title order={3} size="h6">{t('body')} <Code>{typeOf(d, o.body)}</Code></Title><SchemaForm document={d} schema={body} values={values} onChange={setValues} /></>}
      {stream || o.form ? <Button component="a" href={url(o.path, node, query)} target="_blank" w="fit-content" size="compact-sm" disabled={o.form}>{t('open')}</Button>
        : <Permitted missing={may.operation(o)}>{(off) => <Button w="fit-content" size="compact-sm" loading={busy} disabled={off} onClick={() => void run()} name="execute">{t('execute')}</Button>}</Permitted>}
      <Problem error={error} />
      {answer !== null && <Code block mah={400} style={{ overflow: 'auto' }} data-answer tabIndex={0}>{answer}</Code>}
      <Title order={3} size="h6">{t('responses')}</Title>
      <Table fz="xs">
        <Table.Tbody>
          {Object.entries(o.responses).map(([status, r]) => (
            <Table.Tr key={status}><Table.Td w={60}>{status}</Table.Td><Table.Td style={{ whiteSpace: 'pre-wrap' }}>{r.description}</Table.Td><Table.Td>{Object.entries(r.content ?? {}).map(([type, c]) => <Code key={type}>{type} {status === '200' && type === 'application/json' ? typeOf(d, d.resolve(c.schema).properties?.data) : ''}</Code>)}</Table.Td></Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  )
}
