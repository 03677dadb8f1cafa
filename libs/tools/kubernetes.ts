/**
 * Kubernetes manifests with kubectl.
 *
 * K1 It applies all objects, then waits until each workload is rolled out and each job is complete. A failure names the
 *    object that does not become ready, with the reasons that Kubernetes gives for it and its pods.
 * K2 Each object has the label `anneal-deployment`. When all are ready, objects with the label that the config does not
 *    name any more are removed, if they are of a kind in `pruned` or in the config, and in a namespace that the config
 *    still uses. A deletion removes only objects with the label, so an object that a newer deployment has taken over
 *    stays.
 * K3 An output that the config does not declare is refused, because its value would reach no template.
 */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
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
  /** Outputs: an object such as `service/web`, its namespace, and the JSONPath of its field. */
  outputs: z
    .record(
      z.string().regex(/^[\w.-]+$/),
      z.strictObject({ object: z.string().min(1), jsonpath: z.string().min(1), namespace: z.string().optional() }),
    )
    .default({}),
});

const word = z.string('must be a text').min(1, 'must not be empty');
const labels = z.record(z.string(), z.string());
const manifest = z.looseObject({
  apiVersion: word,
  kind: word,
  metadata: z.looseObject(
    { name: word, namespace: z.string().optional(), labels: labels.nullish() },
    'must be a map with a name',
  ),
  spec: z
    .looseObject({
      selector: z
        .looseObject({ matchLabels: labels.optional().catch(undefined) })
        .optional()
        .catch(undefined),
      updateStrategy: z.looseObject({ type: z.string().optional() }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Manifest = z.infer<typeof manifest>;

/** Kinds that have a rollout; of the others, a job completes and the rest exists at once. */
const rolledOut = new Set(['Deployment', 'StatefulSet', 'DaemonSet']);

/**
 * Kinds of which an update removes objects, also when the config has no object of the kind any more. It is the list of
 * kubectl, without the deprecated `Endpoints` and with more kinds that the role `edit` may list.
 */
const pruned = [
  'core/v1/ConfigMap',
  'core/v1/PersistentVolumeClaim',
  'core/v1/Pod',
  'core/v1/ReplicationController',
  'core/v1/Secret',
  'core/v1/Service',
  'core/v1/ServiceAccount',
  'apps/v1/DaemonSet',
  'apps/v1/Deployment',
  'apps/v1/ReplicaSet',
  'apps/v1/StatefulSet',
  'batch/v1/CronJob',
  'batch/v1/Job',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'policy/v1/PodDisruptionBudget',
  'networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1/NetworkPolicy',
];
/** Kinds outside namespaces. A user with rights in one namespace may not list them, and gives the option `namespace`. */
const prunedEverywhere = ['core/v1/Namespace', 'core/v1/PersistentVolume'];

const label = 'anneal-deployment';

export const kubernetes: HostTool = {
  group: 'kubernetes',
  program(request) {
    const { namespace, kubeconfig, context, wait, outputs } = readChecked(request, 'options', options);
    const objects = manifestsOf(request.config);
    // An empty text means the default of kubectl, because a parameter of a template may be empty.
    const flags = Object.entries({ kubeconfig, context, namespace }).flatMap(([name, value = '']) =>
      value === '' ? [] : [quoteForShell(`--${name}=${value}`)],
    );
    const undeclared = Object.keys(outputs).filter((name) => !request.outputs.some((output) => output.name === name));
    if (undeclared.length > 0 && request.action !== 'DELETE')
      throw new ConfigError(
        `The options of group kubernetes name outputs that the config does not declare: ${undeclared.join(', ')}. Add each to the outputs of the config.`,
      );
    const selector = quoteForShell(`${label}=${request.deployment_id}`);
    const owned = objects.map((object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, [label]: request.deployment_id } },
    }));
    return [
      prologue,
      `need kubectl 'install kubectl, and give this user a kubeconfig'\n`,
      `k() { kubectl ${[...flags, '"$@"'].join(' ')}; }\n`,
      ...(request.action === 'DELETE'
        ? removals(objects, selector)
        : [
            writeFile('manifests.json', asText({ apiVersion: 'v1', kind: 'List', items: owned } as unknown as Json)),
            helpers,
            'k apply -f manifests.json || exit\n',
            ...objects.flatMap((object) => waitFor(object, wait)),
            prune(objects, selector, (namespace ?? '') !== ''),
            ...Object.entries(outputs).map(
              ([name, { object, jsonpath, namespace: place }]) =>
                shell`k get ${placeOf(place)}${quoteForShell(object)} -o ${quoteForShell(`jsonpath=${jsonpath}`)} >"$heat_outputs_path."${quoteForShell(name)} || exit
`,
            ),
          ]),
    ].join('');
  },
};

const placeOf = (namespace: string | undefined): string =>
  namespace === undefined ? '' : `--namespace=${quoteForShell(namespace)} `;

/** `unready` ends the program with the reasons for an object that is not ready: its own conditions, then its pods with theirs. */
const helpers = shell`unready() {
  object=$1 pods=$2; shift 2
  {
    echo "$object is not ready:"
    k get "$@" "$object" -o 'jsonpath={range .status.conditions[*]}  {.type}={.status}: {.reason} {.message}{"\n"}{end}'
    [ -z "$pods" ] || k get "$@" pods --selector="$pods" -o 'jsonpath={range .items[*]}  pod {.metadata.name} {.status.phase}{range .status.conditions[?(@.status=="False")]}; {.reason} {.message}{end}{range .status.initContainerStatuses[*]} {.state.waiting.reason} {.state.waiting.message}{end}{range .status.containerStatuses[*]} {.state.waiting.reason} {.state.waiting.message}{end}{"\n"}{end}' | head -n 20
  } >&2
  exit 1
}
completes() {
  object=$1 end=$(($(date +%s) + $2)); shift 2
  while state=$(k get "$@" "$object" -o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type} {end}'); do
    case " $state" in
      *' Complete '*) return 0 ;;
      *' Failed '*) return 1 ;;
    esac
    [ "$(date +%s)" -lt "$end" ] || return 1
    sleep 1
  done
  return 1
}
`;

/** The lines that wait until an object is ready, if its kind ever becomes so. */
function waitFor({ kind, metadata, spec }: Manifest, seconds: number): string[] {
  const place = placeOf(metadata.namespace);
  const object = quoteForShell(`${kind.toLowerCase()}/${metadata.name}`);
  if (kind === 'Job') {
    const pods = quoteForShell(`batch.kubernetes.io/job-name=${metadata.name}`);
    return [`completes ${object} ${seconds} ${place}|| unready ${object} ${pods} ${place}\n`];
  }
  // Kubernetes replaces pods of this strategy only when an operator deletes them.
  if (!rolledOut.has(kind) || spec?.updateStrategy?.type === 'OnDelete') return [];
  const pods = Object.entries(spec?.selector?.matchLabels ?? {}).map((pair) => pair.join('='));
  return [
    `k rollout status ${place}${object} --timeout=${seconds}s || unready ${object} ${quoteForShell(pods.join(','))} ${place}\n`,
  ];
}

/** K2: a second apply changes nothing but removes the objects that the config has dropped. */
function prune(objects: readonly Manifest[], selector: string, inOneNamespace: boolean): string {
  const own = objects.map(({ apiVersion, kind }) => `${apiVersion.includes('/') ? '' : 'core/'}${apiVersion}/${kind}`);
  const kinds = new Set([...pruned, ...(inOneNamespace ? [] : prunedEverywhere), ...own]);
  const allowed = [...kinds].map((kind) => quoteForShell(`--prune-allowlist=${kind}`)).join(' ');
  return shell`k apply -f manifests.json --prune --selector=${selector} ${allowed} >pruned.txt || exit
grep ' pruned$' pruned.txt || :
`;
}

/** The lines that delete the objects of this deployment, by kind and namespace. */
function removals(objects: readonly Manifest[], selector: string): string[] {
  const places = new Map<string, Set<string>>();
  for (const { apiVersion, kind, metadata } of objects) {
    const [version, group = ''] = apiVersion.split('/').toReversed();
    const place = placeOf(metadata.namespace);
    places.set(place, (places.get(place) ?? new Set()).add(`${kind}.${version}.${group}`));
  }
  return [...places].map(
    ([place, kinds]) =>
      `k delete ${place}${quoteForShell([...kinds].join(','))} --selector=${selector} --ignore-not-found --wait || exit\n`,
  );
}

/** @throws ConfigError for text that is not YAML, and with the mistakes of all objects that Kubernetes would not know */
function manifestsOf(config: Json): readonly Manifest[] {
  const documents = typeof config === 'string' ? parsed(config) : Array.isArray(config) ? config : [config];
  const objects = documents.filter((document) => document !== null).flatMap(itemsOf);
  if (objects.length === 0) throw new ConfigError('The config of group kubernetes holds no object.');
  const mistakes: string[] = [];
  const manifests = objects.flatMap((object, index) => {
    const { data, error } = safeParseExact(manifest, object);
    for (const { path, message } of error?.issues ?? [])
      mistakes.push(`object ${index + 1}: ${path.join('.') || 'it'} ${message}`);
    return data ? [data] : [];
  });
  if (mistakes.length === 0) return manifests;
  throw new ConfigError(`The config of group kubernetes cannot be applied: ${mistakes.slice(0, 10).join('; ')}`);
}

/** The objects of a `List`. */
const itemsOf = (document: Json): readonly Json[] =>
  isObject(document) && document['kind'] === 'List' && Array.isArray(document['items'])
    ? document['items']
    : [document];

function parsed(text: string): Json[] {
  return parseAllDocuments(text).map((document) => {
    const [error] = document.errors;
    if (error) throw new ConfigError(`The config of group kubernetes is not YAML: ${error.message}`);
    return document.toJS({ maxAliasCount: 100 }) as Json;
  });
}
