/**
 * Cron triggers: each starts a workflow at its times, by a durable timer. The id of an execution follows from the trigger
 * and the time, so a timer that fires twice starts one execution. A trigger of a client is deleted after its last
 * execution, as in Mistral; that of a resource stays until its stack deletes it.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, storedProperty, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction } from '@anneal/contracts/resource.ts';
import type { CronTriggerView } from '@anneal/contracts/calls/workflow.ts';
import { startInput } from '@anneal/convergence/workflow/step.ts';
import { workflowEvaluation } from '@anneal/hot/workflow/expression.ts';
import type { Request, Result } from '@anneal/provider/document.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { isSecret, openProperties, sealLeaves } from '@anneal/runtime/secrets/open.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change, changeOrInsert } from '@anneal/store/change.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import type { WorkflowDefinitions } from '../definitions.ts';
import { firstPlan, planAfter, textOfTime, timeOfText, type CronWish } from './cron-times.ts';
import { waitTimers } from '../../documents/wait-timers.ts';
import type { CronDocument } from '../../documents/workflows.ts';
import { reportTriggered, startTriggered, type TriggerParts } from './start.ts';

type NewCron = CronWish &
  Pick<CronDocument, 'id' | 'project' | 'owner' | 'stack' | 'workflow' | 'input' | 'params' | 'request'>;

const timerOf = (cron: string) => ({ kind: 'cron', cron }) as const;

/** Cron triggers of one project; a project with more is refused. */
const mostTriggers = 1000;

/** Keeps and fires cron triggers. Every method is safe under redelivery. */
export class CronTriggers {
  readonly #parts: TriggerParts;
  readonly #crons: Collection<CronDocument>;
  readonly #definitions: WorkflowDefinitions;
  readonly #timers: () => Timers;

  constructor(
    parts: TriggerParts & { crons: Collection<CronDocument>; definitions: WorkflowDefinitions; timers: () => Timers },
  ) {
    this.#parts = parts;
    this.#crons = parts.crons;
    this.#definitions = parts.definitions;
    this.#timers = parts.timers;
  }

  /** Makes or removes the trigger of a resource. @throws AnnealError that fails the request, or is retried */
  async keep(action: ResourceAction, { data, project = '' }: Request): Promise<Result> {
    const { resource, stack, properties } = data;
    if (action === 'delete') {
      await this.#remove(resource.id);
      return { kind: 'complete' };
    }
    if (action !== 'create') return { kind: 'complete' };
    const { secrets } = this.#parts.context;
    const { name: given, pattern, first_time: first, count } = openProperties(secrets, properties);
    const workflow = sealLeaves(secrets, storedProperty(properties, 'workflow') ?? null);
    const text = (value: Json | undefined): string | null => (typeof value === 'string' && value !== '' ? value : null);
    const name = text(given) ?? resource.physical_name;
    const firstTime = text(first);
    const at = firstTime === null ? null : timeOfText(firstTime);
    if (at === undefined) {
      const message = `Cannot create cron trigger ${name}: first_time must be YYYY-MM-DD HH:MM in UTC, not "${isSecret(secrets, storedProperty(properties, 'first_time')) ? redaction : firstTime}".`;
      throw new AnnealError('InvalidRequest', message);
    }
    const called = isObject(workflow) ? workflow : {};
    const document = await this.#put({
      id: resource.id,
      project,
      owner: 'admin',
      name,
      stack: { id: stack.id, name: stack.name },
      workflow: text(secrets.open<Json>(called['name'] ?? null)) ?? '',
      input: isObject(called['input']) ? called['input'] : {},
      params: {},
      pattern: text(pattern),
      first_time: at,
      count: numberOf(count) ?? null,
    });
    return { kind: 'complete', physical_id: name, attributes: attributesOf(document) };
  }

  /** Makes the trigger of a client. @throws AnnealError InvalidRequest, NotFound for the workflow, AlreadyExists */
  async create(wish: Omit<NewCron, 'id' | 'stack'> & { readonly request: string }): Promise<CronTriggerView> {
    const { project, name, request } = wish;
    const id = derivedId(`cron ${project}\n${name}`);
    const known = await this.#crons.get(id);
    if (known && known.request !== request) {
      throw new AnnealError(
        'AlreadyExists',
        `The cron trigger ${name} exists already. Delete it, or choose another name.`,
      );
    }
    if (!known && (await this.#crons.count({ project })) >= mostTriggers) {
      const message = `Cannot create cron trigger ${name}: the project has ${mostTriggers} of them, which is the limit. Delete some first.`;
      throw new AnnealError('QuotaExceeded', message);
    }
    return viewOf(await this.#put({ ...wish, id, stack: null }));
  }

  /** Stores the trigger, and then sets its timer. A repeat leaves a stored trigger as it is. */
  async #put(wish: NewCron): Promise<CronDocument> {
    const { id, project, owner, name, stack, input, params, request } = wish;
    const now = this.#parts.context.now();
    const found = await this.#definitions.find(project, wish.workflow);
    const spec = await this.#definitions.spec(found.spec);
    const goal = typeof params['task_name'] === 'string' ? params['task_name'] : null;
    startInput({ spec, given: input, goal }, workflowEvaluation(this.#parts.context.evaluationLimits));
    const times = { created_at: now.toISOString(), updated_at: now.toISOString() };
    const of = { id, project, owner, name, stack, workflow: found.name, workflow_id: found.id, input, params };
    const asked = request !== undefined && { request };
    const { document } = await changeOrInsert(this.#crons, id, (known) =>
      known ? undefined : { ...of, ...asked, ...firstPlan(wish, now.getTime()), ...times },
    );
    await faultPoint('cron.stored');
    await this.#wait(document as CronDocument);
    return document as CronDocument;
  }

  async #wait({ id, next }: CronDocument): Promise<void> {
    if (next !== null) await this.#timers().set([waitTimers.at(timerOf(id), Date.parse(next))]);
  }

  async list(project: string): Promise<CronTriggerView[]> {
    return (await this.#crons.find({ where: { project }, orderBy: ['name'] })).map(viewOf);
  }

  /** @throws AnnealError NotFound */
  async show(project: string, name: string): Promise<CronTriggerView> {
    return viewOf(await this.#find(project, name));
  }

  async #find(project: string, name: string): Promise<CronDocument> {
    const [named] = await this.#crons.find({ where: { project, name }, orderBy: ['name'], limit: 1 });
    const found = named ?? (await this.#crons.get(name));
    if (found?.project === project) return found;
    throw new AnnealError('NotFound', `The cron trigger ${name} does not exist in this project.`);
  }

  /** Deletes the trigger of a client. @throws AnnealError NotFound, Conflict for the trigger of a resource */
  async remove(project: string, name: string): Promise<void> {
    const found = await this.#find(project, name);
    if (found.stack) {
      const message = `Cannot delete cron trigger ${found.name}: a resource of stack ${found.stack.name} owns it. Delete the resource.`;
      throw new AnnealError('Conflict', message);
    }
    await this.#remove(found.id);
  }

  async #remove(id: string): Promise<void> {
    await this.#crons.remove(id);
    await this.#timers().cancel([waitTimers.idOf(timerOf(id))]);
  }

  /** Starts the workflow of a trigger, and sets its next time. A timer of an earlier time starts nothing. */
  async fire(id: string, dueAt: number): Promise<void> {
    const found = await this.#crons.get(id);
    if (!found) return;
    if (found.next === null || Date.parse(found.next) !== dueAt) {
      // The process died after it had stored the next time.
      await this.#continue(found);
      return;
    }
    const outcome = await this.#start(found, found.next);
    await faultPoint('cron.started');
    const now = this.#parts.context.now();
    const after = { ...found, ...planAfter(found, now.getTime()), updated_at: now.toISOString() };
    if (found.stack) {
      const { project, stack, next: key } = found;
      const reported = outcome instanceof AnnealError ? outcome : { message: outcome, attributes: attributesOf(after) };
      await reportTriggered(this.#parts, { resource: id, stack, project, key, outcome: reported });
    }
    const { document: stored = after } = await change(this.#crons, found, (known) =>
      known.next === found.next ? after : undefined,
    );
    await faultPoint('cron.planned');
    await this.#continue(stored);
  }

  /** Waits for the next time. Deletes the trigger of a client that has none. */
  async #continue(cron: CronDocument): Promise<void> {
    if (cron.next === null && !cron.stack) await this.#crons.remove(cron.id);
    else await this.#wait(cron);
  }

  /** The report of a start, or the error that refused it. @throws AnnealError that may pass: the timer fires again */
  async #start(found: CronDocument, key: string): Promise<string | AnnealError> {
    const { id, name, project, owner, stack, workflow, input, params, pattern } = found;
    const occasion = {
      actor: { kind: 'schedule', id, name },
      cause: { kind: 'schedule', id: null, reason: `${pattern ?? 'once'}, due ${key}` },
    } as const;
    const start = { source: id, project, owner, stack, workflow, input, params, key, occasion };
    try {
      return `Schedule: execution ${await startTriggered(this.#parts, start)} started`;
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind === 'retry') throw error;
      this.#parts.context.log.warn({ err: error, trigger: id }, 'workflow of a cron trigger not started');
      return error;
    }
  }
}

const attributesOf = ({ next, remaining }: CronDocument): JsonObject => ({
  next_execution_time: textOfTime(next),
  remaining_executions: remaining,
});

const viewOf = (document: CronDocument): CronTriggerView => {
  const { id, name, project, workflow, workflow_id, input, params, pattern, stack, created_at, updated_at } = document;
  return {
    id,
    name,
    project,
    workflow,
    workflow_id,
    input,
    params,
    pattern,
    next_execution_time: document.next,
    remaining_executions: document.remaining,
    resource: stack ? id : null,
    created_at,
    updated_at,
  };
};
