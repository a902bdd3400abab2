// SPDX-License-Identifier: Apache-2.0

// The OpenAPI documents at run time. Lists, filters, forms and permissions are generated from them.

import { document_ } from './client'

export interface Schema {
  $ref?: string
  allOf?: Schema[]
  type?: string
  format?: string
  description?: string
  enum?: string[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  default?: unknown
  example?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  nullable?: boolean
}

export interface Parameter {
  name: string
  in: string
  description?: string
  required?: boolean
  schema?: Schema
  content?: Record<string, { schema: Schema }>
}

export interface Operation {
  operationId: string
  method: string
  path: string
  summary: string
  description?: string
  tags: string[]
  deprecated?: boolean
  parameters: Parameter[]
  permission?: string
  body?: Schema
  form: boolean
  responses: Record<string, { description: string; content?: Record<string, { schema?: Schema; example?: unknown }> }>
  security: boolean
}

interface RawOperation {
  operationId: string
  summary: string
  description?: string
  tags?: string[]
  deprecated?: boolean
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema?: Schema }> }
  responses: Operation['responses']
  security?: unknown[]
  'x-permission'?: string
}

interface Raw {
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, RawOperation>>
  components: { schemas: Record<string, Schema> }
  tags?: { name: string; description?: string }[]
}

/** Document is one role's OpenAPI document. */
export class Document {
  readonly operations: Operation[] = []
  private readonly index = new Map<string, Operation>()

  constructor(readonly raw: Raw) {
    for (const [path, methods] of Object.entries(raw.paths)) {
      for (const [method, o] of Object.entries(methods)) {
        if (method === 'parameters') continue
        const content = o.requestBody?.content ?? {}
        const op: Operation = {
          operationId: o.operationId, method: method.toUpperCase(), path, summary: o.summary, description: o.description,
          tags: o.tags ?? [], deprecated: o.deprecated, parameters: o.parameters ?? [], permission: o['x-permission'],
          body: content['application/json']?.schema, form: 'multipart/form-data' in content, responses: o.responses,
          security: (o.security?.length ?? 0) > 0,
        }
        this.operations.push(op)
        this.index.set(`${op.method} ${path}`, op)
      }
    }
  }

  find(method: string, path: string): Operation | undefined {
    return this.index.get(`${method} ${path}`)
  }

  /** resolve resolves references. */
  resolve(s: Schema | undefined): Schema {
    if (!s) return {}
    if (s.$ref) {
      const name = s.$ref.slice(s.$ref.lastIndexOf('/') + 1)
      return this.resolve(this.raw.components.schemas[name])
    }
    if (s.allOf) {
      const merged: Schema = {}
      for (const part of s.allOf) Object.assign(merged, this.resolve(part))
      return { ...merged, ...s, allOf: undefined, description: s.description ?? merged.description }
    }
    return s
  }

  /** data returns the schema of the data in the envelope of an operation's response. */
  data(op: Operation): Schema {
    const envelope = this.resolve(op.responses['200']?.content?.['application/json']?.schema)
    return this.resolve(envelope.properties?.data)
  }
}

export interface Documents {
  service: Document
  gateway: Document
}

export async function loadDocuments(): Promise<Documents> {
  const [service, gateway] = await Promise.all([document_('service'), document_('gateway')])
  return { service: new Document(service as Raw), gateway: new Document(gateway as Raw) }
}

/** parameterSchema returns the schema of a parameter, which may be declared in content. */
export function parameterSchema(d: Document, p: Parameter): Schema {
  return d.resolve(p.schema ?? p.content?.['application/json']?.schema)
}
