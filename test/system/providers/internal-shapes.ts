/** Shapes that Anneal uses internally, as values that come from outside. */
import type { Json } from '@anneal/contracts/json.ts';

export const shapes: { [name: string]: Json } = {
  'a seal': { $sealed: 'x' },
  'a seal with a form': { $sealed: `1.deadbeef.${'A'.repeat(60)}` },
  'a seal of a seal': { $sealed: { $sealed: 'y' } },
  'reads of a nested stack': { $reads: [{ path: ['a'], value: 1 }] },
  'what is not known': { $unknown: true },
  'a parameter that is not known': { get_param: '$unknown' },
  'a call': { get_file: 'a.yaml' },
  'an attribute': { get_attr: ['v', 'value'] },
  'an expression': { kind: 'call', function: 'get_param', arguments: { kind: 'literal', value: 'x' } },
  'an exact number': { '#number': '1.0', '#map': [] },
  'a claim check': { dataref: 'a'.repeat(64) },
  'a reference': { $ref: '#/x', __id__: 'x', __resources__: {} },
};
