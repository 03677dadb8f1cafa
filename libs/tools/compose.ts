/** Compose files with Docker Compose or podman-compose. */
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, inputsOf, readChecked, type HostTool } from './tool.ts';

const options = z.object({ project: z.string().optional() });
/** The files that heat-agents' hook takes in the input `env_files`. */
const environmentFiles = z.array(
  z.object({
    file_name: z
      .string()
      .regex(/^[\w][\w./-]*$/)
      .refine((name) => !name.includes('..')),
    content: z.string(),
  }),
);
const services = z.record(z.string(), z.json());

const makeTool = (group: string): HostTool => ({
  group,
  program(request) {
    const { project } = readChecked(request, 'options', options);
    const config = readChecked(request, 'config', services);
    // The first form of Compose files has services only.
    const file = 'services' in config ? config : { services: config };
    const files = environmentFiles.catch([]).parse(inputsOf(request).env_files ?? []);
    const name =
      (project ?? request.name)
        .toLowerCase()
        .replaceAll(/[^a-z0-9_-]/g, '-')
        .replace(/^[-_]+/, '') || 'anneal';
    return [
      prologue,
      shell`if docker compose version >/dev/null 2>&1; then compose='docker compose'
elif command -v docker-compose >/dev/null 2>&1; then compose=docker-compose
else compose=podman-compose
fi
need "\${compose%% *}" 'install Docker with its Compose plugin, or podman-compose'
`,
      ...files.map(
        ({ file_name, content }) =>
          `mkdir -p "$(dirname ${quoteForShell(file_name)})"\n${writeFile(quoteForShell(file_name), content)}`,
      ),
      writeFile('compose.yaml', asText(file)),
      request.action === 'DELETE'
        ? `exec $compose -p ${quoteForShell(name)} -f compose.yaml down\n`
        : `exec $compose -p ${quoteForShell(name)} -f compose.yaml up -d --no-build --remove-orphans\n`,
    ].join('');
  },
});

export const composeTools: readonly HostTool[] = [makeTool('compose'), makeTool('docker-compose')];
