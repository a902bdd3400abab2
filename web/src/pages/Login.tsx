// SPDX-License-Identifier: Apache-2.0

import { Button, Center, Divider, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import { session, type Session } from '../api/client'
import { useT } from '../i18n'
import { Problem } from '../ui/feedback'

export function Login({ onLogin }: { onLogin: (s: Session) => void }) {
  const { t } = useT()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const [provider, setProvider] = useState<string>()
  useEffect(() => {
    // Without a response, only the form is shown.
    session.signOn().then((found) => setProvider(found?.name), () => undefined)
  }, [])
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      onLogin(await session.open(name, password))
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Center mih="100vh" component="main" p="md">
      <Paper withBorder shadow="sm" p="xl" w={380} maw="100%">
        <form onSubmit={(e) => { e.preventDefault(); void submit() }}>
          <Stack>
            <Title order={1} size="h3">{t('loginTitle')}</Title>
            <TextInput label={t('loginName')} name="loginName" autoComplete="username" autoFocus required value={name} onChange={(e) => setName(e.currentTarget.value)} />
            <PasswordInput label={t('password')} name="password" autoComplete="current-password" required value={password} onChange={(e) => setPassword(e.currentTarget.value)} />
            <Problem error={error} />
            <Button type="submit" loading={busy}>{t('login')}</Button>
            {provider && <Divider />}
            {provider && <Button component="a" href={session.signOnURL()} variant="default">{t('signOnWith', { name: provider })}</Button>}
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}
