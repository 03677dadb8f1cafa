/**
 * Counts the least resources that a nested stack brings, before it is compiled: those of its template and of all
 * templates that it names. A type that comes as a value is counted when its stack is compiled.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Environment } from '../environment/environment.ts';
import { Mistakes } from '../mistakes.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import type { TypeRegistry } from '../environment/registry.ts';
import { readTemplate, type Template } from '../syntax/template.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import type { TemplateLibrary } from '../tree/library.ts';

/** The templates and types among which a count finds what a template names. */
export interface CountContext {
  readonly library: TemplateLibrary;
  readonly types: ReadonlyMap<string, ResourceType>;
  readonly defaults: Environment['defaults'];
  readonly work: EvaluationWork;
}

/** Finding a type costs as much as making this many values. */
const workAType = 4;
const deepestCounted = 6;
const mostCounted = 10_000_000;

/** The count for a template among the files. `registry` is the one that applies inside it. */
export function countInFile(file: string, registry: TypeRegistry, context: CountContext): number {
  return countTypes(typesOfFile(file, context), { registry, context, way: [file] });
}

/** The count for values that hold the text of a template. */
export function countInValues(values: readonly Json[], registry: TypeRegistry, context: CountContext): number {
  return values.reduce<number>((sum, value) => {
    const texts = isPlainObject(value) ? Object.values(value) : [value];
    return sum + countTypes(texts.flatMap(typesOfText), { registry, context, way: [] });
  }, 0);
}

/** Counts a file that contains itself once; compiling it reports the mistake. */
function countTypes(
  types: readonly string[],
  { registry, context, way }: { registry: TypeRegistry; context: CountContext; way: readonly string[] },
): number {
  let sum = 0;
  for (const type of types) {
    sum += 1;
    context.work.spend(workAType);
    const found = registry.find({ type, resource: undefined, types: context.types });
    if (found?.kind !== 'template' || way.includes(found.file) || way.length > deepestCounted) continue;
    sum += countTypes(typesOfFile(found.file, context), { registry, context, way: [...way, found.file] });
    if (sum > mostCounted) return sum;
  }
  return sum;
}

function typesOfFile(file: string, { library, defaults, work }: CountContext): readonly string[] {
  const known = library.get(file, { defaults, work });
  return known?.mistakes.length === 0 ? typesIn(known.read) : [];
}

function typesOfText(text: Json): readonly string[] {
  const isTemplate = typeof text === 'string' && /template_version|TemplateFormatVersion/i.test(text);
  if (!isTemplate || !text.includes('\n')) return [];
  const template = readTemplate({ content: text, mistakes: new Mistakes() });
  return template ? typesIn(template) : [];
}

function typesIn({ root }: Template): string[] {
  const resources = root.entries.get('resources')?.value;
  if (resources?.kind !== 'map') return [];
  return Array.from(resources.entries.values(), ({ value }) => {
    const type = value.kind === 'map' ? value.entries.get('type')?.value : undefined;
    return type?.kind === 'scalar' && typeof type.value === 'string' ? type.value : '';
  });
}
