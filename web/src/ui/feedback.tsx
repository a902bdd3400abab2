// SPDX-License-Identifier: Apache-2.0

import { Alert, Button, Group, Loader, Stack, Text, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconPlugConnectedX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/client'
import { useT } from '../i18n'
import { Copy } from './format'

/** Problem shows an error with its code and request id. */
export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useT()
  if (!error) return null
  const e = error instanceof ApiError ? error : undefined
  const lost = e?.status === 0
  return (
    <Alert color="red" variant="light" role="alert" icon={lost ? <IconPlugConnectedX /> : <IconAlertTriangle />}
      title={lost ? t('connectionLost') : e?.status === 401 || e?.status === 403 ? t('notAllowed') : t('requestFailed')}>
      <Stack gap={4}>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>{lost ? t('connectionLostText') : e ? e.reason : String((error as Error).message ?? error)}</Text>
        {e && !lost && (
          <Group gap="xs">
            <Text size="xs" c="red.9" className="dim-on-alert">{t('code')} {e.code ?? '–'} · HTTP {e.status}{e.requestId ? ` · ${t('requestId')} ${e.requestId}` : ''}</Text>
            {e.requestId && <Copy text={e.requestId} />}
          </Group>
        )}
        {retry && <Group><Button size="compact-xs" variant="outline" color="red" onClick={retry}>{t('retry')}</Button></Group>}
      </Stack>
    </Alert>
  )
}

export function Waiting() {
  const { t } = useT()
  return <Group p="md" gap="xs" role="status"><Loader size="sm" /><Text size="sm" c="dimmed">{t('loading')}</Text></Group>
}

/** Permitted disables its child if a permission is missing and names it. */
export function Permitted({ missing, children }: { missing: string | undefined; children: (disabled: boolean) => ReactNode }) {
  const { t } = useT()
  if (!missing) return <>{children(false)}</>
  return (
    <Tooltip label={t('needsPermission', { permission: missing })}>
      <span data-missing={missing} style={{ display: 'inline-block' }}>{children(true)}</span>
    </Tooltip>
  )
}

export function succeed(message: string) {
  notifications.show({ message, color: 'green' })
}

export function warn(title: string, message: string) {
  notifications.show({ title, message, color: 'yellow', autoClose: false })
}

export function fail(error: unknown, title: string) {
  const e = error instanceof ApiError ? error : undefined
  notifications.show({
    title, color: 'red', autoClose: false,
    message: e ? `${e.reason} (${e.code ?? e.status}${e.requestId ? `, ${e.requestId}` : ''})` : String(error),
  })
}
