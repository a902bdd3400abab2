// SPDX-License-Identifier: Apache-2.0

import { Alert, Badge, Button, Card, Checkbox, Code, Drawer, FileButton, Group, Modal, ScrollArea, SegmentedControl, Select, Stack, Table, Text, Title } from '@mantine/core'
import { IconEdit, IconFilePlus, IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconRefresh, IconTrash, IconUpload } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { ApiError, get, send, type Schemas } from '../api/client'
import { useT, type Key } from '../i18n'
import { useMay } from '../session'
import { usePartial } from '../ui/dialogs'
import { fail, Permitted, Problem, succeed, Waiting } from '../ui/feedback'
import { bytes, Chip, grants, When } from '../ui/format'
import { processesOf, useMembers, useProcessName, wholeCluster, type Member, type Process } from '../ui/nodes'

const Editor = lazy(() => import('../ui/editor'))
const PluginDetails = lazy(async () => ({ default: (await import('../ui/plugin')).PluginDetails }))

type Plugin = Schemas['PluginRecord']
type Outcome = Schemas['PluginOutcome']

interface Step {
  status: string
  title: Key
  icon: typeof IconPlayerPlay
}

const start: Step = { status: 'STARTED', title: 'start', icon: IconPlayerPlay }
const pause: Step = { status: 'PAUSED', title: 'pause', icon: IconPlayerPause }
const resume: Step = { status: 'RESUMED', title: 'resume', icon: IconPlayerPlay }
const stop: Step = { status: 'STOPPED', title: 'stop', icon: IconPlayerStop }
const all = [start, pause, resume, stop]

/**
 * steps are the permitted actions in each state of an extension. A stopped extension stays stopped
 * until it is replaced.
 */
const steps: Record<string, Step[]> = { LOADED: [start, stop], STARTED: [pause, stop], PAUSED: [resume, stop], STOPPED: [] }

/**
 * stepsOf returns the permitted actions on a plugin. A plugin that is out of service can be
 * restarted.
 */
function stepsOf(p: Plugin): Step[] {
  if (p.rejected) return []
  const state = stateOf(p)
  // Starting a plugin of the cluster reloads it.
  if (state === 'STOPPED' && p.scope === 'CLUSTER') return [start]
  return state === 'STARTED' && p.extensions.some((e) => e.quarantine) ? [start, ...steps.STARTED!] : (steps[state] ?? [])
}

function stateOf(p: Plugin): string {
  if (p.rejected) return 'REJECTED'
  const states = new Set(p.extensions.map((e) => e.state ?? 'LOADED'))
  if (states.size === 0 && p.cluster) return p.cluster.status
  if (states.has('PAUSED')) return 'PAUSED'
  return states.has('STARTED') ? 'STARTED' : ([...states][0] ?? 'LOADED')
}

/**
 * fetchPlugins returns the plugins of a node with their details, and the files that it rejected.
 */
async function fetchPlugins(node: string): Promise<Plugin[]> {
  const list = (await get('/plugins', { node, query: { includeRejected: true } })) ?? []
  const ids = list.filter((p) => !p.rejected).map((p) => p.id)
  const detailed = ids.length === 0 ? [] : ((await get('/plugins', { node, query: { ids } })) ?? [])
  return [...detailed, ...list.filter((p) => p.rejected)]
}

/** Result is the result of an upload on one node. */
interface Result {
  node: string
  outcomes: Outcome[]
  error?: unknown
}

interface Upload {
  dryRun?: boolean
  replace?: boolean
  save?: boolean
  scope?: string
}

/** upload sends scripts and archives to nodes, one node after the other, and starts new plugins. */
async function upload(nodes: string[], files: { name: string; text?: string; file?: File }[], query: Upload & Record<string, boolean | string | undefined>, starts: boolean, onResult: (r: Result) => void, headers?: Record<string, string>) {
  for (const node of nodes) {
    const outcomes: Outcome[] = []
    let error: unknown
    try {
      const scripts = files.filter((f) => f.text !== undefined)
      if (scripts.length > 0) {
        outcomes.push(...((await send<Outcome[]>('POST', '/plugins/js', { node, query, headers, body: { scripts: scripts.map((s) => ({ fileName: s.name, code: s.text })) } })).data ?? []))
      }
      const jars = files.filter((f) => f.file)
      if (jars.length > 0) {
        const form = new FormData()
        for (const j of jars) form.append(j.name, j.file!, j.name)
        outcomes.push(...((await send<Outcome[]>('POST', '/plugins/java', { node, query, headers, form })).data ?? []))
      }
      // A replaced plugin keeps its state.
      const fresh = outcomes.filter((o) => o.id && !o.problem && !o.replaced && !o.waits).map((o) => o.id!)
      if (starts && !query.dryRun && fresh.length > 0) {
        const { data } = await send<Schemas['PluginUpdateResult']>('PUT', '/plugins', { node, query: { ids: fresh }, body: { status: 'STARTED' } })
        if (data.failures && data.failures.length > 0) error = new Error(data.failures.map((f) => `${f.id}: ${f.reason}`).join('; '))
      }
    } catch (e) {
      error = e
    }
    onResult({ node, outcomes, error })
  }
}

/**
 * useTargets returns the possible targets of an upload: one process, all of a role, or the cluster
 * including future nodes.
 */
function useTargets(members: Member[]) {
  const { t, label } = useT()
  const nameOf = useProcessName()
  const processes = processesOf(members)
  const types = [...new Set(members.map((m) => m.nodeType))]
  return {
    data: members.length === 0 ? [] : [{ value: wholeCluster, label: t('allNodesNowAndLater') }, ...types.map((x) => ({ value: `role:${x}`, label: t('allNodesOf', { role: label(x) }) })), ...processes.map((p) => ({ value: p.node, label: nameOf(p) }))],
    /** query returns the parameters for a target. */
    query: (target: string, save: boolean): Upload => (target === wholeCluster ? { scope: 'CLUSTER' } : { save: save || undefined }),
    nodes: (target: string) => (target === wholeCluster ? ['service'] : target.startsWith('role:') ? processes.filter((p) => p.members.some((m) => m.nodeType === target.slice(5))).map((p) => p.node) : [target]),
  }
}

/** Editing is the script in the editor. */
interface Editing {
  name: string
  draft: string
  code?: string
  saved?: boolean
  target?: string
  headers?: Record<string, string>
}

export default function Plugins() {
  const { t, label } = useT()
  const may = useMay()
  const client = useQueryClient()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { node?: string; role?: string }
  const members = useMembers()
  const partial = usePartial()
  const [chosen, setChosen] = useState<string[]>([])
  const [files, setFiles] = useState<File[] | null>(null)
  const [editing, setEditing] = useState<Editing | null>(null)
  const [over, setOver] = useState(false)
  const missing = may.call('GET', '/plugins')
  const create = may.call('POST', '/plugins/js')
  const nameOf = useProcessName()
  const processes = processesOf(members.data ?? [])
  const shown = processes.filter((p) => (!search.node || p.members.some((m) => m.key.nodeId === search.node)) && (!search.role || p.members.some((m) => m.nodeType === search.role)))
  const here = processes.find((p) => p.members.some((m) => m.key.nodeId === search.node))?.node
  const targets = useTargets(members.data ?? [])
  const choose = (list: File[]) => setFiles(list.filter((f) => /\.(jar|zip|js|mjs)$/i.test(f.name)))
  const act = async (node: string, ids: string[], status: string) => {
    try {
      const { data } = await send<Schemas['PluginUpdateResult']>('PUT', '/plugins', { node, query: { ids }, body: { status } })
      if (!partial(data)) succeed(t('updatedCount', { matched: String(data.matchedCount), modified: String(data.modifiedCount) }))
    } catch (e) {
      fail(e, t('requestFailed'))
    }
    await client.invalidateQueries({ queryKey: ['plugins'] })
  }
  const remove = async (node: string, ids: string[], deleteLocalFiles: boolean) => {
    try {
      await send('DELETE', '/plugins', { node, query: { ids, deleteLocalFiles } })
      succeed(t('deletedCount', { count: ids.length }))
    } catch (e) {
      fail(e, t('requestFailed'))
    }
    await client.invalidateQueries({ queryKey: ['plugins'] })
  }
  const edit = async (node: string, p: Plugin) => {
    try {
      const [found] = (await get('/plugins/js', { node, query: { ids: [p.id] } })) ?? []
      if (!found) throw new Error(t('noRecords'))
      const shared = p.scope === 'CLUSTER' && p.cluster ? p.cluster : undefined
      setEditing({ name: found.fileName, code: found.code, draft: `console.script.${found.digest}`, saved: p.fileName !== undefined, target: shared ? wholeCluster : node, headers: shared && { 'If-Match': `"${shared.revision}"` } })
    } catch (e) {
      fail(e, t('requestFailed'))
    }
  }
  const bulk = async (f: (node: string, ids: string[]) => Promise<void>) => {
    const byNode = Object.groupBy(chosen.map((c) => c.split('\n') as [string, string]), ([node]) => node)
    for (const [node, list] of Object.entries(byNode)) await f(node, list!.map(([, id]) => id))
    setChosen([])
  }
  /** legal reports whether an action is permitted on all selected plugins. */
  const legal = (s: Step) => chosen.length > 0 && chosen.every((c) => {
    const [node, id] = c.split('\n')
    const p = client.getQueryData<Plugin[]>(['plugins', node])?.find((x) => x.id === id)
    return p !== undefined && stepsOf(p).includes(s)
  })
  const [removing, setRemoving] = useState<{ node: string; ids: string[] }[] | null>(null)
  const [files_, setDeleteFiles] = useState(true)
  return (
    <Stack onDragOver={(e) => { e.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)} data-plugins
      onDrop={(e) => { e.preventDefault(); setOver(false); if (!create) choose([...e.dataTransfer.files]) }}>
      <Group justify="space-between">
        <Title order={1} size="h3">{t('plugins')}</Title>
        <Group gap={6}>
          {all.map((s) => (
            <Permitted key={s.status} missing={may.call('PUT', '/plugins')}>{(off) => <Button size="compact-sm" variant="default" disabled={off || !legal(s)} onClick={() => void bulk((n, ids) => act(n, ids, s.status))}>{t(s.title)}</Button>}</Permitted>
          ))}
          <Permitted missing={may.call('DELETE', '/plugins')}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconTrash size={14} />} disabled={off || chosen.length === 0} onClick={() => setRemoving(Object.entries(Object.groupBy(chosen.map((c) => c.split('\n') as [string, string]), ([n]) => n)).map(([node, l]) => ({ node, ids: l!.map(([, id]) => id) })))}>{t('remove')}</Button>}</Permitted>
          <Permitted missing={create}>{(off) => <Button size="compact-sm" variant="default" leftSection={<IconFilePlus size={14} />} disabled={off} name="new-script" onClick={() => setEditing({ name: 'my-plugin.js', draft: 'console.script' })}>{t('newScript')}</Button>}</Permitted>
          <Permitted missing={create}>{(off) => <FileButton multiple accept=".jar,.zip,.js,.mjs" onChange={choose} inputProps={{ 'aria-label': t('upload'), name: 'plugin-files' }}>{(props) => <Button {...props} size="compact-sm" leftSection={<IconUpload size={14} />} disabled={off} name="upload">{t('upload')}</Button>}</FileButton>}</Permitted>
        </Group>
      </Group>
      <Group gap="xs">
        <SegmentedControl size="xs" aria-label={t('role')} value={search.role ?? ''} onChange={(v) => void navigate({ to: '/cluster/plugin', search: { role: v || undefined } as never })} data={[{ value: '', label: t('allNodes') }, ...[...new Set((members.data ?? []).map((m) => m.nodeType))].map((x) => ({ value: x, label: label(x) }))]} />
        <Select size="xs" w={280} aria-label={t('node')} clearable placeholder={t('node')} data={processes.map((p) => ({ value: p.node, label: nameOf(p) }))} value={here ?? null} onChange={(v) => void navigate({ to: '/cluster/plugin', search: { node: v ?? undefined } as never })} />
      </Group>
      {!create && <Card withBorder padding="xs" bg={over ? 'var(--mantine-primary-color-light)' : undefined} style={{ borderStyle: 'dashed' }}><Text size="sm" ta="center" c="dimmed">{t('dropPlugins')}</Text></Card>}
      {missing ? <Problem error={new Error(t('needsPermission', { permission: missing }))} /> : members.data === undefined ? <Waiting /> : shown.map((p) => (
        <ProcessPlugins key={p.node} process={p} chosen={chosen} onChoose={setChosen} onAct={act} onEdit={(node, p) => void edit(node, p)} onRemove={(node, ids) => setRemoving([{ node, ids }])} />
      ))}
      {files && files.length > 0 && <UploadDialog files={files} targets={targets} first={here ?? `role:${search.role ?? 'SERVICE'}`} onClose={() => { setFiles(null); void client.invalidateQueries({ queryKey: ['plugins'] }) }} />}
      {editing && (
        <Modal opened onClose={() => setEditing(null)} title={editing.code === undefined ? t('newScript') : `${t('edit')}: ${editing.name}`} size="90%" closeButtonProps={{ 'aria-label': t('close') }}>
          <Suspense fallback={<Waiting />}>
            <Editor {...editing} targets={targets} mayStart={!may.call('PUT', '/plugins')} first={editing.target ?? here ?? `role:${search.role ?? 'SERVICE'}`}
              run={async (node, name, code, dryRun, save, starts) => {
                const results: Result[] = []
                await upload(targets.nodes(node), [{ name, text: code }], { ...targets.query(node, save && !dryRun), dryRun, replace: true }, starts, (r) => results.push(r), node === wholeCluster && !dryRun ? editing.headers : undefined)
                if (!dryRun && results.every((r) => !r.error)) sessionStorage.removeItem(editing.draft)
                if (!dryRun) await client.invalidateQueries({ queryKey: ['plugins'] })
                return <Results results={results} dryRun={dryRun} />
              }} />
          </Suspense>
        </Modal>
      )}
      <Modal opened={removing !== null} onClose={() => setRemoving(null)} title={t('remove')} closeButtonProps={{ 'aria-label': t('close') }}>
        {removing && (
          <Stack>
            <Text>{t('confirmRemovePlugins', { count: removing.reduce((n, r) => n + r.ids.length, 0) })}</Text>
            <Code block>{removing.map((r) => `${r.node}: ${r.ids.join(', ')}`).join('\n')}</Code>
            <Checkbox label={t('deleteFiles')} checked={files_} onChange={(e) => setDeleteFiles(e.currentTarget.checked)} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setRemoving(null)} data-autofocus>{t('cancel')}</Button>
              <Button color="red" name="confirm-delete" onClick={() => void (async () => { for (const r of removing) await remove(r.node, r.ids, files_); setRemoving(null); setChosen([]) })()}>{t('remove')}</Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </Stack>
  )
}

interface ProcessProps {
  process: Process
  chosen: string[]
  onChoose: (c: string[]) => void
  onAct: (node: string, ids: string[], status: string) => Promise<void>
  onEdit: (node: string, p: Plugin) => void
  onRemove: (node: string, ids: string[]) => void
}

function ProcessPlugins({ process, chosen, onChoose, onAct, onEdit, onRemove }: ProcessProps) {
  const { t, label } = useT()
  const may = useMay()
  const { node } = process
  const nameOf = useProcessName()
  const [open, setOpen] = useState<string | null>(null)
  const plugins = useQuery({ queryKey: ['plugins', node], refetchInterval: 5000, queryFn: () => fetchPlugins(node) })
  const toggle = (key: string) => onChoose(chosen.includes(key) ? chosen.filter((c) => c !== key) : [...chosen, key])
  const update = may.call('PUT', '/plugins')
  const opened = plugins.data?.find((p) => p.id === open)
  return (
    <Card withBorder padding="sm" data-plugin-node={node}>
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5" style={{ overflowWrap: 'anywhere' }}>{nameOf(process)}</Title>
        <Button size="compact-xs" variant="subtle" leftSection={<IconRefresh size={12} />} onClick={() => void plugins.refetch()}>{t('refresh')}</Button>
      </Group>
      <Problem error={plugins.error} retry={() => void plugins.refetch()} />
      {plugins.isPending && !plugins.error ? <Waiting /> : (plugins.data ?? []).length === 0 && !plugins.error ? <Text size="sm" c="dimmed">{t('noPlugins')}</Text> : (
        <ScrollArea type="auto" offsetScrollbars="x" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': `${t('plugins')} ${node}` }}>
          <Table fz="sm" verticalSpacing={4}>
            <Table.Thead><Table.Tr><Table.Th><span className="hidden-text">{t('select')}</span></Table.Th>{[t('plugin'), t('version'), t('state'), t('extensions'), t('calls'), t('errors'), t('lastError'), t('actions')].map((h) => <Table.Th key={h} scope="col">{h}</Table.Th>)}</Table.Tr></Table.Thead>
            <Table.Tbody>
              {(plugins.data ?? []).map((p) => {
                const key = `${node}\n${p.id}`
                const state = stateOf(p)
                const sum = (f: (e: Plugin['extensions'][number]) => string | number | undefined) => p.extensions.reduce((n, e) => n + Number(f(e) ?? 0), 0)
                const failure = p.extensions.map((e) => e.lastError).find(Boolean)
                const quarantine = p.extensions.map((e) => e.quarantine).find(Boolean)
                return (
                  <Table.Tr key={p.id} data-plugin={p.id} data-state={state}>
                    <Table.Td><Checkbox size="xs" aria-label={`${t('select')} ${p.id}`} checked={chosen.includes(key)} onChange={() => toggle(key)} /></Table.Td>
                    <Table.Td miw={180}>
                      <Text size="sm" fw={600}>{p.id}</Text>
                      <Text size="xs" c="dimmed">{[p.language && label(p.language), p.provider, p.fileName, p.memory ? bytes(Number(p.memory)) : ''].filter(Boolean).join(' · ')}</Text>
                      {p.description && <Text size="xs" c="dimmed" maw={300}>{p.description}</Text>}
                    </Table.Td>
                    <Table.Td>{p.version}{p.scope === 'CLUSTER' && <Badge size="xs" className="chip" variant="light" ml={4}>{t('cluster')}</Badge>}</Table.Td>
                    <Table.Td><Chip value={state} />{quarantine && <Text size="xs" c="red" maw={260}>{quarantine}</Text>}{p.excess && <Text size="xs" c="red" maw={260}>{p.excess}</Text>}</Table.Td>
                    <Table.Td>{p.extensions.map((e) => <Text key={e.extensionClass} size="xs" title={(e.functions ?? e.extensionPointClasses).join('\n')}>{e.extensionClass}: {e.extensionPointClasses.map((c) => c.slice(c.lastIndexOf('.') + 1)).join(', ')}</Text>)}</Table.Td>
                    <Table.Td>{sum((e) => e.calls).toLocaleString()}</Table.Td>
                    <Table.Td><Text span inherit c={sum((e) => e.errors) > 0 ? 'red' : undefined}>{sum((e) => e.errors).toLocaleString()}</Text>{sum((e) => e.timeouts) > 0 && <Badge size="xs" className="chip" variant="light" color="yellow" ml={4}>{t('timeouts', { count: sum((e) => e.timeouts) })}</Badge>}</Table.Td>
                    <Table.Td maw={320}>
                      {p.rejected && <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>{p.rejected.reason}</Text>}
                      {failure && <Text size="xs" style={{ overflowWrap: 'anywhere' }}>{failure.in}: {failure.reason} <When date={failure.date} /></Text>}
                    </Table.Td>
                    <Table.Td>
                      <Group gap={4} wrap="nowrap">
                        {!p.rejected && <Button size="compact-xs" variant="default" name="plugin-details" onClick={() => setOpen(p.id)}>{t('details')}</Button>}
                        {p.language === 'JAVA_SCRIPT' && <Permitted missing={may.call('GET', '/plugins/js')}>{(off) => <Button size="compact-xs" variant="default" name="edit-script" leftSection={<IconEdit size={12} />} disabled={off} onClick={() => onEdit(node, p)}>{t('edit')}</Button>}</Permitted>}
                        {stepsOf(p).map((s) => (
                          <Permitted key={s.status} missing={update}>{(off) => <Button size="compact-xs" variant="default" leftSection={<s.icon size={12} />} disabled={off} onClick={() => void onAct(node, [p.id], s.status)}>{t(s.title)}</Button>}</Permitted>
                        ))}
                        <Permitted missing={may.call('DELETE', '/plugins')}>{(off) => <Button size="compact-xs" variant="default" leftSection={<IconTrash size={12} />} disabled={off} onClick={() => onRemove(node, [p.id])}>{t('remove')}</Button>}</Permitted>
                      </Group>
                    </Table.Td>
                  </Table.Tr>
                )
              })}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      <Drawer opened={opened !== undefined} onClose={() => setOpen(null)} position="right" size="xl" title={`${t('plugin')} ${open ?? ''}`} closeButtonProps={{ 'aria-label': t('close') }}>
        {opened && <Suspense fallback={<Waiting />}><PluginDetails node={node} plugin={opened} /></Suspense>}
      </Drawer>
    </Card>
  )
}

function Results({ results, dryRun }: { results: Result[]; dryRun: boolean }) {
  const { t, label } = useT()
  return (
    <Stack gap={4} data-results>
      {results.map((r) => (
        <Card key={r.node} withBorder padding="xs">
          <Text size="xs" c="dimmed">{r.node}</Text>
          <Problem error={r.error} />
          {r.outcomes.map((o, i) => (
            <div key={i}>
              <Group gap="xs"><Badge size="sm" className="chip" variant="light" color={o.problem ? 'red' : o.waits ? 'yellow' : 'green'}>{o.problem ? t('refused') : o.waits ? t('waitsMark') : dryRun ? t('wouldLoad') : o.replaced ? t('replaced') : t('loadedMark')}</Badge><Text size="sm">{o.id ?? o.fileName} {o.version}</Text></Group>
              {o.problem && <Text size="sm" c="red" style={{ whiteSpace: 'pre-wrap' }}>{o.problem.reason} ({o.problem.code})</Text>}
              {o.missingGrants && <Text size="sm">{label('missingGrants')}: {grants(o.missingGrants)}</Text>}
              {(o.warnings ?? []).map((w) => <Alert key={w} color="yellow" p={6} my={2}><Text size="xs">{w}</Text></Alert>)}
              {(o.extensions ?? []).map((e) => <Text key={e.extensionClass} size="xs" c="dimmed">{e.extensionClass}: {(e.functions ?? []).join(', ')}</Text>)}
            </div>
          ))}
        </Card>
      ))}
    </Stack>
  )
}

function UploadDialog({ files, targets, first, onClose }: { files: File[]; targets: ReturnType<typeof useTargets>; first: string; onClose: () => void }) {
  const { t } = useT()
  const [picked, setTarget] = useState<string | null>(null)
  const target = picked ?? (targets.data.some((d) => d.value === first) ? first : (targets.data[0]?.value ?? ''))
  const [replace, setReplace] = useState(true)
  const [save, setSave] = useState(false)
  const [startNew, setStartNew] = useState(true)
  const update = useMay().call('PUT', '/plugins')
  const [busy, setBusy] = useState(false)
  const [results, setResults] = useState<Result[]>([])
  const [checked, setChecked] = useState(false)
  const [dry, setDry] = useState(true)
  const [error, setError] = useState<unknown>(null)
  const run = async (dryRun: boolean) => {
    setBusy(true)
    setError(null)
    setResults([])
    setDry(dryRun)
    try {
      const list = await Promise.all(files.map(async (f) => (/\.m?js$/i.test(f.name) ? { name: f.name, text: await f.text() } : { name: f.name, file: f })))
      const got: Result[] = []
      await upload(targets.nodes(target), list, { ...targets.query(target, save && !dryRun), dryRun: dryRun || undefined, replace }, startNew && !update, (r) => { got.push(r); setResults([...got]) })
      setChecked(dryRun && got.every((r) => !r.error && r.outcomes.every((o) => !o.problem)))
      if (!dryRun && got.every((r) => !r.error && r.outcomes.every((o) => !o.problem))) succeed(t('done'))
    } catch (e) {
      setError(e instanceof ApiError ? e : new Error(String(e)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={t('upload')} size="lg" closeButtonProps={{ 'aria-label': t('close') }}>
      <Stack data-upload>
        <Text size="sm">{files.map((f) => `${f.name} (${bytes(f.size)})`).join(', ')}</Text>
        <Select label={t('uploadTo')} allowDeselect={false} data={targets.data} value={target} onChange={(v) => { setTarget(v ?? target); setChecked(false) }} />
        <Checkbox label={t('replaceSame')} checked={replace} onChange={(e) => { setReplace(e.currentTarget.checked); setChecked(false) }} />
        <Checkbox label={t('keepAfterRestart')} disabled={target === wholeCluster} checked={save || target === wholeCluster} onChange={(e) => setSave(e.currentTarget.checked)} />
        <Checkbox label={t('startAtOnce')} disabled={update !== undefined} title={update && t('needsPermission', { permission: update })} checked={startNew && !update} onChange={(e) => setStartNew(e.currentTarget.checked)} />
        <Problem error={error} />
        <Results results={results} dryRun={dry} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>{t('close')}</Button>
          <Button variant="default" loading={busy} disabled={target === ''} name="dry-run" onClick={() => void run(true)}>{t('dryRun')}</Button>
          <Button loading={busy} disabled={!checked} name="publish" onClick={() => void run(false)}>{t('publish')}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
