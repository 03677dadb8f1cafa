/** Stacks over Heat's API. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { jsonObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { FailurePolicy } from '@anneal/contracts/calls/stacks.ts';
import type { StackRevision, stackRevisionShow } from '@anneal/contracts/calls/stack-history.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { z } from 'zod';
import type { PageOf, ResourcePage } from './page.ts';
import type { GatewayConnection } from './connection.ts';
import { locate } from './nested.ts';
import { read, readList } from './read.ts';
import {
  outputSchema,
  resourceSchema,
  stackEventRowSchema,
  stackRowSchema,
  stackSchema,
  type OutputRepresentation,
  type Resource,
  type Stack,
  type StackEventRow,
  type StackRow,
} from './representation.ts';

/** A template with all files that it names: the result of `collectFiles`. */
export interface TemplateBundle {
  template: string;
  /** Names of environments in `files`, merged in order. */
  environmentFiles: readonly string[];
  files: Readonly<Record<string, string>>;
}

/** Options of a new or an updated stack. The gateway chooses a default for an absent one. */
export interface StackOptions {
  parameters?: Readonly<Record<string, Json>> | undefined;
  timeoutMinutes?: number | undefined;
  onFailure?: FailurePolicy | undefined;
  tags?: readonly string[] | undefined;
  /** The hash of a plan that was shown. The request is refused when its changes would differ from that plan. */
  planHash?: string | undefined;
  /** Check the real objects first. */
  converge?: boolean | undefined;
  /** Begin from this stored revision of the stack instead of its current state. Only with `existing`. */
  revision?: string | undefined;
}

/** The id of a stack, and its name, which a new stack may use after its deletion. */
export interface StackRef {
  id: string;
  name: string;
}

/** The accepted stack, with parts of its template that are probably mistakes. */
export interface Accepted extends StackRef {
  warnings?: readonly Mistake[] | undefined;
}

const warned = z.object({ warnings: z.array(mistakeSchema).optional() });

/**
 * Stacks and their parts. `stack` is a name or an id. A call about a stack that does not exist rejects with NotFound.
 */
export interface Stacks {
  create(parameters: { name: string; bundle: TemplateBundle } & StackOptions): Promise<Accepted>;
  /** Without a bundle, applies the current template again with other parameters (PATCH). */
  update(
    parameters: {
      stack: string;
      bundle?: TemplateBundle | undefined;
      /** Keep the parameters, environment and files that are not given. */
      existing?: boolean | undefined;
      clearParameters?: readonly string[] | undefined;
    } & StackOptions,
  ): Promise<Accepted>;
  delete(parameters: { stack: string }): Promise<StackRef>;
  show(parameters: { stack: string; outputs?: boolean; signal?: AbortSignal }): Promise<Stack>;
  /** Name and id of a stack, found by either. */
  find(parameters: { stack: string; signal?: AbortSignal }): Promise<StackRef>;
  /** One page of the stacks that are not nested, newest first. Columns: created, name, status, changed. */
  page(parameters: PageRequest): Promise<PageOf<StackRow>>;
  list(parameters?: {
    limit?: number;
    marker?: string;
    deleted?: boolean;
    nested?: boolean;
    status?: string;
    /** The stacks of every project, each with its `project`. Only operators may. */
    allProjects?: boolean;
    signal?: AbortSignal;
  }): Promise<StackRow[]>;
  resources(parameters: {
    stack: string;
    detail?: boolean;
    /** How many levels of nested stacks. */
    depth?: number;
    signal?: AbortSignal;
  }): Promise<Resource[]>;
  /**
   * One page of the resources of the stack and its nested stacks, with how many are in which state. Columns: path, state
   * (what failed first), type, changed.
   */
  resourcePage(parameters: PageRequest & { stack: string; depth?: number | undefined }): Promise<ResourcePage>;
  /** Finds a resource by its name, or by its path into nested stacks: `group/0/server`. */
  resource(parameters: { stack: string; resource: string }): Promise<Resource>;
  events(parameters: {
    stack: string;
    resource?: string | undefined;
    limit?: number | undefined;
    marker?: string | undefined;
    descending?: boolean | undefined;
    /** Also the events of nested stacks, down to this depth. */
    depth?: number | undefined;
  }): Promise<StackEventRow[]>;
  outputs(parameters: { stack: string }): Promise<OutputRepresentation[]>;
  output(parameters: { stack: string; key: string }): Promise<OutputRepresentation>;
  /** The template as it was parsed. */
  template(parameters: { stack: string }): Promise<JsonObject>;
  /** The states that the stack was sent towards, the newest first. */
  revisions(parameters: { stack: string }): Promise<StackRevision[]>;
  revision(parameters: { stack: string; revision: string }): Promise<z.infer<typeof stackRevisionShow.answer>>;
  /** Heat's description of the template; refused with every mistake. */
  validate(parameters: { bundle: TemplateBundle } & Pick<StackOptions, 'parameters'>): Promise<Record<string, unknown>>;
}

/** The fields of a request that carry a template with its files and environments. */
export const bundleBody = (bundle: TemplateBundle): Record<string, unknown> => ({
  template: bundle.template,
  files: bundle.files,
  ...(bundle.environmentFiles.length > 0 && { environment_files: bundle.environmentFiles }),
});
/** The fields of a request that carry the options. Absent options stay absent. */
export const optionsBody = ({
  parameters,
  timeoutMinutes,
  onFailure,
  tags,
  planHash,
  converge,
  revision,
}: StackOptions): Record<string, unknown> => ({
  ...(parameters && { parameters }),
  ...(timeoutMinutes !== undefined && { timeout_mins: timeoutMinutes }),
  ...(onFailure !== undefined && { on_failure: onFailure }),
  ...(planHash !== undefined && { plan_hash: planHash }),
  ...(converge && { converge }),
  ...(revision !== undefined && { revision }),
  ...(tags && { tags: tags.join(',') }),
});

/** The canonical path of a stack, below the service's address. */
export const stackUrlPath = ({ id, name }: StackRef): string => `/stacks/${encodeURIComponent(name)}/${id}`;

const service = 'orchestration';

/** The calls for stacks. Each throws the gateway's AnnealError. */
export function stacksOf(connection: GatewayConnection): Stacks {
  // Heat redirects a name to the canonical path with 302. `fetch` would follow a POST or PUT with a GET, so the client
  // finds the canonical path first and uses it for everything else.
  const find: Stacks['find'] = async ({ stack, signal }) => {
    const what = `find the stack ${stack}`;
    const body = await connection.json({ service, path: `/stacks/${encodeURIComponent(stack)}`, what, signal });
    const { id, stack_name: name } = read(z.object({ stack: stackRowSchema }), body, what).stack;
    return { id, name };
  };

  const show: Stacks['show'] = async ({ stack, outputs, signal }) => {
    const what = `show the stack ${stack}`;
    const body = await connection.json({
      service,
      path: `/stacks/${encodeURIComponent(stack)}`,
      query: { resolve_outputs: outputs ?? true },
      what,
      signal,
    });
    return read(z.object({ stack: stackSchema }), body, what).stack;
  };

  const showResource: Stacks['resource'] = async ({ stack, resource }) => {
    const what = `show the resource ${resource} of ${stack}`;
    const ref = await locate({ find, resource: showResource }, { stack, path: resource });
    const path = `${stackUrlPath(ref)}/resources/${encodeURIComponent(ref.resource)}`;
    return read(z.object({ resource: resourceSchema }), await connection.json({ service, path, what }), what).resource;
  };

  return {
    find,
    show,
    ...changesOf(connection, find),
    ...listsOf(connection, find),
    resource: showResource,
    async outputs({ stack }) {
      return (await show({ stack })).outputs ?? [];
    },
    async output({ stack, key }) {
      const what = `show the output ${key} of ${stack}`;
      const ref = await find({ stack });
      const path = `${stackUrlPath(ref)}/outputs/${encodeURIComponent(key)}`;
      return read(z.object({ output: outputSchema }), await connection.json({ service, path, what }), what).output;
    },
    async template({ stack }) {
      const what = `read the template of ${stack}`;
      const path = `${stackUrlPath(await find({ stack }))}/template`;
      return read(jsonObject, await connection.json({ service, path, what }), what);
    },
    ...revisionsOf(connection, find),
    async validate({ bundle, parameters }) {
      const what = 'validate the template';
      const body = await connection.json({
        service,
        path: '/validate',
        method: 'POST',
        onlyAsks: true,
        body: { ...bundleBody(bundle), ...(parameters && { parameters }) },
        what,
      });
      return read(z.record(z.string(), z.unknown()), body, what);
    },
  };
}

/** Loads their contracts on demand, because a list of stacks needs none of the many behind them. */
function revisionsOf(connection: GatewayConnection, find: Stacks['find']): Pick<Stacks, 'revisions' | 'revision'> {
  return {
    async revisions({ stack }) {
      const what = `list the revisions of ${stack}`;
      const { id } = await find({ stack });
      const path = `/stacks/${id}/revisions`;
      const { stackRevisionList } = await import('@anneal/contracts/calls/stack-history.ts');
      return read(stackRevisionList.answer, await connection.json({ service: 'api', path, what }), what).revisions;
    },
    async revision({ stack, revision }) {
      const what = `show the revision ${revision} of ${stack}`;
      const { id } = await find({ stack });
      const path = `/stacks/${id}/revisions/${encodeURIComponent(revision)}`;
      const { stackRevisionShow } = await import('@anneal/contracts/calls/stack-history.ts');
      return read(stackRevisionShow.answer, await connection.json({ service: 'api', path, what }), what);
    },
  };
}

/** `find` finds the canonical path of a stack. */
function changesOf(connection: GatewayConnection, find: Stacks['find']): Pick<Stacks, 'create' | 'update' | 'delete'> {
  return {
    async create({ name, bundle, ...options }) {
      const what = `create the stack ${name}`;
      const body = await connection.json({
        service,
        path: '/stacks',
        method: 'POST',
        body: { stack_name: name, ...bundleBody(bundle), ...optionsBody(options) },
        what,
      });
      const { stack, warnings } = read(warned.extend({ stack: z.object({ id: z.string() }) }), body, what);
      return { id: stack.id, name, warnings };
    },
    async update({ stack, bundle, existing, clearParameters, ...options }) {
      if (!bundle && !existing) {
        throw new AnnealError(
          'InvalidRequest',
          `Cannot update ${stack} without a template, unless the update keeps the existing one.`,
        );
      }
      const ref = await find({ stack });
      const what = `update the stack ${stack}`;
      const body = await connection.json({
        service,
        path: stackUrlPath(ref),
        method: existing ? 'PATCH' : 'PUT',
        body: {
          ...(bundle && bundleBody(bundle)),
          ...optionsBody(options),
          ...(clearParameters && { clear_parameters: clearParameters }),
        },
        what,
      });
      return { ...ref, ...read(warned, body, what) };
    },
    async delete({ stack }) {
      const ref = await find({ stack });
      await connection.call({ service, path: stackUrlPath(ref), method: 'DELETE', what: `delete the stack ${stack}` });
      return ref;
    },
  };
}

function listsOf(
  connection: GatewayConnection,
  find: Stacks['find'],
): Pick<Stacks, 'list' | 'page' | 'resources' | 'resourcePage' | 'events'> {
  return {
    async page(page) {
      // Loaded here, because the command line lists stacks without pages.
      const { readPage } = await import('./page.ts');
      return readPage(connection, { path: '/stacks', key: 'stacks', row: stackRowSchema, ...page });
    },
    async list({ limit, marker, deleted, nested, status, allProjects, signal } = {}) {
      const what = 'list the stacks';
      const body = await connection.json({
        service,
        path: '/stacks',
        query: {
          limit,
          marker,
          status,
          show_deleted: deleted ? true : undefined,
          show_nested: nested ? true : undefined,
          global_tenant: allProjects ? true : undefined,
        },
        what,
        signal,
      });
      return readList({ stacks: stackRowSchema }, body, what);
    },
    async resources({ stack, detail, depth, signal }) {
      const what = `list the resources of ${stack}`;
      const ref = await find({ stack, ...(signal && { signal }) });
      const body = await connection.json({
        service,
        path: `${stackUrlPath(ref)}/resources`,
        query: { with_detail: detail ? true : undefined, nested_depth: depth },
        what,
        signal,
      });
      return readList({ resources: resourceSchema }, body, what);
    },
    async resourcePage({ stack, ...query }) {
      const { readResourcePage } = await import('./page.ts');
      return readResourcePage(connection, { stack, ...query });
    },
    async events({ stack, resource, limit, marker, descending, depth }) {
      const what = `list the events of ${stack}`;
      const ref = await find({ stack });
      const body = await connection.json({
        service,
        path: `${stackUrlPath(ref)}/events`,
        query: {
          limit,
          marker,
          sort_dir: descending ? 'desc' : 'asc',
          resource_name: resource,
          nested_depth: depth,
        },
        what,
      });
      return readList({ events: stackEventRowSchema }, body, what);
    },
  };
}
