// SPDX-License-Identifier: Apache-2.0

import 'uplot/dist/uPlot.min.css'
import { useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { useT } from '../i18n'
import { bytes } from './format'

const colors = ['#1c7ed6', '#e8590c', '#2f9e44', '#9c36b5', '#c2255c', '#0c8599', '#f08c00', '#5f3dc4', '#868e96', '#66a80f']

interface Props {
  title: string
  times: number[]
  series: { label: string; values: (number | null)[] }[]
  unit?: string
  height?: number
  /** range is the bounds of the x axis in seconds. */
  range?: [number, number]
  bars?: boolean
}

export function write(unit: string | undefined, v: number | null | undefined): string {
  if (v === null || v === undefined) return '–'
  if (unit === 'bytes') return bytes(v)
  if (unit === '‱') return `${(v * 100).toFixed(1)} %`
  if (unit === 'seconds') return v < 1e-3 ? `${(v * 1e6).toFixed(0)} µs` : v < 1 ? `${(v * 1e3).toFixed(1)} ms` : `${v.toFixed(2)} s`
  return Number.isInteger(v) ? v.toLocaleString() : v.toPrecision(4)
}

/** Chart draws series over time. Charts of one page share their cursor. */
export function Chart({ title, times, series, unit, height = 160, range, bars }: Props) {
  const { label, language } = useT()
  const { ref, width } = useElementSize()
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const scheme = useComputedColorScheme('light')
  const shape = `${series.map((s) => s.label).join('|')} ${unit} ${scheme} ${height} ${bars} ${language}`
  const data = [times, ...series.map((s) => s.values)] as uPlot.AlignedData
  useEffect(() => {
    if (!host.current || width === 0) return
    const grid = { stroke: scheme === 'dark' ? '#373a40' : '#e9ecef', width: 1 }
    const stroke = scheme === 'dark' ? '#c1c2c5' : '#495057'
    plot.current = new uPlot({
      width, height, cursor: { sync: { key: 'page' } },
      axes: [{ stroke, grid }, { stroke, grid, size: 70, values: (_, ticks) => ticks.map((v) => write(unit, v)) }],
      scales: { x: { time: true }, y: { range: (_, min, max) => (max === min || max === null ? [Math.min(0, min ?? 0), Math.max(max ?? 0, unit === '‱' ? 0.01 : 1)] : [Math.min(0, min), max * 1.05]) } },
      series: [{ label: label('time') }, ...series.map((s, i) => ({
        label: s.label || title, stroke: colors[i % colors.length], width: 1.5, spanGaps: true, value: (_: uPlot, v: number) => write(unit, v),
        ...(bars ? { paths: uPlot.paths.bars!({ size: [0.8, 60] }), fill: `${colors[i % colors.length]}55` } : {}),
      }))],
      legend: { show: series.length > 0 && series.length <= 12 },
    }, data, host.current)
    return () => { plot.current?.destroy(); plot.current = null }
  }, [shape, width]) // eslint-disable-line
  useEffect(() => {
    plot.current?.setData(data, range === undefined)
    if (range) plot.current?.setScale('x', { min: range[0], max: range[1] })
  })
  return <div ref={ref} role="img" aria-label={`${title}: ${series.map((s) => `${s.label} ${write(unit, s.values[s.values.length - 1])}`).slice(0, 5).join('; ')}`}><div ref={host} /></div>
}
