/** Makes the first document of an execution from a question of a client, or from the request of another execution. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { isObject, storedProperty, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { resourceCreate, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { executionOfAction, executionStart } from '@anneal/contracts/calls/workflow.ts';
import { newExecution, type ExecutionDocument, type NewExecution } from '@anneal/convergence/workflow/documents.ts';
import { startInput } from '@anneal/convergence/workflow/step.ts';
import type { EvaluateInWorkflow } from '@anneal/hot/workflow/expression.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { z } from 'zod';
import type { WorkflowDefinitions } from './definitions.ts';
import type { CallerFacts } from './requests.ts';

/** Sub-workflows within each other. */
const mostDepth = 20;

type Start = z.infer<typeof executionStart.data>;

/** The sources of an intake. */
export interface ExecutionIntake {
  readonly definitions: WorkflowDefinitions;
  readonly now: () => Date;
  readonly evaluate: EvaluateInWorkflow;
  readonly secrets: Pick<Secrets, 'open'>;
  readonly executions: Pick<Collection<ExecutionDocument>, 'count'>;
  /** The most executions of a project that run, and the setting that says so. */
  readonly limit: { readonly most: number; readonly setting: string };
}

/** True for a message that begins an execution. */
export const beginsExecution = ({ type }: Envelope): boolean =>
  type === executionStart.type || type === resourceCreate.type;

/** @throws AnnealError NotFound for an unknown workflow, InvalidRequest for wrong input */
export function firstDocument(intake: ExecutionIntake, message: Envelope): Promise<ExecutionDocument> {
  return message.type === executionStart.type
    ? fromQuestion(intake, message as Envelope<Start>)
    : fromRequest(intake, message as Envelope<ResourceRequest>);
}

async function fromQuestion(intake: ExecutionIntake, { data }: Envelope<Start>): Promise<ExecutionDocument> {
  const { id, project, owner, workflow, env = {}, task_name: goal = null, occasion } = data;
  return complete(intake, {
    workflow,
    given: data.input,
    base: {
      id,
      project,
      owner,
      source: data.source ?? '',
      stack: data.stack ?? null,
      parent: null,
      root: id,
      depth: 0,
      start: occasion,
      description: data.description ?? '',
      env,
      goal,
    },
  });
}

async function fromRequest(intake: ExecutionIntake, { data }: Envelope<ResourceRequest>): Promise<ExecutionDocument> {
  const { id, name } = data.resource;
  const [workflow, input, facts] = ['workflow', 'input', 'around'].map((property) =>
    storedProperty(data.properties, property),
  );
  const around = facts as unknown as CallerFacts;
  if (around.depth >= mostDepth) {
    const message = `Cannot start the sub-workflow of task ${name}: ${mostDepth} levels are the most.`;
    throw new AnnealError('InvalidRequest', message);
  }
  const { workflow: caller, depth, start, ...inherited } = around;
  return complete(intake, {
    workflow: called(intake, workflow),
    // A short name is looked up in the workbook of the caller first.
    within: caller.includes('.') ? caller.slice(0, caller.lastIndexOf('.')) : undefined,
    given: isObject(input) ? input : {},
    base: {
      id,
      ...inherited,
      parent: { execution_id: executionOfAction(id), action_id: id, task: name, fence: data.fence },
      depth: depth + 1,
      start: { ...start, cause: { kind: 'request', id: executionOfAction(id), reason: null } },
      description: `sub-workflow of ${caller}`,
      goal: null,
    },
  });
}

/** The name of the workflow that a task calls. */
function called({ secrets }: ExecutionIntake, workflow: Json | undefined): string {
  const name = secrets.open<Json>(workflow ?? null);
  return typeof name === 'string' ? name : '';
}

/** @throws AnnealError QuotaExceeded when the project runs too many executions */
async function requireRoom({ executions, limit }: ExecutionIntake, project: string, workflow: string): Promise<void> {
  const [running, paused] = await Promise.all(
    (['RUNNING', 'PAUSED'] as const).map((state) => executions.count({ project, state })),
  );
  const live = (running ?? 0) + (paused ?? 0);
  if (live < limit.most) return;
  const message = `Cannot start workflow ${workflow}: ${live} executions of the project run or are paused; ${limit.most} are the most (${limit.setting}). Wait for their end, or cancel some.`;
  throw new AnnealError('QuotaExceeded', message);
}

async function complete(
  intake: ExecutionIntake,
  parts: {
    workflow: string;
    within?: string | undefined;
    given: JsonObject;
    base: Omit<NewExecution, 'workflow' | 'definition' | 'input' | 'created_at'>;
  },
): Promise<ExecutionDocument> {
  const { definitions, evaluate, now } = intake;
  const { workflow, within, given, base } = parts;
  await requireRoom(intake, base.project, workflow);
  const short =
    within === undefined
      ? undefined
      : await definitions.find(base.project, `${within}.${workflow}`).catch(ignoreNotFound);
  const found = short ?? (await definitions.find(base.project, workflow));
  const spec = await definitions.spec(found.spec);
  const input = startInput({ spec, given, goal: base.goal }, evaluate);
  const created_at = now().toISOString();
  return { ...newExecution({ ...base, workflow: found.name, definition: found.spec, input, created_at }), version: 0 };
}
