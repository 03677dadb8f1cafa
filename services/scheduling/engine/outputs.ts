/** Evaluates the outputs of a stack. Values that could show a secret are sealed. */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { jsonBytes, type Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import type { StackView } from '@anneal/contracts/calls/stacks.ts';
import { isUncreated, representative, type ResourceDocument } from '@anneal/convergence/documents.ts';
import { evaluate, unknown, type Scope, type Unknown } from '@anneal/hot/evaluate.ts';
import { Abandoned, type EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { Evaluated } from './bounds.ts';
import { scopeOf, type ScopeTools } from './scope.ts';
import type { Peer, Sealing } from './sealing.ts';
import type { SizeLimits } from '@anneal/convergence/size-limits.ts';

type OutputTools = ScopeTools & Sealing & { readonly sizes: SizeLimits };
type Outputs = NonNullable<StackView['outputs']>;

/** The outputs as a client sees them; a failed one has its error. @throws Abandoned when they take more than the work. */
export function shownOutputs(tools: OutputTools, about: Evaluated, work: EvaluationWork): Outputs {
  const lacks = (name: string): boolean => !Object.hasOwn(about.plan.parameters, name);
  const read = outputsWithin(tools.sizes, { ...scopeOf(tools, about, work), lacks });
  return Object.values(about.plan.outputs).map(({ name, value, description = '' }) => {
    try {
      const found = read(name, value);
      // An output that reads a missing resource has no value yet. That is not an error.
      return { key: name, description, value: found === unknown ? null : tools.sealParts(value, found, about) };
    } catch (error) {
      if (error instanceof Abandoned) throw error;
      return { key: name, description, value: null, error: toFailure(error).message };
    }
  });
}

/** The incarnation of each name that outputs read. */
export function shownPeers(resources: readonly ResourceDocument[]): Peer {
  const byName = new Map<string, ResourceDocument[]>();
  for (const resource of resources) {
    // Skip an object that is not created yet. During a replacement the original is still readable.
    if (isUncreated(resource) || (resource.action === 'CREATE' && resource.status !== 'COMPLETE')) continue;
    const list = byName.get(resource.name);
    if (list) list.push(resource);
    else byName.set(resource.name, [resource]);
  }
  return (name) => representative(byName.get(name) ?? []);
}

/** ScopeTools outputs within the limit of one and the shared limit of all. @throws AnnealError for one that does not fit. */
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
