/** The versions of the language, oldest first. What differs between them is asked by date, as text. */
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
export type Version = (typeof versions)[number];

export const aliases: Readonly<Record<string, Version>> = {
  newton: '2016-10-14',
  ocata: '2017-02-24',
  pike: '2017-09-01',
  queens: '2018-03-02',
  rocky: '2018-08-31',
  wallaby: '2021-04-16',
};

export function findVersion(name: string): Version | undefined {
  if (Object.hasOwn(aliases, name)) return aliases[name];
  return versions.find((version) => version === name);
}
