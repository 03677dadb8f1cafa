/** Resource types over Heat's API: those that providers serve at this moment. */
import { json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';

/** A property, or a key or an item of one. */
export interface TypeProperty {
  type: string;
  description?: string | null | undefined;
  required?: boolean | undefined;
  default?: unknown;
  /** A change does not replace the resource. */
  update_allowed?: boolean | undefined;
  immutable?: boolean | undefined;
  constraints?: Record<string, unknown>[] | undefined;
  /** The keys of a map; the items of a list under `*`. */
  schema?: Record<string, TypeProperty> | undefined;
}

const propertyForm: z.ZodType<TypeProperty> = z.lazy(() =>
  z.object({
    type: z.string(),
    description: z.string().nullish(),
    required: z.boolean().optional(),
    default: json.optional(),
    update_allowed: z.boolean().optional(),
    immutable: z.boolean().optional(),
    constraints: z.array(z.record(z.string(), z.unknown())).optional(),
    schema: z.record(z.string(), propertyForm).optional(),
  }),
);
const typeForm = z.object({
  resource_type: z.string(),
  description: z.string().nullish(),
  properties: z.record(z.string(), propertyForm),
  attributes: z.record(z.string(), z.object({ description: z.string().nullish() })),
});
const rowForm = z.object({ resource_type: z.string(), description: z.string().nullish() });

/** A resource type with its properties and attributes. `served`: a provider makes it. */
export type TypeDescription = z.infer<typeof typeForm> & { readonly served: boolean };
/** A resource type in a list. */
export type TypeRow = z.infer<typeof rowForm>;

/** The types that some provider serves. A type that none serves rejects with NotFound. */
export interface TypeCalls {
  list(parameters?: { signal?: AbortSignal }): Promise<TypeRow[]>;
  show(parameters: { type: string }): Promise<TypeDescription>;
}

/** The calls for types. Each throws the gateway's AnnealError. */
export function typesOf(connection: GatewayConnection): TypeCalls {
  const service = 'orchestration';
  const query = { with_description: 'true' };
  return {
    async list({ signal } = {}) {
      const what = 'list the resource types';
      const body = await connection.json({ service, path: '/resource_types', query, what, signal });
      return readList({ resource_types: rowForm }, body, what);
    },
    async show({ type }) {
      const what = `show the resource type ${type}`;
      const path = `/resource_types/${encodeURIComponent(type)}`;
      return { ...read(typeForm, await connection.json({ service, path, query, what }), what), served: true };
    },
  };
}
