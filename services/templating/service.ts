/** The templating service: compiles templates to plans. It stores only blobs and announced types. */
import { availableParallelism } from 'node:os';
import type { Delivery } from '@anneal/bus/port.ts';
import { answer, on, route } from '@anneal/bus/consume/route.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import {
  type CompileAnswer,
  questionAbandoned,
  resourceTypeList,
  templateCheck,
  templateCompile,
  templateCompileNested,
  templateValidate,
  type TemplateCheck,
} from '@anneal/contracts/calls/templating.ts';
import { defineService } from '@anneal/runtime/service/service.ts';
import { createWorkerPool } from '@anneal/runtime/work/worker-pool.ts';
import { Askers } from './askers.ts';
import { createInline } from './inline.ts';
import { serveBlobs } from './remote-blobs.ts';
import { openResourceTypes, versionOf } from './resource-types.ts';
import { templatingSettings } from './settings.ts';
import type { Task } from './task.ts';

type Asked = Pick<Task, 'kind' | 'question'>;

export const templatingService = defineService({
  name: 'templating',
  settings: templatingSettings,
  async start(context, settings) {
    const { store, secrets, evaluationLimits: limits } = context;
    const types = await openResourceTypes(store);
    const runInline = createInline({ blobs: store.blobs, secrets }, limits);
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
      serve: serveBlobs(store.blobs),
    });
    const askers = new Askers();
    const work = (asked: Asked, delivery: Delivery): Promise<Json> =>
      askers.whileWaiting(delivery, async (signal) => {
        const { maxResources, maxDepth } = settings;
        const task = { ...asked, types: await types.list(), maxResources, maxDepth, now: context.now() } as Task;
        const small = await runInline(task);
        if (small) return small.answer;
        // Questions of the engine (nested stacks) and of clients have separate lanes, which take turns.
        const lane = `project ${task.question.project}${task.kind === 'compile nested' ? ', nested stacks' : ''}`;
        return (await pool.run({ lane, what: words[task.kind], task, signal })) as Json;
      });
    const consumer = await context.bus.consume(
      requestsQueue('templating'),
      route([
        answer(
          context,
          templateCompile,
          async ({ data }, delivery) =>
            work({ kind: 'compile', question: data }, delivery) as Promise<CompileAnswer & Json>,
        ),
        answer(
          context,
          templateCompileNested,
          async ({ data }, delivery) =>
            work({ kind: 'compile nested', question: data }, delivery) as Promise<CompileAnswer & Json>,
        ),
        answer(
          context,
          templateValidate,
          async ({ data }, delivery) => work({ kind: 'validate', question: data }, delivery) as Promise<JsonObject>,
        ),
        answer(
          context,
          templateCheck,
          async ({ data }, delivery) =>
            work({ kind: 'check', question: data }, delivery) as Promise<TemplateCheck & Json>,
        ),
        answer(context, resourceTypeList, async ({ data }) => {
          const listed = await types.list();
          const version = versionOf(listed);
          if (data.known === version) return { types: [], version, unchanged: true };
          return { types: [...listed], version };
        }),
        on(providerAnnounced, async ({ data }) => {
          // A seal in an announcement can only be a copy, which must not open.
          await types.announce(context.secrets.fromOutside(data as unknown as Json) as unknown as typeof data);
          context.log.info({ provider: data.provider, types: data.types.length }, 'provider announced its types');
        }),
      ]),
      { concurrency: settings.concurrency },
    );
    const abandoned = await context.bus.subscribe(
      [questionAbandoned.type],
      route([on(questionAbandoned, async ({ data }) => askers.gone(data.question))]),
    );
    return {
      async stop() {
        await Promise.all([consumer.stop(), abandoned.stop()]);
        await pool.close();
      },
    };
  },
});

const words: Record<Task['kind'], string> = {
  compile: 'compiling the template',
  'compile nested': 'compiling the template of the nested stack',
  validate: 'validating the template',
  check: 'checking the template',
};
