// SPDX-License-Identifier: Apache-2.0

import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { get, type Schemas } from './api/client'
import { useMay } from './session'

export type Metric = Schemas['Metric']

/**
 * Series are the samples of one metric and one set of tags. Counters are stored as rates per
 * second.
 */
export interface Series {
  label: string
  values: (number | null)[]
}

export interface History {
  times: number[]
  series: Map<string, Series>
  units: Map<string, string>
  last: Map<string, { at: number; value: number }>
}

const keep = 3600

/** histories outlive pages, so that charts are not empty when the user returns. */
const histories = new Map<string, History>()

function historyOf(key: string): History {
  let h = histories.get(key)
  if (!h) {
    h = { times: [], series: new Map(), units: new Map(), last: new Map() }
    histories.set(key, h)
  }
  return h
}

/** record adds a sample. Counters become rates; timers become a rate and a mean. */
export function record(h: History, metrics: Metric[], now: number) {
  const point = new Map<string, [string, number | null]>()
  const rate = (key: string, value: number): number | null => {
    const before = h.last.get(key)
    h.last.set(key, { at: now, value })
    if (!before || value < before.value || now <= before.at) return null
    return ((value - before.value) / (now - before.at)) * 1000
  }
  for (const m of metrics) {
    h.units.set(m.name, m.baseUnit ?? '')
    for (const s of m.measurements ?? []) {
      const tags = (s.tags ?? []).join(', ')
      const id = `${m.name}{${tags}}`
      const v = s.measurements as Record<string, number | string>
      if ('value' in v) point.set(id, [tags, Number(v.value)])
      else if ('total' in v) {
        const count = rate(`${id}#count`, Number(v.count))
        const total = rate(`${id}#total`, Number(v.total))
        point.set(`${id}/s`, [tags ? `${tags} · /s` : '/s', count])
        point.set(`${id}#mean`, [tags ? `${tags} · ⌀` : '⌀', count && total !== null ? total / count : null])
      } else if ('count' in v) point.set(`${id}/s`, [tags ? `${tags} · /s` : '/s', rate(`${id}#count`, Number(v.count))])
    }
  }
  h.times.push(now / 1000)
  for (const [id, [label, value]] of point) {
    let s = h.series.get(id)
    if (!s) {
      s = { label, values: Array<number | null>(h.times.length - 1).fill(null) }
      h.series.set(id, s)
    }
    s.values.push(value)
  }
  for (const s of h.series.values()) while (s.values.length < h.times.length) s.values.push(null)
  if (h.times.length > keep) {
    h.times.splice(0, h.times.length - keep)
    for (const s of h.series.values()) s.values.splice(0, s.values.length - keep)
  }
}

/** useMetrics samples metrics of a node and returns the samples so far. */
export function useMetrics(node: string | undefined, names: string[], every = 2000) {
  const may = useMay()
  const key = `${node ?? ''} ${names.join(',')}`
  const current = useRef('')
  current.current = key
  const query = useQuery({
    queryKey: ['metrics', key], enabled: node !== undefined && names.length > 0 && !may.call('GET', '/metrics'),
    refetchInterval: every, staleTime: 0, gcTime: 0, retry: false,
    queryFn: async () => {
      const h = historyOf(key)
      record(h, ((await get('/metrics', { node, query: { names } })) ?? []) as Metric[], Date.now())
      return { at: Date.now() }
    },
  })
  return { history: historyOf(key), error: query.error, at: query.data?.at }
}

/** latest returns the latest value of a series, summed over its tags. */
export function latest(h: History, name: string, suffix = ''): number | undefined {
  let sum: number | undefined
  for (const [id, s] of h.series) {
    if (!id.startsWith(`${name}{`) || !id.endsWith(`}${suffix}`)) continue
    const v = s.values[s.values.length - 1]
    if (v !== null && v !== undefined) sum = (sum ?? 0) + v
  }
  return sum
}
