/** The `parameter_groups` section: how clients group parameters for display. */
import { type Mistakes, nearestName } from '../mistakes.ts';
import { isNull, type YamlNode, toJson } from '@anneal/python/yaml/node.ts';
import { pythonText } from '@anneal/python/values/compare.ts';

/** Checks that groups name declared parameters, each once. Mistakes are added. */
export function checkParameterGroups({
  section,
  names,
  mistakes,
}: {
  section: YamlNode;
  names: ReadonlySet<string>;
  mistakes: Mistakes;
}): void {
  if (isNull(section)) return;
  const refuse = (message: string, where: string, node: YamlNode, nearest?: string): void =>
    mistakes.add({
      code: 'InvalidParameterGroups',
      message: `Parameter Groups error: parameter_groups${where && `.${where}`}: ${message}`,
      path: `parameter_groups${where && `.${where}`}`,
      at: node.at,
      nearest,
    });
  if (section.kind !== 'list') return refuse('The parameter_groups should be a list.', '', section);
  const seen = new Set<string>();
  for (const [index, group] of section.items.entries()) {
    const where = String(index);
    const members = group.kind === 'map' ? group.entries.get('parameters')?.value : undefined;
    if (!members) refuse('The parameters must be provided for each parameter group.', where, group);
    else if (members.kind !== 'list') refuse('The parameters of parameter group should be a list.', where, members);
    else {
      for (const member of members.items) {
        const name = pythonText(toJson(member));
        if (seen.has(name))
          refuse(`The ${name} parameter must be assigned to one parameter group only.`, where, member);
        else if (!names.has(name)) {
          refuse(
            `The grouped parameter ${name} does not reference a valid parameter.`,
            where,
            member,
            nearestName(name, names),
          );
        }
        seen.add(name);
      }
    }
  }
}
