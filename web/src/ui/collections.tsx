// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useState } from 'react'
import { useT } from '../i18n'

interface MapProps {
  name: string
  /** title says what the rows are, to those who cannot see them. */
  title: string
  value: Record<string, string>
  disabled?: boolean
  placeholders?: [string, string]
  onChange: (value: Record<string, string>) => void
}

/** MapEditor edits a map of text row by row. A row without a key is not part of the value. */
export function MapEditor({ name, title, value, disabled, placeholders, onChange }: MapProps) {
  const { t, label } = useT()
  const [rows, setRows] = useState<[string, string][]>(() => Object.entries(value).map(([k, v]) => [k, String(v)]))
  const [written, setWritten] = useState(value)
  // Values that come from elsewhere, such as an undo, replace what is typed.
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
