/** Dead letters: list, show, purge and replay. Secrets are masked. */
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Bus, DeadLetter } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { failureSchema } from '@anneal/contracts/failure.ts';
import { jsonObject, type Json } from '@anneal/contracts/json.ts';
import { jsonOrText } from '@anneal/contracts/plain-json.ts';
import { redaction } from '@anneal/runtime/secrets/redact.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';

const deadLetterSchema = z
  .object({
    id: z.string(),
    queue: z.string(),
    died_at: z.string(),
    attempts: z.number().meta({ description: 'Also those before its replays.' }),
    replays: z.number().meta({ description: 'How often it was replayed before it died again.' }),
    failure: failureSchema,
    history: z.array(z.object({ at: z.string(), error: z.string() })),
    message: z.unknown().optional(),
  })
  .meta({ id: 'DeadLetter' });
const replayedSchema = z.object({
  id: z.string(),
  outcome: z.enum(['sent', 'handled', 'died']).meta({
    description:
      '`sent`: it had no end within the wait. `handled`: its service took it. `died`: it is a dead letter again.',
  }),
  dead_letter: z.string().optional().meta({ description: 'Its new id, when it died again.' }),
  failure: failureSchema.optional().meta({ description: 'Why it died again.' }),
});
const limit = z.int().min(1).max(1000).default(20);

export function deadLetterEndpoints({ bus, secrets }: { bus: Bus; secrets: Secrets }): Route[] {
  const outlined = (letter: DeadLetter) => ({
    id: letter.id,
    queue: letter.queue,
    died_at: letter.diedAt,
    attempts: letter.attempts,
    replays: letter.replays ?? 0,
    failure: letter.failure,
    history: letter.history,
  });
  const shown = (letter: DeadLetter) => ({ ...outlined(letter), message: secrets.mask(jsonOrText(letter.bytes)) });

  return [
    route({
      method: 'GET',
      path: '/dead-letters',
      summary: 'List dead letters, oldest first: messages that could not be processed.',
      query: z.strictObject({
        queue: z.string().optional(),
        limit,
        after: z.string().optional().meta({ description: 'The id of the last one that the client has.' }),
        messages: z.boolean().default(true).meta({ description: 'false leaves the messages out.' }),
      }),
      answer: z.object({ dead_letters: z.array(deadLetterSchema) }),
      handle: async ({ query: { queue, limit: most, after, messages } }) => {
        const letters = await bus.deadLetters.list({
          limit: most,
          ...(queue !== undefined && { queue }),
          ...(after !== undefined && { after }),
        });
        return { dead_letters: letters.map(messages ? shown : outlined) };
      },
    }),
    route({
      method: 'GET',
      path: '/dead-letters/{id}',
      summary: 'Show a dead letter: its reason, its attempts and the message.',
      answer: deadLetterSchema,
      handle: async ({ params: { id } }) => {
        const letter = await bus.deadLetters.show(id);
        if (!letter) throw letterMissing(id);
        return shown(letter);
      },
    }),
    route({
      method: 'DELETE',
      path: '/dead-letters',
      summary: 'Purge all dead letters of a queue or, with all=true, of every queue.',
      query: z.strictObject({ queue: z.string().min(1).optional(), all: z.boolean().optional() }),
      status: 200,
      answer: z.object({ purged: z.number() }),
      handle: async ({ query: { queue, all } }) => {
        // A forgotten parameter must not delete every dead letter.
        if (queue === undefined && all !== true) {
          throw new AnnealError(
            'InvalidRequest',
            'Cannot purge dead letters without a queue: give queue=<name>, or all=true for every queue.',
          );
        }
        return { purged: await bus.deadLetters.purge(queue === undefined ? {} : { queue }) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/dead-letters/{id}',
      summary: 'Purge a dead letter.',
      handle: async ({ params: { id } }) => {
        if ((await bus.deadLetters.purge({ id })) === 0) throw letterMissing(id);
      },
    }),
    replayEndpoint(bus),
  ];
}

const letterMissing = (id: string): AnnealError =>
  new AnnealError('NotFound', `There is no dead letter ${id}; it may have been replayed or purged.`);

const replayEndpoint = (bus: Bus): Route =>
  route({
    method: 'POST',
    path: '/dead-letters/{id}/replay',
    summary:
      'Replay a dead letter: send it again to the end of its original queue. `data` changes its data first, ' +
      'as a JSON merge patch (RFC 7396). `wait` awaits the end of the message: handled, or dead again.',
    body: z
      .strictObject({
        data: jsonObject.optional(),
        wait: z
          .number()
          .min(0)
          .max(30)
          .optional()
          .meta({ description: 'The most seconds to wait; 0 when it is absent.' }),
      })
      .nullish(),
    status: 202,
    answer: replayedSchema,
    handle: async ({ params: { id }, body }) => {
      const patch = body?.data;
      const masked = patch && pathsOf(patch, redaction);
      if (masked && masked.length > 0) {
        const mistakes = masked.map((path) => ({
          code: 'InvalidField' as const,
          path: `data.${path}`,
          message: 'is the mask of a secret; leave it out to keep the secret',
        }));
        const list = mistakes.map(({ path, message }) => `${path} ${message}`).join('; ');
        throw new AnnealError('InvalidRequest', `Cannot change the dead letter ${id}: ${list}.`, { mistakes });
      }
      const waitMs = (body?.wait ?? 0) * 1000;
      const replayed = await bus.deadLetters.replay(id, { waitMs, ...(patch && { patch }) });
      if (!replayed) throw letterMissing(id);
      const { outcome } = replayed;
      return outcome === 'died'
        ? { id, outcome, dead_letter: replayed.deadLetter, failure: replayed.failure }
        : { id, outcome };
    },
  });

/** The places of a text in a value. */
function pathsOf(value: Json, text: string, path: readonly (string | number)[] = []): string[] {
  if (value === text) return [path.join('.')];
  if (!holdsValues(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, text, [...path, key]));
}
