/** Nodes as lines of values separated by commas. Pure. */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';

export interface NodeLine {
  readonly name: string;
  readonly address: string;
  readonly username?: string;
  readonly password?: string;
  readonly resourceClass?: string;
}

/** The nodes of a text, and every mistake with its line. A line that begins with `name` is a heading. */
export function readNodeLines(text: string): {
  readonly nodes: readonly NodeLine[];
  readonly mistakes: readonly string[];
} {
  const nodes: NodeLine[] = [];
  const mistakes: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const fields = line.split(/[,\t]/).map((field) => field.trim().replace(/^"(.*)"$/, '$1'));
    const [name = '', address = '', username = '', password = '', resourceClass = '', ...more] = fields;
    if (line.trim() === '' || (index === 0 && name.toLowerCase() === 'name')) continue;
    const wrong = (message: string): number => mistakes.push(`Line ${index + 1}: ${message}.`);
    if (!/^[\w.-]+$/.test(name)) wrong('a name contains letters, digits, "_", "-" and "."');
    if (readWebAddress(address) === undefined) wrong('the address is not an http or https URL');
    if (more.length > 0) wrong('there are more than five values');
    if (nodes.some((node) => node.name === name)) wrong(`the name ${name} is there twice`);
    nodes.push({
      name,
      address,
      ...(username !== '' && { username }),
      ...(password !== '' && { password }),
      ...(resourceClass !== '' && { resourceClass }),
    });
  }
  return { nodes, mistakes };
}
