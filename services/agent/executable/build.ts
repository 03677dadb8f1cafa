/**
 * `npm run build:agent`: builds the agent as one file that needs no runtime, for each kind of machine, with checksums.
 * The gateway serves what is in its default folder.
 */
import { parseArgs } from 'node:util';
import { buildExecutable, defaultFolder, machineKinds, writeChecksums, type MachineKind } from './executable.ts';

const usage = `Usage: npm run build:agent -- [--machine ${machineKinds.join('|')}]… [--output DIR]

Builds the agent as single executables for Linux with glibc 2.28 or later, and SHA256SUMS.

  --machine NAME   build for this kind of machine only; may be repeated
  --output DIR     folder of the results (default: ${defaultFolder}, which the gateway serves;
                   for another folder set ANNEAL_GATEWAY_AGENTS)
  --help           show this help
`;

const { values } = parseArgs({
  options: {
    machine: { type: 'string', multiple: true },
    output: { type: 'string', default: defaultFolder },
    help: { type: 'boolean', default: false },
  },
});
const isMachine = (name: string): name is MachineKind => machineKinds.some((machine) => machine === name);
const named = values.machine ?? machineKinds;
const unknown = named.filter((name) => !isMachine(name));
if (values.help) {
  process.stdout.write(usage);
} else if (unknown.length > 0) {
  process.stderr.write(`There is no agent for ${unknown.join(', ')}.\n\n${usage}`);
  process.exitCode = 2;
} else {
  for (const machine of named.filter(isMachine)) {
    const { file, bytes } = await buildExecutable({ machine, folder: values.output });
    process.stdout.write(`${file}  ${Math.round(bytes / 1_000_000)} MB\n`);
  }
  process.stdout.write(`${await writeChecksums(values.output)}\n`);
}
