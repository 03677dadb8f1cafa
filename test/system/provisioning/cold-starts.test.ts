/** Machines that lose power or start again while they are waited for, and BMCs that change the boot at a start from off only. */
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import type { LabMachine } from '@anneal/lab/machine.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

describe('a machine that is waited for', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (options: Partial<WorldOptions> = {}): Promise<{ w: ProvisioningWorld; machine: LabMachine }> => {
    world = await ProvisioningWorld.open({ machines: 1, ...options });
    await world.enrolAll();
    const [machine] = world.lab.machines;
    if (!machine) throw new Error('The lab has no machine.');
    return { w: world, machine };
  };
  afterEach(async () => {
    disarmFaults();
    await world?.close();
    world = undefined;
  });

  /** Deploys and deletes a server, and checks that nothing was accused and that the host runs. */
  const livesWell = async ({ w, machine }: { w: ProvisioningWorld; machine: LabMachine }): Promise<void> => {
    const id = w.context.newId();
    const began = Date.now();
    await w.request('create', { id, fence: 1, seconds: 1_500 });
    expect(await w.answered(id, 1, 60_000)).toMatchObject({ status: 'complete' });
    // Far before the deadline of the boot.
    expect(Date.now() - began).toBeLessThan(600_000);
    expect(machine.progress.state).toBe('OSRunning');
    expect(w.seeds.at(-1)?.token).toBe(w.hosts.get(id));
    await w.request('delete', { id, fence: 2, seconds: 1_500 });
    expect(await w.answered(id, 2, 60_000)).toMatchObject({ status: 'complete' });
    const node = await w.nodeIs('machine-1', 'available', 60_000);
    expect(node.conditions.map(({ type }) => type)).not.toContain('CredentialsSafe');
    expect(w.events.filter(({ type }) => type === 'node.boot.refused')).toEqual([]);
  };
  /** Resolves when the console of the machine has shown the line. */
  const showing = (machine: LabMachine, line: string): Promise<true> =>
    eventually(() => (machine.consoleLines().some(({ text }) => text.includes(line)) ? true : undefined), {
      what: `a machine at: ${line}`,
      last: () => machine.consoleLines(),
    });

  it.each(['changes at a start from off', 'changes of the drive at a start from off'])(
    'loads the ramdisk twice when the script of an older version restarts it, and starts from its disk: %s',
    async (personality) => {
      const { w, machine } = await open();
      await w.fault('machine-1', { personality, old_ramdisk: true });
      await livesWell({ w, machine });
    },
  );

  /** The steps of a deployment at which the power is cut, by what the machine shows. */
  it.each(['Power-on self-test', 'Loading', 'Writing the image', 'Starting'])(
    'ends in a running host after a power cut at the step: %s',
    async (detail) => {
      const { w, machine } = await open({ bootSeconds: 0.2 });
      let cut: Promise<void> | undefined;
      armFault('provisioning.step.await host', () => {
        cut ??= showing(machine, detail).then(() => machine.reset('ForceOff'));
      });
      await livesWell({ w, machine });
      await cut;
    },
  );

  it('boots a machine again that lost its power between its report and its start from the disk', async () => {
    const { w, machine } = await open();
    let cuts = 0;
    armFault('provisioning.step.await host', async () => {
      if (machine.progress.detail !== 'Writing the image' || cuts > 0) return;
      cuts += 1;
      // The supply is back at once, and the machine boots what its BMC still names.
      await machine.reset('PowerCycle');
    });
    await livesWell({ w, machine });
  });

  it('boots a machine again however often it loses its power before it proves a boot, and watches the last boot too', async () => {
    const { w, machine } = await open({ bootSeconds: 0.2 });
    let cutting: Promise<void> | undefined;
    // On a busy computer the machine may have left the step, and run, before it is seen there.
    const cutAt = (detail: string): Promise<void> =>
      eventually(
        () => {
          const { detail: now, state } = machine.progress;
          if (now === detail) return { cut: machine.reset('ForceOff') };
          return state === 'OSRunning' ? { cut: Promise.resolve() } : undefined;
        },
        { what: detail },
      ).then(({ cut }) => cut);
    armFault('provisioning.step.await host', () => {
      cutting ??= (async () => {
        for (let cut = 0; cut < 4; cut += 1) await cutAt('Power-on self-test');
        await cutAt('Writing the image');
      })();
    });
    await livesWell({ w, machine });
    await cutting;
  });

  it('boots a machine again at once that lost its power while it erased its disk', async () => {
    const { w, machine } = await open({ bootSeconds: 0.2 });
    let cut: Promise<void> | undefined;
    armFault('provisioning.step.await report', () => {
      cut ??= showing(machine, 'Erasing the disk').then(() => machine.reset('ForceOff'));
    });
    await livesWell({ w, machine });
    await cut;
  });
});
