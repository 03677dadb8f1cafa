/**
 * Evaluates the expressions of a plan for the core: properties before a request of the resource, and outputs on a read.
 * Secrets are opened here. A result that could show a secret is sealed again before it leaves.
 */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { StackView } from '@anneal/contracts/calls/stacks.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { PreviewTools } from '@anneal/convergence/preview/preview.ts';
import type { Comparison, QueuePlace, Tools } from '@anneal/convergence/protocol.ts';
import { evaluate, unknown } from '@anneal/hot/evaluate.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { sourcesDiffer } from '@anneal/hot/tree/sources.ts';
import { compareProperties } from '@anneal/hot/resources/properties.ts';
import { referencesOf } from '@anneal/hot/tree/references.ts';
import { derivedIdAt } from '@anneal/runtime/derived-id.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { isHeld } from '../groups/facts.ts';
import { memberOf } from '../groups/member-events.ts';
import { findRead } from './reads.ts';
import { answerAtOnce, type StepMoment } from '../at-once/at-once.ts';
import { wrongSignal } from '../documents/signals.ts';
import { createBounds, type Evaluated } from './bounds.ts';
import type { Heavy, HeavyText } from './heavy.ts';
import { shownOutputs } from './outputs.ts';
import { createPreviewTools } from './preview-tools.ts';
import { resolveResource } from './resolve.ts';
import { referenceTo, scopeOf } from './scope.ts';
import { createSealing } from './sealing.ts';
import type { KnownSources } from '../plans/sources.ts';
import { openType, TypeDefinitions } from './types.ts';
import type { SizeLimits } from '@anneal/convergence/size-limits.ts';

export interface Evaluation {
  readonly sizes: SizeLimits;
  /**
   * A step whose tools have unresolved tasks, or sources that must be read, is discarded. The tasks run in a worker, the
   * sources are added to the moment, and then the step runs again.
   */
  toolsAt(parameters: {
    moment: StepMoment;
    graceMs: number;
    limit: number;
    most?: number;
  }): Tools & { readonly unresolved: readonly HeavyText[]; readonly unread: ReadonlySet<string> };
  /** Values that could show a secret are sealed; the service that shows the outputs opens them. @throws NeedsWorker */
  outputs(parameters: Evaluated): NonNullable<StackView['outputs']>;
  /** The value of `get_resource` for the resource in a stack of the project; a secret stays sealed. */
  referenceTo(resource: ResourceDocument, project: string): Json;
  /** The stored value of an attribute, and the part of the path that is still to be followed; or why it has none. */
  attributeOf(
    resource: ResourceDocument,
    path: readonly Json[],
  ): { readonly value: Json | undefined; readonly rest: readonly Json[]; readonly problem?: string | undefined };
  previewTools(parameters: { plan: Plan; stack: StackDocument; sources: KnownSources }): PreviewTools;
  /** The value of an expression that reads only parameters. Without an expression or a known value: an empty map. */
  written(expression: Expression | undefined, parameters: { plan: Plan; stack: StackDocument }): Json;
}

/** The most characters of a physical name, unless the type has its own limit. */
const nameLimit = 255;

export function createEvaluation(parameters: {
  secrets: Secrets;
  typeOf: (type: string) => ResourceType | undefined;
  sizes: SizeLimits;
  limits: EvaluationLimits;
  /** Holds the results of workers. Absent inside a worker, which has no smaller limit for the event loop. */
  heavy?: Pick<Heavy, 'resultOf'>;
}): Evaluation {
  const { typeOf, sizes, limits, heavy } = parameters;
  const secrets = openingOnce(parameters.secrets);
  const types = new TypeDefinitions(typeOf);
  const sealing = createSealing({ secrets, servedBy: (resource) => types.servedBy(resource) });
  const tools = { ...sealing, secrets, types, sizes, limits };
  const { bounded, resolving } = createBounds({
    heavy,
    typeOf,
    sizes,
    limits,
    resolve: (about, work) => resolveResource(tools, about, work),
  });
  const compare: Tools['compare'] = (change) => compareIn({ types, secrets }, change);
  const replaceFailed: Tools['replaceFailed'] = (type) => types.announced(type)?.failed_update !== 'repair';

  return {
    sizes,
    toolsAt: ({ moment, graceMs, limit, most }) => ({
      now: moment.now,
      graceMs,
      limit,
      ...(most !== undefined && { most }),
      sizes,
      wrongSignal,
      memberOf,
      isHeld,
      serves: (resource, action) => types.servedBy(resource)?.actions?.includes(action) ?? false,
      follows: (resource) => types.servedBy(resource)?.follows ?? [],
      supersedes: (resource) => types.servedBy(resource)?.supersedes === true,
      cancels: (resource) => types.servedBy(resource)?.cancels === true,
      withdraws: (resource) => types.servedBy(resource)?.withdraws === true,
      queuePlace: (planned) => queuePlaceOf(types, planned),
      // All tries of a step have one moment, so they derive the same ids; rows of one step are side by side in the indexes.
      newId: (text) => derivedIdAt(text, moment.now),
      ...resolving(),
      compare,
      ...differing(moment.sources),
      atOnce: (pending) => answerAtOnce(pending, { secrets, moment }),
      replaceFailed,
      nameLimit: (resource) => types.servedBy(resource)?.name_limit ?? nameLimit,
    }),
    previewTools: (about) =>
      createPreviewTools({ ...tools, compare, replaceFailed, ...differing(about.sources) }, about),
    referenceTo: (resource, project) => referenceTo(tools, resource, project),
    attributeOf,
    written(expression, { plan, stack }) {
      if (!expression) return {};
      const about = { plan, stack, peer: () => undefined };
      const value = evaluate(expression, scopeOf(tools, about, new EvaluationWork(limits)));
      return value === unknown ? {} : sealing.sealParts(expression, value, about);
    },
    outputs: (about) =>
      bounded('outputs', about, {
        run: (work) => shownOutputs(tools, about, work),
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

/** Compares sources of nested stacks. Those that are not known yet count as equal until they are read. */
function differing(known: KnownSources): { sourcesDiffer: NonNullable<Tools['sourcesDiffer']>; unread: Set<string> } {
  const unread = new Set<string>();
  return {
    unread,
    sourcesDiffer(used, before, after) {
      const [one, other] = [known.get(before), known.get(after)];
      if (one === undefined) unread.add(before);
      if (other === undefined) unread.add(after);
      if (one === undefined || other === undefined) return false;
      // Without the older ones, anything may have changed.
      return one === null || other === null || sourcesDiffer(used, one, other);
    },
  };
}

/** Which resources a plan entry reads. Plans are shared and never change. */
const readBy = new WeakMap<PlanResource, ReadonlySet<string>>();

function queuePlaceOf(types: TypeDefinitions, planned: PlanResource): QueuePlace | undefined {
  const queue = planned.nested ? undefined : types.announced(planned.type)?.queue;
  if (!queue) return undefined;
  const reads = readBy.get(planned) ?? readsOfPlanned(planned);
  readBy.set(planned, reads);
  return { ...queue, reads };
}

function readsOfPlanned({ properties, metadata }: PlanResource): ReadonlySet<string> {
  return new Set(referencesOf(...Object.values(properties), ...(metadata ? [metadata] : [])).attributes.keys());
}

function compareIn(
  { types, secrets }: { types: TypeDefinitions; secrets: Secrets },
  { type, isTemplate = false, before, after }: Parameters<Tools['compare']>[0],
): Comparison {
  const { changed, replace } = compareProperties({
    type: isTemplate ? openType(type) : types.of(type),
    // A rotated key or a new format of seals changes no property.
    before: secrets.renew(before),
    after: secrets.renew(after),
  });
  if (changed.length === 0) return { verdict: 'same' };
  return { verdict: replace.length > 0 ? 'replace' : 'update', changed };
}

const attributeOf: Evaluation['attributeOf'] = (resource, path) => {
  const found = findRead(resource, path);
  if (found) return found;
  const [first, ...rest] = path;
  const { attributes } = resource;
  return { value: typeof first === 'string' && Object.hasOwn(attributes, first) ? attributes[first] : null, rest };
};

/**
 * Opens each value once, because evaluations read the same parameters and attributes again and again. For values that
 * never change: the parameters of plans, and the attributes of resource documents.
 */
function openingOnce(secrets: Secrets): Secrets {
  const opened = new WeakMap<object, Json>();
  return {
    ...secrets,
    open<T extends Json>(value: T): T {
      if (!holdsValues(value)) return value;
      const before = opened.get(value);
      if (before !== undefined) return before as T;
      const open = secrets.open(value);
      opened.set(value, open);
      return open;
    },
  };
}
