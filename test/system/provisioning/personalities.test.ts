/** The life of a machine behind each controller of the table of personalities. */
import { nodeHistory } from '@anneal/contracts/calls/nodes.ts';
import { personalities, type Personality, type PersonalityName } from '@anneal/lab/personalities.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, expect, it } from 'vitest';
import { ProvisioningWorld } from './provisioning-world.ts';

useQuickClock({ stepMs: 50 });

let world: ProvisioningWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const table: readonly (readonly [PersonalityName, Personality])[] = Object.entries(personalities) as never;

it.each(table)(
  'a machine is enrolled, deployed, deleted and cleaned with no change sent twice: %s',
  async (name, { mediaOnly = false }) => {
    const w = await ProvisioningWorld.open({ machines: 1 });
    world = w;
    const [machine] = w.lab.machines;
    if (!machine) throw new Error('The lab has no machine.');
    const done: string[] = [];
    const [reset, setMedia] = [machine.reset.bind(machine), machine.setMedia.bind(machine)];
    machine.reset = (type) => {
      done.push(type);
      return reset(type);
    };
    machine.setMedia = (media) => {
      done.push(media === null ? 'eject' : 'insert');
      setMedia(media);
    };
    await w.fault('machine-1', { personality: name });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1 });
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    await w.nodeIs('machine-1', 'active');
    await w.request('delete', { id, fence: 2 });
    expect(await w.answered(id, 2)).toMatchObject({ status: 'complete' });
    expect(await w.nodeIs('machine-1', 'available')).toMatchObject({ last_error: null, fault: null });
    const { history } = await w.ask(nodeHistory, { node: 'machine-1' });
    expect(history.filter(({ failed }) => failed)).toEqual([]);
    const [inserts, ejects] = mediaOnly ? [['insert'], ['eject']] : [[], []];
    expect(done).toEqual([...inserts, 'On', ...ejects, 'On', 'ForceOff', ...inserts, 'On', ...ejects]);
  },
);
