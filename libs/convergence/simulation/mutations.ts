/** Central rules of the core, each broken on purpose while its file is loaded: the simulator must detect every one. */
interface Mutation extends Edit {
  /** The rule that the mutation breaks. */
  readonly rule: string;
  /** A second edit, where one place alone breaks nothing. */
  readonly and?: Edit;
}

interface Edit {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Ids that only say how many came before them in the step. */
const countedIds: Edit = {
  file: 'transaction.ts',
  from: '${transaction.input}\\n${what}`',
  to: '${transaction.input}`',
};

/** The broken rules by what the core then does. `from` must occur in `file`. */
export const mutations: Readonly<Record<string, Mutation>> = {
  'works before its requirements': {
    rule: 'C1',
    file: 'graph/update-node.ts',
    from: '|| (graph.waiting.get(name) ?? 0) > 0',
    to: '',
  },
  'deletes what is used': {
    rule: 'C2',
    file: 'graph/cleanup-node.ts',
    from: 'isUsed(state, id) || (mustStay(transaction) &&',
    to: '(mustStay(transaction) &&',
  },
  'believes an older answer': {
    rule: 'C3',
    file: 'resources/response.ts',
    from: 'request.fence !== response.fence ||',
    to: '',
  },
  'deletes what is being worked on': {
    rule: 'C4',
    file: 'graph/cleanup-node.ts',
    from: 'if (found.request && !yieldsToDeletion(transaction, found, hasStepsBefore)) return;',
    to: '',
  },
  'overtakes what must be awaited': {
    rule: 'C4',
    file: 'resources/overtake.ts',
    from: '&& tools.supersedes(resource)',
    to: '',
  },
  'awaits what it may overtake': {
    rule: 'a newer request replaces one that its provider never answers',
    file: 'resources/overtake.ts',
    from: 'tools.supersedes(resource)',
    to: 'tools.now < 0',
  },
  'lets what is replaced go on': {
    rule: 'the work of a request stops when its resource is replaced',
    file: 'graph/update-node.ts',
    from: 'cancelReplaced(transaction, resource);',
    to: '',
  },
  'forgets what an overtaken update may have changed': {
    rule: 'a newer update sends all that an overtaken one may have changed',
    file: 'resources/overtake.ts',
    from: '{ attempted: attemptOf(resource.request, resource) }',
    to: '{}',
  },
  'updates what was never made': {
    rule: 'C4',
    file: 'graph/update-node.ts',
    from: "resource.id)) send(transaction, resource, 'create', resolved, []);",
    to: "resource.id)) send(transaction, resource, 'update', resolved, []);",
  },
  'keeps what it began to make and no longer wants': {
    rule: 'an unfinished creation holds nothing up',
    file: 'graph/cleanup-node.ts',
    from: '(mustStay(transaction) && !disposable)',
    to: 'mustStay(transaction)',
  },
  'forgets what it asked for': {
    rule: 'C6',
    file: 'documents.ts',
    from: 'fence === 0 && physical_id === null',
    to: 'physical_id === null',
  },
  'keeps the original of a replacement': {
    rule: 'C7',
    file: 'graph/update-node.ts',
    from: 'if (others && others.size > 1)',
    to: 'if (others && others.size > 99)',
  },
  'never evaluates what was applied once': {
    rule: 'C8',
    file: 'graph/update-node.ts',
    from: 'if ((state.resources.get(peer)?.shown_at ?? Infinity) > resource.seen_at) return undefined;',
    to: '',
  },
  'takes what every update renews for unchanged': {
    rule: 'C8',
    file: 'resources/pick-incarnation.ts',
    from: 'isRenewed(resource, planned) &&',
    to: 'false &&',
  },
  'deletes what is to be retained': {
    rule: 'C9',
    file: 'graph/cleanup-node.ts',
    from: "resource.deletion_policy === 'Retain' ||",
    to: '',
  },
  'makes what is to wait for its place': {
    rule: 'C7',
    file: 'node/node.ts',
    from: "if (replacement !== 'delete_first') return false;",
    to: 'if (name) return false;',
  },
  'knows no limit': {
    rule: 'C10',
    file: 'graph/graph.ts',
    from: 'state.inFlight.size < tools.limit',
    to: 'state.inFlight.size < Infinity',
  },
  'knows no batch': {
    rule: 'C10',
    file: 'node/rolling.ts',
    from: 'batch.until === null && batch.members.length < roomFor(state.graph as Graph, rolling, exists)',
    to: 'true',
  },
  'goes on after a failure': {
    rule: 'a failure starts nothing',
    file: 'graph/graph.ts',
    from: "while (state.stack.phase === 'converging' &&",
    to: 'while (/converging|draining/.test(state.stack.phase) &&',
  },
  'rolls back to where it is': {
    rule: 'a rollback ends in what stood before',
    file: 'traversal/begin.ts',
    from: 'state.complete ?? emptyPlan()',
    to: 'state.plan',
  },
  'forgets what a failed update tried': {
    rule: 'the next update repairs a failed update',
    file: 'node/failure.ts',
    from: "if (request.action !== 'update') return attempted;",
    to: 'if (request.fence > 0) return attempted;',
  },
  'believes that nothing was disturbed': {
    rule: 'a shortcut is only taken when nothing changed',
    file: 'transaction.ts',
    from: 'state.settled = null;',
    to: '',
  },
  'takes an older request of the stack around it': {
    rule: 'a nested stack follows the highest fence',
    file: 'nested.ts',
    from: 'if (link.fence < last) return false;',
    to: '',
  },
  'says nothing of what needs a replacement': {
    rule: 'every change is an event',
    file: 'resources/response.ts',
    from: '  announceResource(transaction, refused);\n',
    to: '',
  },
  'sets no deadline': {
    rule: 'C5',
    file: 'traversal/begin.ts',
    from: "addEffect(transaction, { kind: 'timer', timer: { kind: 'deadline' }, at: deadline, traversal: stack.traversal });",
    to: '',
  },
  'updates what is suspended': {
    rule: 'the table of transitions',
    file: 'traversal/transitions.ts',
    from: "[notWhileDeleting, ['the stack is suspended', 'suspended']]",
    to: '[notWhileDeleting]',
  },
  'deletes before it asked': {
    rule: 'a hook holds',
    file: 'graph/cleanup-node.ts',
    from: "holdAt(transaction, resource, 'pre-delete') ||",
    to: '',
  },
  'never ends its grace': {
    rule: 'a deletion ends',
    file: 'traversal/traversal.ts',
    from: 'if (!resource?.request || (ours && !state.stack.abandoned)) continue;',
    to: 'continue;',
  },
  'keeps what it answered in a try that did not count': {
    rule: 'a try leaves nothing behind',
    ...countedIds,
    and: {
      file: 'simulation/tries.ts',
      from: 'atOnce(resource, moment);',
      to: `{
        const kept = ((moment as { kept?: Map<string, unknown> }).kept ??= new Map());
        const key = resource.id + ' ' + resource.fence;
        if (!kept.has(key)) kept.set(key, atOnce(resource, moment));
        return kept.get(key) as ResourceResponse | undefined;
      };`,
    },
  },
  'names resources by a counter of the step': { rule: 'an id follows from what it names', ...countedIds },
  'chooses between incarnations of one moment by their order': {
    rule: 'no choice depends on the order in memory',
    file: 'documents.ts',
    from: ' || b.id.localeCompare(a.id)',
    to: '',
  },
  'shows the incarnation that memory has first': {
    rule: 'no choice depends on the order in memory',
    file: 'documents.ts',
    from: ' || newestFirst(a, b)',
    to: '',
  },
  'says nothing of a value that changed': {
    rule: 'a reader has the last value',
    file: 'transaction.ts',
    from: 'shows ? tick(transaction) : before.shown_at',
    to: 'before.shown_at',
  },
};

interface Loaded {
  readonly format: string | null | undefined;
  readonly source?: unknown;
}
type LoadHook = <C, L extends Loaded>(url: string, context: C, next: (url: string, context: C) => L) => L;

/** @throws Error when the file does not contain the rule: then update the list. */
export function mutate(name: string): { load: LoadHook } {
  const mutation = Object.hasOwn(mutations, name) ? mutations[name] : undefined;
  if (!mutation) throw new Error(`There is no mutation ${name}.`);
  return {
    load(url, context, next) {
      const loaded = next(url, context);
      const edit = [mutation, mutation.and].find((one) => one && url.endsWith(`/convergence/${one.file}`));
      if (!edit) return loaded;
      const text = String(loaded.source);
      if (!text.includes(edit.from)) throw new Error(`${edit.file} does not contain: ${edit.from}`);
      return { ...loaded, source: text.replace(edit.from, () => edit.to) };
    },
  };
}
