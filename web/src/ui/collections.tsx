// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Button, Card, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useState, type ReactNode } from 'react'
import { useT } from '../i18n'

interface MapProps {
  name: string
  /** title describes the rows to screen readers. */
  title: string
  value: Record<string, string>
  disabled?: boolean
  placeholders?: [string, string]
  onChange: (value: Record<string, string>) => void
}

/** MapEditor edits a map of strings row by row. Rows without a key are not part of the value. */
export function MapEditor({ name, title, value, disabled, placeholders, onChange }: MapProps) {
  const { t, label } = useT()
  const [rows, setRows] = useState<[string, string][]>(() => Object.entries(value).map(([k, v]) => [k, String(v)]))
  const [written, setWritten] = useState(value)
  // Values from elsewhere, such as an undo, replace the input.
  if (JSON.stringify(written) !== JSON.stringify(value)) {
    setWritten(value)
    setRows(Object.entries(value).map(([k, v]) => [k, String(v)]))
  }
  const keys = rows.map(([k]) => k.trim())
  const change = (next: [string, string][]) => {
    const map = Object.fromEntries(next.map(([k, v]) => [k.trim(), v] as const).filter(([k]) => k !== ''))
    setRows(next)
    setWritten(map)
    onChange(map)
  }
  return (
    <Stack gap={4} role="group" aria-label={title} data-map={name}>
      {rows.map(([k, v], i) => (
        <Group key={i} gap={4} wrap="nowrap" align="start">
          <TextInput size="xs" flex={1} miw={0} disabled={disabled} aria-label={`${title}: ${label('key')} ${i + 1}`} name={`${name}.key.${i}`} placeholder={placeholders?.[0]} value={k}
            error={k.trim() !== '' && keys.indexOf(k.trim()) !== i ? t('duplicateKey') : undefined} onChange={(e) => change(rows.map((r, j) => (j === i ? [e.currentTarget.value, v] : r)))} />
          <TextInput size="xs" flex={1} miw={0} disabled={disabled} aria-label={`${title}: ${label('value')} ${i + 1}`} name={`${name}.value.${i}`} placeholder={placeholders?.[1]} value={v} onChange={(e) => change(rows.map((r, j) => (j === i ? [k, e.currentTarget.value] : r)))} />
          {!disabled && <ActionIcon variant="subtle" color="gray" aria-label={`${t('remove')} ${k || i + 1}`} onClick={() => change(rows.filter((_, j) => j !== i))}><IconX size={14} /></ActionIcon>}
        </Group>
      ))}
      {rows.length === 0 && disabled && <Text size="xs" c="dimmed">–</Text>}
      {!disabled && <Group><Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} name={`${name}.add`} onClick={() => setRows([...rows, ['', '']])}>{t('addRow')}</Button></Group>}
    </Stack>
  )
}

type Item = Record<string, unknown>

const at = (item: unknown, path: string[]): unknown => path.reduce<unknown>((v, k) => (v as Item | undefined)?.[k], item)

/** put returns a copy of an object with a changed value at a path; undefined removes it. */
export function put(item: Item, path: string[], value: unknown): Item {
  const [first, ...rest] = path
  const next = { ...item }
  if (rest.length > 0) next[first!] = put((item[first!] ?? {}) as Item, rest, value)
  else if (value === undefined) delete next[first!]
  else next[first!] = value
  return next
}

interface ObjectsProps {
  name: string
  title: string
  value: Item[]
  disabled?: boolean
  /** fields are the paths of the fields of an object. */
  fields: string[]
  description: (field: string) => string | undefined
  input: (field: string, name: string, value: unknown, onChange: (v: unknown) => void) => ReactNode
  onChange: (value: Item[]) => void
}

/** ObjectsEditor edits a list of objects, with an input for each field. */
export function ObjectsEditor({ name, title, value, disabled, fields, description, input, onChange }: ObjectsProps) {
  const { t, label } = useT()
  return (
    <Stack gap={6} role="group" aria-label={title} data-objects={name}>
      {value.map((item, i) => (
        <Card key={i} withBorder padding={6} data-object={i}>
          <Group justify="space-between" mb={2}><Text size="xs" fw={600}>{i + 1}</Text>{!disabled && <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`${t('remove')} ${title} ${i + 1}`} onClick={() => onChange(value.filter((_, j) => j !== i))}><IconX size={14} /></ActionIcon>}</Group>
          <Stack gap={4}>
            {fields.map((f) => (
              <div key={f}>
                <Text size="xs" title={description(f)}>{f.split('.').map(label).join(' · ')}</Text>
                {input(f, `${name}[${i}].${f}`, at(item, f.split('.')), (v) => onChange(value.map((x, j) => (j === i ? put(x, f.split('.'), v) : x))))}
              </div>
            ))}
          </Stack>
        </Card>
      ))}
      {value.length === 0 && disabled && <Text size="xs" c="dimmed">–</Text>}
      {!disabled && <Group><Button size="compact-xs" variant="default" leftSection={<IconPlus size={12} />} name={`${name}.add`} onClick={() => onChange([...value, {}])}>{t('addRow')}</Button></Group>}
    </Stack>
  )
}
