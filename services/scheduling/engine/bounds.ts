/** Limits the work of an evaluation on the event loop. An evaluation that needs more runs in a worker. */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { type ResourceDocument, servedType, type StackDocument } from '@anneal/convergence/documents.ts';
import type { Resolution, Tools } from '@anneal/convergence/protocol.ts';
import { referencesOf } from '@anneal/hot/tree/references.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { Abandoned, EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { type Heavy, type HeavyTask, type HeavyText, NeedsWorker, heavyText } from './heavy.ts';
import type { Peer } from './sealing.ts';
import type { SizeLimits } from '@anneal/convergence/size-limits.ts';

export interface Evaluated {
  readonly plan: Plan;
  readonly stack: StackDocument;
  readonly peer: Peer;
}

/** Work that the event loop spends on the outputs of a stack, or on all resources of one step: a few milliseconds. */
const workInLoop = 20_000;
/** Added for each resource of a step: the work that one resource usually takes. */
const workAResource = 200;

/** Drops times and versions, because they differ in the second try of a step, and the attributes that are not read. */
function readable(
  peer: ResourceDocument,
  read: ReadonlySet<string> | undefined,
  reference: string | undefined,
): ResourceDocument {
  const { name, type, nested, physical_id, physical_name, attributes: all } = peer;
  const isWanted = (attribute: string): boolean => attribute === reference || read?.has(attribute) === true;
  const isWhole = nested !== null || read?.has('*') === true;
  const attributes = isWhole ? all : toRecord(Object.entries(all).filter(([attribute]) => isWanted(attribute)));
  return { name, type, nested, physical_id, physical_name, attributes } as ResourceDocument;
}

/** The parameters that are read: all of them when a name is computed. */
function parametersIn({ parameters }: Plan, read: ReadonlySet<string>): Plan['parameters'] {
  if (read.has('*')) return parameters;
  return toRecord(Object.entries(parameters).filter(([name]) => read.has(name)));
}

interface Bounded<T> {
  readonly run: (work: EvaluationWork) => T;
  /** The result when the worker has failed. */
  readonly failed: (failure: Failure) => T;
}

export function createBounds({
  heavy,
  typeOf,
  sizes,
  limits,
  resolve,
}: {
  /** Holds the results of workers. Undefined inside a worker, which has no smaller limit for the event loop. */
  heavy: Pick<Heavy, 'resultOf'> | undefined;
  typeOf: (type: string) => ResourceType | undefined;
  sizes: SizeLimits;
  /** In a worker, one resource or one read of the outputs may use all of them. */
  limits: EvaluationLimits;
  resolve: (about: Evaluated & { readonly resource: PlanResource }, work: EvaluationWork) => Resolution;
}) {
  const taskOf = (kind: HeavyTask['kind'], about: Evaluated & { readonly resource?: PlanResource }): HeavyTask => {
    const { plan, stack, peer, resource } = about;
    const { id, name, project } = stack;
    const expressions = resource
      ? [...Object.values(resource.properties), resource.metadata, resource.external_id].filter(
          (each) => each !== undefined,
        )
      : Object.values(plan.outputs).map(({ value }) => value);
    const read = referencesOf(...expressions);
    const peers = [...new Set([...read.resources, ...read.attributes.keys()])].flatMap((each) => peer(each) ?? []);
    const names = new Set([...(resource ? [resource.type] : []), ...peers.map((each) => servedType(each) ?? '')]);
    return {
      kind,
      plan: {
        ...plan,
        parameters: parametersIn(plan, read.parameters),
        resources: {},
        outputs: resource ? {} : plan.outputs,
      },
      stack: { id, name, project },
      ...(resource && { resource }),
      peers: peers.map((each) =>
        readable(each, read.attributes.get(each.name), typeOf(servedType(each) ?? '')?.reference),
      ),
      types: [...names].flatMap((each) => typeOf(each) ?? []),
      sizes,
    };
  };

  /** Runs within the limit of the event loop. Beyond it, uses the result of a worker, or throws NeedsWorker. */
  const bounded = <T>(kind: HeavyTask['kind'], about: Evaluated, { run, failed }: Bounded<T>): T => {
    if (!heavy) return run(new EvaluationWork(limits));
    try {
      return run(new EvaluationWork(limits, { most: workInLoop, whenSpent: 'abandon' }));
    } catch (error) {
      if (!(error instanceof Abandoned)) throw error;
    }
    const task = heavyText(taskOf(kind, about));
    const known = heavy.resultOf(task);
    if (!known) throw new NeedsWorker([task]);
    return 'value' in known ? (known.value as T) : failed(known.failure);
  };

  /** Resolves resources; all resources of one step share the limit of the event loop. */
  const resolving = (): { resolve: Tools['resolve']; unresolved: HeavyText[] } => {
    const unresolved: HeavyText[] = [];
    let left = workInLoop;
    return {
      unresolved,
      resolve(about) {
        if (!heavy) return resolve(about, new EvaluationWork(limits));
        left += workAResource;
        const work = new EvaluationWork(limits, { most: left, whenSpent: 'abandon' });
        try {
          const found = resolve(about, work);
          left -= work.spent;
          return found;
        } catch (error) {
          if (!(error instanceof Abandoned)) throw error;
          left = 0;
        }
        const task = heavyText(taskOf('resolve', about));
        const known = heavy.resultOf(task);
        if (known) return 'value' in known ? (known.value as Resolution) : { ok: false, failure: known.failure };
        unresolved.push(task);
        return { ok: false, isPending: true, failure: { code: 'Unavailable', message: 'A worker must evaluate it.' } };
      },
    };
  };

  return { bounded, resolving };
}
