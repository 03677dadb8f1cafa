/**
 * `anneal template validate`: asks a reachable server, because only the server knows the types of its providers.
 * Without a server it checks the template locally, and warns of types that no provider of Anneal serves.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { validate } from '@anneal/hot/validate.ts';
import { builtInTypes } from '@anneal/hot/served.ts';
import { examine } from '@anneal/hot/tooling/inspect.ts';
import type { Body } from '@anneal/hot/tree/tree.ts';
import { z } from 'zod';
import { bodyLimitOf } from '../options/options.ts';
import type { CliContext } from '../context.ts';
import { printWarnings } from '../print/warning.ts';
import type { InspectOptions } from './inspect.ts';
import { loadTemplate } from './load.ts';
import { ifReachable } from './reachable.ts';
import { refuse } from './render.ts';
import type { CompileParameters } from '@anneal/hot/tree/compile-parameters.ts';

export interface ValidateOptions extends InspectOptions {
  /** Ask no server. */
  readonly offline?: boolean | undefined;
}

/** Prints the result in Heat's form. */
export async function validateTemplateFile(file: string, options: ValidateOptions, context: CliContext) {
  const client = options.offline ? undefined : await ifReachable(context, () => context.client());
  // Without a server nothing is sent, so the limit of a request does not apply.
  const loaded = await loadTemplate(file, { ...options, bodyLimit: client && bodyLimitOf(context) }, context);
  // Validate locally for `strict`, which no server supports.
  if (!client || options.strict) {
    const validated = validate(loaded);
    if ('mistakes' in validated) return refuse(validated.mistakes, options.output, context);
    printWarnings(context.output, [...validated.warnings, ...(client ? [] : notServed(loaded))], file);
    if (!client) return validated.answer;
  }
  const given = { bundle: bundleOf(loaded), parameters: loaded.parameters ?? {} };
  const answer = await client.stacks.validate(given).catch((error: unknown) => {
    if (!(error instanceof AnnealError) || !error.mistakes) throw error;
    return refuse(error.mistakes, options.output, context);
  });
  const { Warnings: warnings, ...shown } = answer;
  if (!options.strict) printWarnings(context.output, z.array(mistakeSchema).optional().parse(warnings), file);
  return shown;
}

function bundleOf({ template, environments = [], files = {} }: CompileParameters) {
  const named = environments.map((each, index) => {
    const isNamed = typeof each === 'object' && 'file' in each && typeof each['file'] === 'string';
    const content = isNamed && 'content' in each ? each['content'] : each;
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    return [isNamed ? each['file'] : `environment ${index + 1}`, text] as const;
  });
  return {
    template: typeof template === 'string' ? template : JSON.stringify(template),
    environmentFiles: named.map(([name]) => name),
    files: { ...files, ...Object.fromEntries(named) },
  };
}

const served = new Set(builtInTypes.map(({ type }) => type));

/** Warns once per type that is not served, at the first resource of that type. */
function notServed(loaded: CompileParameters): Mistake[] {
  const examined = examine(loaded);
  if ('mistakes' in examined) return [];
  const found = new Map<string, Mistake>();
  const visit = ({ plan, nested }: Body, place: string): void => {
    for (const { name, type, nested: inside, source } of Object.values(plan.resources)) {
      const path = `${place}resources.${name}`;
      const child = nested.get(name);
      if (child) visit(child.body, `${path}<${child.file}>.`);
      if (inside?.kind === 'template' || served.has(type) || found.has(type)) continue;
      const message = `No built-in provider serves type ${type}; a create is refused unless another provider serves it.`;
      found.set(type, { code: 'UnknownType', message, path: `${path}.type`, ...source });
    }
  };
  visit(examined.body, '');
  return [...found.values()];
}
