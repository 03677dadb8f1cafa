/** The conformance of every bus, whichever broker is behind the port. An adapter's `*.contract.ts` runs it. */
import { oddJson } from '@anneal/store/conformance/odd-value.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claimCheckConformance } from './claim-checks.ts';
import { otherFailed, happened, mintTestMessage, sum, work } from './messages.ts';
import type { Bus, ConsumeOptions, DeadLetter, Death, Delivery } from '../port.ts';
import { answer, routeMessages } from '../consume/route.ts';
import type { OpenedBus, BusHarness } from './harness.ts';

const q = 'test.q';
const prompt: ConsumeOptions = { backoff: () => 5 };

/** Registers the tests of B1 to B7 for an adapter. */
export function busConformance(name: string, harness: BusHarness): void {
  claimCheckConformance(name, harness);
  const { quick = false } = harness;
  describe(`a bus on ${name}`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    let opened: OpenedBus;
    let bus: Bus;
    const reopen = async (): Promise<void> => {
      await bus.close();
      opened = await harness.open(place);
      bus = opened.bus;
    };
    beforeEach(async () => {
      place = await harness.fresh();
      opened = await harness.open(place);
      bus = opened.bus;
    });
    afterEach(async () => {
      await bus.close();
      await place.dispose();
    });

    const todo = (n: number, text?: string): Envelope =>
      mintTestMessage(work, { data: { n, ...(text !== undefined && { text }) } });
    const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
    const send = (...values: number[]): Promise<void> => bus.send({ queue: q, messages: values.map((n) => todo(n)) });
    const publish = (n: number, subject: string): Promise<void> =>
      bus.publish([mintTestMessage(happened, { data: { n }, subject })]);
    const nOf = ({ message }: Delivery): number => (message.data as { n: number }).n;
    const recorder = () => {
      const seen: number[] = [];
      return { seen, record: async (delivery: Delivery) => void seen.push(nOf(delivery)) };
    };
    const empty = (queue = q): Promise<void> =>
      vi.waitFor(async () => expect(await bus.queues.measure(queue)).toMatchObject({ depth: 0, inFlight: 0 }));
    const theDead = (): Promise<Awaited<ReturnType<Bus['deadLetters']['list']>>> =>
      vi.waitFor(async () => {
        const letters = await bus.deadLetters.list({ limit: 10 });
        expect(letters).not.toHaveLength(0);
        return letters;
      });
    const killOne = async (kind: 'queue' | 'group', maxAttempts: number): Promise<void> => {
      await bus.close();
      const victim = spawn(
        process.execPath,
        [new URL('./victim.ts', import.meta.url).pathname, place.url, place.storeUrl, kind, `${maxAttempts}`],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      );
      const [, signal] = (await once(victim, 'exit')) as [number | null, string | null];
      expect(signal).toBe('SIGKILL');
      opened = await harness.open(place);
      bus = opened.bus;
    };

    it('B1: messages sent before a restart are delivered after it', async () => {
      await send(1, 2, 3);
      await reopen();
      const { seen, record } = recorder();
      await bus.consume(q, record);
      await vi.waitFor(() => expect(seen).toEqual([1, 2, 3]));
      await empty();
    });

    it('B2: a message whose handler returned is not delivered again, also after a restart', async () => {
      const { seen, record } = recorder();
      await bus.consume(q, record);
      await send(...numbers(0, 50));
      await empty();
      await reopen();
      await bus.consume(q, record);
      await send(50);
      await empty();
      expect(seen).toEqual(numbers(0, 51));
    });

    it('B2: a message whose handler threw is delivered again after the backoff, with its attempt count, and the last attempt is marked as the last', async () => {
      const seen: [number, boolean, number][] = [];
      await bus.consume(
        q,
        async ({ attempt, last }) => {
          seen.push([attempt, last, performance.now()]);
          if (attempt < 3) throw new Error('not yet');
        },
        { maxAttempts: 3, backoff: (attempt) => attempt * 40 },
      );
      await send(1);
      await empty();
      expect(seen.map(([attempt, last]) => [attempt, last])).toEqual([
        [1, false],
        [2, false],
        [3, true],
      ]);
      const [one = 0, two = 0, three = 0] = seen.map(([, , at]) => at);
      expect(two - one).toBeGreaterThanOrEqual(38);
      expect(three - two).toBeGreaterThanOrEqual(78);
      expect(await bus.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('B2: a handler that is idempotent by its state stays correct when every message is delivered twice', async () => {
      const done = new Map<string, number>();
      await bus.consume(q, async ({ message }) => void done.set(message.id, (message.data as { n: number }).n), prompt);
      const messages = numbers(0, 20).map((n) => todo(n));
      await bus.send({ queue: q, messages });
      await bus.send({ queue: q, messages: messages.toReversed() });
      await empty();
      expect([...done.values()].sort((a, b) => a - b)).toEqual(numbers(0, 20));
    });

    it('B3: first deliveries start in the order of sending, also for claim checks and questions', async () => {
      const started: number[] = [];
      await bus.consume(q, async (delivery) => {
        const { data } = delivery.message as Envelope<{ n?: number; a?: number }>;
        started.push(data.n ?? data.a ?? -1);
      });
      const large = 'x'.repeat(300_000);
      const sent = [bus.send({ queue: q, messages: [todo(0, large)] }), send(1, 2)];
      const asked = bus.request({
        queue: q,
        call: sum,
        message: mintTestMessage(sum, { data: { a: 3, b: 0 } }),
        timeoutMs: 2000,
      });
      asked.catch(() => undefined);
      sent.push(bus.send({ queue: q, messages: [todo(4), todo(5, large), todo(6)] }), send(...numbers(7, 400)));
      await Promise.all(sent);
      await vi.waitFor(() => expect(started).toEqual(numbers(0, 400)));
    });

    it('B3: at most `concurrency` handlers are in flight', async () => {
      let inFlight = 0;
      let most = 0;
      const full = Promise.withResolvers<void>();
      await bus.consume(
        q,
        async () => {
          inFlight += 1;
          most = Math.max(most, inFlight);
          if (inFlight === 3) full.resolve();
          await full.promise;
          await new Promise((resolve) => void setImmediate(resolve));
          inFlight -= 1;
        },
        { concurrency: 3 },
      );
      await send(...numbers(0, 60));
      await empty();
      expect(most).toBe(3);
    });

    it('B3: a single active consumer receives every message; the next one takes over when it stops', async () => {
      const one = recorder();
      const two = recorder();
      const active: string[] = [];
      const note = (who: string) => (on: boolean) => void active.push(`${who} ${on}`);
      const first = await bus.consume(q, one.record, { singleActive: true, onActive: note('one') });
      await bus.consume(q, two.record, { singleActive: true, onActive: note('two') });
      await send(...numbers(0, 100));
      await empty();
      await first.stop();
      await send(...numbers(100, 120));
      await empty();
      expect(one.seen).toEqual(numbers(0, 100));
      expect(two.seen).toEqual(numbers(100, 120));
      await vi.waitFor(() => expect(active).toEqual(['one true', 'one false', 'two true']));
    });

    it('B3: several active consumers share the messages', async () => {
      const one = recorder();
      const two = recorder();
      await bus.consume(q, one.record, { concurrency: 1 });
      await bus.consume(q, two.record, { concurrency: 1 });
      await send(...numbers(0, 40));
      await empty();
      expect([...one.seen, ...two.seen].sort((a, b) => a - b)).toEqual(numbers(0, 40));
      expect(Math.min(one.seen.length, two.seen.length)).toBeGreaterThan(0);
    });

    it('B4: a message is a dead letter after its last attempt, with error, history and bytes', async () => {
      await bus.consume(q, () => Promise.reject(new Error('broken wire')), { ...prompt, maxAttempts: 3 });
      const message = todo(7);
      await bus.send({ queue: q, messages: [message] });
      const [letter] = await theDead();
      expect(letter).toMatchObject({ queue: q, attempts: 3, failure: { code: 'Defect', message: 'broken wire' } });
      expect(letter?.history.map(({ error }) => error)).toEqual(Array(3).fill('Defect: broken wire'));
      expect(JSON.parse(letter?.bytes ?? '')).toEqual(message);
      expect(await bus.deadLetters.show(letter?.id ?? '')).toEqual(letter);
    });

    it('B7: the requester is notified of a dead letter and its id', async () => {
      const deaths: Death[] = [];
      const onDeath = async (death: Death): Promise<void> => void deaths.push(death);
      await bus.consume(q, () => Promise.reject(new AnnealError('Defect', 'broken wire')), { ...prompt, onDeath });
      const notified: Envelope[] = [];
      await bus.consume('asker', async ({ message }) => void notified.push(message));
      const large = mintTestMessage(work, {
        data: { n: 1, text: 'x'.repeat(300_000) },
        subject: 's',
        replyto: 'asker',
      });
      await bus.send({ queue: q, messages: [large] });
      await vi.waitFor(() => expect(notified).toHaveLength(1));
      const [letter] = await theDead();
      const failure = {
        code: 'Defect',
        message: expect.stringContaining(`broken wire The message is dead letter ${letter?.id} of ${q}.`) as string,
        details: { dead_letter: letter?.id, queue: q },
      };
      expect(notified[0]).toMatchObject({
        type: 'request.died',
        subject: 's',
        causationid: large.id,
        correlationid: large.correlationid,
        data: {
          dead_letter: letter?.id,
          queue: q,
          request: { id: large.id, type: 'test.work', subject: 's' },
          failure,
        },
      });
      expect(deaths).toMatchObject([{ letter: letter?.id, queue: q, message: { data: large.data }, failure }]);
      const question = bus.request({ queue: q, call: sum, message: mintTestMessage(sum, { data: { a: 1, b: 2 } }) });
      await expect(question).rejects.toMatchObject({ code: 'Defect', details: { queue: q } });
    });

    it('B7: a message is retried when its requester cannot be notified of the dead letter', async () => {
      let fails = 2;
      const onDeath = async (): Promise<void> => {
        if ((fails -= 1) >= 0) throw new AnnealError('Unavailable', 'down');
      };
      await bus.consume(q, () => Promise.reject(new AnnealError('Defect', 'broken wire')), { ...prompt, onDeath });
      await send(1);
      await theDead();
      expect(fails).toBe(-1);
    });

    it('B4: the attempt count continues after a restart', async () => {
      const attempts: number[] = [];
      const failing = async ({ attempt }: Delivery): Promise<void> => {
        attempts.push(attempt);
        throw new AnnealError('Unavailable', 'down');
      };
      await bus.consume(q, failing, { maxAttempts: 3, backoff: () => 400 });
      await send(1);
      await vi.waitFor(() => expect(attempts).toEqual([1]));
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 1, inFlight: 0 }));
      await reopen();
      await bus.consume(q, failing, { maxAttempts: 3, backoff: () => 5 });
      const [letter] = await theDead();
      expect(attempts).toEqual([1, 2, 3]);
      expect(letter).toMatchObject({ attempts: 3, failure: { code: 'Unavailable' } });
      expect(letter?.history).toHaveLength(3);
    });

    it.skipIf(quick)(
      'B4: an attempt in which the process was killed counts, and after the last one the message is a dead letter',
      async () => {
        await send(1);
        await killOne('queue', 3);
        await killOne('queue', 3);
        await killOne('queue', 3);
        const { seen, record } = recorder();
        await bus.consume(q, record, { maxAttempts: 3 });
        await send(2);
        const [letter] = await theDead();
        expect(letter).toMatchObject({ queue: q, failure: { code: 'Defect' } });
        expect(letter?.history.length).toBeGreaterThanOrEqual(3);
        await vi.waitFor(() => expect(seen).toEqual([2]));
      },
    );

    it('B4: a killed process loses no message, and messages that it had not begun keep their attempt count', async () => {
      await send(1, 2, 3);
      await killOne('queue', 8);
      const seen: [number, number][] = [];
      await bus.consume(q, async (delivery) => void seen.push([nOf(delivery), delivery.attempt]));
      await empty();
      expect(seen).toEqual([
        [1, 2],
        [2, 1],
        [3, 1],
      ]);
    });

    it('B4: errors of kind pause, defect and final are not retried', async () => {
      let runs = 0;
      await bus.consume(
        q,
        async (delivery) => {
          runs += 1;
          throw new AnnealError((['InvalidMessage', 'Defect', 'NotFound'] as const)[nOf(delivery)] ?? 'Defect', 'no');
        },
        prompt,
      );
      await send(0, 1, 2);
      await empty();
      expect(runs).toBe(3);
      const letters = await bus.deadLetters.list({ queue: q, limit: 10 });
      expect(letters.map(({ failure }) => failure.code).sort()).toEqual(['Defect', 'InvalidMessage', 'NotFound']);
    });

    it('B4: dead letters can be listed by pages, replayed from the first attempt, and purged', async () => {
      let healthy = false;
      const attempts: number[] = [];
      await bus.consume(
        q,
        async ({ attempt }) => {
          if (!healthy) throw new AnnealError('NotFound', 'no');
          attempts.push(attempt);
        },
        { ...prompt, concurrency: 1 },
      );
      await send(...numbers(0, 5));
      await empty();
      const page = await bus.deadLetters.list({ limit: 3 });
      const rest = await bus.deadLetters.list({ limit: 3, after: page.at(-1)?.id ?? '' });
      expect([...page, ...rest].map(({ bytes }) => (JSON.parse(bytes) as Envelope<{ n: number }>).data.n)).toEqual([
        0, 1, 2, 3, 4,
      ]);
      healthy = true;
      expect(await bus.deadLetters.replay(page[0]?.id ?? '')).toEqual({ outcome: 'sent' });
      expect(await bus.deadLetters.replay(page[0]?.id ?? '')).toBeUndefined();
      await vi.waitFor(() => expect(attempts).toEqual([1]));
      expect(await bus.deadLetters.purge({ id: page[1]?.id ?? '' })).toBe(1);
      expect(await bus.deadLetters.purge({ queue: 'another' })).toBe(0);
      expect(await bus.deadLetters.purge({ queue: q })).toBe(3);
    });

    it('B4: a replay reports the end of the message, and a letter that returns has the history of all its lives', async () => {
      let healthy = false;
      await bus.consume(
        q,
        async () => {
          if (!healthy) throw new AnnealError('NotFound', 'no such thing');
        },
        prompt,
      );
      await send(0);
      await empty();
      const only = async () => {
        const letters = await bus.deadLetters.list({ queue: q, limit: 10 });
        expect(letters).toHaveLength(1);
        return letters[0] as DeadLetter;
      };
      const waitMs = 20_000;
      const first = await only();
      const again = await bus.deadLetters.replay(first.id, { waitMs });
      const second = await only();
      expect(again).toMatchObject({ outcome: 'died', deadLetter: second.id, failure: { message: 'no such thing' } });
      const error = 'NotFound: no such thing';
      expect(second).toMatchObject({ attempts: 2, replays: 1, bytes: first.bytes });
      expect(second.history.map((each) => each.error)).toEqual([error, 'Replayed after 1 attempt.', error]);
      await bus.deadLetters.replay(second.id, { patch: { n: 7 }, waitMs });
      const third = await only();
      expect(third).toMatchObject({ attempts: 3, replays: 2 });
      expect(JSON.parse(third.bytes)).toMatchObject({ data: { n: 7 } });
      expect(third.history[3]?.error).toBe('Replayed after 2 attempts.');
      healthy = true;
      expect(await bus.deadLetters.replay(third.id, { waitMs })).toEqual({ outcome: 'handled' });
      expect(await bus.deadLetters.list({ queue: q, limit: 10 })).toEqual([]);
    });

    it('B4: a dead letter is replayed with changed data, unless the result is not valid', async () => {
      const { seen, record } = recorder();
      const consumer = await bus.consume(q, record);
      await opened.sendRaw(q, Buffer.from(JSON.stringify({ ...todo(0), data: { n: 'text' } })));
      await opened.sendRaw(q, Buffer.from('no message'));
      await vi.waitFor(async () => expect(await bus.deadLetters.list({ limit: 10 })).toHaveLength(2));
      const letters = await bus.deadLetters.list({ limit: 10 });
      const idOf = (part: string): string => letters.find(({ bytes }) => bytes.includes(part))?.id ?? '';
      const wrong = idOf('"text"');
      await expect(bus.deadLetters.replay(wrong, { patch: { n: 'other' } })).rejects.toMatchObject({
        code: 'InvalidRequest',
        mistakes: [{ path: 'data.n' }],
      });
      await expect(bus.deadLetters.replay(idOf('no message'), { patch: { n: 1 } })).rejects.toThrow(
        'it is no message of Anneal',
      );
      expect(await bus.deadLetters.list({ limit: 10 })).toHaveLength(2);
      expect(await bus.deadLetters.replay(wrong, { patch: { n: 7 } })).toEqual({ outcome: 'sent' });
      await vi.waitFor(() => expect(seen).toEqual([7]));
      expect(await bus.deadLetters.show(wrong)).toBeUndefined();
      await consumer.stop();
    });

    it.each([
      ['small', ''],
      ['large', 'x'.repeat(300_000)],
    ])('B5: a %s message keeps its numbers and the order of its keys, also after a replay', async (_size, text) => {
      const seen: string[] = [];
      let healthy = false;
      const record = async ({ message }: Delivery): Promise<void> => {
        if (!healthy) throw new AnnealError('NotFound', 'no such thing');
        seen.push(JSON.stringify((message.data as { value: unknown }).value));
      };
      await bus.consume(q, record, prompt);
      const received: string[] = [];
      const take = async ({ message }: Delivery): Promise<void> =>
        void received.push(JSON.stringify((message.data as { value: unknown }).value));
      await bus.subscribe(['test.thing.happened'], take);
      const value = parseExact(oddJson);
      await bus.send({ queue: q, messages: [mintTestMessage(work, { data: { n: 1, text, value } })] });
      await bus.publish([mintTestMessage(happened, { data: { n: 1, text, value }, subject: 's' })]);
      const [letter] = await theDead();
      healthy = true;
      await bus.deadLetters.replay(letter?.id ?? '', text === '' ? { patch: { n: 7 } } : {});
      await vi.waitFor(() => expect([seen, received]).toEqual([[oddJson], [oddJson]]));
    });

    it('B5: unreadable bytes become a dead letter with the bytes, and the next message is handled', async () => {
      const { seen, record } = recorder();
      await bus.consume(q, record);
      const wrong = { ...todo(0), data: { n: 'text' } };
      const unknown = { ...todo(0), type: 'test.unheard' };
      for (const bytes of ['{', '[]', '', JSON.stringify(wrong), JSON.stringify(unknown)].map((text) =>
        Buffer.from(text),
      )) {
        await opened.sendRaw(q, bytes);
      }
      await opened.sendRaw(q, Uint8Array.of(0xff, 0xfe, 0x00));
      await send(1);
      await vi.waitFor(() => expect(seen).toEqual([1]));
      await empty();
      const letters = await bus.deadLetters.list({ limit: 10 });
      expect(letters.map(({ failure }) => failure.code)).toEqual(Array(6).fill('InvalidMessage'));
      expect(letters.map(({ bytes }) => bytes)).toContain('base64://4A');
      expect(letters.find(({ bytes }) => bytes.includes('"text"'))?.failure.mistakes).toMatchObject([
        { path: 'data.n' },
      ]);
    });

    it('B5: a message that is invalid when sent is a defect of its sender, and is not sent', async () => {
      await expect(bus.send({ queue: q, messages: [todo(1), { ...todo(0), data: {} }] })).rejects.toMatchObject({
        code: 'Defect',
        mistakes: [{ path: 'data.n' }],
      });
      expect(await bus.queues.measure(q)).toMatchObject({ depth: 0 });
    });

    it('B6: events of one subject are delivered in order, also with retries, while other subjects continue', async () => {
      const seen: string[] = [];
      await bus.subscribe(
        ['test.#'],
        async ({ message, attempt }) => {
          const { n } = message.data as { n: number };
          if (message.subject === 'a' && n === 0 && attempt < 3) throw new Error('not yet');
          seen.push(`${message.subject}${n}`);
        },
        { group: 'test', backoff: () => 30 },
      );
      for (const n of numbers(0, 10)) for (const subject of ['a', 'b', 'c']) await publish(n, subject);
      await vi.waitFor(() => expect(seen).toHaveLength(30));
      for (const subject of ['a', 'b', 'c']) {
        expect(seen.filter((each) => each.startsWith(subject))).toEqual(numbers(0, 10).map((n) => `${subject}${n}`));
      }
      expect(seen.indexOf('b0')).toBeLessThan(seen.indexOf('a0'));
    });

    it('B6: a handler that keeps the order gets the events of a subject in order, also after it was stopped', async () => {
      const seen: string[] = [];
      const handle = async ({ message }: Delivery): Promise<void> => {
        seen.push(`${message.subject}${(message.data as { n: number }).n}`);
        await new Promise((resolve) => void setTimeout(resolve, 5));
      };
      const options = { group: 'test', keepsOrder: true, concurrency: 8 };
      const consumer = await bus.subscribe(['test.#'], handle, options);
      const publishAll = async (from: number, to: number): Promise<void> => {
        for (const n of numbers(from, to)) for (const subject of ['a', 'b']) await publish(n, subject);
      };
      await publishAll(0, 20);
      await vi.waitFor(() => expect(seen.length).toBeGreaterThan(10));
      await consumer.stop();
      await publishAll(20, 30);
      await reopen();
      await bus.subscribe(['test.#'], handle, options);
      await vi.waitFor(() => expect(seen).toHaveLength(60));
      for (const subject of ['a', 'b']) {
        expect(seen.filter((each) => each.startsWith(subject))).toEqual(numbers(0, 30).map((n) => `${subject}${n}`));
      }
    });

    it.skipIf(quick)(
      'B6: a handler that keeps the order gets the events in order while it is stopped again and again',
      async () => {
        const seen: string[] = [];
        const handle = async ({ message }: Delivery): Promise<void> => {
          seen.push(`${message.subject}${(message.data as { n: number }).n}`);
          await new Promise((resolve) => void setTimeout(resolve, 1));
        };
        const options = { group: 'test', keepsOrder: true, concurrency: 8 };
        let consumer = await bus.subscribe(['test.#'], handle, options);
        const published = Promise.all(
          ['a', 'b'].map(async (subject) => {
            for (const n of numbers(0, 200)) await publish(n, subject);
          }),
        );
        while (seen.length < 400) {
          const before = seen.length;
          await vi.waitFor(() => expect(seen.length).toBeGreaterThan(Math.min(before + 20, 399)), {
            interval: 1,
          });
          await consumer.stop();
          consumer = await bus.subscribe(['test.#'], handle, options);
        }
        await published;
        for (const subject of ['a', 'b']) {
          expect(seen.filter((each) => each.startsWith(subject))).toEqual(numbers(0, 200).map((n) => `${subject}${n}`));
        }
      },
    );

    it('B6: a durable group continues after its last event, and a new group starts with later events', async () => {
      const { seen, record } = recorder();
      await publish(0, 's');
      const consumer = await bus.subscribe(['test.#'], record, { group: 'test' });
      await publish(1, 's');
      await vi.waitFor(() => expect(seen).toEqual([1]));
      await consumer.stop();
      for (const n of numbers(2, 300)) await publish(n, 's');
      await reopen();
      await publish(300, 's');
      await bus.subscribe(['test.#'], record, { group: 'test' });
      await vi.waitFor(() => expect(seen).toEqual(numbers(1, 301)));
    });

    it('B6: an event whose handler was killed is delivered first again, in order', async () => {
      const consumer = await bus.subscribe(['test.#'], async () => undefined, { group: 'test' });
      await consumer.stop();
      for (const n of numbers(0, 5)) await publish(n, 's');
      await killOne('group', 8);
      const seen: [number, number][] = [];
      await bus.subscribe(['test.#'], async (delivery) => void seen.push([nOf(delivery), delivery.attempt]), {
        group: 'test',
      });
      await vi.waitFor(() => expect(seen).toHaveLength(5));
      expect(seen).toEqual([
        [0, 2],
        [1, 1],
        [2, 1],
        [3, 1],
        [4, 1],
      ]);
    });

    it('B6: members of a group share events; each group and each listener receives all events that match its patterns', async () => {
      const [one, two, all, other, some] = [recorder(), recorder(), recorder(), recorder(), recorder()];
      await bus.subscribe(['test.thing.*'], one.record, { group: 'shared' });
      await bus.subscribe(['test.thing.*'], two.record, { group: 'shared' });
      await bus.subscribe(['#'], all.record, { group: 'all' });
      await bus.subscribe(['#.failed'], other.record);
      await bus.subscribe(['test.*', 'none.#'], some.record);
      for (const n of numbers(0, 20)) await publish(n, `s${n}`);
      await bus.publish([mintTestMessage(otherFailed, { data: { n: 99 } })]);
      await vi.waitFor(() => expect(all.seen).toHaveLength(21));
      await vi.waitFor(() => expect([...one.seen, ...two.seen].sort((a, b) => a - b)).toEqual(numbers(0, 20)));
      await vi.waitFor(() => expect(other.seen).toEqual([99]));
      expect(some.seen).toEqual([]);
    });

    it('answers a question with the value or the error of the handler', async () => {
      const respond = answer({ bus, mint: mintTestMessage }, sum, async ({ data }) => {
        if (data.b === 0) {
          throw new AnnealError('InvalidRequest', 'b is zero', {
            mistakes: [{ code: 'Zero', path: 'b', message: 'must not be zero' }],
          });
        }
        return { sum: data.a + data.b };
      });
      await bus.consume(q, routeMessages([respond]));
      const ask = (a: number, b: number): Promise<{ sum: number }> =>
        bus.request({ queue: q, call: sum, message: mintTestMessage(sum, { data: { a, b } }) });
      expect(await Promise.all(numbers(1, 50).map((n) => ask(n, n)))).toEqual(
        numbers(1, 50).map((n) => ({ sum: 2 * n })),
      );
      await expect(ask(1, 0)).rejects.toMatchObject({ code: 'InvalidRequest', mistakes: [{ path: 'b' }] });
      expect(await bus.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('reports an invalid answer to the requester at once, as a defect', async () => {
      const respond = answer({ bus, mint: mintTestMessage }, sum, async () => ({ sum: 'many' }) as never);
      await bus.consume(q, routeMessages([respond]));
      const asked = bus.request({ queue: q, call: sum, message: mintTestMessage(sum, { data: { a: 1, b: 1 } }) });
      await expect(asked).rejects.toMatchObject({ code: 'Defect' });
    });

    it('ends an unanswered question at its deadline, or when the requester aborts it', async () => {
      const message = mintTestMessage(sum, { data: { a: 1, b: 1 } });
      await expect(bus.request({ queue: q, call: sum, message, timeoutMs: 30 })).rejects.toMatchObject({
        code: 'TimedOut',
        message: expect.stringContaining(q) as string,
      });
      const giveUp = new AbortController();
      const asked = bus.request({ queue: q, call: sum, message, signal: giveUp.signal });
      giveUp.abort(new Error('enough'));
      await expect(asked).rejects.toThrow('enough');
    });

    it.each([1, 10])('carries %i MiB unchanged through queues, events and answers', async (size) => {
      const text = 'é'.repeat((size * 1024 * 1024) / 2);
      const received = Promise.withResolvers<Envelope>();
      await bus.consume(q, async ({ message }) => received.resolve(message));
      const message = todo(1, text);
      await bus.send({ queue: q, messages: [message] });
      expect(await received.promise).toEqual(message);
    });

    it('finishes the messages in flight on a stop, and takes no new ones', async () => {
      const gate = Promise.withResolvers<void>();
      const { seen, record } = recorder();
      const consumer = await bus.consume(
        q,
        async (delivery) => {
          await gate.promise;
          await record(delivery);
        },
        { concurrency: 2 },
      );
      await send(1, 2, 3);
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ inFlight: 2 }));
      const stopped = consumer.stop();
      gate.resolve();
      await stopped;
      expect(seen).toEqual([1, 2]);
      await vi.waitFor(async () =>
        expect(await bus.queues.measure(q)).toMatchObject({ depth: 1, inFlight: 0, consumers: 0 }),
      );
    });

    it('returns the messages in flight at the deadline of a stop, uncounted and with their signals aborted', async () => {
      const aborted = Promise.withResolvers<void>();
      const consumer = await bus.consume(q, ({ signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        return new Promise(() => undefined);
      });
      await send(1, 2);
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ inFlight: 2 }));
      await consumer.stop({ deadlineMs: 10 });
      await aborted.promise;
      const seen: [number, number][] = [];
      await bus.consume(q, async (delivery) => void seen.push([nOf(delivery), delivery.attempt]));
      await empty();
      expect(seen.toSorted(([a], [b]) => a - b)).toEqual([
        [1, 1],
        [2, 1],
      ]);
    });

    it('counts a message from the moment at which its send is confirmed', async () => {
      const queues = Array.from({ length: 20 }, (_, n) => `test.q${n}`);
      for (const queue of queues) await bus.queues.declare(queue);
      for (let round = 1; round <= 10; round += 1) {
        for (const queue of queues) {
          await bus.send({ queue, messages: numbers(0, 10).map((n) => todo(n)) });
          expect(await bus.queues.measure(queue)).toMatchObject({ depth: round * 10, inFlight: 0 });
        }
      }
    });

    it('lists queues with depth, consumers and age of the oldest message, shows the first messages, and purges them', async () => {
      await bus.queues.declare('test.empty');
      await send(...numbers(0, 5));
      await bus.consume('test.other', async () => undefined);
      expect(await bus.queues.list('test.')).toMatchObject([
        { name: 'test.empty', depth: 0, inFlight: 0, consumers: 0, oldestAgeMs: null },
        { name: 'test.other', depth: 0, consumers: 1 },
        { name: q, depth: 5, inFlight: 0, consumers: 0, oldestAgeMs: expect.any(Number) as number },
      ]);
      const first = await bus.queues.peek(q, 2);
      expect(first.map(({ data }) => data)).toEqual([{ n: 0 }, { n: 1 }]);
      expect(await bus.queues.measure(q)).toMatchObject({ depth: 5 });
      expect(await bus.queues.purge(q)).toBe(5);
      expect(await bus.queues.measure(q)).toMatchObject({ depth: 0, oldestAgeMs: null });
      await bus.queues.remove('test.empty');
      expect((await bus.queues.list('test.')).map(({ name: each }) => each)).toEqual(['test.other', q]);
    });

    it('purges also messages that wait for a retry, and keeps messages in flight', async () => {
      const gate = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const { seen, record } = recorder();
      await bus.consume(
        q,
        async (delivery) => {
          if (nOf(delivery) === 0) throw new Error('later');
          begun.resolve();
          await gate.promise;
          await record(delivery);
        },
        // Longer than the test, because a broker that moves the message back at this moment does not count it.
        { concurrency: 1, backoff: () => 600_000 },
      );
      await send(0, 1, 2, 3);
      await begun.promise;
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 3, inFlight: 1 }));
      expect(await bus.queues.purge(q)).toBe(3);
      gate.resolve();
      await send(4);
      await empty();
      expect(seen).toEqual([1, 4]);
    });

    it.skipIf(quick)('handles a backlog larger than its memory in order while more messages arrive', async () => {
      for (let n = 0; n < 12_000; n += 1000) await send(...numbers(n, n + 1000));
      const { seen, record } = recorder();
      await bus.consume(q, record, { concurrency: 64 });
      for (let n = 12_000; n < 14_000; n += 100) await send(...numbers(n, n + 100));
      await vi.waitFor(() => expect(seen).toHaveLength(14_000));
      expect(seen).toEqual(numbers(0, 14_000));
    });

    it('reports that it accepts messages, and after closing that it does not', async () => {
      await bus.check();
      await bus.close();
      await expect(bus.check()).rejects.toMatchObject({ code: 'Unavailable' });
      await expect(send(1)).rejects.toMatchObject({ code: 'Unavailable' });
    });
  });
}
