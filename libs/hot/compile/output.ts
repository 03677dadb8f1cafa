/** The `outputs` section. */
import type { PlanOutput } from '@anneal/contracts/plan.ts';
import type { Build } from '../expressions/build.ts';
import { join, type Mistakes, nearestName } from '../mistakes.ts';
import { type MappingEntry, isNull } from '@anneal/python/yaml/node.ts';
import { checkReference, type ResourceContext } from '../resources/resource-context.ts';
import type { Version } from '../syntax/version.ts';

const keys = ['value', 'description', 'condition'];

/** The parts of the compiler that an output needs. */
export interface OutputContext extends Pick<
  ResourceContext,
  'enabled' | 'typeOf' | 'templateOf' | 'scope' | 'dialect'
> {
  readonly build: Build;
  readonly mistakes: Mistakes;
  readonly version: Version;
}

/** The output of the plan. Undefined after a mistake that leaves none. */
export function compileOutput(name: string, entry: MappingEntry, context: OutputContext): PlanOutput | undefined {
  const { build, mistakes, version, dialect } = context;
  const path = join('outputs', name);
  const refuse = (message: string, nearest?: string): undefined => {
    mistakes.add({
      code: 'InvalidOutput',
      message: `Output validation error: ${path}: ${message}`,
      path,
      at: entry.at,
      expected: 'value',
      nearest,
    });
    return undefined;
  };
  const node = entry.value;
  if (node.kind !== 'map') return refuse('Each output must be a map with a value.');
  const value = node.entries.get('value');
  if (!value) {
    const other = [...node.entries.keys()].find(
      (key) => !keys.includes(key) && nearestName(key, ['value']) !== undefined,
    );
    return refuse('Each output definition must contain a value key.', other === undefined ? undefined : 'value');
  }
  const described = node.entries.get('description')?.value;
  const description = described?.kind === 'scalar' && described.value !== null ? String(described.value) : undefined;
  const about = { name, ...(description !== undefined && { description }), ...(entry.at && { source: entry.at }) };
  const condition = dialect === 'cfn' || version >= '2016-10-14' ? node.entries.get('condition') : undefined;
  // An output with a false condition is listed, without a value.
  if (
    condition &&
    !isNull(condition.value) &&
    build.conditions.use(condition.value, join(path, 'condition')) === false
  ) {
    return { ...about, value: { kind: 'literal', value: null } };
  }
  const built = build.value(value.value, {
    path: join(path, 'value'),
    inOutput: true,
    onReference: (reference) => void checkReference(reference, `outputs.${name}`, { ...context, inOutput: true }),
  });
  return built && { ...about, value: built };
}
