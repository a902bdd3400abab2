// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import type { Document } from '../api/document'
import { NewToken, PermissionTree, RolePicker } from './access'
import { AuditDetail, ChangeSummary, type AuditRecord } from './audit'
import type { Inputs } from './form'

/** View customizes what is generated for a collection. */
export interface View {
  /** cells renders columns. */
  cells?: Record<string, (record: Record<string, unknown>) => ReactNode>
  /** detail renders one record. */
  detail?: (record: Record<string, unknown>) => ReactNode
  /** inputs are custom inputs of forms. */
  inputs?: Inputs
  /** created shows the result of a creation that is visible only once. */
  created?: (result: unknown) => ReactNode
  /** suggestions are suggested values of filters. */
  suggestions?: (d: Document) => Record<string, string[]>
}

export const views: Record<string, View> = {
  'admin-roles': { inputs: { permissions: (p) => <PermissionTree {...p} /> } },
  admins: { inputs: { roleIds: (p) => <RolePicker {...p} /> } },
  tokens: { inputs: { permissions: (p) => <PermissionTree {...p} /> }, created: (result) => <NewToken token={(result as Schemas['NewAdminToken']).token} /> },
  audit: {
    cells: { changes: (r) => <ChangeSummary record={r as unknown as AuditRecord} /> },
    detail: (r) => <AuditDetail record={r as unknown as AuditRecord} />,
    suggestions: (d) => ({ operations: d.operations.filter((o) => o.method !== 'GET').map((o) => o.operationId), loginNames: [] }),
  },
}
