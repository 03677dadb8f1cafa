/** The effect of a cancel on the work in progress of a stack, for the question before it. */
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { Client } from './connect.ts';
import { nestedIdOf, stackIdOf, withPaths } from './nested.ts';
import type { Resource } from './representation.ts';

/** The most nested stacks whose deployments are read for the question. */
const mostStacks = 20;
/** The most resources of each kind that a text names. */
const mostNamed = 5;

/** The effect of a cancel. Paths from the root of the tree, as `pool/0/server`. */
export interface CancelOutlook {
  /** Not begun: a cancel takes it back. */
  readonly withdrawn: readonly string[];
  /** Has begun, and goes on to its end. */
  readonly goesOn: readonly string[];
}

/** Reads what a cancel would do now. @throws AnnealError NotFound for a stack that does not exist */
export async function cancelOutlook(
  { stacks, deployments }: Pick<Client, 'stacks' | 'deployments'>,
  stack: string,
): Promise<CancelOutlook> {
  const resources = await stacks.resources({ stack, depth: 100 });
  const within = [...new Set(resources.filter(isWorking).map(stackIdOf))].filter((id) => id !== undefined);
  const lists = await Promise.all(within.slice(0, mostStacks).map((id) => deployments.list({ stack: id })));
  return outlookOf(resources, lists.flat());
}

const isWorking = (one: Resource): boolean =>
  one.resource_status.endsWith('_IN_PROGRESS') && nestedIdOf(one) === undefined;

/** The outlook of what these resources do. Pure. */
export function outlookOf(resources: readonly Resource[], deployments: readonly DeploymentView[]): CancelOutlook {
  const withdrawn: string[] = [];
  const goesOn: string[] = [];
  for (const one of withPaths(resources).filter(isWorking)) {
    const mine = deployments.filter(
      ({ stack_id: id, resource_name: name, status }) =>
        id === stackIdOf(one) && name === one.resource_name && status === 'IN_PROGRESS',
    );
    const begun = mine.filter(({ answer_state: state }) => state === 'started');
    if (begun.length > 0) goesOn.push(`${one.path} on ${begun.map(({ host_name: host }) => host).join(', ')}`);
    else if (mine.length > 0 || waits(one)) withdrawn.push(one.path);
    else goesOn.push(one.path);
  }
  return { withdrawn, goesOn };
}

/** Requests that their providers take back: a server that waits for a node, and a wait for signals. */
const waits = ({ resource_type: type, resource_status_reason: reason }: Resource): boolean =>
  type.endsWith('::WaitCondition') || (reason ?? '').startsWith('waiting for a node');

/** The outlook in sentences, one for each kind. */
export function outlookText({ withdrawn, goesOn }: CancelOutlook): string[] {
  return [
    ...(withdrawn.length > 0 ? [`Taken back, because it has not begun: ${named(withdrawn)}.`] : []),
    goesOn.length > 0
      ? `Has begun, and goes on to its end: ${named(goesOn)}.`
      : withdrawn.length > 0
        ? 'Nothing has begun.'
        : 'Nothing is in progress at a provider.',
  ];
}

function named(paths: readonly string[]): string {
  const more = paths.length - mostNamed;
  return `${paths.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
