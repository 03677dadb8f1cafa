/**
 * Warns of scripts that a machine reads otherwise than their author sees them, before anything runs them: with the line
 * ends of Windows, or with a byte order mark. They are passed on as they are, because an update would otherwise change them.
 */
import type { Expression, PlanResource, PlanSource } from '@anneal/contracts/plan.ts';
import { hidesItsKind, namesInterpreter, scriptFault } from '@anneal/contracts/readers/script-text.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { isPlainObject, type YamlNode } from '@anneal/python/yaml/node.ts';
import { unknown, type PartialValue } from '../evaluate/unknown.ts';
import { join } from '../mistakes.ts';
import type { ResolvedProperties } from './properties.ts';
import type { ResourceContext, WrittenResource } from './resource-context.ts';

type Steps = readonly (string | number)[];
interface Text {
  readonly steps: Steps;
  readonly text: string;
  /** A script by the property that it is in, whatever it begins with. */
  readonly isScript: boolean;
}

/** The properties of lists that hold configs, and the key of the tool of each. */
const listsOfConfigs: Readonly<Record<string, { readonly list: string; readonly tool: string }>> = {
  'OS::Heat::SoftwareComponent': { list: 'configs', tool: 'tool' },
  'OS::Heat::MultipartMime': { list: 'parts', tool: '' },
};

/** @param locate finds the position of a property in the template */
export function warnOfScripts(
  written: WrittenResource,
  { resource, type, resolved }: { resource: PlanResource; type: ResourceType; resolved: ResolvedProperties },
  { mistakes, locate }: Pick<ResourceContext, 'mistakes'> & { locate: (steps: Steps) => PlanSource | undefined },
): void {
  for (const { steps, text, isScript } of textsIn(resource, type, resolved)) {
    if (!isScript && !namesInterpreter(text) && !hidesItsKind(text)) continue;
    const fault = scriptFault(text);
    if (fault === undefined) continue;
    const file = fileOf(steps, written);
    const path = join(join(written.path, 'properties'), steps.join('.'));
    const what = file === undefined ? 'its script' : `its script, the file ${file}`;
    mistakes.warn({
      code: 'ScriptText',
      message: `${path}: resource ${written.name} may fail because of ${what}: ${fault}`,
      path,
      at: locate(steps),
    });
  }
}

function* textsIn(resource: PlanResource, type: ResourceType, { all }: ResolvedProperties): Generator<Text> {
  for (const [name, value] of Object.entries(all)) {
    const isScript = isScriptProperty(type.type, name, all);
    if (typeof value === 'string') yield { steps: [name], text: value, isScript };
    if (value !== unknown) continue;
    // A script around a value that is not known yet: the parts that are written are known.
    const parts = [...writtenTexts(resource.properties[name])];
    const isAny = isScript || parts.some(namesInterpreter);
    const broken = isAny ? parts.find((text) => scriptFault(text) !== undefined) : undefined;
    if (broken !== undefined) yield { steps: [name], text: broken, isScript: true };
  }
  const holder = Object.hasOwn(listsOfConfigs, type.type) ? listsOfConfigs[type.type] : undefined;
  const items = holder && all[holder.list];
  for (const [index, item] of (Array.isArray(items) ? items : []).entries()) {
    if (!isPlainObject(item) || typeof item['config'] !== 'string') continue;
    const steps = [holder?.list ?? '', index, 'config'];
    yield { steps, text: item['config'], isScript: item[holder?.tool ?? ''] === 'script' };
  }
}

function isScriptProperty(type: string, name: string, all: Readonly<Record<string, PartialValue>>): boolean {
  if (type === 'OS::Heat::OrderedConfig' && name === 'script') return true;
  return name === 'config' && all['group'] === 'script';
}

function* writtenTexts(expression: Expression | undefined): Generator<string> {
  switch (expression?.kind) {
    case 'literal':
      if (typeof expression.value === 'string') yield expression.value;
      return;
    case 'list':
      for (const item of expression.items) yield* writtenTexts(item);
      return;
    case 'map':
      for (const { value } of expression.entries) yield* writtenTexts(value);
      return;
    case 'call':
      yield* writtenTexts(expression.arguments);
      return;
    case undefined:
  }
}

/** The only file that a property is made from. */
function fileOf(steps: Steps, { node }: WrittenResource): string | undefined {
  let found: YamlNode | undefined = node.entries.get('properties')?.value;
  for (const step of steps) {
    if (found?.kind === 'map') found = found.entries.get(String(step))?.value;
    else if (found?.kind === 'list' && typeof step === 'number') found = found.items[step];
  }
  const files = [...filesIn(found)];
  return files.length === 1 ? files[0] : undefined;
}

function* filesIn(node: YamlNode | undefined): Generator<string> {
  if (node?.kind === 'list') for (const item of node.items) yield* filesIn(item);
  if (node?.kind !== 'map') return;
  for (const [key, { value }] of node.entries) {
    if (key === 'get_file' && value.kind === 'scalar') yield String(value.value);
    else yield* filesIn(value);
  }
}
