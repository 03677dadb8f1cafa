/** Words for an event: its object, and what changed. Also for types that this version does not know. */
import { originSchema, pathFrom } from '@anneal/contracts/origin.ts';
import type { AnnealEvent } from '../events.ts';
import { reasonText } from './reason.ts';

type Data = Readonly<Record<string, unknown>>;

/** The object of an event, as in `web/workers/0/server`, and the change or its reason, on one line each. */
export function eventWords(event: AnnealEvent): { about: string; detail: string } {
  const data: Data = typeof event.data === 'object' && event.data !== null ? event.data : {};
  return {
    about: placeOf(event.type, data) || nameOf(data) || (event.subject ?? ''),
    detail: reasonText(detailOf(event.type, data).split('\n')[0]),
  };
}

/** Stacks and what they contain by their path, as in `web/workers/0/server`: nested stacks have long names. */
function placeOf(type: string, data: Data): string {
  if (!/^(?:stack|resource|deployment|group)\./.test(type)) return '';
  const origin = originSchema.safeParse(data['origin']);
  return origin.success ? pathFrom(origin.data) : '';
}

const nameOf = (data: Data): string =>
  texts(data, 'stack_name', 'resource_name') ||
  texts(data, 'host_name') ||
  texts(data, 'workflow', 'task') ||
  texts(data, 'name');

function detailOf(type: string, data: Data): string {
  const failure = data['failure'] as Data | null | undefined;
  const why = failure ? texts(failure, 'message') : texts(data, 'reason');
  const by = texts(data, 'policy') || texts(data, 'reason');
  const sizes = `${String(data['before'])} → ${String(data['after'])}`;
  if (type === 'group.scaling.refused') return `${sizes} (${by}): ${texts(data, 'message')}`;
  if (type.startsWith('group.scaling.')) return `${sizes} (${by})${failure ? `: ${why}` : ''}`;
  if (type.startsWith('group.member.')) return by;
  if (type.startsWith('deployment.')) return [`on ${texts(data, 'host_name')}`, why].filter((part) => part).join(': ');
  return why;
}

const texts = (data: Data, ...names: readonly string[]): string =>
  names
    .map((name) => data[name])
    .filter((value): value is string => typeof value === 'string' && value !== '')
    .join(' ');
