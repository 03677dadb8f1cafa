import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stackAct } from '@anneal/contracts/calls/stacks.ts';
import { stackRevisionList, stackRevisionShow } from '@anneal/contracts/calls/stack-history.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { revisionView, type RevisionDocument } from './documents/revisions.ts';
import { literal, openHarness, planWith, project, resource, type Harness } from './testing/running-service.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ settings: { revisions: 3 } });
});
afterEach(() => harness.dispose());

const planOf = (value: string) =>
  planWith([resource('r', { value: literal(value) })], {
    parameters: {
      word: { type: 'string', hidden: false, value },
      secret: { type: 'string', hidden: true, value: harness.context.secrets.seal('hidden word') },
    },
  });
const list = async (stack: string) => (await harness.ask(stackRevisionList, { project, stack })).revisions;

describe('the revisions of a stack', () => {
  it('are one per update, with the end of its action, and only the latest stay', async () => {
    const { id } = await harness.create('one', planOf('1'));
    await harness.settled(id);
    expect(await list('one')).toMatchObject([{ action: 'CREATE', status: 'COMPLETE', is_current: true }]);
    expect((await list('one'))[0]?.occasion).toMatchObject({ actor: { kind: expect.any(String) as string } });
    for (const value of ['2', '3', '4']) {
      await harness.update(id, planOf(value));
      await harness.settled(id);
    }
    const found = await list('one');
    expect(found.map(({ action, status, is_current: isCurrent }) => [action, status, isCurrent])).toEqual([
      ['UPDATE', 'COMPLETE', true],
      ['UPDATE', 'COMPLETE', false],
      ['UPDATE', 'COMPLETE', false],
    ]);
    expect(new Set(found.map(({ id: revision }) => revision)).size).toBe(3);
  });

  it('that another one superseded in progress count as failed, because they never complete', () => {
    const revision = (id: string) => ({ target: { revision: id, plan: 'p' }, action: 'UPDATE', reason: 'started' });
    const stack = revision('b') as unknown as StackDocument;
    const stored = (id: string) => ({ ...revision(id), status: 'IN_PROGRESS', at: '' }) as unknown as RevisionDocument;
    expect(revisionView(stack, stored('a'))).toMatchObject({ status: 'FAILED', is_current: false });
    expect(revisionView(stack, stored('b'))).toMatchObject({ status: 'IN_PROGRESS', reason: 'started' });
  });

  it('show their parameters without secrets, and the contents from which an update can begin', async () => {
    const { id } = await harness.create('one', planOf('1'));
    await harness.settled(id);
    await harness.update(id, planOf('2'));
    await harness.settled(id);
    const [, first] = await list(id);
    const shown = await harness.ask(stackRevisionShow, { project, stack: id, revision: first?.id ?? '' });
    expect(shown.parameters).toEqual({ word: '1', secret: '******' });
    expect(Object.keys(shown.contents).toSorted()).toEqual(['environment', 'files', 'template']);
    await expect(harness.ask(stackRevisionShow, { project, stack: id, revision: 'none' })).rejects.toMatchObject({
      code: 'NotFound',
    });
  });

  it('are not added by actions that apply no plan, and end with the stack', async () => {
    const { id } = await harness.create('one', planOf('1'));
    await harness.settled(id);
    await harness.ask(stackAct, { project, stack: id, action: { kind: 'check' } });
    await harness.settled(id);
    expect(await list(id)).toMatchObject([{ action: 'CREATE', status: 'COMPLETE' }]);
    await harness.remove(id);
    await harness.settled(id);
    expect(await list(id)).toEqual([]);
  });
});
