/** Actions on stacks. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import {
  stackAct,
  stackCreate,
  stackDelete,
  stackShow,
  stackUpdate,
  stackActSchema,
  type FailurePolicy,
  type StackView,
} from '@anneal/contracts/calls/stacks.ts';
import { templateCompile, type CompileQuestion } from '@anneal/contracts/calls/templating.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Result } from '@anneal/provider/document.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import {
  askFor,
  occasionOfCall,
  optionalText,
  refusedWith,
  resultOf,
  textIn,
  textsIn,
  type ActionCall,
  type ActionParts,
  type RunAction,
} from './ask.ts';

/** The same time as the gateway waits for the compilation of a whole template. */
const compileTimeoutMs = 60_000;
const stackName = /^[A-Za-z][A-Za-z0-9_.-]{0,254}$/;

const shown = ({ id, name, action, status }: StackView): JsonObject => ({ id, name, action, status });
const which = (call: ActionCall) => ({ project: call.project, stack: textIn(call, 'stack') });

/** The actions on stacks, by name. */
export const stackTaskActions: Readonly<Record<string, RunAction>> = {
  'anneal.stack_act': (parts, call) => {
    const action = stackActSchema.parse({ kind: textIn(call, 'action') });
    const data = { ...which(call), occasion: occasionOfCall(call), action };
    return resultOf(parts, call, { service: 'scheduling', definition: stackAct, data, show: shown });
  },
  'anneal.stack_show': (parts, call) =>
    resultOf(parts, call, {
      service: 'scheduling',
      definition: stackShow,
      data: { ...which(call), outputs: true },
      show: (stack) => ({ ...shown(stack), reason: stack.reason, outputs: openOutputs(stack) }),
    }),
  'anneal.stack_create': createStack,
  'anneal.stack_update': updateStack,
  'anneal.stack_delete': async (parts, call) => {
    // A deletion names the stack by its id only.
    const found = await find(parts, call);
    if ('error' in found) return refusedWith(found.error);
    const { project } = call;
    const data = { project, id: found.answer.id, occasion: occasionOfCall(call) };
    return resultOf(parts, call, { service: 'scheduling', definition: stackDelete, data, step: 'delete', show: shown });
  },
};

const openOutputs = ({ outputs = [] }: StackView): JsonObject =>
  toRecord(
    outputs
      .filter(({ value }) => !JSON.stringify(value ?? null).includes('"$sealed"'))
      .map(({ key, value }) => [key, value]),
  );

const find = (parts: ActionParts, call: ActionCall) =>
  askFor(parts.context, call, {
    service: 'scheduling',
    definition: stackShow,
    data: { ...which(call), outputs: false },
    step: 'show',
  });

/** The template, environment and parameters of the input, sealed: only the template shows which of them are secret. */
function compileInput({ context: { secrets } }: ActionParts, { input }: ActionCall) {
  const { template, environment, parameters } = input;
  return {
    ...(template !== undefined && template !== null && { template: template as string | JsonObject }),
    environments: environment === undefined || environment === null ? [] : [secrets.seal(environment)],
    files: {},
    parameters: secrets.seal(isObject(parameters) ? parameters : {}) as CompileQuestion['parameters'],
  };
}

const compile = (parts: ActionParts, call: ActionCall, data: CompileQuestion) =>
  askFor(parts.context, call, {
    service: 'templating',
    definition: templateCompile,
    data,
    step: 'compile',
    timeoutMs: compileTimeoutMs,
  });

const isDocument = (value: Json | undefined): boolean => typeof value === 'string' || isObject(value ?? null);

/** The first wrong document of the input: a template or an environment is a text or a map. */
function wrongDocument({ input }: ActionCall): AnnealError | undefined {
  const wrong = ['template', 'environment'].find(
    (key) => input[key] !== undefined && input[key] !== null && !isDocument(input[key]),
  );
  if (wrong === undefined) return undefined;
  return new AnnealError(
    'InvalidRequest',
    `The input ${wrong} must be a text or a map, not ${JSON.stringify(input[wrong])}.`,
  );
}

async function createStack(parts: ActionParts, call: ActionCall): Promise<Result> {
  const { id, input, project } = call;
  const name = textIn(call, 'stack');
  const wrong = wrongDocument(call);
  if (wrong) return refusedWith(wrong);
  if (!stackName.test(name)) {
    const message = `Cannot create stack ${name.slice(0, 300)}: a name begins with a letter and has 1 to 255 letters, digits, _, . or -.`;
    return refusedWith(new AnnealError('InvalidRequest', message));
  }
  // A repeat has the same id, so it creates nothing new.
  const stackId = derivedId(`stack of ${id}`);
  const about = { project, stack_name: name, stack_id: stackId };
  const compiled = await compile(parts, call, { ...about, ...compileInput(parts, call) });
  if ('error' in compiled) return refusedWith(compiled.error);
  const { resource_count: _, warnings: _w, operator_resources: _o, ...target } = compiled.answer;
  const data = {
    id: stackId,
    name,
    project,
    owner: call.workflow,
    timeout_minutes: numberOf(input['timeout']) ?? null,
    on_failure: (optionalText(call, 'on_failure') ?? 'keep') as FailurePolicy,
    tags: textsIn(call, 'tags'),
    occasion: occasionOfCall(call),
    ...target,
  };
  return resultOf(parts, call, { service: 'scheduling', definition: stackCreate, data, show: shown });
}

async function updateStack(parts: ActionParts, call: ActionCall): Promise<Result> {
  const { input, project } = call;
  const wrong = wrongDocument(call);
  if (wrong) return refusedWith(wrong);
  const found = await find(parts, call);
  if ('error' in found) return refusedWith(found.error);
  const { id, name, template, environment, files, plan } = found.answer;
  const compiled = await compile(parts, call, {
    project,
    stack_name: name,
    stack_id: id,
    ...compileInput(parts, call),
    existing: { template, environment, files, clear_parameters: [] },
    previous_plan: plan,
  });
  if ('error' in compiled) return refusedWith(compiled.error);
  const { resource_count: _, warnings: _w, operator_resources: _o, ...target } = compiled.answer;
  const timeout = numberOf(input['timeout']);
  const policy = optionalText(call, 'on_failure') as FailurePolicy | undefined;
  const data = {
    id,
    project,
    ...(timeout !== undefined && { timeout_minutes: timeout }),
    ...(policy && { on_failure: policy }),
    occasion: occasionOfCall(call),
    ...target,
  };
  return resultOf(parts, call, { service: 'scheduling', definition: stackUpdate, data, show: shown });
}
