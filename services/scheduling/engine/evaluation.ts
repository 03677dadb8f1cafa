/**
 * Evaluates the expressions of a plan for the core: properties before a request of the resource, and outputs on a read.
 * Secrets are opened here. A result that could show a secret is sealed again before it leaves.
 */
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { StackView } from '@anneal/contracts/scheduling.ts';
import type { PreviewTools } from '@anneal/convergence/preview/preview.ts';
import type { Comparison, Resolution, Tools } from '@anneal/convergence/protocol.ts';
import { answerAtOnce, type AnsweredAtOnce } from '../provider/at-once.ts';
import { wrongSignal } from '../provider/signals.ts';
import {
  representative,
  type ResourceDocument,
  servedType,
  type StackDocument,
  type Typed,
} from '@anneal/convergence/documents.ts';
import type { SizeLimits } from '@anneal/convergence/resources/size.ts';
import { evaluate, unknown, type Scope, type Unknown } from '@anneal/hot/evaluate.ts';
import { opened } from '@anneal/hot/groups/open.ts';
import { compareProperties, resolveProperties, type ResolvedProperties } from '@anneal/hot/resources/properties.ts';
import { walk } from '@anneal/hot/evaluate/attribute-path.ts';
import { Abandoned, EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { createBounds, type Evaluated } from './bounds.ts';
import type { Heavy, HeavyTask } from './heavy.ts';
import { nestedReference } from '../nested/reference.ts';
import { findRead, withoutReads } from '../nested/reads.ts';
import { createSealing, type Peer } from './sealing.ts';

export interface Evaluation {
  readonly sizes: SizeLimits;
  /** A step whose tools have unresolved tasks is discarded. The tasks run in a worker, and then the step runs again. */
  toolsAt(parameters: {
    now: number;
    answered: AnsweredAtOnce;
    graceMs: number;
    limit: number;
    most?: number;
  }): Tools & { readonly unresolved: readonly HeavyTask[] };
  /** Values that could show a secret are sealed; the service that shows the outputs opens them. @throws NeedsWorker */
  outputs(parameters: Evaluated): NonNullable<StackView['outputs']>;
  /** Outputs by name. Values that could show a secret are sealed; failed ones are null. @throws NeedsWorker */
  sealedOutputs(parameters: Evaluated): JsonObject;
  /** The value of `get_resource` for the resource in a stack of the project; a secret stays sealed. */
  referenceTo(resource: ResourceDocument, project: string): Json;
  /** The stored value of an attribute, and the part of the path that is still to be followed. */
  attributeOf(
    resource: ResourceDocument,
    path: readonly Json[],
  ): { readonly value: Json | undefined; readonly rest: readonly Json[] };
  previewTools(parameters: { plan: Plan; stack: StackDocument }): PreviewTools;
  /** The value of an expression that reads only parameters. Without an expression or a known value: an empty map. */
  written(expression: Expression | undefined, parameters: { plan: Plan; stack: StackDocument }): Json;
}

/** The work that a preview of a stack may take, and the additional work for each of its resources. */
const [workOfPreview, workAResource] = [500_000, 200];

/** The most characters of a physical name, unless the type has its own limit. */
const nameLimit = 255;

export function createEvaluation(parameters: {
  secrets: Secrets;
  typeOf: (type: string) => ResourceType | undefined;
  sizes: SizeLimits;
  /** Holds the results of workers. Absent inside a worker, which has no smaller limit for the event loop. */
  heavy?: Pick<Heavy, 'resultOf'>;
}): Evaluation {
  const { secrets, typeOf, sizes, heavy } = parameters;
  const servedBy = (resource: Typed): ResourceType | undefined => {
    const type = servedType(resource);
    return type === undefined ? undefined : typeOf(type);
  };

  const referenceTo: Evaluation['referenceTo'] = (resource, project) => {
    const attribute = servedBy(resource)?.reference;
    const value = attribute === undefined ? undefined : resource.attributes[attribute];
    return value ?? nestedReference(resource, project) ?? resource.physical_id ?? resource.name;
  };

  const { readsSecret, sealParts, sealProperties } = createSealing({ secrets, servedBy });

  const scopeOf = (plan: Plan, stack: StackDocument, peer: Peer): Scope => ({
    templateVersion: plan.template_version,
    isHidden: (expression) => readsSecret(expression, { plan, peer }),
    parameter(name) {
      const found = Object.hasOwn(plan.parameters, name) ? plan.parameters[name] : undefined;
      return found ? secrets.open(found.value) : pseudoParameter(name, stack);
    },
    reference(name) {
      const resource = peer(name);
      return resource && secrets.open<Json>(referenceTo(resource, stack.project));
    },
    attribute(name) {
      const resource = peer(name);
      return resource && (secrets.open<Json>(withoutReads(resource)) as JsonObject);
    },
    read(name, attribute, path) {
      const resource = peer(name);
      const found = resource && findRead(resource, [attribute, ...path]);
      if (found?.problem !== undefined) throw unreadable(found.problem, `resources.${name}`);
      return found && walk(secrets.open(found.value), found.rest);
    },
  });

  const typeFor = ({ type, nested }: PlanResource): ResourceType =>
    nested?.kind === 'template' ? openType(type) : definitionOf(type);

  const resolve = (
    { plan, resource, stack, peer }: Evaluated & { readonly resource: PlanResource },
    work: EvaluationWork,
  ): Resolution => {
    try {
      const scope = { ...scopeOf(plan, stack, peer), work };
      const resolved = resolveProperties({ resource, type: typeFor(resource), scope });
      const refusal = resource.external_id ? undefined : refusalOf(resource.name, resolved);
      if (refusal) return { ok: false, failure: refusal };
      const properties = sealProperties(resource, resolved.properties, { plan, peer });
      const external =
        resource.external_id && evaluate(resource.external_id, scope, `resources.${resource.name}.external_id`);
      if (typeof external === 'string') return { ok: true, properties: {}, external_id: external };
      if (!resource.metadata) return { ok: true, properties };
      const metadata = evaluate(resource.metadata, scope, `resources.${resource.name}.metadata`);
      if (metadata === unknown) return { ok: true, properties };
      return { ok: true, properties, metadata: sealParts(resource.metadata, metadata, { plan, peer }) };
    } catch (error) {
      if (error instanceof Abandoned) throw error;
      return { ok: false, failure: toFailure(error) };
    }
  };

  const { bounded, resolving } = createBounds({ heavy, typeOf, sizes, resolve });

  const outputs = ({ plan, stack, peer }: Evaluated, work: EvaluationWork): NonNullable<StackView['outputs']> => {
    const read = outputsWithin(sizes, { ...scopeOf(plan, stack, peer), work });
    return Object.values(plan.outputs).map(({ name, value, description = '' }) => {
      try {
        const found = read(name, value);
        // An output that reads a missing resource has no value yet. That is not an error.
        return { key: name, description, value: found === unknown ? null : sealParts(value, found, { plan, peer }) };
      } catch (error) {
        if (error instanceof Abandoned) throw error;
        return { key: name, description, value: null, error: toFailure(error).message };
      }
    });
  };

  const sealedOutputs = ({ plan, stack, peer }: Evaluated, work: EvaluationWork): JsonObject => {
    const read = outputsWithin(sizes, { ...scopeOf(plan, stack, peer), work });
    return Object.fromEntries(
      Object.values(plan.outputs).map(({ name, value }): [string, Json] => {
        try {
          const found = read(name, value);
          return [name, found === unknown ? null : sealParts(value, found, { plan, peer })];
        } catch (error) {
          if (error instanceof AnnealError) return [name, null];
          throw error;
        }
      }),
    );
  };

  /** Accepts any property of a type that no provider has announced; its provider may still refuse the request. */
  const definitionOf = (type: string): ResourceType => typeOf(type) ?? openType(type);

  const compare: Tools['compare'] = ({ type, isTemplate = false, before, after }): Comparison => {
    const { changed, replace } = compareProperties({
      type: isTemplate ? openType(type) : definitionOf(type),
      // A rotated key or a new format of seals changes no property.
      before: secrets.renew(before),
      after: secrets.renew(after),
    });
    if (changed.length === 0) return { verdict: 'same' };
    return { verdict: replace.length > 0 ? 'replace' : 'update', changed };
  };

  const replaceFailed: Tools['replaceFailed'] = (type) => typeOf(type)?.failed_update !== 'repair';

  const previewTools = (plan: Plan, stack: StackDocument): PreviewTools => {
    // A preview is refused when it takes more work, because no worker continues it.
    const work = new EvaluationWork(workOfPreview + workAResource * Object.keys(plan.resources).length);
    return {
      compare,
      replaceFailed,
      replaces(resource, property) {
        const type = typeFor(resource);
        if (type.open_properties) return false;
        return !(Object.hasOwn(type.properties, property) && type.properties[property]?.update_allowed === true);
      },
      resolve(resource, peer) {
        const whole: Peer = (name) => peer(name)?.resource;
        const scope = { ...scopeOf(plan, stack, whole), work };
        const shows = (name: string): boolean => peer(name)?.attributes === true;
        const resolved = resolveProperties({
          resource,
          type: typeFor(resource),
          scope: {
            ...scope,
            attribute: (name) => (shows(name) ? scope.attribute(name) : undefined),
            read: (name, attribute, path) => (shows(name) ? scope.read?.(name, attribute, path) : unknown),
          },
        });
        const seal = (properties: JsonObject): JsonObject =>
          sealProperties(resource, properties, { plan, peer: whole });
        const open = Object.entries(resolved.all).map(([name, value]): [string, Json] => [name, opened(value)]);
        return {
          properties: seal(resolved.properties),
          unknown: resolved.unknown,
          open: seal(Object.fromEntries(open)),
        };
      },
    };
  };

  return {
    sizes,
    toolsAt: ({ now, answered, graceMs, limit, most }) => ({
      now,
      graceMs,
      limit,
      ...(most !== undefined && { most }),
      sizes,
      wrongSignal,
      serves: (resource, action) => servedBy(resource)?.actions?.includes(action) ?? false,
      // A repeated step of the same input gives the same ids.
      newId: (input, count) => derivedId(`${input}\n${count}`),
      ...resolving(),
      compare,
      atOnce: (pending) => answerAtOnce(pending, { secrets, answered }),
      replaceFailed,
      nameLimit: (resource) => servedBy(resource)?.name_limit ?? nameLimit,
    }),
    previewTools: ({ plan, stack }) => previewTools(plan, stack),
    referenceTo,
    attributeOf(resource, path) {
      const found = findRead(resource, path);
      if (found) return found;
      const [first, ...rest] = path;
      const { attributes } = resource;
      return { value: typeof first === 'string' && Object.hasOwn(attributes, first) ? attributes[first] : null, rest };
    },
    sealedOutputs: (about) =>
      bounded('sealed outputs', about, {
        run: (work) => sealedOutputs(about, work),
        failed: () => Object.fromEntries(Object.keys(about.plan.outputs).map((name) => [name, null])),
      }),
    written(expression, { plan, stack }) {
      if (!expression) return {};
      const value = evaluate(
        expression,
        scopeOf(plan, stack, () => undefined),
      );
      return value === unknown ? {} : sealParts(expression, value, { plan, peer: () => undefined });
    },
    outputs: (about) =>
      bounded('outputs', about, {
        run: (work) => outputs(about, work),
        failed: ({ message }) =>
          Object.values(about.plan.outputs).map(({ name, description = '' }) => ({
            key: name,
            description,
            value: null,
            error: message,
          })),
      }),
  };
}

/** The incarnation of each name that outputs read. */
export function shownPeers(resources: readonly ResourceDocument[]): Peer {
  const byName = new Map<string, ResourceDocument[]>();
  for (const resource of resources) {
    // Skip an object that is not created yet. During a replacement the original is still readable.
    if (resource.action === 'CREATE' && resource.status !== 'COMPLETE') continue;
    const list = byName.get(resource.name);
    if (list) list.push(resource);
    else byName.set(resource.name, [resource]);
  }
  return (name) => representative(byName.get(name) ?? []);
}

/** Reads outputs within the limit of one and the shared limit of all. @throws AnnealError for one that does not fit. */
function outputsWithin({ value: most, resource: all }: SizeLimits, scope: Scope) {
  let bytes = 0;
  return (name: string, expression: Expression): Json | Unknown => {
    const path = `outputs.${name}.value`;
    const found = evaluate(expression, scope, path);
    if (found === unknown) return found;
    const size = jsonBytes(found, all.bytes);
    bytes += size;
    const limit = size > most.bytes ? most : bytes > all.bytes ? all : undefined;
    if (!limit) return found;
    const what =
      limit === most ? `Output ${name} has ${size} bytes` : `With output ${name} all outputs have ${bytes} bytes`;
    bytes -= size;
    throw new AnnealError('TooLarge', `${what}; the limit is ${limit.bytes} (${limit.setting}).`);
  };
}

const unreadable = (message: string, path: string): AnnealError =>
  new AnnealError('NotFound', message, { mistakes: [{ code: 'UnknownAttribute', message, path }] });

/** A type that accepts all properties. The compiler checks the parameters of a nested template. */
const openType = (type: string): ResourceType => ({
  type,
  properties: {},
  attributes: {},
  open_properties: true,
  open_attributes: true,
});

function pseudoParameter(name: string, stack: StackDocument): Json | undefined {
  const values: Readonly<Record<string, string>> = {
    'OS::stack_id': stack.id,
    'OS::stack_name': stack.name,
    'OS::project_id': stack.project,
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function refusalOf(resource: string, { mistakes, unknown: open }: ResolvedProperties): Failure | undefined {
  if (mistakes.length > 0) {
    return {
      code: 'InvalidRequest',
      message: mistakes
        .map(({ message }) => message)
        .join('; ')
        .slice(0, 4096),
      remedy: 'Fix the listed mistakes, then update the stack.',
      mistakes: mistakes.map(({ steps: _steps, ...mistake }) => mistake),
    };
  }
  if (open.length === 0) return undefined;
  return {
    code: 'InvalidRequest',
    message: `Properties ${open.join(', ')} of ${resource} read values that do not exist yet.`,
    remedy: 'Add the resources that it reads to its requirements, by depends_on or by reference.',
  };
}
