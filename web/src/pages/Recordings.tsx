// SPDX-License-Identifier: Apache-2.0

import { Alert, Button, Card, Checkbox, Group, Input, Menu, Modal, ScrollArea, SegmentedControl, Select, Stack, Table, Text, Title } from '@mantine/core'
import { IconChevronDown, IconDownload, IconPlayerRecord, IconPlayerStop, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, download, get, send, type Query, type Schemas } from '../api/client'
import { parameterSchema } from '../api/document'
import { useT } from '../i18n'
import { useMay, useSession } from '../session'
import { MapEditor } from '../ui/collections'
import { save } from '../ui/export'
import { fail, Permitted, Problem, succeed, Waiting } from '../ui/feedback'
import { encode, fieldOf, SchemaForm, type Values } from '../ui/form'
import { Chip, duration, When } from '../ui/format'
import { processesOf, useMembers, useProcessName, type Process } from '../ui/nodes'

type Recording = Schemas['FlightRecording']

const running = (r: Recording) => r.state === 'RUNNING' || r.state === 'DELAYED' || r.state === 'NEW'

/**
 * templates are the values of customSettings.template, which the document only describes in prose.
 */
const templates = ['default', 'profile']

/**
 * Recordings starts, monitors, stops, downloads and deletes the flight recordings of all processes.
 */
export default function Recordings() {
  const { t } = useT()
  const may = useMay()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { node?: string }
  const members = useMembers()
  const nameOf = useProcessName()
  const [starting, setStarting] = useState(false)
  const missing = may.call('GET', '/flight-recordings')
  const processes = processesOf(members.data ?? [])
  const shown = processes.filter((p) => !search.node || p.members.some((m) => m.key.nodeId === search.node))
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h3">{t('recordings')}</Title>
        <Group gap={6}>
          <Select size="xs" w={280} aria-label={t('node')} clearable placeholder={t('allNodes')} data={processes.map((p) => ({ value: p.node, label: nameOf(p) }))} value={shown.length === 1 && search.node ? shown[0]!.node : null}
            onChange={(v) => void navigate({ to: '/recordings', search: { node: v ?? undefined } as never })} />
          <Permitted missing={may.call('POST', '/flight-recordings')}>{(off) => <Button size="compact-sm" leftSection={<IconPlayerRecord size={14} />} disabled={off || shown.length === 0} name="start-recording" onClick={() => setStarting(true)}>{t('startRecording')}</Button>}</Permitted>
        </Group>
      </Group>
      {missing && <Problem error={new Error(t('needsPermission', { permission: missing }))} />}
      <Problem error={members.error} />
      {!missing && (members.data === undefined ? <Waiting /> : shown.map((p) => <ProcessRecordings key={p.node} process={p} />))}
      {starting && <StartDialog processes={processes} first={shown.length === 1 ? shown[0]!.node : ''} onClose={() => setStarting(false)} />}
    </Stack>
  )
}

function ProcessRecordings({ process: p }: { process: Process }) {
  const { t } = useT()
  const { documents } = useSession()
  const may = useMay()
  const client = useQueryClient()
  const nameOf = useProcessName()
  const [chosen, setChosen] = useState<string[]>([])
  const [stopping, setStopping] = useState<string[] | null>(null)
  const [deleting, setDeleting] = useState<string[] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState('')
  const recordings = useQuery({
    queryKey: ['recordings', p.node], queryFn: async () => (await get('/flight-recordings', { node: p.node })) ?? [],
    refetchInterval: (q) => (q.state.data?.some(running) ? 2000 : 10_000),
  })
  const list = recordings.data ?? []
  const picked = chosen.filter((id) => list.some((r) => String(r.id) === id))
  const refresh = () => client.invalidateQueries({ queryKey: ['recordings', p.node] })
  const profile = documents.service.find('GET', '/flight-recordings/pprof')
  const kinds = profile?.parameters.filter((x) => x.name === 'kind').flatMap((x) => parameterSchema(documents.service, x).enum ?? []) ?? []
  const fetchFile = async (r: Recording, path: string, query: Query, ending: string) => {
    setBusy(String(r.id))
    try {
      save(await download(path, { node: p.node, query: { id: String(r.id), ...query } }), `${String(r.id)}.${ending}`)
    } catch (e) {
      fail(e, t('downloadFailed'))
    } finally {
      setBusy('')
      await refresh()
    }
  }
  const close = async (ids: string[]) => {
    setError(null)
    try {
      const { data } = await send<Schemas['UpdateResult']>('PUT', '/flight-recordings', { node: p.node, query: { ids } })
      succeed(t('closedCount', { count: String(data.modifiedCount ?? ids.length) }))
      setStopping(null)
    } catch (e) {
      setError(e)
    }
    await refresh()
  }
  const remove = async (ids: string[]) => {
    setError(null)
    try {
      const { data } = await send<Schemas['DeleteResult']>('DELETE', '/flight-recordings', { node: p.node, query: { ids } })
      succeed(t('deletedCount', { count: String(data.deletedCount) }))
      setDeleting(null)
      setChosen([])
    } catch (e) {
      setError(e)
    }
    await refresh()
  }
  const ended = (r: Recording) => (r.startDate ? duration((r.closeDate ? Date.parse(r.closeDate) : Date.now()) - Date.parse(r.startDate)) : '–')
  const mayClose = may.call('PUT', '/flight-recordings'), mayDelete = may.call('DELETE', '/flight-recordings')
  return (
    <Card withBorder padding="sm" data-recordings={p.node}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5" style={{ overflowWrap: 'anywhere' }}>{nameOf(p)}</Title>
        <Permitted missing={mayDelete}>{(off) => <Button size="compact-xs" variant="default" leftSection={<IconTrash size={12} />} disabled={off || picked.length === 0} onClick={() => setDeleting(picked)} name="delete-recordings">{t('delete')}{picked.length > 0 ? ` (${picked.length})` : ''}</Button>}</Permitted>
      </Group>
      <Problem error={recordings.error} retry={() => void recordings.refetch()} />
      {recordings.isPending && !recordings.error ? <Waiting /> : list.length === 0 && !recordings.error ? <Text size="sm" c="dimmed">{t('noRecordings')}</Text> : (
        <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': `${t('recordings')} ${p.node}` }}>
          <Table fz="sm" verticalSpacing={4}>
            <Table.Thead><Table.Tr><Table.Th><span className="hidden-text">{t('select')}</span></Table.Th>{['ID', t('state'), t('descriptionOf'), t('startedAt'), t('lasted'), t('actions')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
            <Table.Tbody>
              {list.map((r) => {
                const id = String(r.id)
                return (
                  <Table.Tr key={id} data-recording={id} data-state={r.state}>
                    <Table.Td><Checkbox size="xs" aria-label={`${t('select')} ${id}`} checked={picked.includes(id)} onChange={(e) => setChosen(e.currentTarget.checked ? [...chosen, id] : chosen.filter((c) => c !== id))} /></Table.Td>
                    <Table.Td>{id}</Table.Td>
                    <Table.Td><Chip value={r.state} /></Table.Td>
                    <Table.Td><Text size="sm" maw={360} style={{ overflowWrap: 'anywhere' }}>{r.description || '–'}</Text></Table.Td>
                    <Table.Td><When date={r.startDate} /></Table.Td>
                    <Table.Td>{ended(r)}</Table.Td>
                    <Table.Td>
                      <Group gap={4} wrap="nowrap">
                        {running(r) && <Permitted missing={mayClose}>{(off) => <Button size="compact-xs" variant="default" leftSection={<IconPlayerStop size={12} />} disabled={off} name="stop-recording" onClick={() => { setError(null); setStopping([id]) }}>{t('stop')}</Button>}</Permitted>}
                        <Menu position="bottom-end">
                          <Menu.Target><Button size="compact-xs" variant="default" loading={busy === id} leftSection={<IconDownload size={12} />} rightSection={<IconChevronDown size={12} />} name="download-recording">{t('download')}</Button></Menu.Target>
                          <Menu.Dropdown>
                            <Menu.Item data-form="jfr" onClick={() => void fetchFile(r, '/flight-recordings/jfr', {}, 'jfr')}>{t('formJfr')}</Menu.Item>
                            {kinds.map((kind) => <Menu.Item key={kind} data-form={kind} onClick={() => void fetchFile(r, '/flight-recordings/pprof', { kind }, `${kind}.pprof`)}>{t('formPprof', { kind })}</Menu.Item>)}
                            <Menu.Item data-form="trace" onClick={() => void fetchFile(r, '/flight-recordings/trace', {}, 'trace')}>{t('formTrace')}</Menu.Item>
                          </Menu.Dropdown>
                        </Menu>
                        <Permitted missing={mayDelete}>{(off) => <Button size="compact-xs" variant="default" leftSection={<IconTrash size={12} />} disabled={off} name="delete-recording" onClick={() => { setError(null); setDeleting([id]) }}>{t('delete')}</Button>}</Permitted>
                      </Group>
                    </Table.Td>
                  </Table.Tr>
                )
              })}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      <Modal opened={stopping !== null} onClose={() => setStopping(null)} title={t('stopRecording', { id: stopping?.join(', ') ?? '' })} closeButtonProps={{ 'aria-label': t('close') }}>
        <Stack data-stop>
          <Text size="sm">{t('stopKeepText')}</Text>
          <Text size="sm">{t('stopCloseText')} <Link className="link" to="/cluster/settings" search={{ q: 'flightRecorder.closedRecordingRetentionPeriod' } as never}>flightRecorder.closedRecordingRetentionPeriod</Link></Text>
          <Problem error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setStopping(null)} data-autofocus>{t('cancel')}</Button>
            <Button variant="default" color="red" name="close-recording" onClick={() => void close(stopping!)}>{t('closeRecording')}</Button>
            <Button name="stop-and-download" onClick={() => { const r = list.find((x) => String(x.id) === stopping![0]); setStopping(null); if (r) void fetchFile(r, '/flight-recordings/jfr', { close: true }, 'jfr') }}>{t('stopAndDownload')}</Button>
          </Group>
        </Stack>
      </Modal>
      <Modal opened={deleting !== null} onClose={() => setDeleting(null)} title={t('delete')} closeButtonProps={{ 'aria-label': t('close') }}>
        <Stack>
          <Text size="sm">{t('confirmDeleteRecordings', { count: deleting?.length ?? 0, ids: deleting?.join(', ') ?? '' })}</Text>
          <Problem error={error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setDeleting(null)} data-autofocus>{t('cancel')}</Button>
            <Button color="red" name="confirm-delete" onClick={() => void remove(deleting!)}>{t('deleteCount', { count: deleting?.length ?? 0 })}</Button>
          </Group>
        </Stack>
      </Modal>
    </Card>
  )
}

/** StartDialog starts a recording on one process or on all. */
function StartDialog({ processes, first, onClose }: { processes: Process[]; first: string; onClose: () => void }) {
  const { t } = useT()
  const { documents } = useSession()
  const client = useQueryClient()
  const nameOf = useProcessName()
  const d = documents.service
  const schema = d.resolve(d.find('POST', '/flight-recordings')?.body)
  const [target, setTarget] = useState(first || (processes.length === 1 ? processes[0]!.node : ''))
  const [template, setTemplate] = useState(templates[0]!)
  const [values, setValues] = useState<Values>({})
  const [custom, setCustom] = useState<Record<string, string>>({})
  const [busy, setBusy] = useState(false)
  const [errors, setErrors] = useState<{ node: string; error: unknown }[]>([])
  const names = Object.keys(schema.properties ?? {})
  const submit = async () => {
    setBusy(true)
    const failed: { node: string; error: unknown }[] = []
    const targets = processes.filter((p) => target === '' || p.node === target)
    for (const p of targets) {
      try {
        await send('POST', '/flight-recordings', { node: p.node, body: { ...encode(d, schema, values), customSettings: { ...custom, template } } })
      } catch (error) {
        failed.push({ node: nameOf(p), error })
      }
    }
    setBusy(false)
    setErrors(failed)
    await client.invalidateQueries({ queryKey: ['recordings'] })
    if (failed.length < targets.length) succeed(t('startedCount', { count: targets.length - failed.length }))
    if (failed.length === 0) onClose()
  }
  const refusal = errors.map((e) => e.error).find((e) => e instanceof ApiError)
  const field = refusal ? fieldOf(refusal.reason, names) : undefined
  return (
    <Modal opened onClose={onClose} title={t('startRecording')} size="lg" closeButtonProps={{ 'aria-label': t('close') }}>
      <form data-dialog="startRecording" onSubmit={(e) => { e.preventDefault(); void submit() }}>
        <Stack gap="sm">
          <Select label={t('node')} allowDeselect={false} data={[...(processes.length > 1 ? [{ value: '', label: t('allNodes') }] : []), ...processes.map((p) => ({ value: p.node, label: nameOf(p) }))]} value={target} onChange={(v) => setTarget(v ?? '')} />
          <Input.Wrapper label={t('template')} description={t('templateText')} labelElement="div" inputWrapperOrder={['label', 'input', 'description']}>
            <div><SegmentedControl size="xs" name="template" aria-label={t('template')} data={templates} value={template} onChange={setTemplate} /></div>
          </Input.Wrapper>
          <SchemaForm document={d} schema={schema} values={values} hide={['customSettings']} errors={field && refusal ? { [field]: refusal.reason } : undefined} onChange={setValues} />
          <Input.Wrapper label={t('customSettings')} description={schema.properties?.customSettings?.description} labelElement="div" inputWrapperOrder={['label', 'input', 'description']}>
            <MapEditor name="customSettings" title={t('customSettings')} value={custom} placeholders={['app.SqlTransaction#threshold', '20 ms']} onChange={setCustom} />
          </Input.Wrapper>
          {errors.map((e) => <Stack key={e.node} gap={2}><Alert color="red" p={4}><Text size="xs">{e.node}</Text></Alert><Problem error={e.error} /></Stack>)}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>{t('cancel')}</Button>
            <Button type="submit" loading={busy} name="confirm-start">{t('start')}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
