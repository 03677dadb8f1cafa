import { workflowActions } from '@anneal/hot/workflow/action-catalogue.ts';
import { expect, it } from 'vitest';
import { providedActions } from './actions.ts';

it('provides each action of the catalogue that no client, host or engine runs', () => {
  const elsewhere = ['std.noop', 'std.echo', 'std.fail', 'std.async_noop', 'std.script'];
  const all = workflowActions.map(({ name }) => name);
  expect([...Object.keys(providedActions), ...elsewhere].toSorted()).toEqual(all.toSorted());
});
