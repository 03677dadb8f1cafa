/** Calls about nodes: reads, changes and verbs. */
import { isDeepStrictEqual } from 'node:util';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type {
  BootDeviceView,
  ConsoleLog,
  HardwareSettings,
  nodeBootDeviceSet,
  nodeConsoleLog,
  Sensor,
} from '@anneal/contracts/calls/node-hardware.ts';
import type {
  nodeEnrol,
  nodeList,
  nodeOverview,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeUpdate,
  NodeHistoryEntry,
  NodeStep,
  NodeView,
} from '@anneal/contracts/calls/nodes.ts';
import { driverInterfaces, driverNames, interfaceKinds, type DriverName } from '@anneal/contracts/drivers.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { openText } from '@anneal/runtime/secrets/secrets.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { findPage, type PagedList } from '@anneal/store/page.ts';
import { DuplicateError, type Draft, type ListedRow, type RowValue } from '@anneal/store/port.ts';
import { claimsOf, identityFault } from '../documents/identity.ts';
import type { z } from 'zod';
import { convertDriverInfo, nodeStates } from '@anneal/contracts/calls/nodes.ts';
import { driverInfoOf, hiddenPassword, storedInfo } from '../documents/driver-info.ts';
import { checkDeclared, requireDeclaration } from '../bmc/declared-properties.ts';
import {
  listedPaths,
  nodeView,
  type NodeDocument,
  type NodeChange,
  type Power,
  shownInstanceInfo,
  type SlotTurn,
} from '../documents/node.ts';
import { requireOwnMachine, sameMachine } from '../documents/faults.ts';
import type { Bmcs } from '../bmcs.ts';
import type { NodeDriver } from './states/driver.ts';
import { askedBy } from './asked-by.ts';
import { readPower } from './fencing.ts';
import { bmcHealth } from '../bmc/health.ts';
import { acceptedMachine, changePower, move } from './states/moves.ts';
import {
  declarationAfter,
  fieldsAfter,
  instanceNotesAfter,
  interfaceFields,
  interfacesIn,
  type Fields,
} from '../documents/patch.ts';
import { checkSteps, nameOf } from './plan/catalogue.ts';
import type { Assets } from '../assets/assets.ts';
import type { PortClaims } from '../assets/port-claims.ts';
import { hasMachine } from '../fake/machine.ts';
import type { Runbooks } from './plan/runbooks.ts';
import type { HardwareRecords } from './hardware-settings.ts';
import type { NodeRecords } from '../documents/records.ts';
import type { Slots } from './slots/slots.ts';
import { afterReading } from './power-poll.ts';
import { failedStates, nextState, removableStates } from '../documents/states.ts';

/** How long a client waits for a BMC that it asks. A call of the bus waits a little longer. */
const readingMs = 20_000;

/** The setting that allows nodes without a machine. */
const testDriverSetting = 'ANNEAL_PROVISIONING_TEST_DRIVER';

type Question<T extends { data: z.ZodType }> = z.output<T['data']>;

export class Nodes {
  readonly #context: ServiceContext;
  readonly #records: NodeRecords;
  readonly #driver: NodeDriver;
  readonly #runbooks: Runbooks;
  readonly #slots: Slots;
  readonly #assets: Assets;
  readonly #claims: PortClaims;
  readonly #hardware: HardwareRecords;
  readonly #hasTestDriver: boolean;
  readonly #limit: { readonly most: number; readonly setting: string };
  readonly #readings: { readonly bmcs: Bmcs; readonly pollMs: number };

  constructor(options: {
    context: ServiceContext;
    records: NodeRecords;
    driver: NodeDriver;
    runbooks: Runbooks;
    slots: Slots;
    assets: Assets;
    claims: PortClaims;
    hardware: HardwareRecords;
    hasTestDriver: boolean;
    limit: { most: number; setting: string };
    readings: { bmcs: Bmcs; pollMs: number };
  }) {
    this.#context = options.context;
    this.#limit = options.limit;
    this.#readings = options.readings;
    this.#runbooks = options.runbooks;
    this.#slots = options.slots;
    this.#assets = options.assets;
    this.#claims = options.claims;
    this.#hardware = options.hardware;
    this.#hasTestDriver = options.hasTestDriver;
    this.#records = options.records;
    this.#driver = options.driver;
  }

  async enrol(question: Question<typeof nodeEnrol>): Promise<NodeView> {
    const known = await this.#records.get(question.id);
    // The client chose the id, so this call is a repeat.
    if (known) return this.view(known);
    const { secrets } = this.#context;
    if (!hasMachine(question)) this.#requireTestDriver();
    await this.#assets.requireChassis(question.chassis_id);
    const { given, ...info } = storedInfo(question.driver_info);
    const password = given === undefined ? null : secrets.seal(openText(secrets, given));
    checkDeclared(question.properties);
    const place = { id: question.id, ...info };
    await this.#refuseNode(question.name);
    const now = this.#context.now().toISOString();
    const draft: Draft<NodeDocument> = {
      ...place,
      name: question.name,
      driver: question.driver,
      password,
      identity: null,
      foreign: null,
      claims: claimsOf({ ...place, identity: null }),
      resource_class: question.resource_class,
      traits: question.traits,
      properties: question.properties,
      declared: question.properties,
      extra: question.extra,
      instance_notes: question.instance_info,
      owner: question.owner,
      lessee: question.lessee,
      description: question.description,
      chassis_id: question.chassis_id,
      shard: question.shard,
      interfaces: chosenInterfaces(question.driver, question.interfaces),
      state: question.at_once && !hasMachine(question) ? 'available' : 'enroll',
      target: null,
      power: null,
      power_target: null,
      instance_id: null,
      instance_info: {},
      facts: {},
      maintenance: false,
      maintenance_reason: null,
      fault: null,
      fault_since: null,
      work: null,
      boot: null,
      poll: { failures: 0, reading: null },
      reason: 'enrolled',
      last_error: null,
      created_at: now,
      updated_at: now,
      provision_updated_at: now,
      outbox: [],
      unsent: false,
    };
    let node: NodeDocument;
    try {
      node = await this.#records.insert(draft);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      const again = await this.#records.get(question.id);
      if (again) return this.view(again);
      throw await this.#taken(error, draft);
    }
    node = (await this.#claims.settle(node.id)) ?? node;
    if (!question.provide) return this.view(node);
    return this.view(
      await this.#driver.apply(node.id, 'manage', {
        reason: 'requested to become available',
        change: { target: 'available' },
      }),
    );
  }

  view(node: NodeDocument, turn?: SlotTurn): NodeView {
    const { bmcs, pollMs } = this.#readings;
    const now = this.#context.now().getTime();
    const bmc = hasMachine(node) ? bmcHealth(node, bmcs.contactOf(node.id), { now, pollMs }) : null;
    return nodeView(node, { bmc, turn });
  }

  /** The drivers that nodes may have. */
  drivers(): { drivers: DriverName[] } {
    return { drivers: driverNames.filter((driver) => this.#hasTestDriver || hasMachine({ driver })) };
  }

  #requireTestDriver(): void {
    if (this.#hasTestDriver) return;
    const message = `The driver fake-hardware has no machine and is off. It is for tests of clients: ${testDriverSetting}=true allows it. For machines: ${this.drivers().drivers.join(', ')}.`;
    throw new AnnealError('InvalidRequest', message, {
      mistakes: [{ code: 'invalid_value', path: 'driver', message }],
    });
  }

  /** @throws AnnealError QuotaExceeded */
  async #refuseNode(name: string): Promise<void> {
    const { most, setting } = this.#limit;
    const count = await this.#records.collection.count({});
    if (count < most) return;
    throw new AnnealError(
      'QuotaExceeded',
      `Cannot enrol node ${name}: there are ${count} nodes and the limit is ${most} (${setting}). Remove some nodes first.`,
    );
  }

  async #page({ provision_state: state, limit = 1000, marker }: Question<typeof nodeList>): Promise<NodeDocument[]> {
    const after = marker === undefined ? undefined : (await this.#find(marker)).name;
    return this.#records.collection.find({
      where: { ...(state !== undefined && { state }), ...(after !== undefined && { name: { gt: after } }) },
      orderBy: ['name'],
      limit,
    });
  }

  /** The one node of a server. A further page, which begins after it, is empty. */
  async #ofServer({ provision_state: state, instance_id: server = '', marker }: Question<typeof nodeList>) {
    const node = marker === undefined ? await this.#records.ofInstance(server) : undefined;
    return node && (state === undefined || node.state === state) ? [node] : [];
  }

  async list(question: Question<typeof nodeList>): Promise<z.output<(typeof nodeList)['answer']>> {
    if (question.page) {
      const { documents, ...counts } = await findPage(this.#records.collection, this.#listed(), question.page);
      return { nodes: await this.#views(documents), ...counts };
    }
    const nodes = question.instance_id === undefined ? await this.#page(question) : await this.#ofServer(question);
    return { nodes: await this.#views(nodes) };
  }

  async overview({ most }: Question<typeof nodeOverview>): Promise<z.output<(typeof nodeOverview)['answer']>> {
    const nodes = this.#records.collection;
    const counted = await Promise.all(nodeStates.map(async (state) => [state, await nodes.count({ state })] as const));
    const faulty = { fault: { gt: '' } };
    const unverified = { state: 'enroll', 'last_error.code': { gt: '' } };
    const [withFault, faults, broken, refused, refusals] = await Promise.all([
      nodes.find({ where: faulty, limit: most }),
      nodes.count(faulty),
      nodes.find({ where: { state: { in: failedStates } }, limit: most }),
      nodes.find({ where: unverified, limit: most }),
      nodes.count(unverified),
    ]);
    const failed = [...new Map([...withFault, ...broken, ...refused].map((node) => [node.id, node])).values()];
    const inFailedState = counted.reduce((all, [state, count]) => all + (failedStates.includes(state) ? count : 0), 0);
    const twice = withFault.filter(hasFailed).length;
    return {
      counts: Object.fromEntries(counted.filter(([, count]) => count > 0)),
      failed: await this.#views(failed),
      failed_count: Math.max(failed.length, faults + inFailedState + refusals - twice),
    };
  }

  async #views(nodes: NodeDocument[]): Promise<NodeView[]> {
    const turns = await this.#slots.turns(nodes);
    return nodes.map((node) => this.view(node, turns.get(node.id)));
  }

  /** All nodes, by name. */
  #listed(): PagedList<NodeDocument> {
    return {
      where: {},
      natural: { name: 'name', orderBy: ['name'] },
      paths: ['name', 'state', 'fault', 'last_error.code', ...listedPaths],
      columns: {
        state: ({ state }) => state ?? '',
        power: ({ power }) => power ?? '',
        class: ({ resource_class: resourceClass }) => resourceClass ?? '',
        maintenance: ({ maintenance }) => Number(maintenance),
        place: placeOf,
      },
      textsOf,
    };
  }

  async show(idOrName: string): Promise<NodeView> {
    const node = await this.#find(idOrName);
    return this.view(node, (await this.#slots.turns([node])).get(node.id));
  }

  /**
   * Removes the node. `force`: in every state, after the end of its work. A server that it had stays without a node, and its
   * host falls silent, because the machine is off.
   */
  async remove({ node: named, force = false }: Question<typeof nodeRemove>): Promise<void> {
    for (;;) {
      const node = await this.#find(named);
      if (node.protected)
        throw new AnnealError(
          'Forbidden',
          `Node ${node.name} is protected, so it is not removed. To allow it: anneal node set ${node.name} --protected false.`,
        );
      if (!removableStates.includes(node.state) || node.instance_id !== null) {
        if (!force || !node.maintenance) throw notRemovable(node, { force });
        await this.#requireOff(node);
        if (await this.#endedWork(node)) continue;
      }
      if (!(await this.#records.remove(node))) continue;
      await this.#assets.removeOf(node.id);
      await this.#hardware.forget(node.id);
      return;
    }
  }

  /** @throws AnnealError Conflict when the node has a server whose machine may run. */
  async #requireOff(node: NodeDocument): Promise<void> {
    if (node.instance_id === null || node.reserved === true || !hasMachine(node)) return;
    const power = await readPower(this.#readings.bmcs, node);
    if (power === 'power off' || (power !== 'power on' && node.confirmed_off)) return;
    const remedy =
      power === 'power on'
        ? `its BMC says that the machine is on. Delete the server, or: anneal node power ${node.name} off`
        : `nothing proves that the machine is off. First: anneal node confirm-off ${node.name} --reason …`;
    throw new AnnealError(
      'Conflict',
      `Cannot remove node ${node.name} with server ${nameOfServer(node)}, because ${remedy}.`,
    );
  }

  /** Ends the work of a node that is removed, so that no step goes on with its machine. False when it has none. */
  async #endedWork({ id, work }: NodeDocument): Promise<boolean> {
    if (!work) return false;
    await this.#records.change(id, (node) =>
      node.work?.step === 'change power'
        ? { work: null, power_target: null }
        : node.work
          ? move(node, 'abort', { moment: this.#driver.moment, reason: 'it is being removed' })
          : undefined,
    );
    this.#driver.cut(id);
    return true;
  }

  async power(question: Question<typeof nodePower>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const changed = await this.#records.change(id, (node) => {
      if (node.work && node.work.step !== 'change power') {
        throw new AnnealError(
          'Conflict',
          `Cannot change the power of node ${node.name} while it is ${node.state} (${node.work.step}), because that work controls the power.`,
        );
      }
      requireOwnMachine(node, 'powered');
      const { target, timeout, occasion } = question;
      const limitMs = timeout === undefined ? undefined : timeout * 1000;
      return { ...changePower(target, this.#driver.moment, limitMs), ...askedBy(node, occasion) };
    });
    if (!changed) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    this.#driver.cut(id);
    return this.view(changed);
  }

  async provision(question: Question<typeof nodeProvision>): Promise<NodeView> {
    const found = await this.#find(question.node);
    const { id } = found;
    const verb = question.target;
    if (verb === 'deploy' && hasMachine(found)) throw deployedByServers();
    const given = await this.#given(found, question);
    const own = verb === 'manage' && found.fault === identityFault ? await this.#ownPower(found) : undefined;
    const changed = await this.#records.change(id, (node) => {
      const isChangingPower = node.work?.step === 'change power';
      if (verb === 'abort' && isChangingPower) return { work: null, power_target: null };
      // The verb would drop the change of power half-way. A deletion takes the power off in any case.
      if (isChangingPower && verb !== 'deleted') throw changingPower(node, verb);
      const isOther = node.fault === identityFault;
      if (isOther && verb === 'manage' && own !== undefined) {
        const healed = afterReading(node, own, this.#context.now()) ?? {};
        const reason = 'its own machine answers again';
        // In other states the fault is over, and no more is wanted.
        if (nextState(node.state, verb) === undefined) return healed;
        return move({ ...node, ...healed }, verb, { moment: this.#driver.moment, reason, change: healed });
      }
      if (isOther && verb === 'manage') {
        const reason = 'present machine accepted';
        return move(node, 'accept', { moment: this.#driver.moment, reason, change: acceptedMachine(node) });
      }
      if (verb !== 'abort' && verb !== 'deleted') requireOwnMachine(node, `subject to the verb "${verb}"`);
      requireServer(node, verb);
      if (verb === 'deploy' && node.maintenance) throw inMaintenance(node);
      const cleanFirst =
        verb === 'provide' && this.#driver.moment.budgets.cleanOnProvide && node.state === 'manageable';
      // After a cleaning, a manageable node returns to `manageable`, and a provided one continues to `available`.
      const target =
        verb === 'provide' || node.state === 'clean failed'
          ? 'available'
          : verb === 'clean'
            ? 'manageable'
            : verb === 'deleted'
              ? 'available'
              : verb === 'unhold'
                ? node.target
                : null;
      return move(node, cleanFirst ? 'clean' : verb, {
        moment: this.#driver.moment,
        reason: `verb "${verb}"`,
        change: { target, ...given, ...askedBy(node, question.occasion) },
      });
    });
    if (!changed) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    this.#driver.cut(id);
    return this.view(changed);
  }

  /**
   * The power of the machine of the node, when it answers again after another one did. Undefined when another one still answers.
   * @throws AnnealError of a BMC that does not answer, because no machine is accepted that an operator cannot have checked now.
   */
  async #ownPower(node: NodeDocument): Promise<Power | null | undefined> {
    try {
      return await this.#readings.bmcs.with(node, (machine) => machine.power(), { withinMs: readingMs });
    } catch (error) {
      if (hasCode(error, 'IdentityMismatch')) return undefined;
      throw error;
    }
  }

  /** The plan and the secret of a verb. @throws AnnealError InvalidRequest for what does not belong to the verb. */
  async #given(node: NodeDocument, question: Question<typeof nodeProvision>): Promise<NodeChange> {
    const { target: verb, steps, runbook, rescue_password: password } = question;
    if (verb === 'unhold') return {};
    if (password !== undefined && verb !== 'rescue') throw notWith('rescue_password', verb);
    const during = { clean: 'clean', service: 'service', rebuild: 'deploy' } as const;
    const planned = verb === 'clean' || verb === 'service' || verb === 'rebuild' ? during[verb] : undefined;
    if (steps && planned === undefined) throw notWith('steps', verb);
    if (runbook !== undefined && (planned === undefined || planned === 'deploy')) throw notWith('a runbook', verb);
    if (steps && runbook !== undefined)
      throw new AnnealError('InvalidRequest', 'The verb takes either steps or a runbook, not both.');
    if (verb === 'service' && !steps && runbook === undefined)
      throw new AnnealError('InvalidRequest', 'The verb "service" needs steps or a runbook: they are what it does.');
    const named = runbook === undefined ? (steps ?? []) : await this.#runbooks.stepsFor(node, runbook);
    const wanted = named.map((step) => withTargetRaid(step, node));
    if (planned !== undefined) checkSteps(wanted, planned, node.driver);
    return {
      plan: wanted.length === 0 ? null : { steps: wanted, at: 0, memo: {} },
      ...(verb === 'rescue' && {
        rescue_password:
          password === undefined ? null : this.#context.secrets.seal(openText(this.#context.secrets, password)),
      }),
    };
  }

  async bootDevice(idOrName: string): Promise<BootDeviceView> {
    const { bmcs } = this.#readings;
    return bmcs.with(await this.#find(idOrName), (machine) => machine.bootDevice(), { withinMs: readingMs });
  }

  /** @throws AnnealError Conflict during work. */
  async setBootDevice({ node: named, ...wanted }: Question<typeof nodeBootDeviceSet>): Promise<object> {
    const node = await this.#find(named);
    if (node.work)
      throw new AnnealError(
        'Conflict',
        `Cannot set the boot device of node ${node.name} while it is ${node.state} (${node.work.step}), because that work sets the device of each boot itself.`,
      );
    requireOwnMachine(node, 'set to another boot device');
    await this.#readings.bmcs.with(node, (machine) => machine.setBootDevice(wanted), { withinMs: readingMs });
    return {};
  }

  /** Also during work: an operator interrupts a machine that hangs. */
  async interrupt(idOrName: string): Promise<object> {
    const node = await this.#find(idOrName);
    requireOwnMachine(node, 'interrupted');
    await this.#readings.bmcs.with(node, (machine) => machine.interrupt(), { withinMs: readingMs });
    return {};
  }

  async sensors(idOrName: string): Promise<{ sensors: Sensor[] }> {
    const { bmcs } = this.#readings;
    const node = await this.#find(idOrName);
    return { sensors: await bmcs.with(node, (machine) => machine.sensors(), { withinMs: readingMs }) };
  }

  async settings(idOrName: string): Promise<HardwareSettings> {
    return this.#hardware.show((await this.#find(idOrName)).id);
  }

  async consoleLog({ node: named, limit }: Question<typeof nodeConsoleLog>): Promise<ConsoleLog> {
    const { bmcs } = this.#readings;
    return bmcs.with(await this.#find(named), (machine) => machine.consoleLog(limit), { withinMs: readingMs });
  }

  async history(idOrName: string): Promise<{ history: NodeHistoryEntry[] }> {
    return { history: [...((await this.#find(idOrName)).history ?? [])].toReversed() };
  }

  /** @throws AnnealError InvalidRequest that names every impossible operation; Conflict during work. */
  async update(question: Question<typeof nodeUpdate>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const patch = convertDriverInfo(question.patch, (value) => this.#context.secrets.open(value));
    let wanted: Partial<NodeDocument> = {};
    try {
      await this.#requireChassis(patch);
      const changed = await this.#records.change(id, (node) => {
        wanted = this.#changeFrom(node, fieldsAfter(fieldsOf(node), patch));
        return wanted;
      });
      if (!changed) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
      const settled = wanted.properties && (await this.#claims.settle(id));
      return this.view(settled ?? changed);
    } catch (error) {
      if (!(error instanceof DuplicateError)) throw error;
      const node = await this.#find(id);
      throw await this.#taken(error, { ...node, ...wanted });
    }
  }

  /** @throws AnnealError InvalidRequest for a chassis that does not exist. */
  async #requireChassis(patch: Question<typeof nodeUpdate>['patch']): Promise<void> {
    for (const { op, path, value } of patch) {
      if (op === 'remove' || op === 'test' || typeof value !== 'string') continue;
      if (path === '/chassis_uuid') await this.#assets.requireChassis(value);
    }
  }

  #changeFrom(node: NodeDocument, fields: Fields): NodeChange {
    const { given, ...place } = storedInfo(fields.driver_info);
    const { driver } = fields;
    if (hasMachine(node) !== hasMachine(fields))
      throw new AnnealError(
        'InvalidRequest',
        `Node ${node.name} keeps the driver ${node.driver}: a node with a machine and one without are different nodes. Enrol another one.`,
      );
    const moved = driver !== node.driver || place.address !== node.address || place.system_id !== node.system_id;
    if (moved && node.work) {
      throw new AnnealError(
        'Conflict',
        `Cannot change node ${node.name} while it is ${node.state} (${node.work.step}), because that work uses its BMC. Wait for it to end, or abort it.`,
      );
    }
    // The path belongs to the old address. Every reading checks that the machine is the same.
    const identity = moved && node.identity ? { ...node.identity, path: null } : node.identity;
    return {
      ...place,
      driver,
      ...(driver !== 'ipmi' && { ipmi: null }),
      name: fields.name,
      chassis_id: fields.chassis_uuid,
      shard: fields.shard,
      interfaces: interfacesIn(fields),
      target_raid: fields.target_raid_config,
      ...reservationAfter(node, fields.instance_uuid),
      resource_class: fields.resource_class,
      traits: fields.traits,
      extra: fields.extra,
      instance_notes: instanceNotesAfter(node, fields.instance_info),
      ...changedProperties(node, fields.properties),
      maintenance: fields.maintenance,
      maintenance_reason: fields.maintenance ? (fields.maintenance_reason ?? null) : null,
      ...flagsAfter(node, fields),
      ...(given !== hiddenPassword && {
        password: given === undefined ? null : this.#context.secrets.seal(given),
      }),
      ...(moved && { identity, claims: claimsOf({ id: node.id, ...place, identity }) }),
    };
  }

  /** Names the other node that has the name, the instance or the machine. */
  async #taken(
    error: DuplicateError,
    node: Pick<NodeDocument, 'id' | 'name' | 'claims' | 'instance_id'>,
  ): Promise<AnnealError> {
    const { instance_id: instance } = node;
    const holder = instance === null ? undefined : await this.#records.ofInstance(instance);
    if (holder && holder.id !== node.id)
      return new AnnealError('AlreadyExists', `Instance ${instance} is already associated with node ${holder.name}.`, {
        cause: error,
      });
    const [namesake] = await this.#records.collection.find({ where: { name: node.name }, limit: 1 });
    if (namesake && namesake.id !== node.id)
      return new AnnealError('AlreadyExists', `A node named ${node.name} already exists.`, { cause: error });
    return sameMachine(node.name, await this.#records.holderOf(node.claims, node.id), null);
  }

  async maintenance(question: Question<typeof nodeMaintenance>): Promise<NodeView> {
    const { id } = await this.#find(question.node);
    const { maintenance, reason } = question;
    const changed = await this.#records.change(id, () => ({
      maintenance,
      maintenance_reason: maintenance ? (reason ?? null) : null,
    }));
    if (!changed) throw new AnnealError('NotFound', `There is no node ${question.node}.`);
    return this.view(changed);
  }

  async #find(idOrName: string): Promise<NodeDocument> {
    const node = await this.#records.find(idOrName);
    if (!node) throw new AnnealError('NotFound', `There is no node with id or name ${idOrName}.`);
    return node;
  }
}

const nameOfServer = ({ instance_id: id, instance_info: { name } }: NodeDocument): string =>
  typeof name === 'string' ? name : (id ?? '');

/** @param force the operator asked for it in every state. */
function notRemovable({ name, state, instance_id: server }: NodeDocument, { force }: { force: boolean }): AnnealError {
  const has = server === null ? '' : ' and has a server';
  const otherwise = force
    ? `A removal with force needs maintenance. First: anneal node maintenance ${name} on.`
    : 'In maintenance it can be removed in every state, with --force.';
  return new AnnealError(
    'Conflict',
    `Cannot remove node ${name} because it is ${state}${has}; it can be removed without a server when it is ${removableStates.join(', ')}. ${otherwise}`,
  );
}

const deployedByServers = (): AnnealError =>
  new AnnealError(
    'NotSupported',
    'The verb "deploy" is not supported: a server of a stack deploys the node (OS::Nova::Server), because its host, credentials and configs belong to the stack. To use a running machine: "adopt".',
  );

/** @throws AnnealError InvalidRequest that names every interface that the driver does not have. */
function chosenInterfaces(
  driver: DriverName,
  chosen: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const mistakes = interfaceKinds.flatMap((kind) => {
    const value = chosen[kind];
    const known = driverInterfaces[driver][kind];
    if (value === undefined || known.includes(value)) return [];
    const message = `the driver ${driver} has ${known.join(', ')}, not ${value}`;
    return [{ code: 'invalid_value', path: `${kind}_interface`, message }];
  });
  if (mistakes.length === 0) return chosen;
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The node is not valid: ${all}`, { mistakes });
}

/** The volumes that the node should have are the arguments of a step that has none. */
function withTargetRaid(step: NodeStep, { target_raid: raid }: NodeDocument): NodeStep {
  const isBare = nameOf(step) === 'raid.create_configuration' && Object.keys(step.args).length === 0;
  const disks = raid?.['logical_disks'];
  return isBare && disks !== undefined ? { ...step, args: { logical_disks: disks } } : step;
}

const notWith = (what: string, verb: string): AnnealError =>
  new AnnealError('InvalidRequest', `The verb "${verb}" takes no ${what.replace(/^a /, '')}.`);

/** @throws AnnealError Conflict for a machine that has no server to install again. */
function requireServer(node: NodeDocument, verb: string): void {
  if (verb !== 'rebuild' || node.instance_id !== null || !hasMachine(node)) return;
  throw new AnnealError('Conflict', `Node ${node.name} has no server, so there is nothing to rebuild on it.`);
}

/** @throws AnnealError Conflict for a flag that the state of the node does not allow. */
function flagsAfter(node: NodeDocument, fields: Fields): NodeChange {
  if (fields.retired && !node.retired && node.state === 'available')
    throw new AnnealError(
      'Conflict',
      `Node ${node.name} is available, so a server may claim it at any time. First: anneal node provide ${node.name} --verb manage. Then set it retired.`,
    );
  if (fields.protected && !node.protected && !['active', 'rescue'].includes(node.state))
    throw new AnnealError(
      'Conflict',
      `Node ${node.name} is ${node.state}; only a node in the state active or rescue can be protected.`,
    );
  return {
    retired: fields.retired,
    retired_reason: fields.retired ? fields.retired_reason : null,
    protected: fields.protected,
    protected_reason: fields.protected ? fields.protected_reason : null,
    owner: fields.owner,
    lessee: fields.lessee,
    description: fields.description,
  };
}

const inMaintenance = ({ name, maintenance_reason: reason }: NodeDocument): AnnealError =>
  new AnnealError(
    'Conflict',
    `The provisioning operation can't be performed on node ${name} because it's in maintenance mode${reason === null ? '' : ` (${reason})`}.`,
  );

const changingPower = (node: NodeDocument, verb: string): AnnealError =>
  new AnnealError(
    'Conflict',
    `The verb "${verb}" is refused for node ${node.name} while its power is changed (${node.power_target}, since ${node.work?.since}). Wait for it, or end it with the verb "abort".`,
  );

/** @throws AnnealError InvalidRequest for a declaration that a new node would not be allowed either. */
function changedProperties(node: NodeDocument, properties: JsonObject): NodeChange {
  if (isDeepStrictEqual(properties, node.properties)) return {};
  const declared = declarationAfter(node.declared ?? {}, node.properties, properties);
  requireDeclaration(declared);
  return { properties, declared };
}

/** The fields of a node that an operator may change. */
const fieldsOf = (node: NodeDocument): Fields => ({
  driver: node.driver,
  name: node.name,
  resource_class: node.resource_class,
  maintenance: node.maintenance,
  maintenance_reason: node.maintenance_reason,
  retired: node.retired ?? false,
  retired_reason: node.retired_reason ?? null,
  protected: node.protected ?? false,
  protected_reason: node.protected_reason ?? null,
  owner: node.owner ?? null,
  lessee: node.lessee ?? null,
  description: node.description ?? null,
  traits: [...node.traits],
  properties: node.properties,
  extra: node.extra ?? {},
  instance_info: shownInstanceInfo(node),
  chassis_uuid: node.chassis_id ?? null,
  shard: node.shard ?? null,
  instance_uuid: node.instance_id,
  target_raid_config: node.target_raid ?? {},
  ...interfaceFields(node.interfaces ?? {}),
  driver_info: driverInfoOf(node),
});

/**
 * @throws AnnealError Conflict for a node that a server or an allocation has, because only its end releases the node;
 *   AlreadyExists for a node that another client has.
 */
function reservationAfter(node: NodeDocument, wanted: string | null): NodeChange {
  if (wanted === node.instance_id) return {};
  const { instance_id: holder, reserved = false, allocation_id: allocation = null } = node;
  if (holder !== null && (!reserved || allocation !== null))
    throw new AnnealError(
      'Conflict',
      `The instance_uuid of node ${node.name} cannot be changed: ${allocation === null ? `server ${holder}` : `allocation ${allocation}`} has the node. Delete that first.`,
    );
  if (holder !== null && wanted !== null)
    throw new AnnealError('AlreadyExists', `Node ${node.name} is already associated with instance ${holder}.`);
  return { instance_id: wanted, reserved: wanted !== null };
}

/** Whether its last action failed and only an operator continues: `enroll` has no failed state of its own. */
const hasFailed = ({ state, last_error: error }: NodeDocument): boolean => isFailure(state, error?.code ?? null);
const isFailure = (state: RowValue | undefined, code: RowValue | undefined): boolean =>
  failedStates.some((failed) => failed === state) || (state === 'enroll' && code !== null);

/** The power domain, the rack and the name; nodes without a place come last. Numbers sort by their value. */
function placeOf(node: ListedRow['values']): string {
  const part = (value: unknown): string =>
    typeof value === 'string' ? value.replaceAll(/\d+/g, (digits) => digits.padStart(12, '0')) : '\uffff';
  return [part(node['properties.power_domain']), part(node['properties.rack']), part(node['name'])].join('\0');
}

/** As `bmcHealth` counts them. */
function bmcFailures(node: ListedRow['values']): number {
  const repeats = String(node['last_error.code']).startsWith('Bmc') ? node['work.attempts'] : 0;
  return Math.max(Number(node['poll.failures'] ?? 0), Number(repeats ?? 0));
}

/** The texts of a node in a row of a list, for the search. */
function textsOf(node: ListedRow['values']): string[] {
  const { name, state, power, fault, maintenance } = node;
  return [
    name,
    state,
    power === null ? null : `power ${power}`,
    node['resource_class'],
    fault,
    node['properties.rack'],
    node['properties.power_domain'],
  ]
    .filter((text) => typeof text === 'string' || typeof text === 'number')
    .map(String)
    .concat(
      bmcFailures(node) > 0 ? ['BMC does not answer'] : [],
      maintenance === 1 ? ['maintenance'] : [],
      fault !== null || isFailure(state, node['last_error.code']) ? ['fault'] : [],
    );
}
