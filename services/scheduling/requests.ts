/** Handles the service's own queue: forwards changes of a stack to its shard, and answers reads. */
import type { Handler } from '@anneal/bus/port.ts';
import { answer, on, routeMessages, type MessageRoute } from '@anneal/bus/consume/route.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import { toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { answerSchema, answerType, type Envelope } from '@anneal/contracts/envelope.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import { groupAct, groupAdjust, groupList, groupShow } from '@anneal/contracts/calls/scaling.ts';
import { resourceAct, stackResources, stackSignal } from '@anneal/contracts/calls/resources.ts';
import {
  snapshotDelete,
  snapshotList,
  snapshotShow,
  stackExport,
  stackRevisionList,
  stackRevisionShow,
} from '@anneal/contracts/calls/stack-history.ts';
import {
  stackAct,
  stackCreate,
  stackDelete,
  stackEvents,
  stackList,
  stackShow,
  stackUpdate,
} from '@anneal/contracts/calls/stacks.ts';
import { stackOverview, stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { stackPreview } from '@anneal/contracts/calls/previews.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { StackPreview } from './nested/preview.ts';
import type { ProviderDirectory } from './providers.ts';
import type { GroupReading } from './read/groups.ts';
import type { StackReading } from './read/reading.ts';
import type { Shards } from './shard-map/shards.ts';
import type { createOverview } from './read/overview.ts';
import type { createWhy } from './read/why.ts';

export function requestsHandler(parameters: {
  context: ServiceContext;
  shards: Shards;
  reading: StackReading;
  groups: GroupReading;
  preview: StackPreview;
  why: ReturnType<typeof createWhy>;
  overview: ReturnType<typeof createOverview>;
  providers: ProviderDirectory;
  ownProvider: readonly MessageRoute[];
}): Handler {
  const { context, groups, reading, providers } = parameters;
  const { bus, mint } = context;

  const forward = (stackId: string, message: Envelope): Promise<void> =>
    bus.send({ queue: parameters.shards.queueOf(stackId), messages: [message] });

  /** Forwards a question to the shard, which answers. Answers here only when no stack is found. */
  const passOn = <Q, A>(
    definition: CallDefinition<Q, A>,
    locate: (question: Q) => Promise<{ id: string; question: Q }>,
  ): MessageRoute => ({
    type: definition.type,
    handle: async ({ message }) => {
      let found: { id: string; question: Q };
      try {
        found = await locate(message.data as Q);
      } catch (error) {
        const data = { ok: false, failure: toFailure(error) } as const;
        await bus.reply({
          to: message,
          message: mint({ type: answerType(definition.type), data: answerSchema }, { data, cause: message }),
        });
        return;
      }
      await forward(found.id, { ...message, data: found.question });
    },
  });

  return routeMessages([
    passOn(stackCreate, async (question) => ({ id: question.id, question })),
    passOn(stackUpdate, async (question) => {
      const { id } = await reading.find({ project: question.project, stack: question.id });
      return { id, question: { ...question, id } };
    }),
    passOn(stackDelete, async (question) => {
      const { id } = await reading.find({ project: question.project, stack: question.id });
      return { id, question: { ...question, id } };
    }),
    ...[stackSignal, stackAct, resourceAct].map((definition: CallDefinition<{ project: string; stack: string }>) =>
      passOn(definition, async (question) => {
        const { id } = await reading.find(question);
        return { id, question: { ...question, stack: id } };
      }),
    ),
    passOn(groupAct, async (question) => {
      const id = await groups.idOf(question);
      return { id, question: { ...question, stack: id } };
    }),
    answer(context, groupShow, ({ data }) => groups.show(data)),
    answer(context, groupList, ({ data }) => groups.list(data)),
    answer(context, snapshotList, ({ data }) => reading.snapshots(data)),
    answer(context, snapshotShow, ({ data }) => reading.snapshot(data)),
    answer(context, snapshotDelete, ({ data }) => reading.forget(data)),
    answer(context, stackRevisionList, ({ data }) => reading.revisions(data)),
    answer(context, stackRevisionShow, ({ data }) => reading.revision(data)),
    answer(context, stackPreview, ({ data }) => parameters.preview.of(data)),
    answer(context, stackExport, ({ data }) => reading.exported(data)),
    answer(context, stackShow, ({ data }) => reading.show(data)),
    answer(context, stackList, ({ data }) => reading.list(data)),
    answer(context, stackResources, ({ data }) => reading.resources(data)),
    answer(context, stackWhy, ({ data }) => parameters.why(data)),
    answer(context, stackOverview, ({ data }) => parameters.overview(data)),
    answer(context, stackEvents, ({ data }) => reading.events(data)),
    on(groupAdjust, (message) => forward(message.data.stack_id, message)),
    // A seal in an announcement can only be a copy, which must not open.
    on(providerAnnounced, ({ data }) =>
      providers.announce(context.secrets.fromOutside(data as unknown as Json) as unknown as typeof data),
    ),
    ...parameters.ownProvider,
  ]);
}
