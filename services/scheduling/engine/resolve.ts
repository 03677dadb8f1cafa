/** Resolves what the provider of a resource gets: its properties, metadata and external id. */
import { toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import type { Resolution } from '@anneal/convergence/protocol.ts';
import { evaluate, unknown } from '@anneal/hot/evaluate.ts';
import { Abandoned, type EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import { resolveProperties, type ResolvedProperties } from '@anneal/hot/resources/properties.ts';
import type { Evaluated } from './bounds.ts';
import { scopeOf, type ScopeTools } from './scope.ts';
import type { Sealing } from './sealing.ts';

/** Seals values that could show a secret. @throws Abandoned when it takes more than the work. */
export function resolveResource(
  tools: ScopeTools & Sealing,
  about: Evaluated & { readonly resource: PlanResource },
  work: EvaluationWork,
): Resolution {
  const { resource } = about;
  try {
    const scope = scopeOf(tools, about, work);
    const isTemplate = resource.nested?.kind === 'template';
    const resolved = resolveProperties({ resource, type: tools.types.ofPlanned(resource), scope, isTemplate });
    const refusal = resource.external_id ? undefined : refusalOf(resource.name, resolved);
    if (refusal) return { ok: false, failure: refusal };
    const properties = tools.sealProperties(resource, resolved.properties, about);
    const external =
      resource.external_id && evaluate(resource.external_id, scope, `resources.${resource.name}.external_id`);
    if (typeof external === 'string') return { ok: true, properties: {}, external_id: external };
    if (!resource.metadata) return { ok: true, properties };
    const metadata = evaluate(resource.metadata, scope, `resources.${resource.name}.metadata`);
    if (metadata === unknown) return { ok: true, properties };
    return { ok: true, properties, metadata: tools.sealParts(resource.metadata, metadata, about) };
  } catch (error) {
    if (error instanceof Abandoned) throw error;
    return { ok: false, failure: toFailure(error) };
  }
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
