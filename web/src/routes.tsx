// SPDX-License-Identifier: Apache-2.0

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { base } from './api/client'
import type { Language } from './i18n'
import { resources } from './resources'
import { Problem } from './ui/feedback'
import { Shell } from './ui/shell'

/** Values in the URL stay strings: ids of 64 bits must not become numbers. */
const parseSearch = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text))
const stringifySearch = (search: Record<string, unknown>): string => {
  const out = new URLSearchParams()
  for (const [k, v] of Object.entries(search)) if (v !== undefined && v !== null && v !== '') out.set(k, String(v))
  const text = out.toString()
  return text === '' ? '' : `?${text}`
}

const special: Record<string, () => Promise<{ default: React.ComponentType }>> = {
  '/': () => import('./pages/Overview'),
  '/nodes/$id': () => import('./pages/NodePage'),
  '/metrics': () => import('./pages/Metrics'),
  '/cluster/plugin': () => import('./pages/Plugins'),
  '/cluster/settings': () => import('./pages/Settings'),
  '/recordings': () => import('./pages/Recordings'),
  '/logs': () => import('./pages/Logs'),
  '/sessions': () => import('./pages/Sessions'),
  '/conversations': () => import('./pages/Conversations'),
  '/statistics': () => import('./pages/Statistics'),
  '/playground': () => import('./pages/Playground'),
  '/api': () => import('./pages/ApiDocs'),
  '/users/$id': () => import('./pages/UserPage'),
  '/groups/$id': () => import('./pages/GroupPage'),
}

/** scrollsItself reports whether a page scrolls to a target in the URL by itself. */
const scrollsItself = (location: { pathname: string; search: Record<string, unknown> }) => location.pathname.endsWith('/api') && location.search.op !== undefined

export function createAppRouter(onLanguage: (l: Language) => void) {
  const root = createRootRoute({ component: () => <Shell onLanguage={onLanguage} />, errorComponent: ({ error }) => <Problem error={error} />, notFoundComponent: () => <Problem error={new Error('404')} /> })
  const routes = [
    ...Object.entries(special).map(([path, load]) => createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load) })),
    ...resources.map((r) => createRoute({ getParentRoute: () => root, path: `/${r.name}`, component: lazyRouteComponent(() => import('./pages/ResourcePage')) })),
  ]
  return createRouter({ routeTree: root.addChildren(routes), basepath: base, parseSearch, stringifySearch, defaultPreload: false, scrollRestoration: ({ location }) => !scrollsItself(location) })
}
