/** Exports a stack, with all nested stacks, in Heat's form of an abandoned stack. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { type Plan, withPassed } from '@anneal/contracts/plan.ts';
import { readJson } from '@anneal/contracts/slices/json-slices.ts';
import { Pace } from '@anneal/contracts/slices/pace.ts';
import { isNested, representative, type StackDocument, type Target } from '@anneal/convergence/documents.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { SchedulingCollections } from '../collections.ts';
import { exportedResource } from '../snapshots.ts';

export interface Exporter {
  stack(stack: StackDocument): Promise<JsonObject>;
  /** The same form for resources that were exported before, such as those of a snapshot. */
  frame(stack: StackDocument, target: Target, resources: JsonObject): Promise<JsonObject>;
}

export function createExporter({ stacks, resources }: SchedulingCollections, blobs: Blobs): Exporter {
  const read = async (hash: string): Promise<Json> => {
    const text = await blobs.getText(hash);
    if (text === undefined) throw new AnnealError('NotFound', `The content ${hash} is missing in the store.`);
    return (await readJson(text)) as Json;
  };

  const frame: Exporter['frame'] = async (stack, target, exported) => {
    const [template, environment, files, plan] = await Promise.all(
      [target.template, target.environment, target.files, ...(stack.parent ? [target.plan] : [])].map(read),
    );
    return {
      id: stack.id,
      name: stack.name,
      action: stack.action,
      status: stack.status,
      environment: withPassed((environment ?? {}) as JsonObject, (plan ?? { parameters: {} }) as unknown as Plan),
      files: files ?? {},
      template: template ?? {},
      resources: exported,
      project_id: stack.project,
      stack_user_project_id: stack.project,
      tags: [...stack.tags],
    };
  };

  const whole: Exporter['stack'] = async (stack) => {
    const found = await resources.find({ where: { stack_id: stack.id } });
    const byName = Map.groupBy(found, ({ name }) => name);
    const pace = new Pace();
    const entries: [string, Json][] = [];
    for (const candidates of byName.values()) {
      const resource = representative(candidates);
      if (!resource) continue;
      const child = isNested(resource) ? await stacks.get(resource.id) : undefined;
      const inside = child && child.deleted_at === null ? await whole(child) : {};
      entries.push([resource.name, { ...inside, ...exportedResource(resource) }]);
      if (pace.isOver) await pace.turn();
    }
    return frame(stack, stack.target, toRecord(entries));
  };
  return { stack: whole, frame };
}
