/** Runs the task of a question: a small one in the service's thread, any other in a worker. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { availableParallelism } from 'node:os';
import type { Delivery } from '@anneal/bus/port.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { createWorkerPool } from '@anneal/runtime/work/worker-pool.ts';
import { Askers } from './askers.ts';
import type { CompiledContents } from './compile.ts';
import { createInline } from './inline.ts';
import { serveRemote } from './remote.ts';
import type { ResourceTypes } from './resource-types.ts';
import { templatingSettings } from './settings.ts';
import type { Task } from './task.ts';

type Asked = Pick<Task, 'kind' | 'question'>;

interface Settings {
  readonly workers?: number | undefined;
  readonly workerMemory: number;
  readonly compileSeconds: number;
  readonly waiting: number;
  readonly maxResources: number;
  readonly maxDepth: number;
}

export interface Runner {
  /** The answer. The contents that it names are in the store. @throws AnnealError the refusal of the template */
  readonly work: (asked: Asked, delivery: Delivery) => Promise<Json>;
  /** Ends the work of a question whose requester has gone. */
  readonly gone: (question: string) => void;
  readonly close: () => Promise<void>;
}

export function createRunner(
  context: ServiceContext,
  { settings, types }: { settings: Settings; types: ResourceTypes },
): Runner {
  const { store, secrets, evaluationLimits: limits } = context;
  const runInline = createInline({ blobs: store.blobs, secrets }, limits);
  const remote = serveRemote(store.blobs);
  const limit = (name: 'workerMemory' | 'compileSeconds' | 'waiting') => ({
    most: settings[name],
    setting: templatingSettings[name].env,
  });
  const pool = createWorkerPool({
    entry: new URL('worker.ts', import.meta.url),
    data: { keys: secrets.keys, limits },
    workers: settings.workers ?? Math.max(1, Math.min(4, availableParallelism() - 1)),
    memory: limit('workerMemory'),
    seconds: limit('compileSeconds'),
    waiting: limit('waiting'),
    serve: (request) => remote.serve(request),
  });
  const askers = new Askers();
  const compiledOf = async (asked: Asked, signal: AbortSignal): Promise<CompiledContents<Json>> => {
    const { maxResources, maxDepth } = settings;
    const served = await types.list();
    const task = { ...asked, types: served, maxResources, maxDepth, now: context.now() } as Task;
    const small = await runInline(task);
    if (small) return small;
    // Questions of the engine (nested stacks) and of clients have separate lanes, which take turns.
    const lane = `project ${task.question.project}${task.kind === 'compile nested' ? ', nested stacks' : ''}`;
    const job = { lane, what: words[task.kind], signal };
    const done = (await pool.run({ ...job, task: remote.toRemote(task, served) })) as CompiledContents<string>;
    return { ...done, answer: parseExact(done.answer) };
  };
  return {
    work: (asked, delivery) =>
      askers.whileWaiting(delivery, async (signal) => {
        const { answer, contents } = await compiledOf(asked, signal);
        // Before the answer, because its reader reads them.
        await Promise.all(contents.map((content) => store.blobs.put(content)));
        return answer;
      }),
    gone: (question) => askers.gone(question),
    close: () => pool.close(),
  };
}

const words: Record<Task['kind'], string> = {
  compile: 'compiling the template',
  'compile nested': 'compiling the template of the nested stack',
  validate: 'validating the template',
  check: 'checking the template',
};
