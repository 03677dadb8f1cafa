/** The templating service: from templates to plans. It keeps nothing but blobs and the types that were announced. */
import { answer, on, route } from '@anneal/bus/route.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import {
  type CompileQuestion,
  resourceTypeList,
  templateCompile,
  templateCompileNested,
  templateValidate,
} from '@anneal/contracts/templating.ts';
import type { CompileParameters } from '@anneal/hot/compile.ts';
import { defineService } from '@anneal/runtime/service.ts';
import { compileAndStore, compileNestedAndStore, validateTemplate } from './compile.ts';
import { createNestedQuestions } from './nested-question.ts';
import { readQuestion } from './question.ts';
import { openResourceTypes } from './resource-types.ts';
import { templatingSettings } from './settings.ts';

export const templatingService = defineService({
  name: 'templating',
  settings: templatingSettings,
  async start(context, { concurrency, maxResources }) {
    const { store, secrets } = context;
    const types = await openResourceTypes(store);
    const sources = { blobs: store.blobs, secrets };
    const nested = createNestedQuestions(sources);
    const read = async (question: CompileQuestion): Promise<CompileParameters> =>
      readQuestion(question, { ...sources, maxResources, types: await types.list() });
    const consumer = await context.bus.consume(
      requestsQueue('templating'),
      route([
        answer(context, templateCompile, async ({ data }) => compileAndStore(await read(data), sources)),
        answer(context, templateCompileNested, async ({ data }) =>
          compileNestedAndStore(await nested.read(data, { types: await types.list(), maxResources }), sources),
        ),
        answer(context, templateValidate, async ({ data }) => validateTemplate(await read(data))),
        answer(context, resourceTypeList, async () => ({ types: await types.list() })),
        on(providerAnnounced, async ({ data }) => {
          await types.announce(data);
          context.log.info({ provider: data.provider, types: data.types.length }, 'a provider announced its types');
        }),
      ]),
      { concurrency },
    );
    return { stop: () => consumer.stop() };
  },
});
