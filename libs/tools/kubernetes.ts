/** Kubernetes manifests with kubectl: apply, wait until they are rolled out, and read outputs. */
import type { Json } from '@anneal/contracts/json.ts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { prologue, quoteForShell, shell, writeFile } from './shell.ts';
import { asText, ConfigError, readChecked, type HostTool } from './tool.ts';

const options = z.object({
  namespace: z.string().optional(),
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
  /** Seconds for each rollout. */
  wait: z.number().int().positive().default(300),
  /** Outputs: an object such as `service/web`, and the JSONPath of its field. */
  outputs: z
    .record(z.string().regex(/^[\w.-]+$/), z.strictObject({ object: z.string().min(1), jsonpath: z.string().min(1) }))
    .default({}),
});

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }).default({}),
});

/** Kinds that have a rollout; of the others, a job completes and the rest exists at once. */
const rolledOut = new Set(['Deployment', 'StatefulSet', 'DaemonSet']);

export const kubernetes: HostTool = {
  group: 'kubernetes',
  program(request) {
    const { namespace, kubeconfig, context, wait, outputs } = readChecked(request, 'options', options);
    const objects = manifestsOf(request.config);
    const flags = [
      ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
      ...(context === undefined ? [] : [`--context=${context}`]),
      ...(namespace === undefined ? [] : [`--namespace=${namespace}`]),
    ].map(quoteForShell);
    const kubectl = ['kubectl', ...flags].join(' ');
    const waits = objects.flatMap((object) => {
      const check = manifest.safeParse(object);
      if (!check.success || check.data.metadata.name === undefined) return [];
      const { kind, metadata } = check.data;
      const place = metadata.namespace === undefined ? '' : ` --namespace=${quoteForShell(metadata.namespace)}`;
      const name = quoteForShell(`${kind.toLowerCase()}/${metadata.name}`);
      if (rolledOut.has(kind)) return [`${kubectl}${place} rollout status ${name} --timeout=${wait}s || exit\n`];
      if (kind === 'Job')
        return [`${kubectl}${place} wait --for=condition=complete ${name} --timeout=${wait}s || exit\n`];
      return [];
    });
    return [
      prologue,
      `need kubectl 'install kubectl, and give this user a kubeconfig'\n`,
      writeFile('manifests.json', asText({ apiVersion: 'v1', kind: 'List', items: [...objects] })),
      ...(request.action === 'DELETE'
        ? [`exec ${kubectl} delete --ignore-not-found --wait -f manifests.json\n`]
        : [
            `${kubectl} apply -f manifests.json || exit\n`,
            ...waits,
            ...Object.entries(outputs).map(
              ([name, { object, jsonpath }]) =>
                shell`${kubectl} get ${quoteForShell(object)} -o ${quoteForShell(`jsonpath=${jsonpath}`)} >"$heat_outputs_path."${quoteForShell(name)} || exit
`,
            ),
          ]),
    ].join('');
  },
};

/** @throws ConfigError for text that is not YAML, or an object without `apiVersion` and `kind` */
function manifestsOf(config: Json): readonly Json[] {
  const documents = typeof config === 'string' ? parsed(config) : Array.isArray(config) ? config : [config];
  const objects = documents.filter((document) => document !== null);
  if (objects.length === 0) throw new ConfigError('The config of group kubernetes holds no object.');
  objects.forEach((object, index) => {
    if (!manifest.safeParse(object).success)
      throw new ConfigError(`Object ${index + 1} of the config of group kubernetes has no apiVersion or no kind.`);
  });
  return objects;
}

function parsed(text: string): Json[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error) throw new ConfigError(`The config of group kubernetes is not YAML: ${error.message}`);
    return document.toJS({ maxAliasCount: 100 }) as Json;
  });
}
