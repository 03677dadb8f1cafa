/** Reads one stack: its state, template, environment, files and outputs. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type Plan, withPassed } from '@anneal/contracts/plan.ts';
import { readJson } from '@anneal/contracts/slices/json-slices.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { StackView } from '@anneal/contracts/calls/scheduling.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { queryBoolean } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { rootStackOf, stackAt, stackPath } from './find-stack.ts';
import { outputBody, heatOutputSchema, sortedOutputs, stackBody, heatStackSchema } from '../representation.ts';
import { heatError } from '../wording.ts';
import { groupTemplate } from './group-template.ts';

export interface StackReadOptions {
  ask: Ask;
  blobs: Blobs;
  secrets: Secrets;
}

const shows = described({
  summary: 'Show a stack.',
  query: z.object({ resolve_outputs: z.boolean().optional() }),
  answer: z.object({ stack: heatStackSchema }),
});
const listsOutputs = described({
  summary: 'List the outputs of a stack, without their values.',
  answer: z.object({ outputs: z.array(heatOutputSchema.pick({ output_key: true, description: true })) }),
});
const showsOutput = described({ summary: 'Show an output.', answer: z.object({ output: heatOutputSchema }) });
const showsTemplate = described({ summary: 'Show the template of a stack.', answer: z.looseObject({}) });
const showsFiles = described({
  summary: 'Show the files of a stack by name.',
  answer: z.record(z.string(), z.string()),
});
const showsEnvironment = described({
  summary: 'Show the environment of a stack. Hidden values are asterisks.',
  answer: z.looseObject({
    parameters: z.looseObject({}),
    parameter_defaults: z.looseObject({}),
    resource_registry: z.looseObject({}),
    event_sinks: z.array(z.looseObject({})),
    encrypted_param_names: z.array(z.string()),
  }),
});

export function stackReadRoutes(scope: FastifyInstance, { ask, blobs, secrets }: StackReadOptions): void {
  /** Opens the outputs. They are sealed when they could show a secret, but the template's author chose to show them. */
  const withOutputs = async (request: FastifyRequest): Promise<StackView> => {
    const { outputs = [], ...stack } = await stackAt(ask, request, { outputs: true });
    return { ...stack, outputs: outputs.map((output) => ({ ...output, value: secrets.open(output.value) })) };
  };

  scope.get(stackPath, shows, async (request) => {
    const outputs = queryBoolean(request, 'resolve_outputs') ?? true;
    const stack = await (outputs ? withOutputs(request) : stackAt(ask, request));
    return { stack: stackBody(rootStackOf(request), stack) };
  });

  scope.get(`${stackPath}/outputs`, listsOutputs, async (request) => {
    const stack = await withOutputs(request);
    return {
      outputs: sortedOutputs(stack).map((output) => {
        const { output_key, description } = outputBody(output);
        return { output_key, description };
      }),
    };
  });

  scope.get<{ Params: { key: string } }>(`${stackPath}/outputs/:key`, showsOutput, async (request) => {
    const { key } = request.params;
    const stack = await withOutputs(request);
    const output = stack.outputs?.find((each) => each.key === key);
    if (!output) throw heatError('NotFound', 'NotFound', `Specified output key ${key} not found.`);
    return { output: outputBody(output) };
  });

  scope.get(`${stackPath}/template`, showsTemplate, async (request) => {
    const stack = await stackAt(ask, request);
    const template = await document(blobs, stack.template, 'template');
    return stack.group ? groupTemplate(template) : template;
  });
  scope.get(`${stackPath}/files`, showsFiles, async (request) =>
    document(blobs, (await stackAt(ask, request)).files, 'files'),
  );

  scope.get(`${stackPath}/environment`, showsEnvironment, async (request) => {
    const stack = await stackAt(ask, request);
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
  });
}

async function document(blobs: Blobs, hash: string, what: string): Promise<JsonObject> {
  const text = await blobs.getText(hash);
  if (text === undefined) {
    throw new AnnealError('Defect', `The ${what} of the stack (blob ${hash}) is missing in the store.`);
  }
  return (await readJson(text)) as JsonObject;
}

function maskNamed(secrets: Secrets, values: Json | undefined, hidden: readonly string[]): JsonObject {
  if (!isObject(values)) return {};
  const shown = Object.entries(secrets.mask(values)).map(([name, value]) => [
    name,
    hidden.includes(name) ? '******' : value,
  ]);
  return Object.fromEntries(shown) as JsonObject;
}
