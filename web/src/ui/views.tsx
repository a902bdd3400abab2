// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react'
import type { Document } from '../api/document'
import { AuditDetail, ChangeSummary, type AuditRecord } from './audit'

/** View is how a collection differs from what is made from its document. */
export interface View {
  /** cells draw columns. */
  cells?: Record<string, (record: Record<string, unknown>) => ReactNode>
  /** detail shows one record. */
  detail?: (record: Record<string, unknown>) => ReactNode
  /** suggestions are values that a filter offers. */
  suggestions?: (d: Document) => Record<string, string[]>
}

export const views: Record<string, View> = {
  audit: {
    cells: { changes: (r) => <ChangeSummary record={r as unknown as AuditRecord} /> },
    detail: (r) => <AuditDetail record={r as unknown as AuditRecord} />,
    suggestions: (d) => ({ operations: d.operations.filter((o) => o.method !== 'GET').map((o) => o.operationId), loginNames: [] }),
  },
}
