/** The templating service: compiles templates to plans. It stores only blobs and announced types. */
import { answer, on, routeMessages } from '@anneal/bus/consume/route.ts';
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
import { createRunner } from './run.ts';
import { openResourceTypes, versionOf } from './resource-types.ts';
import { templatingSettings } from './settings.ts';

export const templatingService = defineService({
  name: 'templating',
  settings: templatingSettings,
  async start(context, settings) {
    const types = await openResourceTypes(context.store);
    const { work, gone, close } = createRunner(context, { settings, types });
    const consumer = await context.bus.consume(
      requestsQueue('templating'),
      routeMessages([
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
      routeMessages([on(questionAbandoned, async ({ data }) => gone(data.question))]),
    );
    return {
      async stop() {
        await Promise.all([consumer.stop(), abandoned.stop()]);
        await close();
      },
    };
  },
});
