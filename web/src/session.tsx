// SPDX-License-Identifier: Apache-2.0

import { createContext, useContext } from 'react'
import type { Session } from './api/client'
import type { Documents, Operation } from './api/document'

/** State is the logged-in administrator and the documents, for all pages. */
export interface State {
  session: Session
  documents: Documents
  logout: () => Promise<void>
}

export const SessionContext = createContext<State | null>(null)

export function useSession(): State {
  const state = useContext(SessionContext)
  if (!state) throw new Error('no session')
  return state
}

/**
 * useMay returns functions that return the permission that an operation needs and the administrator
 * lacks, or undefined.
 */
export function useMay() {
  const { session, documents } = useSession()
  const missing = (permission: string | undefined) => (permission && !session.permissions.includes(permission) ? permission : undefined)
  return {
    permission: missing,
    operation: (op: Operation | undefined) => missing(op?.permission),
    call: (method: string, path: string) => missing((documents.service.find(method, path) ?? documents.gateway.find(method, path))?.permission),
  }
}
