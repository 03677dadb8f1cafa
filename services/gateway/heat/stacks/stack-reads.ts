/** Reads one stack: its state, template, environment, files and outputs. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type Plan, withPassed } from '@anneal/contracts/plan.ts';
import { readJson } from '@anneal/contracts/slices/json-slices.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { StackView } from '@anneal/contracts/calls/stacks.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Blobs } from '@anneal/store/port.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { rootStackOf, stackAt, stackPath, type StackRouteInput } from './find-stack.ts';
import { outputBody, heatOutputSchema, sortedOutputs, stackBody, heatStackSchema } from '../representation.ts';
import { heatError } from '../wording.ts';
import { groupTemplate } from './group-template.ts';

export interface StackReadOptions {
  ask: Ask;
  blobs: Blobs;
  secrets: Secrets;
}

/** A stack, its template, its files and its outputs. */
export const stackReadRoutes = (options: StackReadOptions): Route[] => [
  ...outputRoutes(options),
  ...contentRoutes(options),
];

function outputRoutes({ ask, secrets }: StackReadOptions): Route[] {
  /** Opens the outputs. They are sealed when they could show a secret, but the template's author chose to show them. */
  const withOutputs = async (input: StackRouteInput): Promise<StackView> => {
    const { outputs = [], ...stack } = await stackAt(ask, input, { outputs: true });
    return { ...stack, outputs: outputs.map((output) => ({ ...output, value: secrets.open(output.value) })) };
  };
  return [
    route({
      method: 'GET',
      path: stackPath,
      summary: 'Show a stack.',
      query: z.object({ resolve_outputs: z.boolean().default(true) }),
      answer: z.object({ stack: heatStackSchema }),
      handle: async ({ params, query, request }) => {
        const input = { params, request };
        const stack = await (query.resolve_outputs ? withOutputs(input) : stackAt(ask, input));
        return { stack: stackBody(rootStackOf(request), stack) };
      },
    }),
    route({
      method: 'GET',
      path: `${stackPath}/outputs`,
      summary: 'List the outputs of a stack, without their values.',
      answer: z.object({ outputs: z.array(heatOutputSchema.pick({ output_key: true, description: true })) }),
      handle: async ({ params, request }) => ({
        outputs: sortedOutputs(await withOutputs({ params, request })).map((output) => {
          const { output_key, description } = outputBody(output);
          return { output_key, description };
        }),
      }),
    }),
    route({
      method: 'GET',
      path: `${stackPath}/outputs/{key}`,
      summary: 'Show an output.',
      answer: z.object({ output: heatOutputSchema }),
      handle: async ({ params, request }) => {
        const { outputs = [] } = await withOutputs({ params, request });
        const output = outputs.find(({ key }) => key === params.key);
        if (!output) throw heatError('NotFound', 'NotFound', `Specified output key ${params.key} not found.`);
        return { output: outputBody(output) };
      },
    }),
  ];
}

const contentRoutes = ({ ask, blobs, secrets }: StackReadOptions): Route[] => [
  route({
    method: 'GET',
    path: `${stackPath}/template`,
    summary: 'Show the template of a stack.',
    answer: z.looseObject({}),
    handle: async ({ params, request }) => {
      const stack = await stackAt(ask, { params, request });
      const template = await document(blobs, stack.template, 'template');
      return stack.group ? groupTemplate(template) : template;
    },
  }),
  route({
    method: 'GET',
    path: `${stackPath}/files`,
    summary: 'Show the files of a stack by name.',
    answer: z.record(z.string(), z.string()),
    handle: async ({ params, request }) => document(blobs, (await stackAt(ask, { params, request })).files, 'files'),
  }),
  route({
    method: 'GET',
    path: `${stackPath}/environment`,
    summary: 'Show the environment of a stack. Hidden values are asterisks.',
    answer: z.looseObject({
      parameters: z.looseObject({}),
      parameter_defaults: z.looseObject({}),
      resource_registry: z.looseObject({}),
      event_sinks: z.array(z.looseObject({})),
      encrypted_param_names: z.array(z.string()),
    }),
    handle: async ({ params, request }) => {
      const stack = await stackAt(ask, { params, request });
      const stored = await document(blobs, stack.environment, 'environment');
      const isNested = stack.parent !== null;
      const environment = isNested
        ? withPassed(stored, (await document(blobs, stack.plan, 'plan')) as unknown as Plan)
        : stored;
      const hidden = Object.entries(stack.parameters).flatMap(([name, value]) => (value === '******' ? [name] : []));
      return {
        resource_registry: { resources: {} },
        parameter_defaults: {},
        event_sinks: [],
        encrypted_param_names: [],
        ...secrets.mask(environment),
        parameters: stack.group ? {} : maskNamed(secrets, environment['parameters'], hidden),
        ...(environment['parameter_defaults'] !== undefined && {
          parameter_defaults: maskNamed(secrets, environment['parameter_defaults'], hidden),
        }),
      };
    },
  }),
];

async function document(blobs: Blobs, hash: string, what: string): Promise<JsonObject> {
  const text = await blobs.getText(hash);
  if (text === undefined) {
    throw new AnnealError('Defect', `The ${what} of the stack (blob ${hash}) is missing in the store.`);
  }
  return (await readJson(text)) as JsonObject;
}

function maskNamed(secrets: Secrets, values: Json | undefined, hidden: readonly string[]): JsonObject {
  if (!isObject(values)) return {};
  const shown = Object.entries(secrets.mask(values));
  return toRecord(shown.map(([name, value]): [string, Json] => [name, hidden.includes(name) ? '******' : value]));
}
