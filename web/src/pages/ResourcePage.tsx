// SPDX-License-Identifier: Apache-2.0

import { useNavigate, useRouterState, useSearch } from '@tanstack/react-router'
import { resources } from '../resources'
import { ResourceList } from '../ui/list'
import type { Search } from '../ui/filters'

export default function ResourcePage() {
  const path = useRouterState({ select: (s) => s.location.pathname }).replace(/^\/+|\/+$/g, '')
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const resource = resources.find((r) => r.name === path.slice(path.lastIndexOf('/') + 1)) ?? resources[0]!
  return <ResourceList key={resource.name} resource={resource} search={search} onSearch={(s) => void navigate({ to: `/${resource.name}`, search: s as never })} />
}
