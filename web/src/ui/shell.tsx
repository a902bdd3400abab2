// SPDX-License-Identifier: Apache-2.0

import { ActionIcon, Alert, AppShell, Burger, Button, Group, Menu, NavLink, ScrollArea, Text, Tooltip, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBook, IconLanguage, IconLogout, IconMoon, IconSearch, IconSun, IconUser } from '@tabler/icons-react'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { Suspense, useEffect } from 'react'
import { get } from '../api/client'
import { useT, type Language } from '../i18n'
import { useMay, useSession } from '../session'
import { Waiting } from './feedback'
import { openPalette, Palette } from './palette'
import { sections, visiblePages } from '../navigation'

export function Shell({ onLanguage }: { onLanguage: (l: Language) => void }) {
  const { t, language } = useT()
  const { session, logout, documents } = useSession()
  const may = useMay()
  const [opened, { toggle, close }] = useDisclosure(false)
  const { setColorScheme } = useMantineColorScheme()
  const colorScheme = useComputedColorScheme('light')
  const path = useRouterState({ select: (s) => s.location.pathname })
  useEffect(close, [path]) // eslint-disable-line
  const pages = visiblePages(documents)
  const current = pages.filter((p) => path === p.to || (p.to !== '/' && path.startsWith(`${p.to}/`))).sort((a, b) => b.to.length - a.to.length)[0]
  useEffect(() => { document.title = current ? `${t(current.title)} – app` : 'app' }, [current, language]) // eslint-disable-line
  return (
    <AppShell header={{ height: 48 }} navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }} padding="md">
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={t('menu')} />
            <UnstyledButton component={Link} to="/"><Text fw={700}>app</Text></UnstyledButton>
            <Text size="xs" c="dimmed" visibleFrom="sm">{session.version}</Text>
          </Group>
          <Group gap={6} wrap="nowrap">
            <Button variant="default" size="compact-sm" leftSection={<IconSearch size={14} />} onClick={openPalette} name="search" aria-label={`${t('search')} Ctrl K`}>
              <Text span size="xs" visibleFrom="xs">{t('search')} <Text span size="xs" c="dimmed">Ctrl K</Text></Text>
            </Button>
            <Tooltip label={t('documentation')}><ActionIcon component="a" href="docs/" target="_blank" variant="default" aria-label={t('documentation')}><IconBook size={16} /></ActionIcon></Tooltip>
            <Menu>
              <Menu.Target><ActionIcon variant="default" aria-label={t('language')}><IconLanguage size={16} /></ActionIcon></Menu.Target>
              <Menu.Dropdown>
                <Menu.Item onClick={() => onLanguage('en')} lang="en">English</Menu.Item>
                <Menu.Item onClick={() => onLanguage('zh-CN')} lang="zh-CN">简体中文</Menu.Item>
              </Menu.Dropdown>
            </Menu>
            <Tooltip label={t('colorScheme')}><ActionIcon variant="default" aria-label={t('colorScheme')} data-color-scheme onClick={() => setColorScheme(colorScheme === 'dark' ? 'light' : 'dark')}>{colorScheme === 'dark' ? <IconSun size={16} /> : <IconMoon size={16} />}</ActionIcon></Tooltip>
            <Menu>
              <Menu.Target><Button variant="default" size="compact-sm" leftSection={<IconUser size={14} />} name="account" aria-label={`${session.loginName} – ${t('account')}`}><Text span size="xs" visibleFrom="xs">{session.loginName}</Text></Button></Menu.Target>
              <Menu.Dropdown>
                <Menu.Label>{session.loginName} · {t('permissionCount', { count: session.permissions.length })}</Menu.Label>
                <Menu.Item leftSection={<IconLogout size={14} />} onClick={() => void logout()} data-logout>{t('logout')}</Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label={t('menu')}>
        <ScrollArea type="auto" p={6}>
          {sections.map((section) => {
            const inside = pages.filter((p) => p.section === section)
            if (inside.length === 0) return null
            return (
              <div key={section} role="group" aria-label={t(section)}>
                <Text size="xs" c="dimmed" fw={600} px="sm" pt="xs">{t(section)}</Text>
                {inside.map((p) => {
                  const missing = may.permission(p.permission?.(documents))
                  return (
                    <NavLink key={p.to} component={Link} to={p.to} label={t(p.title)} active={p === current} leftSection={<p.icon size={16} />} py={5}
                      opacity={missing ? 0.75 : 1} title={missing ? t('needsPermission', { permission: missing }) : undefined} data-missing={missing} />
                  )
                })}
              </div>
            )
          })}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main>
        <HealthBanner />
        <Suspense fallback={<Waiting />}><Outlet /></Suspense>
        <Palette />
      </AppShell.Main>
    </AppShell>
  )
}

/** HealthBanner shows on every page that the server is unhealthy, and why. */
function HealthBanner() {
  const { t } = useT()
  const health = useQuery({
    queryKey: ['health', 'service'], refetchInterval: 5000, retry: false,
    queryFn: async () => {
      try {
        await get('/health')
        return null
      } catch (e) {
        return e as { status?: number; reason?: string }
      }
    },
  })
  if (!health.data) return null
  return <Alert color="red" mb="sm" role="alert" title={health.data.status === 0 ? t('connectionLost') : t('notReady')}>{health.data.status === 0 ? t('connectionLostText') : health.data.reason}</Alert>
}
