// SPDX-License-Identifier: Apache-2.0

import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './style.css'
import { createTheme, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { RouterProvider } from '@tanstack/react-router'
import { ApiError, session as backend, sessionEnd, type Session } from './api/client'
import { loadDocuments, type Documents } from './api/document'
import { english, loadTranslation, preferredLanguage, rememberLanguage, TranslationContext, type Language, type Translation } from './i18n'
import { Login } from './pages/Login'
import { createAppRouter } from './routes'
import { SessionContext } from './session'
import { Problem, Waiting } from './ui/feedback'

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? ''
setNonce(nonce)

const theme = createTheme({ primaryColor: 'blue', primaryShade: { light: 8, dark: 8 }, defaultRadius: 'sm', fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans SC", sans-serif', cursorType: 'pointer' })

const client = new QueryClient({
  mutationCache: new MutationCache(),
  defaultOptions: {
    queries: {
      staleTime: 2000, refetchOnWindowFocus: true,
      networkMode: 'always', // A failed request shows that the connection is lost; a paused one shows nothing.
      retry: (n, e) => n < 2 && (!(e instanceof ApiError) || e.status === 0 || e.status >= 502),
      retryDelay: (n) => 500 * 2 ** n,
    },
  },
})

function App() {
  const [translation, setTranslation] = useState<Translation>(english)
  const [session, setSession] = useState<Session | null | undefined>(undefined)
  const [documents, setDocuments] = useState<Documents | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [router] = useState(() => createAppRouter((l) => void change(l)))

  const change = async (language: Language) => {
    rememberLanguage(language)
    document.documentElement.lang = language
    setTranslation(await loadTranslation(language))
  }
  const start = async () => {
    setError(null)
    try {
      setSession((await backend.find()) ?? null)
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) setSession(null)
      else setError(e)
    }
  }
  useEffect(() => {
    void change(preferredLanguage())
    void start()
    const end = () => { client.clear(); setSession(null) }
    sessionEnd.addEventListener('end', end)
    return () => sessionEnd.removeEventListener('end', end)
  }, []) // eslint-disable-line
  useEffect(() => {
    if (session && !documents) loadDocuments().then(setDocuments, setError)
  }, [session, documents])

  const logout = async () => {
    try {
      await backend.close()
    } finally {
      client.clear()
      setSession(null)
    }
  }
  return (
    <TranslationContext.Provider value={translation}>
      {error ? <Problem error={error} retry={() => { setDocuments(null); void start() }} />
        : session === undefined ? <Waiting />
        : session === null ? <Login onLogin={setSession} />
        : documents === null ? <Waiting />
        : <SessionContext.Provider value={{ session, documents, logout }}><RouterProvider router={router} /></SessionContext.Provider>}
    </TranslationContext.Provider>
  )
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" />
      <QueryClientProvider client={client}><App /></QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
