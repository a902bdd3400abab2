// SPDX-License-Identifier: Apache-2.0

import { JsonInput, NumberInput, PasswordInput, Select, SegmentedControl, Stack, TagsInput, Text, TextInput, Textarea, Input } from '@mantine/core'
import type { ReactNode } from 'react'
import { Int64 } from '../api/json'
import type { Document, Schema } from '../api/document'
import { useT } from '../i18n'
import { byWeight } from '../resources'
import { hint, unitOf } from './format'

export type Values = Record<string, unknown>

/** toLocal converts a date to the format of datetime-local inputs. */
export function toLocal(iso: unknown): string {
  if (typeof iso !== 'string' || iso === '') return ''
  const d = new Date(iso)
  if (Number.isNaN(d.getTime())) return ''
  return new Date(d.getTime() - d.getTimezoneOffset() * 6e4).toISOString().slice(0, 19)
}

export function fromLocal(text: string): string | undefined {
  if (text === '') return undefined
  const d = new Date(text)
  return Number.isNaN(d.getTime()) ? undefined : d.toISOString()
}

/** FieldProps are the properties of an input for one value. undefined means "not set". */
export interface FieldProps {
  name: string
  value: unknown
  description?: string
  required?: boolean
  error?: string
  changed?: boolean
  onChange: (value: unknown) => void
}

/** Inputs are the custom inputs of a collection. */
export type Inputs = Record<string, (p: FieldProps) => ReactNode>

/** Field is the input for one value, chosen by its schema. */
export function Field({ document: d, name, schema, value, required, error, changed, onChange }: FieldProps & { document: Document; schema: Schema }) {
  const { t, label } = useT()
  const s = d.resolve(schema)
  const common = {
    label: label(name), description: s.description, withAsterisk: required, error, name,
    'data-changed': changed || undefined, size: 'sm' as const,
    inputWrapperOrder: ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[],
  }
  if (s.enum) {
    return <Select {...common} data={s.enum.map((v) => ({ value: v, label: `${label(v)} (${v})` }))} value={(value as string | undefined) ?? null} clearable={!required}
      searchable={s.enum.length > 8} onChange={(v) => onChange(v ?? undefined)} comboboxProps={{ withinPortal: true }} />
  }
  switch (s.type) {
    case 'boolean':
      return (
        <Input.Wrapper label={common.label} description={common.description} withAsterisk={required} error={error} inputWrapperOrder={common.inputWrapperOrder} labelElement="div" display="block">
          <div><SegmentedControl size="xs" name={name} aria-label={label(name)} value={value === undefined || value === null ? '' : String(value)} data-changed={changed || undefined}
            data={[...(required ? [] : [{ value: '', label: t('unset') }]), { value: 'true', label: t('yes') }, { value: 'false', label: t('no') }]}
            onChange={(v) => onChange(v === '' ? undefined : v === 'true')} /></div>
        </Input.Wrapper>
      )
    case 'integer':
      if (s.format === 'int64') {
        return <TextInput {...common} inputMode="numeric" value={value === undefined || value === null ? '' : value instanceof Int64 ? value.digits : String(value)}
          error={error ?? (value !== undefined && value !== null && !(value instanceof Int64) && !/^-?\d+$/.test(String(value)) ? t('mustBeInteger') : undefined)}
          onChange={(e) => onChange(e.currentTarget.value.trim() === '' ? undefined : e.currentTarget.value.trim())} />
      }
      return <NumberInput {...common} description={[s.description, hint(name, value)].filter(Boolean).join(' ')} allowDecimal={false} min={s.minimum} max={s.maximum} rightSection={unitOf(name) ? <Text size="xs" c="dimmed">{unitOf(name)}</Text> : undefined} value={(value as number | undefined) ?? ''} onChange={(v) => onChange(v === '' ? undefined : v)} />
    case 'number':
      return <NumberInput {...common} min={s.minimum} max={s.maximum} value={(value as number | undefined) ?? ''} onChange={(v) => onChange(v === '' ? undefined : v)} />
    case 'array': {
      const item = d.resolve(s.items)
      if (item.type === 'string' || item.type === 'integer' || item.type === 'number') {
        return <TagsInput {...common} data={item.enum} splitChars={[',', ' ', '\n']} value={((value as unknown[] | undefined) ?? []).map(String)}
          onChange={(v) => onChange(v.length === 0 && !changed ? undefined : v)} clearable acceptValueOnBlur />
      }
      break
    }
    case 'string':
      if (s.format === 'date-time') {
        return <TextInput {...common} type="datetime-local" step={1} value={toLocal(value)} onChange={(e) => onChange(fromLocal(e.currentTarget.value))} />
      }
      if (/password/i.test(name)) {
        return <PasswordInput {...common} autoComplete="new-password" value={(value as string | undefined) ?? ''} onChange={(e) => onChange(e.currentTarget.value || undefined)} />
      }
      if (/text|intro|announcement|content|reason|description/i.test(name)) {
        return <Textarea {...common} autosize minRows={1} maxRows={8} maxLength={s.maxLength} value={(value as string | undefined) ?? ''} onChange={(e) => onChange(e.currentTarget.value === '' && !changed ? undefined : e.currentTarget.value)} />
      }
      return <TextInput {...common} maxLength={s.maxLength} value={(value as string | undefined) ?? ''} onChange={(e) => onChange(e.currentTarget.value === '' && !changed ? undefined : e.currentTarget.value)} />
  }
  return <JsonInput {...common} formatOnBlur autosize minRows={2} maxRows={12} validationError={t('mustBeJson')}
    value={typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value, null, 2)} onChange={(v) => onChange(v === '' ? undefined : v)} />
}

/** encode converts the values of a form to JSON values. */
export function encode(d: Document, schema: Schema, values: Values): Values {
  const properties = d.resolve(schema).properties ?? {}
  const out: Values = {}
  for (const [name, value] of Object.entries(values)) out[name] = encodeOne(d, properties[name] ?? {}, value)
  return out
}

function encodeOne(d: Document, schema: Schema, value: unknown): unknown {
  const s = d.resolve(schema)
  if (value === undefined || value === null) return value
  if (s.type === 'integer' && s.format === 'int64') return new Int64(value as string)
  if (s.type === 'array' && Array.isArray(value)) {
    const item = d.resolve(s.items)
    if (item.type === 'integer') return value.map((v) => new Int64(String(v)))
    if (item.type === 'number') return value.map(Number)
    return value
  }
  if (typeof value === 'string' && (s.type === 'object' || s.type === 'array' || s.type === undefined)) {
    try {
      return JSON.parse(value)
    } catch {
      return value
    }
  }
  return value
}

/** fieldOf returns the field that an error of the server refers to. */
export function fieldOf(reason: string, names: string[]): string | undefined {
  const found = names.filter((n) => new RegExp(`(^|[^\\w])"?${n.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"?([^\\w]|$)`).test(reason))
  return found.sort((a, b) => reason.indexOf(a) - reason.indexOf(b))[0]
}

interface FormProps {
  document: Document
  schema: Schema
  values: Values
  initial?: Values
  errors?: Record<string, string>
  hide?: string[]
  inputs?: Inputs
  onChange: (values: Values) => void
}

/** SchemaForm renders an input for every property of a schema. */
export function SchemaForm({ document: d, schema, values, initial, errors, hide, inputs, onChange }: FormProps) {
  const { t } = useT()
  const s = d.resolve(schema)
  const names = byWeight(Object.keys(s.properties ?? {}).filter((n) => !hide?.includes(n)), (n) => n)
  const required = (n: string) => s.required?.includes(n) ?? false
  names.sort((a, b) => Number(required(b)) - Number(required(a)))
  if (names.length === 0) return <Text c="dimmed" size="sm">{t('nothingToFill')}</Text>
  return (
    <Stack gap="sm">
      {names.map((n) => {
        const Own = inputs?.[n]
        const schemaOf = s.properties![n]!
        const props = { name: n, description: d.resolve(schemaOf).description, required: required(n), error: errors?.[n], value: values[n], changed: initial !== undefined && !same(values[n], initial[n]), onChange: (v: unknown) => onChange({ ...values, [n]: v }) }
        return Own ? <Own key={n} {...props} /> : <Field key={n} document={d} schema={schemaOf} {...props} />
      })}
    </Stack>
  )
}

export function same(a: unknown, b: unknown): boolean {
  const plain = (v: unknown) => (v === undefined || v === null || v === '' ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v))
  return plain(a) === plain(b) || (Array.isArray(a) && Array.isArray(b) && a.map(String).join() === b.map(String).join())
}
