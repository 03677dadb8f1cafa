/** The resource types for people: those of the server, and those that the template language describes. */
import type { TypeCalls, TypeDescription, TypeRow } from '@anneal/client/types.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { nearestName } from '@anneal/hot/mistakes.ts';
import { knownTypes } from '@anneal/hot/known.ts';
import { builtInTypes } from '@anneal/hot/served.ts';
import type { CliContext } from '../context.ts';
import { ifReachable } from './reachable.ts';

interface Asking {
  readonly context: CliContext;
  /** Ask no server: the types that Anneal's own providers serve. */
  readonly offline?: boolean | undefined;
}

const reachableTypes = async ({ context, offline }: Asking): Promise<TypeCalls | undefined> =>
  offline ? undefined : ifReachable(context, () => context.part('types'));

/** All types that are served or described, by name. */
export async function listTypes(asking: Asking): Promise<(TypeRow & { served: boolean })[]> {
  const types = await reachableTypes(asking);
  const served = types ? await types.list() : builtInTypes.map(rowOf);
  const names = new Set(served.map(({ resource_type: name }) => name));
  const described = knownTypes.map(rowOf).filter(({ resource_type: name }) => !names.has(name));
  return [
    ...served.map((row) => ({ ...row, served: true })),
    ...described.map((row) => ({ ...row, served: false })),
  ].toSorted((a, b) => a.resource_type.localeCompare(b.resource_type));
}

/** @throws AnnealError NotFound with the nearest name */
export async function describeType(name: string, asking: Asking): Promise<TypeDescription> {
  const types = await reachableTypes(asking);
  const shown = await types?.show({ type: name }).catch(ignoreNotFound);
  if (shown) return shown;
  const known = knownTypes.find(({ type }) => type === name);
  if (known) {
    const served = types === undefined && builtInTypes.some(({ type }) => type === name);
    const { type, description, properties, attributes } = known;
    return { resource_type: type, description, properties, attributes, served };
  }
  const nearest = nearestName(
    name,
    knownTypes.map(({ type }) => type),
  );
  throw new AnnealError(
    'NotFound',
    `There is no resource type ${name}${nearest === undefined ? '' : `; did you mean ${nearest}?`}`,
    {
      details: { remedy: '`anneal template types` lists them.' },
    },
  );
}

const rowOf = ({ type, description }: ResourceType): TypeRow => ({ resource_type: type, description });
