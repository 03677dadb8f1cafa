/** Values and parameters that several routes of Heat have. */
import { z } from 'zod';

/** One of these words, in upper or lower case. */
export const anyCase = <const Word extends string>(words: readonly Word[]) =>
  z.preprocess((sent) => (typeof sent === 'string' ? sent.toLowerCase() : sent), z.enum(words));

/** True or false, also as a word. */
export const booleanOrWord = (error: Parameters<typeof z.union>[1]) =>
  z.union([z.boolean(), anyCase(['true', 'false']).transform((word) => word === 'true')], error);

/** The order of a list. */
export const sortDirection = anyCase(['asc', 'desc']).optional();

/** A parameter for one of several values. */
export const wantedValues = z.array(z.string()).optional();

/** The values of the rows of a list by which clients filter, by the names of the parameters. */
type FilteredValues<T, Name extends string> = Readonly<Record<Name, (row: T) => string>>;

/** The parameters of filters. */
export const filterFields = <Name extends string>(of: FilteredValues<never, Name>): Record<Name, typeof wantedValues> =>
  Object.fromEntries(Object.keys(of).map((name) => [name, wantedValues])) as Record<Name, typeof wantedValues>;

/** The filters that a query has. A row fits when it fits all of them. */
export const filtersIn = <T, Name extends string>(
  query: Readonly<Partial<Record<NoInfer<Name>, readonly string[] | undefined>>>,
  of: FilteredValues<T, Name>,
): ((row: T) => boolean)[] =>
  (Object.keys(of) as Name[]).flatMap((name) => {
    const wanted = query[name];
    return wanted ? [(row: T) => wanted.includes(of[name](row))] : [];
  });
