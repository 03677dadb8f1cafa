/**
 * Converts the question for a nested stack to the input of the compiler. A group asks once per member, each time with
 * the same environment and files, so the parsed environment and files are cached.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { CompileAnswer, CompileNestedQuestion } from '@anneal/contracts/calls/templating.ts';
import type { CompileNested } from '@anneal/hot/compile-nested.ts';
import { TemplateLibrary } from '@anneal/hot/tree/library.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readPlan, type Rules, type Sources } from './question.ts';
import { hideSecrets } from './secret-members.ts';

export interface NestedQuestions {
  read(question: CompileNestedQuestion, rules: Rules): Promise<CompileNested & { readonly filesHash: string }>;
  /** Notes from what the root stack of a tree was compiled, so that the questions for its nested stacks read nothing again. */
  know(
    stored: Pick<CompileAnswer, 'environment' | 'files'>,
    tree: { environment: JsonObject; files: Readonly<Record<string, string>>; library: TemplateLibrary },
  ): void;
}

/** The number of cached environments: that of a nested stack lacks the registry's entries for the stacks around it. */
const mostEnvironments = 256;
/** The number of cached sets of files, and of cached libraries. */
const mostKept = 8;

/** The properties of a template as a resource depend on its text and on the parameter defaults. */
const libraryKey = (files: string, environment: JsonObject): string =>
  `${files} ${JSON.stringify(environment['parameter_defaults'] ?? null)}`;

export function createNestedQuestions({ blobs, secrets }: Sources): NestedQuestions {
  const environments = createKept<{ environment: JsonObject; hiddenDefaults: ReadonlySet<string> }>(mostEnvironments);
  const files = createKept<Readonly<Record<string, string>>>(mostKept);
  const libraries = createKept<TemplateLibrary>(mostKept);
  const opened = (stored: JsonObject) => ({
    environment: secrets.open(stored),
    hiddenDefaults: sealedDefaults(stored, secrets),
  });

  const read = async (hash: string, what: string): Promise<JsonObject> => {
    const text = await blobs.getText(hash);
    if (text === undefined) throw new AnnealError('NotFound', `The ${what} ${hash} is missing in the store.`);
    return parseExact(text) as JsonObject;
  };

  return {
    async read(question, { types, maxResources, maxDepth }) {
      const { environment, hiddenDefaults } = await environments.get(question.environment, async () =>
        opened(await read(question.environment, 'environment')),
      );
      const content = await files.get(
        question.files,
        async () => (await read(question.files, 'files')) as Record<string, string>,
      );
      const library = await libraries.get(
        libraryKey(question.files, environment),
        async () => new TemplateLibrary(content),
      );
      const properties = secrets.open<JsonObject>(question.properties);
      const { previous_plan: plan } = question;
      const previous = plan === undefined ? undefined : (await readPlan(plan, { blobs, secrets })).parameters;
      const hidden = Object.keys(properties).filter((name) => properties[name] !== question.properties[name]);
      return {
        environment,
        library,
        files: content,
        filesHash: question.files,
        types,
        resource: question.resource,
        type: question.type,
        kind: question.kind,
        ...(question.template && {
          members: { ...hideSecrets(question.template, secrets), rolling: question.rolling },
        }),
        properties,
        previousParameters: previous,
        unknown: question.unknown && new Set(question.unknown),
        hidden: new Set(hidden),
        hiddenDefaults,
        facade: secrets.open<JsonObject>(question.facade) as CompileNested['facade'],
        hiddenFacade: new Set(
          Object.entries(question.facade).flatMap(([part, value]) =>
            secrets.open<Json>(value) === value ? [] : [part],
          ),
        ),
        stackName: question.stack_name,
        stackId: question.stack_id,
        projectId: question.project,
        depth: question.depth,
        maxResources,
        maxDepth,
        resourcesOutside: question.resources_outside,
      };
    },
    know(stored, tree) {
      const known = opened(tree.environment);
      environments.set(stored.environment, known);
      files.set(stored.files, tree.files);
      libraries.set(libraryKey(stored.files, known.environment), tree.library);
    },
  };
}

/** The names of the defaults that an outer stack hides. They stay hidden in all stacks below it. */
function sealedDefaults({ parameter_defaults: defaults }: JsonObject, secrets: Secrets): ReadonlySet<string> {
  if (!isObject(defaults)) return new Set();
  return new Set(Object.keys(defaults).filter((name) => secrets.isSealed(defaults[name])));
}

interface Kept<T> {
  get(key: string, make: () => Promise<T>): Promise<T>;
  set(key: string, value: T): void;
}

/** Caches the most recently used values. Concurrent calls for the same key share one promise. */
function createKept<T>(most: number): Kept<T> {
  const kept = new Recent<Promise<T>>(most);
  return {
    get(key, make) {
      const found = kept.get(key) ?? make();
      kept.set(key, found);
      found.catch(() => kept.delete(key));
      return found;
    },
    set: (key, value) => kept.set(key, Promise.resolve(value)),
  };
}
