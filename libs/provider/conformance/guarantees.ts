/**
 * The guarantees that every provider gives, in any language, each with a check over the bus. P1 to P6 are those of
 * `../provide.ts`. A check needs a running provider and nothing else: no access to its memory or its store.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ProbeAnswer, Probe, SampleResource } from './probe.ts';
import type { Request } from '../document.ts';

/** The requests that the checks may send to a provider. A check without its part is not run. */
export interface Subject extends SampleResource {
  /** Other values for properties that can be changed in place. */
  readonly changed?: JsonObject;
  /** A resource whose creation does not complete by itself. */
  readonly endless?: SampleResource;
  /**
   * Properties with which a newer creation of the endless resource completes. Only of a type that announces
   * `supersedes`.
   */
  readonly superseding?: JsonObject;
  /** Ways in which the provider dies in the middle of a request. */
  readonly deaths?: readonly ProviderDeath[];
}

/** One way in which the provider dies. */
export interface ProviderDeath {
  readonly name: string;
  /** Called before a request is sent; the function that it returns is called after that. */
  readonly arm: () => Promise<() => Promise<void>>;
}

/** A guarantee and its check. */
export interface Guarantee {
  readonly id: string;
  readonly title: string;
  /** The part of the subject without which it cannot be checked. */
  readonly needs?: 'changed' | 'endless' | 'superseding' | 'deaths';
  /** @throws Error that states what the provider did instead */
  readonly check: (probe: Probe, subject: Subject) => Promise<void>;
}

/** How long after a deadline the failure may come, in milliseconds. */
const lateMs = 20_000;
const shortDeadlineMs = 2_000;

/** The guarantees in the order of their checks. */
export const guarantees: readonly Guarantee[] = [
  {
    id: 'G1',
    title: 'answers a creation with `complete`, and names the request',
    async check(probe, subject) {
      const request = await created(probe, subject);
      const answer = await probe.complete(request);
      expectEqual('resource_id', answer.data.resource_id, request.data.resource.id);
      expectEqual('stack_id', answer.data.stack_id, request.data.stack.id);
      expectEqual('fence', answer.data.fence, request.data.fence);
      expectEqual('action', answer.data.action, 'create');
      expectEqual('correlationid', answer.correlationid, request.correlationid);
      if (!answer.data.physical_id) throw new Error('The response to a creation has no physical_id.');
    },
  },
  {
    id: 'G2',
    title: 'answers a repeat with the same response and the same message id (P2, P4)',
    async check(probe, subject) {
      const request = await created(probe, subject);
      await probe.complete(request);
      await probe.send(request);
      await probe.complete(request, { count: 2 });
      await probe.send(request);
      await probe.complete(request, { count: 3 });
      expectSame(probe.finals(request));
    },
  },
  {
    id: 'G3',
    title: 'does the work once when two copies of a request arrive together (P2, P3)',
    async check(probe, subject) {
      const request = probe.request('create', subject);
      await probe.send(request, request);
      await probe.complete(request);
      // A provider that works on the first copy may answer both at once. A third copy shows what it remembers.
      const answered = probe.finals(request).length;
      await probe.send(request);
      await probe.complete(request, { count: answered + 1 });
      expectSame(probe.finals(request));
    },
  },
  {
    id: 'G4',
    title: 'does not answer a request with a lower fence than it has seen (P1)',
    async check(probe, subject) {
      const first = probe.request('create', subject, { fence: 5 });
      await probe.send(first);
      const answer = await probe.complete(first);
      const late = probe.request('delete', first, { fence: 3, physicalId: answer.data.physical_id ?? null });
      await probe.send(late, first);
      await probe.complete(first, { count: 2 });
      // The object is still there, and so is the answer to the newest request.
      const sentinel = await created(probe, subject);
      await probe.complete(sentinel);
      await probe.send(first);
      await probe.complete(first, { count: 3 });
      expectSame(probe.finals(first));
      const [wrong] = probe.answers(late);
      if (wrong) throw new Error(`It answered fence 3 with \`${wrong.data.status}\` after it had seen fence 5.`);
    },
  },
  {
    id: 'G5',
    title: 'takes a request with a higher fence, and answers with that fence (P1)',
    needs: 'changed',
    async check(probe, subject) {
      const request = await created(probe, subject);
      const answer = await probe.complete(request);
      const physicalId = answer.data.physical_id ?? null;
      const update = probe.request('update', request, { fence: 7, physicalId, changed: subject.changed ?? {} });
      await probe.send(update);
      const second = await probe.complete(update);
      expectEqual('action', second.data.action, 'update');
      await probe.send(update);
      await probe.complete(update, { count: 2 });
      expectSame(probe.finals(update));
    },
  },
  {
    id: 'G6',
    title: 'treats an absent object as deleted',
    async check(probe, subject) {
      const never = probe.request('delete', probe.request('create', subject));
      await probe.send(never);
      await probe.complete(never);
      const request = await created(probe, subject);
      const { data } = await probe.complete(request);
      const removal = probe.request('delete', request, { physicalId: data.physical_id ?? null });
      await probe.send(removal);
      await probe.complete(removal);
      const again = probe.request('delete', removal);
      await probe.send(again);
      await probe.complete(again);
    },
  },
  {
    id: 'G7',
    title: 'lets a newer request overtake one in progress (P1, P3)',
    needs: 'endless',
    async check(probe, subject) {
      const endless = await created(probe, subject.endless ?? subject);
      const removal = probe.request('delete', endless);
      await probe.send(removal);
      await probe.complete(removal);
      await probe.send(endless, removal);
      await probe.complete(removal, { count: 2 });
      const wrong = probe.finals(endless).find(({ data }) => data.status === 'complete');
      if (wrong) throw new Error('It completed a creation that a deletion with a higher fence had overtaken.');
    },
  },
  {
    id: 'G8',
    title: 'answers a request as failed when its deadline passes (P6)',
    needs: 'endless',
    async check(probe, subject) {
      const request = probe.request('create', subject.endless ?? subject, { deadlineMs: shortDeadlineMs });
      await probe.send(request);
      const { data, time } = await probe.final(request, { withinMs: shortDeadlineMs + lateMs });
      if (data.status !== 'failed' || !data.error) throw new Error(`It answered \`${data.status}\`, not \`failed\`.`);
      if (time < request.data.deadline) throw new Error(`It failed at ${time}, before the deadline.`);
      await probe.send(request);
      await probe.final(request, { count: 2 });
      expectSame(probe.finals(request));
    },
  },
  {
    id: 'G9',
    title: 'answers after its death in the middle of a request (P3, P4)',
    needs: 'deaths',
    async check(probe, subject) {
      for (const { name, arm } of subject.deaths ?? []) {
        const strike = await arm();
        const request = await created(probe, subject);
        await strike();
        await probe.complete(request).catch((error: unknown) => {
          throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
        });
        // Counted before the repeat, whose answer may arrive before the broker confirms it.
        const count = probe.finals(request).length + 1;
        await probe.send(request);
        await probe.complete(request, { count });
        expectSame(probe.finals(request));
      }
    },
  },
  {
    id: 'G10',
    title: 'reports progress before the final response, each report with an id of its own (P5)',
    async check(probe, subject) {
      const request = await created(probe, subject);
      await probe.complete(request);
      for (const each of probe.latest()) expectOrder(probe.answers(each));
    },
  },
  {
    id: 'G11',
    title: 'replaces a creation in progress by a newer one, and answers only that, as `supersedes` announces (P1, P3)',
    needs: 'superseding',
    async check(probe, subject) {
      const endless = await created(probe, subject.endless ?? subject);
      const newer = probe.request('create', endless, { properties: subject.superseding ?? {} });
      await probe.send(newer);
      const answer = await probe.complete(newer);
      expectEqual('action', answer.data.action, 'create');
      await probe.send(endless, newer);
      await probe.complete(newer, { count: 2 });
      expectSame(probe.finals(newer));
      const [wrong] = probe.finals(endless);
      if (wrong) throw new Error(`It answered \`${wrong.data.status}\` to a creation that a newer one had replaced.`);
    },
  },
];

async function created(probe: Probe, sample: SampleResource): Promise<Request> {
  const request = probe.request('create', sample);
  await probe.send(request);
  return request;
}

function expectEqual(field: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`The response has ${field} ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}.`);
}

/** All final answers to one request are the same. */
function expectSame(answers: readonly ProbeAnswer[]): void {
  const [first, ...others] = answers;
  for (const other of others) {
    if (!isDeepStrictEqual(other.data, first?.data))
      throw new Error(
        `A repeat was answered ${JSON.stringify(other.data)}, the first time ${JSON.stringify(first?.data)}.`,
      );
    if (other.id !== first?.id)
      throw new Error(`The repeat of a response has the id ${other.id}, the first one ${first?.id}.`);
  }
}

function expectOrder(answers: readonly ProbeAnswer[]): void {
  const final = answers.findIndex(({ data }) => data.status !== 'in progress');
  const reports = new Map<string, ProbeAnswer>();
  for (const [index, answer] of answers.entries()) {
    if (answer.data.status !== 'in progress') continue;
    const before = reports.get(answer.id);
    if (before && !isDeepStrictEqual(before.data, answer.data))
      throw new Error(`Two different reports have the id ${answer.id}.`);
    if (!before && final !== -1 && index > final) throw new Error(`Progress was reported after the final response.`);
    reports.set(answer.id, answer);
  }
}
