/** The versions of the template language and their functions, as `template version list` and `template function list` show them. */

export interface TemplateVersion {
  readonly version: string;
  readonly type: 'hot';
  readonly aliases: readonly string[];
}

const dated: readonly (readonly [date: string, alias: string | null])[] = [
  ['2013-05-23', null],
  ['2014-10-16', null],
  ['2015-04-30', null],
  ['2015-10-15', null],
  ['2016-04-08', null],
  ['2016-10-14', 'newton'],
  ['2017-02-24', 'ocata'],
  ['2017-09-01', 'pike'],
  ['2018-03-02', 'queens'],
  ['2018-08-31', 'rocky'],
  ['2021-04-16', 'wallaby'],
];

export const templateVersions: readonly TemplateVersion[] = dated.map(([date, alias]) => ({
  version: `heat_template_version.${date}`,
  type: 'hot',
  aliases: alias === null ? [] : [`heat_template_version.${alias}`],
}));

interface TemplateFunction {
  readonly functions: string;
  readonly description: string;
  readonly since: string;
  readonly until?: string;
  readonly condition?: true;
}

const functions: readonly TemplateFunction[] = [
  { functions: 'get_attr', description: 'An attribute of a resource.', since: '2013-05-23' },
  { functions: 'get_file', description: 'A function for including a file inline.', since: '2013-05-23' },
  { functions: 'get_param', description: 'The value of a parameter.', since: '2013-05-23' },
  { functions: 'get_resource', description: 'The reference of a resource.', since: '2013-05-23' },
  { functions: 'list_join', description: 'The items of lists, joined to one string.', since: '2014-10-16' },
  { functions: 'str_replace', description: 'A string with its placeholders replaced.', since: '2013-05-23' },
  {
    functions: 'resource_facade',
    description: 'Metadata or policies that the parent template sets on this nested stack.',
    since: '2013-05-23',
  },
  { functions: 'Fn::Select', description: 'One item of a list or map.', since: '2013-05-23', until: '2014-10-16' },
  { functions: 'digest', description: 'The hash of a string.', since: '2015-04-30' },
  { functions: 'repeat', description: 'One item for each combination of values.', since: '2014-10-16' },
  { functions: 'str_split', description: 'A string split into a list.', since: '2015-10-15' },
  { functions: 'map_merge', description: 'Several maps merged; later ones win.', since: '2016-04-08' },
  { functions: 'map_replace', description: 'A map with keys or values replaced.', since: '2016-10-14' },
  { functions: 'yaql', description: 'The result of a YAQL expression.', since: '2016-10-14' },
  { functions: 'if', description: 'One of two values, by a condition.', since: '2016-10-14' },
  { functions: 'filter', description: 'A list without some values.', since: '2017-02-24' },
  {
    functions: 'str_replace_strict',
    description: 'Like str_replace; every placeholder must occur.',
    since: '2017-02-24',
  },
  { functions: 'list_concat', description: 'Several lists concatenated.', since: '2017-09-01' },
  { functions: 'list_concat_unique', description: 'Several lists concatenated, each value once.', since: '2017-09-01' },
  { functions: 'contains', description: 'Whether a value is in a list.', since: '2017-09-01' },
  { functions: 'make_url', description: 'A URL built from its parts.', since: '2017-09-01' },
  {
    functions: 'str_replace_vstrict',
    description: 'Like str_replace_strict; no value may be empty.',
    since: '2017-09-01',
  },
  { functions: 'equals', description: 'Whether two values are equal.', since: '2016-10-14', condition: true },
  { functions: 'not', description: 'The opposite of a condition.', since: '2016-10-14', condition: true },
  { functions: 'and', description: 'Whether all conditions hold.', since: '2016-10-14', condition: true },
  { functions: 'or', description: 'Whether any condition holds.', since: '2016-10-14', condition: true },
];

/** Undefined for a version that is not known. */
export function functionsOf(
  version: string,
  { conditions }: { conditions: boolean },
): { functions: string; description: string }[] | undefined {
  const known = templateVersions.find((each) => each.version === version || each.aliases.includes(version));
  if (!known) return undefined;
  const date = known.version.slice('heat_template_version.'.length);
  return functions
    .filter(
      ({ since, until, condition }) =>
        since <= date && (until === undefined || date < until) && (conditions || !condition),
    )
    .map(({ functions: name, description }) => ({ functions: name, description }))
    .sort((a, b) => (a.functions < b.functions ? -1 : 1));
}
