/** The versions of the language, oldest first. Code compares them as text, by date. */
export const versions = [
  '2013-05-23',
  '2014-10-16',
  '2015-04-30',
  '2015-10-15',
  '2016-04-08',
  '2016-10-14',
  '2017-02-24',
  '2017-09-01',
  '2018-03-02',
  '2018-08-31',
  '2021-04-16',
] as const;
/** A version by its date. */
export type Version = (typeof versions)[number];

/** Changes of a version other than the functions that it adds and removes. */
export const otherChanges: Partial<Readonly<Record<Version, string>>> = {
  '2013-05-23': 'the first',
  '2014-10-16': '`get_attr` passes the whole path to the resource',
  '2015-10-15':
    '`list_join` takes several lists; it and `str_replace` write maps and lists as JSON; `get_attr` without an attribute',
  '2016-10-14':
    'the section `conditions`; `condition` and `external_id` of resources; lower-case deletion policies; `repeat` over maps',
  '2017-02-24': 'the constraint `modulo`',
  '2017-09-01': '`permutations` of `repeat`; `yaql` and `contains` in conditions',
  '2018-03-02': '`tags` of parameters',
  '2018-08-31': 'nothing',
  '2021-04-16': '`else` of `if` is optional',
};

/** The names of releases that a template may give as its version. */
export const aliases: Readonly<Record<string, Version>> = {
  newton: '2016-10-14',
  ocata: '2017-02-24',
  pike: '2017-09-01',
  queens: '2018-03-02',
  rocky: '2018-08-31',
  wallaby: '2021-04-16',
};

/** The version of this name or date. Undefined when there is none. */
export function findVersion(name: string): Version | undefined {
  if (Object.hasOwn(aliases, name)) return aliases[name];
  return versions.find((version) => version === name);
}
