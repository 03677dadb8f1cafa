/** Runs executions of a workflow in virtual time: actions end when a test lets them, timers fire in their order. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { stackTimerName, type TaskTimer } from '@anneal/contracts/stack-timer.ts';
import type { ExecutionDocument, TaskDocument } from '@anneal/convergence/workflow/documents.ts';
import { newExecution } from '@anneal/convergence/workflow/documents.ts';
import type {
  ActionEnd,
  ExecutionChanges,
  ExecutionAct,
  ExecutionEffect,
  ExecutionEvent,
  ExecutionInput,
  WorkflowState,
} from '@anneal/convergence/workflow/protocol.ts';
import { joinTask, type ItemPage } from '@anneal/convergence/workflow/pages.ts';
import { startInput, stepExecution } from '@anneal/convergence/workflow/step.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';
import { workflowEvaluation } from '@anneal/hot/workflow/expression.ts';
import { parseWorkflows } from '@anneal/hot/workflow/parse.ts';

const evaluate = workflowEvaluation(defaultEvaluation);

type Called = Extract<ExecutionEffect, { kind: 'action' | 'workflow' }>;

/** One execution in virtual time. */
export class ExecutionDriver {
  state: WorkflowState;
  /** Seconds since the start. */
  time = 0;
  /** Every action that was requested, by its id, in order. */
  readonly called: Called[] = [];
  readonly events: ExecutionEvent[] = [];
  readonly answers: Extract<ExecutionEffect, { kind: 'answer' }>[] = [];
  readonly stopped: string[] = [];
  /** Actions that have not ended. */
  readonly open = new Map<string, Called>();
  readonly timers = new Map<string, { timer: TaskTimer; at: number }>();
  steps = 0;
  /** Bytes of the tasks and pages that each step wrote. */
  readonly written: number[] = [];
  readonly #stored = new Map<string, TaskDocument>();
  readonly #pages = new Map<string, ItemPage>();
  #inputs = 0;

  constructor(text: string, given: { input?: JsonObject; env?: JsonObject; goal?: string; parent?: boolean } = {}) {
    const parsed = parseWorkflows(text);
    if (!parsed.ok) throw new Error(parsed.mistakes.map(({ message }) => message).join('\n'));
    const [spec] = parsed.workflows;
    if (!spec) throw new Error('no workflow');
    const goal = given.goal ?? null;
    const input = startInput({ spec, given: given.input ?? {}, goal }, evaluate);
    const parent = { execution_id: 'p', action_id: 'e', task: 'call', fence: 1 };
    const execution = newExecution({
      id: 'e',
      project: 'p',
      owner: 'admin',
      workflow: spec.name,
      definition: 'hash',
      source: '',
      stack: null,
      parent: given.parent ? parent : null,
      root: 'e',
      depth: 0,
      start: { actor: { kind: 'user', id: 'u', name: 'u' }, cause: { kind: 'request', id: null, reason: null } },
      description: '',
      input,
      env: given.env ?? {},
      goal,
      created_at: this.now,
    });
    this.state = {
      execution: { ...execution, version: 1 },
      tasks: new Map(),
      spec,
      specs: new Map(spec.tasks.map((task) => [task.name, task])),
    };
    this.step({ kind: 'begin', id: 'begin' });
  }

  get execution(): ExecutionDocument {
    return this.state.execution;
  }

  get now(): string {
    return new Date(Date.UTC(2026, 0, 1) + this.time * 1000).toISOString();
  }

  /** Steps with the inputs, as a shell does: from stored documents, repeated while it is partial. */
  step(...given: ExecutionInput[]): Map<string, Error> {
    const refusals = new Map<string, Error>();
    for (let inputs = given, isPartial = true; isPartial; inputs = []) {
      this.state = { ...structuredClone({ ...this.state, tasks: new Map() }), tasks: this.#readTasks() };
      const outcome = stepExecution(this.state, inputs, { now: this.now, evaluate, most: 50 });
      this.steps += 1;
      this.#store(outcome.changes);
      for (const [id, error] of outcome.refusals) refusals.set(id, error);
      this.events.push(...outcome.changes.events);
      for (const effect of outcome.changes.effects) this.#carryOut(effect);
      isPartial = outcome.isPartial;
    }
    return refusals;
  }

  /** The whole tasks, from what is stored. */
  #readTasks(): Map<string, TaskDocument> {
    const stored = structuredClone([...this.#stored.values()]);
    return new Map(stored.map((task) => [task.id, joinTask(task, structuredClone(this.#pages))]));
  }

  /** Stores the documents of a step, each over exactly the version before it, as the store demands. */
  #store({ tasks, pages }: ExecutionChanges): void {
    for (const task of tasks.values()) put(this.#stored, task);
    for (const page of pages) put(this.#pages, page);
    this.written.push(JSON.stringify([...tasks.values(), ...pages]).length);
  }

  #carryOut(effect: ExecutionEffect): void {
    switch (effect.kind) {
      case 'action':
      case 'workflow':
        this.called.push(effect);
        this.open.set(effect.id, effect);
        return;
      case 'stop':
        this.stopped.push(effect.id);
        this.open.delete(effect.id);
        return;
      case 'timer':
        this.timers.set(stackTimerName(effect.timer), { timer: effect.timer, at: Date.parse(effect.at) });
        return;
      case 'cancel timer':
        this.timers.delete(stackTimerName(effect.timer));
        return;
      case 'answer':
        this.answers.push(effect);
    }
  }

  /** Ends the open action of this task; of several, the first. Returns what was called. */
  end(task: string, result: Json = null, ok = true): Called {
    const found = [...this.open.values()].find((each) => each.task === task);
    if (!found)
      throw new Error(
        `no open action of ${task}; open: ${[...this.open.values()].map((each) => each.task).join(', ')}`,
      );
    this.open.delete(found.id);
    this.deliver({ action: found.id, ok, result, reason: ok ? null : JSON.stringify(result) });
    return found;
  }

  fail(task: string, result: Json = 'broken'): Called {
    return this.end(task, result, false);
  }

  deliver(end: ActionEnd): void {
    this.step({ kind: 'end', id: this.#id(), end });
  }

  act(act: ExecutionAct): Error | undefined {
    return [...this.step({ kind: 'act', id: this.#id(), act }).values()][0];
  }

  #id(): string {
    this.#inputs += 1;
    return `input ${this.#inputs}`;
  }

  /** Lets time pass until the next timer, which fires. False when there is none. */
  fire(): boolean {
    const [next] = [...this.timers.values()].sort((a, b) => a.at - b.at);
    if (!next) return false;
    const { timer, at } = next;
    this.timers.delete(stackTimerName(timer));
    this.time = Math.max(this.time, (at - Date.UTC(2026, 0, 1)) / 1000);
    this.step({ kind: 'timer', id: this.#id(), timer });
    return true;
  }

  /** The runs of a task. */
  runs(name: string): TaskDocument[] {
    return [...this.state.tasks.values()].filter((task) => task.name === name);
  }

  /** `name:STATE` of each task run, in order. */
  states(): string[] {
    return [...this.state.tasks.values()].map(({ name, state }) => `${name}:${state}`);
  }

  /** The names of the tasks whose actions are open. */
  running(): string[] {
    return [...this.open.values()].map(({ task }) => task);
  }
}

function put<T extends { readonly id: string; readonly version: number }>(into: Map<string, T>, document: T): void {
  const before = into.get(document.id)?.version ?? 0;
  if (document.version !== before + 1) {
    throw new Error(`${document.id} has version ${document.version}; the stored one has ${before}`);
  }
  into.set(document.id, document);
}

/** A workflow `w` with these lines. Lines of tasks are indented by four spaces by the caller. */
export const workflowText = (lines: string): string => `version: '2.0'\nw:\n${lines}`;
