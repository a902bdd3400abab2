// SPDX-License-Identifier: Apache-2.0

import { Alert, Button, Checkbox, Code, Group, Select, SimpleGrid, Stack, Text, TextInput, useComputedColorScheme } from '@mantine/core'
import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { javascript, javascriptLanguage } from '@codemirror/lang-javascript'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { oneDark } from '@codemirror/theme-one-dark'
import { basicSetup } from 'codemirror'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { typings } from '../api/client'
import { useT } from '../i18n'
import { wholeCluster } from './nodes'

/** template is where a new plugin begins. */
const template = `class MyExtension extends AppExtension {
  // The extension points that it implements.
  getExtensionPoints() { return ['ClientRequestHandler']; }

  // Called once, before the first call.
  start() { app.log.info('my-plugin is ready'); }

  // Called before the server handles a request of a client. Returns the replacement; undefined
  // leaves it unchanged.
  transform(clientRequest) {
    return undefined;
  }
}

export default class extends AppPlugin {
  getDescriptor() { return { id: 'my-plugin', version: '1.0.0', provider: 'me', license: 'Apache-2.0', description: 'What it does.' }; }
  getExtensions() { return [MyExtension]; }
}
`

interface Declared {
  name: string
  type: 'function' | 'property' | 'class' | 'interface' | 'constant'
  detail: string
  info?: string
}

/** declarations extracts the names that plugin authors can use from the typings. */
export function declarations(files: Record<string, string>): { globals: Declared[]; members: Declared[] } {
  const globals = new Map<string, Declared>()
  const members = new Map<string, Declared>()
  for (const text of Object.values(files)) {
    let comment = ''
    for (const raw of text.split('\n')) {
      const line = raw.trim()
      const c = /^\/?\*\*?\s?(.*?)(\*\/)?$/.exec(line)
      if (c && (line.startsWith('/**') || line.startsWith('*'))) {
        comment = line.startsWith('/**') ? (c[1] ?? '') : `${comment} ${c[1] ?? ''}`
        continue
      }
      const g = /^(?:export\s+)?(?:declare\s+)?(?:abstract\s+)?(function|class|const|interface|type)\s+([A-Za-z_$][\w$]*)(.*)$/.exec(line)
      const m = /^(?:readonly\s+|static\s+|get\s+)?([a-z][\w$]*)\??\s*(\(|:)(.*?)[;,]?$/.exec(line)
      if (g) globals.set(g[2]!, { name: g[2]!, type: g[1] === 'const' ? 'constant' : (g[1] as Declared['type']), detail: (g[3] ?? '').slice(0, 60), info: comment.trim() })
      else if (m) members.set(m[1]!, { name: m[1]!, type: m[2] === '(' ? 'function' : 'property', detail: (m[3] ?? '').slice(0, 60), info: comment.trim() })
      comment = ''
    }
  }
  return { globals: [...globals.values()], members: [...members.values()] }
}

interface Props {
  name: string
  /** code is the code of a plugin to change; a new one starts with the template. */
  code?: string
  /**
   * draft is the name under which an unpublished script is stored while the user is on another
   * page.
   */
  draft: string
  /** saved is true if the plugin is stored in a file, so that a new version must be, too. */
  saved?: boolean
  targets: { data: { value: string; label: string }[] }
  first: string
  mayStart: boolean
  run: (target: string, name: string, code: string, dryRun: boolean, save: boolean, start: boolean) => Promise<ReactNode>
}

/**
 * Editor edits plugins in JavaScript: completion from the server's typings, a dry run on save, then
 * publishing.
 */
export default function Editor({ name: initial, code, draft, saved, targets, first, mayStart, run }: Props) {
  const { t } = useT()
  const scheme = useComputedColorScheme('light')
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView | null>(null)
  const [name, setName] = useState(initial)
  const [picked, setTarget] = useState<string | null>(null)
  const target = picked ?? (targets.data.some((d) => d.value === first) ? first : (targets.data[0]?.value ?? ''))
  const [save, setSave] = useState(saved ?? false)
  const [start, setStart] = useState(mayStart)
  const [busy, setBusy] = useState(false)
  const [result, setResult] = useState<ReactNode>(null)
  const [debug, setDebug] = useState(false)
  const submit = useRef<(dryRun: boolean) => void>(() => undefined)
  submit.current = (dryRun) => {
    setBusy(true)
    run(target, name, view.current?.state.doc.toString() ?? '', dryRun, save, start).then(setResult).finally(() => setBusy(false))
  }
  useEffect(() => {
    const declared = typings().then(declarations).catch(() => ({ globals: [], members: [] }))
    const complete = async (c: CompletionContext): Promise<CompletionResult | null> => {
      const word = c.matchBefore(/[\w$]*/)
      if (!word || (word.from === word.to && !c.explicit && c.state.sliceDoc(word.from - 1, word.from) !== '.')) return null
      const dot = c.state.sliceDoc(word.from - 1, word.from) === '.'
      const { globals, members } = await declared
      return { from: word.from, options: (dot ? members : [...globals, ...members]).map((d) => ({ label: d.name, type: d.type, detail: d.detail, info: d.info || undefined })), validFor: /^[\w$]*$/ }
    }
    const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
    view.current = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: view.current?.state.doc.toString() ?? (sessionStorage.getItem(draft) || code || template),
        extensions: [
          EditorView.cspNonce.of(nonce), basicSetup, javascript(), javascriptLanguage.data.of({ autocomplete: complete }), autocompletion(),
          keymap.of([{ key: 'Mod-s', preventDefault: true, run: () => { submit.current(true); return true } }]),
          EditorView.updateListener.of((u) => { if (u.docChanged) sessionStorage.setItem(draft, u.state.doc.toString()) }),
          EditorView.contentAttributes.of({ 'aria-label': t('code') }),
          scheme === 'dark' ? oneDark : [], EditorView.theme({ '&': { height: '100%' }, '.cm-scroller': { overflow: 'auto' } }, { dark: scheme === 'dark' }),
        ],
      }),
    })
    return () => view.current?.destroy()
  }, [scheme]) // eslint-disable-line
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label={t('file')} name="script-name" value={name} onChange={(e) => setName(e.currentTarget.value)} />
        <Select label={t('uploadTo')} allowDeselect={false} data={targets.data} value={target} onChange={(v) => setTarget(v ?? target)} />
      </SimpleGrid>
      <div ref={host} className="editor" data-editor />
      <Group justify="space-between">
        <Group>
          <Checkbox label={t('keepAfterRestart')} disabled={target === wholeCluster} checked={save || target === wholeCluster} onChange={(e) => setSave(e.currentTarget.checked)} />
          <Checkbox label={t('startAtOnce')} disabled={!mayStart} checked={start} onChange={(e) => setStart(e.currentTarget.checked)} />
        </Group>
        <Group gap={6}>
          <Button variant="default" name={code ? 'from-code' : 'from-template'} onClick={() => view.current?.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: code ?? template } })}>{code ? t('undo') : t('fromTemplate')}</Button>
          <Button variant="default" onClick={() => setDebug(!debug)}>{t('debug')}</Button>
          <Button variant="default" loading={busy} name="dry-run" onClick={() => submit.current(true)}>{t('dryRun')} (Ctrl S)</Button>
          <Button loading={busy} name="publish" onClick={() => submit.current(false)}>{t('publish')}</Button>
        </Group>
      </Group>
      {debug && (
        <Alert color="blue" title={t('debug')}>
          <Text size="sm">{t('debugText')}</Text>
          <Code block mt={6}>{'bin/app all --set app.plugin.js.debug.enabled=true'}</Code>
          <Text size="sm" mt={6}>{t('debugAttach')}</Text>
        </Alert>
      )}
      {result}
    </Stack>
  )
}
