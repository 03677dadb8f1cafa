/** The tools that foresee an update: they resolve properties as far as the values are known. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { PreviewTools } from '@anneal/convergence/preview/preview.ts';
import { unknown } from '@anneal/hot/evaluate.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { opened } from '@anneal/hot/groups/open.ts';
import { resolveProperties } from '@anneal/hot/resources/properties.ts';
import { scopeOf, type ScopeTools } from './scope.ts';
import type { Peer, Sealing } from './sealing.ts';

/** The part of the operator's limit that a preview of a stack may use, because no worker takes it. */
const workOfPreview = 1 / 10;
/** Added for each resource of the stack. */
const workAResource = 200;

export function createPreviewTools(
  tools: ScopeTools &
    Sealing &
    Pick<PreviewTools, 'compare' | 'replaceFailed' | 'sourcesDiffer'> & { readonly limits: EvaluationLimits },
  { plan, stack }: { plan: Plan; stack: StackDocument },
): PreviewTools {
  // A preview is refused when it takes more work, because no worker continues it.
  const { limits } = tools;
  const most = limits.work * workOfPreview + workAResource * Object.keys(plan.resources).length;
  const work = new EvaluationWork(limits, { most });
  return {
    compare: tools.compare,
    replaceFailed: tools.replaceFailed,
    ...(tools.sourcesDiffer && { sourcesDiffer: tools.sourcesDiffer }),
    replaces(resource, property) {
      const type = tools.types.ofPlanned(resource);
      if (type.open_properties) return false;
      return !(Object.hasOwn(type.properties, property) && type.properties[property]?.update_allowed === true);
    },
    resolve(resource, peer) {
      const whole: Peer = (name) => peer(name)?.resource;
      const scope = scopeOf(tools, { plan, stack, peer: whole }, work);
      const shows = (name: string): boolean => peer(name)?.attributes === true;
      const resolved = resolveProperties({
        resource,
        type: tools.types.ofPlanned(resource),
        isTemplate: resource.nested?.kind === 'template',
        scope: {
          ...scope,
          attribute: (name) => (shows(name) ? scope.attribute(name) : undefined),
          read: (name, attribute, path) => (shows(name) ? scope.read?.(name, attribute, path) : unknown),
        },
      });
      const seal = (properties: JsonObject): JsonObject =>
        tools.sealProperties(resource, properties, { plan, peer: whole });
      const open = Object.entries(resolved.all).map(([name, value]): [string, Json] => [name, opened(value)]);
      return {
        properties: seal(resolved.properties),
        unknown: resolved.unknown,
        open: seal(toRecord(open)),
      };
    },
  };
}
