/** Workflows, and objects whose owners give them data. */
import { wordOf, at, type Odd, readOdd } from './document.ts';
import type { Door } from './door.ts';
import type { ValuesWorld } from './world.ts';

const workflowText = `version: '2.0'
NAME:
  input: [i]
  output: {o: <% $.r %>}
  tasks:
    t: {action: std.echo, input: {output: <% $.i %>}, publish: {r: <% task().result %>}}
`;

async function workflow(world: ValuesWorld, text = workflowText): Promise<string> {
  const name = world.name('w');
  await world.call('POST', '/api/v1/workflows', JSON.stringify({ text: text.replace('NAME', name) }));
  return name;
}

async function ended(world: ValuesWorld, members: string): Promise<Odd> {
  const id = wordOf(at(await world.call('POST', '/api/v1/executions', `{${members}}`), 'id'));
  const shown = await world.until(`/api/v1/executions/${id}`, (each) => at(each, 'execution', 'state') !== 'RUNNING');
  if (at(shown, 'execution', 'state') === 'SUCCESS') return shown;
  throw new Error(world.oddText(shown));
}

export const workflowDoors: Readonly<Record<string, Door>> = {
  'the input of an execution': async (world, text) => {
    const name = await workflow(world);
    return at(await ended(world, `"workflow":"${name}","input":{"i":${text}}`), 'execution', 'input', 'i');
  },
  'Mistral: an environment': async (world, text) => {
    const name = world.name('e');
    await world.call('POST', '/workflow/v2/environments', `{"name":"${name}","variables":{"v":${text}}}`);
    return at(readOdd(wordOf(at(await world.call('GET', `/workflow/v2/environments/${name}`), 'variables'))), 'v');
  },
  'the input of a schedule': async (world, text) => {
    const name = await workflow(world);
    const trigger = world.name('t');
    await world.call(
      'POST',
      '/api/v1/cron_triggers',
      `{"name":"${trigger}","workflow":"${name}","pattern":"0 0 1 1 *","input":{"i":${text}}}`,
    );
    return at(await world.call('GET', `/api/v1/cron_triggers/${trigger}`), 'input', 'i');
  },
};

/** An expression of a workflow reads the values. */
export const expressionDoors: Readonly<Record<string, Door>> = {
  'the output of an execution': async (world, text) => {
    const name = await workflow(world);
    return at(await ended(world, `"workflow":"${name}","input":{"i":${text}}`), 'execution', 'output', 'o');
  },
  'the result of a task': async (world, text) => {
    const name = await workflow(world);
    return at(await ended(world, `"workflow":"${name}","input":{"i":${text}}`), 'tasks', 0, 'result');
  },
  'the environment of an execution': async (world, text) => {
    const name = await workflow(world, workflowText.replace('$.i %>}', 'env().e %>}'));
    return at(
      await ended(world, `"workflow":"${name}","input":{"i":1.0},"env":{"e":${text}}`),
      'execution',
      'output',
      'o',
    );
  },
  'Mistral: the input of an execution as a text': async (world, text) => {
    const name = await workflow(world);
    const given = `{"workflow_name":"${name}","input":${JSON.stringify(`{"i":${text}}`)}}`;
    const id = wordOf(at(await world.call('POST', '/workflow/v2/executions', given), 'id'));
    const shown = await world.until(`/workflow/v2/executions/${id}`, (each) => at(each, 'state') !== 'RUNNING');
    return at(readOdd(wordOf(at(shown, 'output'))), 'o');
  },
};
