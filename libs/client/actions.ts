/** Actions on a stack besides create, update, delete and read. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { json, jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import { scalingOutcomeSchema, type ScalingOutcome } from '@anneal/contracts/calls/scaling.ts';
import { plannedChangeSchema, type PlannedChange } from '@anneal/contracts/calls/previews.ts';
import { resourceAct, type ResourceAct } from '@anneal/contracts/calls/resources.ts';
import { type StackAct } from '@anneal/contracts/calls/stacks.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { locate } from './nested.ts';
import { read, readList } from './read.ts';
import { whyOf, type Why } from './why.ts';
import {
  bundleBody,
  optionsBody,
  stackUrlPath,
  type StackOptions,
  type StackRef,
  type Stacks,
  type TemplateBundle,
} from './stacks.ts';

const snapshotSchema = z.looseObject({
  id: z.string(),
  name: z.string().nullable().default(null),
  status: z.string(),
  status_reason: z.string().nullable().default(''),
  creation_time: z.string(),
  data: json.optional(),
});
/** A snapshot of a stack in a list. */
export type SnapshotRow = z.infer<typeof snapshotSchema>;

const planSchema = z.object({
  hash: z.string(),
  changes: z.array(plannedChangeSchema),
  warnings: z.array(mistakeSchema).optional(),
});
/** A planned update: its changes in order, and the hash by which it can be applied unchanged. */
export interface ShownPlan {
  readonly warnings?: readonly Mistake[] | undefined;
  readonly hash: string;
  readonly changes: readonly PlannedChange[];
}

export type { Why } from './why.ts';

/**
 * Actions on stacks and resources. Each resolves when the action is accepted; its end is an event. Errors are those of
 * the gateway.
 */
export interface Actions {
  act(parameters: { stack: string; action: StackAct }): Promise<StackRef>;
  /** The resource by its name, or by its path into nested stacks: `group/0/server`. */
  actOn(parameters: {
    stack: string;
    resource: string;
    action: ResourceAct;
  }): Promise<z.infer<typeof resourceAct.answer>>;
  /** Returns what the group of a scaling policy answered; undefined for other resources. */
  signal(parameters: {
    stack: string;
    resource: string;
    signal: JsonObject | null;
  }): Promise<ScalingOutcome | undefined>;
  why(parameters: { stack: string; resource?: string | undefined }): Promise<Why>;
  /** The changes that an update would make, or a create when no stack has that name. */
  plan(
    parameters: {
      stack: string;
      bundle?: TemplateBundle | undefined;
      existing?: boolean | undefined;
      clearParameters?: readonly string[] | undefined;
      fresh: boolean;
    } & StackOptions,
  ): Promise<ShownPlan>;
  snapshots(parameters: { stack: string }): Promise<SnapshotRow[]>;
  snapshot(parameters: { stack: string; name: string }): Promise<SnapshotRow>;
  showSnapshot(parameters: { stack: string; snapshot: string }): Promise<SnapshotRow>;
  deleteSnapshot(parameters: { stack: string; snapshot: string }): Promise<void>;
  export(parameters: { stack: string }): Promise<JsonObject>;
  /** Forgets the stack and leaves its objects; returns the data for adopting them again. */
  abandon(parameters: { stack: string }): Promise<JsonObject>;
  adopt(parameters: { name: string; data: JsonObject } & StackOptions): Promise<StackRef>;
  import(parameters: ImportRequest): Promise<StackImport>;
}

const importSchema = z.object({
  name: z.string(),
  resources: z.array(
    z.object({
      resource: z.string(),
      type: z.string(),
      status: z.string(),
      manner: z.string(),
      physical_id: z.string(),
      note: z.string(),
    }),
  ),
  warnings: z.array(z.string()),
  mistakes: z.array(mistakeSchema),
  stack: z.object({ id: z.string(), name: z.string() }).nullable(),
});
/** The plan of an import, and the stack unless it was only planned. */
export type StackImport = z.infer<typeof importSchema>;

/** A stack of a running Heat, and how to take it over. */
export interface ImportRequest {
  readonly data: JsonObject;
  readonly name?: string | undefined;
  /** The host of a server, by the path, the name or the id that the server had. */
  readonly hosts?: Readonly<Record<string, string>> | undefined;
  readonly deployments?: readonly JsonObject[] | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly includeFailed?: boolean | undefined;
  readonly dryRun: boolean;
}

const service = 'orchestration';
const encoded = encodeURIComponent;

/** The calls for actions on stacks. Each throws the gateway's AnnealError. */
export function actionsOf(connection: GatewayConnection, stacks: Stacks): Actions {
  const at = async (stack: string): Promise<string> => stackUrlPath(await stacks.find({ stack }));

  return {
    async act({ stack, action }) {
      const ref = await stacks.find({ stack });
      const what = `start ${action.kind} of the stack ${stack}`;
      await connection.call({ service: 'api', path: `/stacks/${ref.id}/actions`, method: 'POST', body: action, what });
      return ref;
    },
    async actOn({ stack, resource, action }) {
      const { id, resource: name } = await locate(stacks, { stack, path: resource });
      const what = `${action.kind} of the resource ${resource} of ${stack}`;
      const path = `/stacks/${id}/resources/${encoded(name)}/actions`;
      const answer = await connection.json({ service: 'api', path, method: 'POST', body: action, what });
      return read(resourceAct.answer, answer, what);
    },
    async signal({ stack, resource, signal }) {
      const what = `signal the resource ${resource} of ${stack}`;
      const ref = await locate(stacks, { stack, path: resource });
      const path = `${stackUrlPath(ref)}/resources/${encoded(ref.resource)}/signal`;
      const answer = await connection.json({ service, path, method: 'POST', body: signal ?? {}, what });
      return read(scalingOutcomeSchema.nullable(), answer, what) ?? undefined;
    },
    async why({ stack, resource }) {
      // An execution has no name; the rest of its id tells it from a stack with such a name.
      const isExecution = /^run-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(stack);
      const id = isExecution ? stack : (await stacks.find({ stack })).id;
      return whyOf(connection).explain({ stack: id, resource });
    },
    async plan({ stack, bundle, existing, clearParameters, fresh, ...options }) {
      const what = `plan ${fresh ? 'the new stack' : 'an update of'} ${stack}`;
      const body = {
        ...(bundle && bundleBody(bundle)),
        ...optionsBody(options),
        ...(clearParameters && { clear_parameters: clearParameters }),
      };
      const answer = fresh
        ? await connection.json({
            service,
            path: '/stacks/preview',
            method: 'POST',
            onlyAsks: true,
            body: { ...body, stack_name: stack },
            what,
          })
        : await connection.json({
            service,
            path: `${await at(stack)}/preview`,
            method: existing ? 'PATCH' : 'PUT',
            query: { show_nested: true },
            body,
            what,
          });
      const { plan, warnings } = read(planSchema.pick({ warnings: true }).extend({ plan: planSchema }), answer, what);
      return { ...plan, ...(warnings && { warnings }) };
    },
    ...snapshotActions(connection, at),
    async export({ stack }) {
      const what = `export the stack ${stack}`;
      return read(jsonObject, await connection.json({ service, path: `${await at(stack)}/export`, what }), what);
    },
    async abandon({ stack }) {
      const what = `abandon the stack ${stack}`;
      const path = `${await at(stack)}/abandon`;
      return read(jsonObject, await connection.json({ service, path, method: 'DELETE', what }), what);
    },
    async adopt({ name, data, ...options }) {
      const what = `adopt the stack ${name}`;
      const body = { stack_name: name, adopt_stack_data: JSON.stringify(data), ...optionsBody(options) };
      const answer = await connection.json({ service, path: '/stacks', method: 'POST', body, what });
      return { id: read(z.object({ stack: z.object({ id: z.string() }) }), answer, what).stack.id, name };
    },
    async import({ includeFailed, dryRun, ...more }) {
      const what = `import the stack ${more.name ?? ''}`.trim();
      const body = { ...more, ...(includeFailed && { include_failed: true }), dry_run: dryRun };
      const answer = await connection.json({ service: 'api', path: '/stacks/import', method: 'POST', body, what });
      return read(importSchema, answer, what);
    },
  };
}

/** `at` finds the path of a stack. */
function snapshotActions(
  connection: GatewayConnection,
  at: (stack: string) => Promise<string>,
): Pick<Actions, 'snapshots' | 'snapshot' | 'showSnapshot' | 'deleteSnapshot'> {
  return {
    async snapshots({ stack }) {
      const what = `list the snapshots of ${stack}`;
      const body = await connection.json({ service, path: `${await at(stack)}/snapshots`, what });
      return readList({ snapshots: snapshotSchema }, body, what);
    },
    async snapshot({ stack, name }) {
      const what = `take a snapshot of ${stack}`;
      const path = `${await at(stack)}/snapshots`;
      return read(snapshotSchema, await connection.json({ service, path, method: 'POST', body: { name }, what }), what);
    },
    async showSnapshot({ stack, snapshot }) {
      const what = `show the snapshot ${snapshot} of ${stack}`;
      const path = `${await at(stack)}/snapshots/${encoded(snapshot)}`;
      return read(z.object({ snapshot: snapshotSchema }), await connection.json({ service, path, what }), what)
        .snapshot;
    },
    async deleteSnapshot({ stack, snapshot }) {
      const what = `delete the snapshot ${snapshot} of ${stack}`;
      await connection.call({
        service,
        path: `${await at(stack)}/snapshots/${encoded(snapshot)}`,
        method: 'DELETE',
        what,
      });
    },
  };
}
