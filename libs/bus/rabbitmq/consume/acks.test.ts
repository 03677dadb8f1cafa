import type { Message } from 'amqplib';
import { describe, expect, it } from 'vitest';
import { Acks } from './acks.ts';

const messageOf = (deliveryTag: number): Message => ({ fields: { deliveryTag } }) as Message;
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A channel that records its acknowledgements: `3+` covers all up to 3. */
function consumerOf(delivered: number) {
  const frames: string[] = [];
  const inHand = new Map(Array.from({ length: delivered }, (_, n) => [n + 1, messageOf(n + 1)]));
  const ack = ({ fields }: Message, all?: boolean): void => void frames.push(`${fields.deliveryTag}${all ? '+' : ''}`);
  const acks = new Acks({ channel: { ack }, oldestInHand: () => inHand.values().next().value });
  const done = (...tags: number[]): void => {
    for (const tag of tags) {
      inHand.delete(tag);
      acks.add(messageOf(tag));
    }
  };
  return { frames, acks, done };
}

describe('acknowledgements', () => {
  it('of one turn share a frame when no earlier message is in flight', async () => {
    const { frames, done } = consumerOf(5);
    done(2, 1, 3);
    await turn();
    done(4);
    await turn();
    expect(frames).toEqual(['3+', '4']);
  });

  it('do not cover messages that are still in flight', async () => {
    const { frames, done } = consumerOf(6);
    done(1, 2, 4, 6);
    await turn();
    expect(frames).toEqual(['2+', '4', '6']);
    done(5);
    await turn();
    expect(frames.slice(3)).toEqual(['5']);
    done(3);
    await turn();
    expect(frames.slice(4)).toEqual(['3']);
  });

  it('reach the driver exactly once after a flush', async () => {
    const { frames, acks, done } = consumerOf(2);
    done(1, 2);
    acks.flush();
    expect(frames).toEqual(['2+']);
    await turn();
    expect(frames).toEqual(['2+']);
  });

  it('are dropped when their channel closed, because the broker delivers again', async () => {
    const ack = (): never => {
      throw new Error('Channel closed');
    };
    const acks = new Acks({ channel: { ack }, oldestInHand: () => undefined });
    acks.add(messageOf(1));
    expect(() => acks.flush()).not.toThrow();
    await turn();
  });
});
