/**
 * `npm run demo -- --real`: machines in QEMU behind the Redfish endpoint of the lab. They boot our ramdisk by UEFI HTTP boot
 * and by BIOS from virtual media, get an image on their disks, start from them, and run configs.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { serialLogOf } from '@anneal/lab/qemu/qemu.ts';
import { z } from 'zod';
import { freeLocalPort } from '../backends/free-port.ts';
import { missingForMachines, prepareMachines, type MachineFiles } from '../machines/prepare.ts';
import { inDemo, mustSucceed, runAndPrint, runLive, type DemoContext } from './context.ts';
import { check, command, FailedCheck, fromMachine, heading, say, untilFact } from './report.ts';

/** One boots by UEFI over HTTP, the other by BIOS from a virtual CD. */
const names = ['machine-1', 'machine-4'] as const;
/** The address of this computer, as a machine in QEMU sees it. */
const guestsView = '10.0.2.2';
/** Emulated processors are slow on a busy computer. */
const patienceSeconds = 900;

const lab = fileURLToPath(new URL('../../deploy/lab/main.ts', import.meta.url));
const labSchema = z.object({ url: z.string(), username: z.string(), password: z.string() });

/** Builds the ramdisk and a small image, unless an earlier run did. @throws Error that names the missing programs */
export async function buildRealMachines(): Promise<MachineFiles> {
  heading('The ramdisk and a small image');
  const missing = await missingForMachines();
  if (missing !== undefined) throw new FailedCheck(`Real machines cannot run here: ${missing}.`);
  say('Built from packages of this Debian, without root; once, about a minute.');
  return prepareMachines();
}

/** The flags and the environment of a server that real machines reach. */
export async function realServer({
  ramdisk,
}: MachineFiles): Promise<{ flags: string[]; environment: Record<string, string> }> {
  const port = String(await freeLocalPort());
  return {
    flags: ['--no-lab', '--port', port],
    environment: {
      ANNEAL_GATEWAY_URL: `http://${guestsView}:${port}`,
      ANNEAL_GATEWAY_RAMDISK: ramdisk,
      ANNEAL_PROVISIONING_CLEAN_ON_PROVIDE: 'true',
    },
  };
}

/** Shows the life of two machines. */
export async function showRealMachines(demo: DemoContext, files: MachineFiles): Promise<void> {
  const watching = new AbortController();
  const shown = Promise.all(names.map((name) => followConsole(demo, name, watching.signal)));
  try {
    await enrolReal(demo);
    await deployReal(demo, files);
  } finally {
    watching.abort();
    await shown;
  }
}

/** Deletes the stack. The machines are cleaned. */
export async function releaseReal(demo: DemoContext): Promise<void> {
  heading('4. Delete the stack: the machines boot the ramdisk once more, which erases their disks');
  await mustSucceed(runLive(demo, ['stack', 'delete', 'real', '--yes', '--wait']));
  await areAvailable(demo);
  await runAndPrint(demo, ['node', 'list']);
}

async function enrolReal(demo: DemoContext): Promise<void> {
  heading('1. Machines in QEMU, with firmware, disks and a BMC, enrolled as nodes');
  const folder = join(demo.dataDirectory, 'lab');
  const words = ['--machines', '4', '--boot-seconds', '0.1', '--isolation', 'qemu'];
  const trouble: string[] = [];
  demo.children.start({
    program: lab,
    args: [...words, '--data', folder],
    onLine: () => undefined,
    onErrorLine: (line) => trouble.push(line),
  });
  const found = await untilFact({
    fact: 'the lab is ready',
    seconds: 120,
    signal: demo.signal,
    look: () =>
      readFile(join(folder, 'lab.json'), 'utf8').then(
        (text) => labSchema.safeParse(JSON.parse(text)).data,
        () => undefined,
      ),
    holds: (seen) => seen !== undefined,
  });
  const { url, username, password } = labSchema.parse(found);
  const secret = join(demo.dataDirectory, 'bmc-password');
  await writeFile(secret, password, { mode: 0o600 });
  for (const name of names) {
    const access = ['--address', url, '--system', `/redfish/v1/Systems/${name}`, '--username', username];
    const args = ['node', 'enrol', name, ...access, '--password-file', secret];
    command(args);
    await mustSucceed(demo.children.anneal(args));
  }
  say('Each boots the ramdisk, which erases its disk. Their consoles:');
  await areAvailable(demo);
  check(true, 'both disks are erased, and both nodes are available');
}

async function deployReal(demo: DemoContext, { image }: MachineFiles): Promise<void> {
  heading('2. An image, which the server keeps');
  await mustSucceed(runAndPrint(demo, ['image', 'add', 'small-debian', '--file', image]));
  heading('3. Two servers, each with two configs in order');
  say(
    'The ramdisk writes the image and checks it; the BMC starts the machine from its disk; its agent runs the configs.',
  );
  await mustSucceed(runLive(demo, ['stack', 'create', 'real', '-t', inDemo('real.yaml'), '--wait']));
  const kernels = await demo.client.stacks.output({ stack: 'real', key: 'kernels' });
  const sums = await demo.client.stacks.output({ stack: 'real', key: 'sums' });
  const all = z.array(z.string()).length(names.length);
  check(all.safeParse(kernels.output_value).success, 'both run the kernel of their disks', kernels);
  check(new Set(all.parse(sums.output_value)).size === names.length, 'each has its own data on its disk', sums);
}

const areAvailable = (demo: DemoContext): Promise<unknown> =>
  untilFact({
    fact: 'both nodes are available',
    seconds: patienceSeconds,
    signal: demo.signal,
    look: async () => {
      const nodes = await demo.client.nodes.list();
      const failed = nodes.find(({ provision_state: state }) => /failed|error/.test(state ?? ''));
      if (failed) check(false, 'no node fails', failed);
      return nodes.map(({ name, provision_state: state }) => ({ name, state }));
    },
    holds: (seen) => seen.length === names.length && seen.every(({ state }) => state === 'available'),
  });

/** Prints the milestones of a console until it is not watched any more. */
async function followConsole({ dataDirectory }: DemoContext, name: string, signal: AbortSignal): Promise<void> {
  const file = serialLogOf(join(dataDirectory, 'lab', 'machines', name));
  let known = 0;
  while (!signal.aborted) {
    const text = await readFile(file, 'latin1').catch(() => '');
    const complete = text.slice(0, text.lastIndexOf('\n') + 1);
    for (const line of complete.slice(known).split('\n')) {
      // The command line of the kernel contains the boot secret.
      if (/Command line: /.test(line)) fromMachine(name, 'a kernel starts');
      const [, milestone] = /\] (anneal: .*|booted from the disk)/.exec(line) ?? [];
      if (milestone !== undefined) fromMachine(name, milestone.trim());
    }
    known = complete.length;
    await sleep(200, undefined, { signal }).catch(() => undefined);
  }
}
