/**
 * Runs one config on many hosts: the deployments of `stored.ts`, with one write of each kind for all of them.
 *
 * H1 Nothing is written when the config or a host does not exist, unless the call is a repeat: then its deployments exist.
 * H2 The documents are written first. A repeat of the call finds them and completes the rest (D1).
 * H3 The work on a host stays in order: the call waits until it is its turn for all its hosts.
 */
import type { DeploymentRun, StartedDeployment } from '@anneal/contracts/calls/deployments.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { ConfigurationResource, HostDocument } from '../../collections.ts';
import { storedConfig } from './stored-config.ts';
import { findHost } from '../../hosts/names.ts';
import type { NewRunContext } from '../requests/new-run.ts';
import { carryOutEach } from '../runs/carry-out.ts';
import { viewDeployment } from '../view.ts';
import { newDeployment, noHost } from './stored.ts';

interface Target {
  readonly id: string;
  readonly name: string;
  /** Undefined for a host that does not exist. */
  readonly host: HostDocument | undefined;
}

interface Made {
  readonly document: ConfigurationResource;
  readonly host: HostDocument | undefined;
}

/** @throws AnnealError NotFound for an unknown config or hosts, AlreadyExists for an id that is in use */
export async function startRuns(
  context: NewRunContext,
  message: Envelope<DeploymentRun>,
): Promise<{ deployments: StartedDeployment[] }> {
  const { project } = message.data;
  const targets = await targetsOf(context, message.data);
  const keys = targets.map(({ name, host }) => `host ${host?.id ?? name}`);
  const made = await context.queues.serial.runAll(keys, async () => {
    const all = await newOrKnown(context, message, targets);
    const foreign = all.find(({ document }) => document.project !== project || !document.deployment);
    if (foreign) throw inUse(foreign.document.id);
    await carryOutEach(context, all);
    return all;
  });
  return { deployments: made.flatMap((each) => shown(context, each)) };
}

async function targetsOf({ collections }: NewRunContext, { project, deployments }: DeploymentRun): Promise<Target[]> {
  const found = await collections.hosts.getMany(deployments.map(({ host }) => host));
  const byId = new Map(found.flatMap((host) => (host.project === project ? [[host.id, host]] : [])));
  return Promise.all(
    deployments.map(async ({ id, host: name }) => {
      const host = byId.get(name) ?? (await findHost({ hosts: collections.hosts }, { project, host: name }));
      return { id, name, host };
    }),
  );
}

/** H1, H2. Most calls are no repeats, so the ids are looked up only when they are in use, or when something is missing. */
async function newOrKnown(
  context: NewRunContext,
  message: Envelope<DeploymentRun>,
  targets: readonly Target[],
): Promise<Made[]> {
  const { resources } = context.collections;
  const { project, config, deployments: _, ...limits } = message.data;
  const known = async (ids: readonly string[]) =>
    new Map((await resources.getMany(ids)).map((document) => [document.id, document]));
  let drafts;
  try {
    const missing = targets.filter(({ host }) => !host);
    if (missing.length > 0) throw noHost(missing.map(({ name }) => name).join(', '));
    const found = await storedConfig(context, { project, config });
    drafts = targets.map(({ id, name, host }) => {
      const data = { ...limits, id, project, config, host: name, input_values: {}, action: 'CREATE' as const };
      return newDeployment(context, { message, data, host, found });
    });
  } catch (error) {
    const there = await known(targets.map(({ id }) => id));
    return targets.map(({ id, host }) => {
      const document = there.get(id);
      if (!document) throw error;
      return { document, host };
    });
  }
  const outcomes = await resources.bulk(drafts.map((document) => ({ kind: 'insert', document })));
  const refused = drafts.filter((_draft, index) => outcomes[index] !== 'done');
  const there = refused.length > 0 ? await known(refused.map(({ id }) => id)) : undefined;
  return drafts.map((draft, index) => {
    const document = outcomes[index] === 'done' ? { ...draft, version: 1 } : there?.get(draft.id);
    if (!document) throw inUse(draft.id);
    return { document, host: targets[index]?.host };
  });
}

const inUse = (id: string): AnnealError =>
  new AnnealError('AlreadyExists', `Cannot create the deployment: the id ${id} is in use.`);

function shown({ service: { secrets } }: NewRunContext, { document, host }: Made): StartedDeployment[] {
  const { deployment } = document;
  if (!deployment) return [];
  const {
    config: _,
    input_values: _inputs,
    given_values: _given,
    ...rest
  } = viewDeployment(secrets, { ...document, deployment }, { host });
  return [rest];
}
