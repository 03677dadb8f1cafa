import { describe, expect, it } from 'vitest';
import type { Ask } from '../ask.ts';
import { explainNode } from './node-wait.ts';

const why = {
  summary: 'The provider has worked on web since T0.',
  chain: [],
  exits: ['anneal resource show s web'],
  request: { stack_id: 's', resource: 'web', queue: 'anneal.provisioning.requests', resource_id: 'r1' },
};
const last_error = { code: 'BmcUnreachable', message: 'https://10.0.0.1 does not answer' };
const asking =
  (failures: number, conditions: object[] = [], progress: object | null = null): Ask =>
  (_service, _call, { data }) => {
    expect(data).toMatchObject({ instance_id: 'r1' });
    const bmc = { failures, last_contact: 'T1', last_error, breaker: 'closed', next_try: 'T2' };
    return Promise.resolve({ nodes: [{ name: 'rack1-u01', bmc, conditions, progress }] } as never);
  };

describe('the explanation of a server', () => {
  it('names the node whose BMC fails and its next try, without the address of the BMC', async () => {
    const explained = await explainNode(asking(4), why);
    expect(explained).toMatchObject({
      summary:
        'web waits for node rack1-u01, whose BMC has failed 4 times in a row; it last answered at T1; the next try is at T2.',
      chain: [{ object: 'BMC of node rack1-u01', reason: 'it last answered at T1; the next try is at T2' }],
      exits: ['anneal node show rack1-u01', 'anneal resource show s web'],
    });
    expect(JSON.stringify(explained)).not.toContain('10.0.0.1');
  });

  it('names the turn of a node that waits for a slot, also when its BMC has failed before', async () => {
    const message = 'waiting for a slot, position 2 of 5: 20 of 20 deploys in rack r1';
    const turn = { type: 'HasSlot', status: 'False', reason: 'Waiting', message, since: 'T3' };
    const { summary, chain, exits } = await explainNode(asking(1, [turn]), why);
    expect(summary).toBe(`web has node rack1-u01, which is ${message}.`);
    expect(chain).toEqual([{ object: 'slot of node rack1-u01', state: 'waiting', reason: message, since: 'T3' }]);
    expect(exits.slice(0, 2)).toEqual(['anneal node list', 'anneal node show rack1-u01']);
  });

  it('says how far its machine is with the image, and the time left', async () => {
    const times = { since: 'T4', at: 'T5', moved_at: 'T5' };
    const sizes = { bytes: 432013312, total: 945815552, bytes_per_second: 2 * 2 ** 20, seconds_left: 245 };
    const progress = { phase: 'writing', image: 'debian', ...sizes, ...times, problem: null };
    const { summary, chain, exits } = await explainNode(asking(1, [], progress), why);
    const text = '412 MiB of 902 MiB (45 %), 2.0 MiB/s, about 4 min left';
    expect(summary).toBe(`web has node rack1-u01, which writes image debian: ${text}.`);
    expect(chain).toEqual([{ object: 'machine of node rack1-u01', state: 'writing', reason: text, since: 'T4' }]);
    expect(exits[0]).toBe('anneal node show rack1-u01');
    const stuck = { ...progress, problem: 'image interrupted: no answer' };
    expect((await explainNode(asking(0, [], stuck), why)).summary).toMatch(
      /\(45 %\), 2.0 MiB\/s, image interrupted: no answer\.$/,
    );
  });

  it('stays the same while the BMC answers', async () => {
    expect(await explainNode(asking(0), why)).toBe(why);
  });
});
