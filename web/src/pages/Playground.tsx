// SPDX-License-Identifier: Apache-2.0

import { createFileRegistry, fromBinary, fromJson, toBinary, toJson, type DescField, type DescMessage, type JsonObject, type JsonValue, type Registry } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Badge, Button, Card, Code, Fieldset, Group, JsonInput, NumberInput, PasswordInput, ScrollArea, Select, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { base, protocol } from '../api/client'
import { useT } from '../i18n'
import { Problem, Waiting } from '../ui/feedback'
import { NodePicker, useNode } from './Metrics'

interface Entry {
  n: number
  at: Date
  kind: 'sent' | 'response' | 'notification' | 'state'
  title: string
  json?: JsonValue
}

/** Playground logs in as a user over the client protocol and sends requests of every kind. */
export default function Playground() {
  const { t } = useT()
  const node = useNode('GATEWAY')
  const described = useQuery({ queryKey: ['protocol'], staleTime: Infinity, queryFn: async () => createFileRegistry(fromBinary(FileDescriptorSetSchema, await protocol())) })
  return (
    <Stack>
      <Group justify="space-between"><Title order={1} size="h3">{t('playground')}</Title><NodePicker type="GATEWAY" /></Group>
      <Text size="sm" c="dimmed">{t('playgroundText')}</Text>
      <Problem error={described.error} />
      {described.data && node ? <Client key={node} registry={described.data} node={node} /> : !described.error && <Waiting />}
    </Stack>
  )
}

const prefix = 'im.app.proto.'

function Client({ registry, node }: { registry: Registry; node: string }) {
  const { t, label } = useT()
  const request = registry.getMessage(`${prefix}AppRequest`)!
  const notification = registry.getMessage(`${prefix}AppNotification`)!
  const kinds = request.oneofs.find((o) => o.name === 'kind')!.fields
  const [user, setUser] = useState('1')
  const [password, setPassword] = useState('')
  const [open, setOpen] = useState(false)
  const [entries, setEntries] = useState<Entry[]>([])
  const [kind, setKind] = useState('create_message_request')
  const [values, setValues] = useState<JsonObject>({})
  const [error, setError] = useState<unknown>(null)
  const socket = useRef<WebSocket | null>(null)
  const ids = useRef(1)
  const count = useRef(0)
  const add = (e: Omit<Entry, 'n' | 'at'>) => setEntries((old) => [{ ...e, n: count.current++, at: new Date() }, ...old].slice(0, 500))
  useEffect(() => () => socket.current?.close(), [])
  const transmit = (field: string, body: JsonObject) => {
    setError(null)
    try {
      const json: JsonObject = { requestId: String(ids.current++), [field]: body }
      const message = fromJson(request, json, { registry })
      socket.current!.send(toBinary(request, message) as Uint8Array<ArrayBuffer>)
      add({ kind: 'sent', title: field, json: /password/i.test(JSON.stringify(body)) ? { ...json, [field]: { ...body, password: '•••' } } : json })
    } catch (e) {
      setError(e)
    }
  }
  const connect = () => {
    setError(null)
    const ws = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${base}-/client/${encodeURIComponent(node)}`)
    ws.binaryType = 'arraybuffer'
    socket.current = ws
    ws.onopen = () => {
      setOpen(true)
      add({ kind: 'state', title: t('connected') })
      transmit('createSessionRequest', { version: 1, userId: user, ...(password ? { password } : {}), deviceType: 'BROWSER' })
    }
    ws.onmessage = (e: MessageEvent<ArrayBuffer>) => {
      const m = fromBinary(notification, new Uint8Array(e.data))
      const json = toJson(notification, m, { registry }) as JsonObject
      const answer = 'requestId' in json
      add({ kind: answer ? 'response' : 'notification', title: answer ? `${t('response')} ${String(json.requestId)} · ${String(json.code ?? '')}` : t('notification'), json })
    }
    ws.onerror = () => setError(new Error(t('connectionLost')))
    ws.onclose = (e) => { setOpen(false); add({ kind: 'state', title: `${t('disconnected')} ${e.code} ${e.reason}` }) }
  }
  const chosen = kinds.find((k) => k.name === kind) ?? kinds[0]!
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Stack>
        <Card withBorder padding="sm">
          <form onSubmit={(e) => { e.preventDefault(); connect() }}>
            <Group align="end">
              <TextInput size="xs" label={label('userId')} name="play-user" value={user} onChange={(e) => setUser(e.currentTarget.value.trim())} disabled={open} />
              <PasswordInput size="xs" w={160} label={t('password')} name="play-password" autoComplete="off" value={password} onChange={(e) => setPassword(e.currentTarget.value)} disabled={open} />
              {open ? <Button size="xs" color="red" variant="light" onClick={() => socket.current?.close()}>{t('disconnect')}</Button> : <Button size="xs" type="submit" name="play-connect" disabled={!/^\d+$/.test(user)}>{t('connect')}</Button>}
            </Group>
          </form>
        </Card>
        <Card withBorder padding="sm">
          <form onSubmit={(e) => { e.preventDefault(); transmit(chosen.jsonName, values) }}>
            <Stack gap="xs">
              <Select label={t('request')} searchable allowDeselect={false} data={kinds.map((k) => ({ value: k.name, label: label(k.name.replace(/_request$/, '')) }))} value={kind} onChange={(v) => { setKind(v ?? kind); setValues({}) }} />
              {chosen.message && <Fields message={chosen.message} values={values} onChange={setValues} />}
              <Problem error={error} />
              <Group><Button type="submit" disabled={!open} name="play-send">{t('send')}</Button>{!open && <Text size="xs" c="dimmed">{t('connectFirst')}</Text>}</Group>
            </Stack>
          </form>
        </Card>
      </Stack>
      <Card withBorder padding="sm">
        <Group justify="space-between"><Title order={2} size="h5">{t('traffic')}</Title><Button size="compact-xs" variant="subtle" onClick={() => setEntries([])}>{t('clear')}</Button></Group>
        <ScrollArea h="65vh" type="auto" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('traffic') }}>
          <Stack gap={6}>
            {entries.map((e) => (
              <div key={e.n} data-entry={e.kind}>
                <Group gap="xs"><Badge size="xs" className="chip" variant="light" color={{ sent: 'blue', response: 'green', notification: 'violet', state: 'gray' }[e.kind]}>{t(e.kind)}</Badge><Text size="xs">{e.at.toLocaleTimeString()} {e.title}</Text></Group>
                {e.json !== undefined && <Code block fz={11}>{JSON.stringify(e.json, null, 1)}</Code>}
              </div>
            ))}
            {entries.length === 0 && <Text size="sm" c="dimmed">{t('noTraffic')}</Text>}
          </Stack>
        </ScrollArea>
      </Card>
    </SimpleGrid>
  )
}

/** Fields renders inputs for a protocol message. */
function Fields({ message, values, onChange }: { message: DescMessage; values: JsonObject; onChange: (v: JsonObject) => void }) {
  return <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">{message.fields.map((f) => <One key={f.name} field={f} value={values[f.jsonName]} onChange={(v) => {
    const next = { ...values }
    if (v === undefined) delete next[f.jsonName]
    else next[f.jsonName] = v
    onChange(next)
  }} />)}</SimpleGrid>
}

function One({ field: f, value, onChange }: { field: DescField; value: JsonValue | undefined; onChange: (v: JsonValue | undefined) => void }) {
  const { t, label } = useT()
  const common = { size: 'xs' as const, label: label(f.name), name: `play-${f.jsonName}` }
  if (f.fieldKind === 'list' && (f.listKind === 'scalar' || f.listKind === 'enum')) {
    return <TextInput {...common} placeholder="1, 2, 3" value={Array.isArray(value) ? value.join(',') : ''} onChange={(e) => onChange(e.currentTarget.value === '' ? undefined : e.currentTarget.value.split(',').map((x) => x.trim()))} />
  }
  if (f.fieldKind === 'list' || f.fieldKind === 'map') return <Raw {...common} value={value} onChange={onChange} />
  if (f.fieldKind === 'message') {
    if (f.message.fields.length <= 4 && !f.message.fields.some((x) => x.fieldKind === 'message')) {
      return <Fieldset legend={label(f.name)} p="xs"><Fields message={f.message} values={(value as JsonObject | undefined) ?? {}} onChange={(v) => onChange(Object.keys(v).length === 0 ? undefined : v)} /></Fieldset>
    }
    return <Raw {...common} value={value} onChange={onChange} />
  }
  if (f.fieldKind === 'enum') return <Select {...common} clearable data={f.enum.values.map((v) => ({ value: v.name, label: label(v.name) }))} value={(value as string | undefined) ?? null} onChange={(v) => onChange(v ?? undefined)} />
  switch (f.scalar) {
    case 8: return <Select {...common} clearable data={[{ value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]} value={value === undefined ? null : String(value)} onChange={(v) => onChange(v === null ? undefined : v === 'true')} />
    case 1: case 2: return <NumberInput {...common} value={(value as number | undefined) ?? ''} onChange={(v) => onChange(v === '' ? undefined : v)} />
    case 5: case 13: case 17: case 15: case 7: return <NumberInput {...common} allowDecimal={false} value={(value as number | undefined) ?? ''} onChange={(v) => onChange(v === '' ? undefined : v)} />
    default: return <TextInput {...common} value={(value as string | undefined) ?? ''} onChange={(e) => onChange(e.currentTarget.value === '' ? undefined : e.currentTarget.value)} />
  }
}

function Raw({ value, onChange, ...common }: { value: JsonValue | undefined; onChange: (v: JsonValue | undefined) => void; size: 'xs'; label: string; name: string }) {
  const { t } = useT()
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value))
  return <JsonInput {...common} validationError={t('mustBeJson')} autosize minRows={1} value={text} onChange={(v) => {
    setText(v)
    try {
      onChange(v.trim() === '' ? undefined : (JSON.parse(v) as JsonValue))
    } catch {
      // The input is incomplete.
    }
  }} />
}

