// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import type { Document } from '../api/document'
import { NewToken, PermissionTree, RolePicker } from './access'
import { AuditDetail, ChangeSummary, type AuditRecord } from './audit'
import type { Inputs } from './form'

/** View is how a collection differs from what is made from its document. */
export interface View {
  /** cells draw columns. */
  cells?: Record<string, (record: Record<string, unknown>) => ReactNode>
  /** detail shows one record. */
  detail?: (record: Record<string, unknown>) => ReactNode
  /** inputs are fields of forms. */
  inputs?: Inputs
  /** created shows what a creation returned, if that is seen only once. */
  created?: (result: unknown) => ReactNode
  /** suggestions are values that a filter offers. */
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
