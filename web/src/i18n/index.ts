// SPDX-License-Identifier: Apache-2.0

import { createContext, useContext, useMemo } from 'react'
import { en } from './en'

export type Key = keyof typeof en
export type Dictionary = Record<Key, string>
export type Language = 'en' | 'zh-CN'

export interface Translation {
  language: Language
  words: Dictionary
  /** terms translates the words in names of fields and constants; empty for English. */
  terms: Record<string, string>
}

export const english: Translation = { language: 'en', words: en, terms: {} }
export const TranslationContext = createContext<Translation>(english)

export async function loadTranslation(language: Language): Promise<Translation> {
  if (language === 'en') return english
  const { zh, terms } = await import('./zh')
  return { language, words: zh, terms }
}

const stored = 'console.language'

export function preferredLanguage(): Language {
  const saved = localStorage.getItem(stored)
  if (saved === 'en' || saved === 'zh-CN') return saved
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh-CN' : 'en'
}

export function rememberLanguage(language: Language) {
  localStorage.setItem(stored, language)
}

/** split splits names such as registrationDate, USER_QUERY and max-size into words. */
function split(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[\s_.\-/]+/)
    .filter(Boolean)
    .map((w) => w.toLowerCase())
}

const capitals = new Set(['id', 'ids', 'ip', 'ips', 'url', 'cpu', 'udp', 'tcp', 'api', 'http', 'ssl', 'jvm', 'gc', 'jwt', 'ldap', 'nats', 'rpc', 'ws', 'ttl', 'js'])

/** useT returns functions that translate. They stay the same until the language changes. */
export function useT() {
  const translation = useContext(TranslationContext)
  return useMemo(() => translator(translation), [translation])
}

function translator({ language, words, terms }: Translation) {
  const t = (key: Key, values: Record<string, string | number> = {}) =>
    words[key].replace(/\{(\w+)\}/g, (m, name: string) => (name in values ? String(values[name]) : m))
  /** label turns the name of a field or a constant into words. */
  const label = (name: string): string => {
    const parts = split(name)
    if (language === 'zh-CN') {
      const whole = terms[parts.join(' ')]
      if (whole) return whole
      if (parts.every((p) => p in terms)) return parts.map((p) => terms[p]).join('')
    }
    const text = parts.map((p) => (capitals.has(p) ? (p.endsWith('s') && p !== 'ws' && p !== 'js' && p !== 'nats' ? p.slice(0, -1).toUpperCase() + 's' : p.toUpperCase()) : p)).join(' ').replace('java script', 'JavaScript')
    return text.charAt(0).toUpperCase() + text.slice(1)
  }
  return { t, label, language }
}
