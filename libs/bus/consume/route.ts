/** From message types to typed handlers. */
import type { CallDefinition, MessageDefinition } from '@anneal/contracts/define.ts';
import { answerSchema, answerType, type Answer, type Envelope, type Mint } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Bus, Delivery, Handler } from '../port.ts';

/** The handler of one message type. */
export interface MessageRoute {
  readonly type: string;
  readonly handle: (delivery: Delivery) => Promise<void>;
}

/** Handles one type of message. Its data was validated when the message arrived. */
export function on<T>(
  definition: MessageDefinition<T>,
  handle: (message: Envelope<T>, delivery: Delivery<T>) => Promise<void>,
): MessageRoute {
  return {
    type: definition.type,
    handle: (delivery) => handle((delivery as Delivery<T>).message, delivery as Delivery<T>),
  };
}

/**
 * Answers one type of question. An error is an answer too: the requester decides whether to ask again, so a question is
 * never delivered twice because its answer is "no". An error that is not an AnnealError is a defect: the question
 * becomes a dead letter, and the bus answers with it.
 */
export function answer<Q, A>(
  { bus, mint }: { bus: Bus; mint: Mint },
  definition: CallDefinition<Q, A>,
  respond: (question: Envelope<Q>, delivery: Delivery<Q>) => Promise<A>,
): MessageRoute {
  const reply = (question: Envelope<Q>, data: Answer): Promise<void> =>
    bus.reply({
      to: question,
      message: mint({ type: answerType(definition.type), data: answerSchema }, { data, cause: question }),
    });
  return {
    type: definition.type,
    handle: async (delivery) => {
      const question = (delivery as Delivery<Q>).message;
      let value: A;
      try {
        value = await respond(question, delivery as Delivery<Q>);
      } catch (error) {
        if (error instanceof AnnealError && error.kind !== 'defect') {
          await reply(question, { ok: false, failure: toFailure(error) });
          return;
        }
        throw new AnnealError('Defect', `${definition.type}: ${toFailure(error).message}`, { cause: error });
      }
      await reply(question, { ok: true, value: value as Json });
    },
  };
}

/** Combines routes into the handler of a queue. A type without a route is a dead letter that names the known types. */
export function routeMessages(routes: readonly MessageRoute[]): Handler {
  const byType = new Map(routes.map((entry) => [entry.type, entry]));
  return async (delivery) => {
    const found = byType.get(delivery.message.type);
    if (!found) {
      throw new AnnealError(
        'InvalidMessage',
        `Queue ${delivery.queue} does not take messages of type ${delivery.message.type}; it takes ${[...byType.keys()].join(', ')}.`,
      );
    }
    await found.handle(delivery);
  };
}
