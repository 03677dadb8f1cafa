import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { wishGroups } from './wish.ts';

const commands = readFileSync(join(import.meta.dirname, '../../../../docs/reference/commands.md'), 'utf8');
/** The options that the form has outside its groups, or that only print. */
const others = ['--name', '--type', '-o, --output', '--jq'];

it('the form has each option of the command', () => {
  const [, section = ''] = commands.split(/^#+ .*anneal subscription create.*$/m);
  const [own = ''] = section.split(/^#/m);
  const options = [...own.matchAll(/^\| `((?:-\w, )?--[\w-]+)/gm)].map(([, option = '']) => option);
  const shown = wishGroups.flatMap(({ fields }) => fields.map(({ option }) => option));
  expect(shown.toSorted()).toEqual(options.filter((option) => !others.includes(option)).toSorted());
});
