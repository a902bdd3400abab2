// SPDX-License-Identifier: Apache-2.0

import { useMatch, useNavigate, useSearch } from '@tanstack/react-router'
import { resources } from '../resources'
import { ResourceList } from '../ui/list'
import type { Search } from '../ui/filters'

export default function ResourcePage() {
  // The URL may already be that of the next page.
  const path = useMatch({ strict: false }).fullPath as string
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const resource = resources.find((r) => `/${r.name}` === path)!
  return <ResourceList key={resource.name} resource={resource} search={search} onSearch={(s) => void navigate({ to: `/${resource.name}`, search: s as never })} />
}
