/** The stored document of a node, and its public view. */
import type { BmcHealth } from '@anneal/contracts/bmc-health.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Origin } from '@anneal/contracts/origin.ts';
import type { BootDeviceView } from '@anneal/contracts/calls/node-hardware.ts';
import type { bootReportCodes, bootReportStatuses } from '@anneal/contracts/calls/boot.ts';
import type { NodeProgress } from '@anneal/contracts/node-progress.ts';
import type { NodeHistoryEntry, NodeState, NodeStep, NodeView, powerStates } from '@anneal/contracts/calls/nodes.ts';
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { WithOutbox } from '@anneal/runtime/work/outbox.ts';
import type { CollectionDefinition } from '@anneal/store/port.ts';
import { type Claims, type Identity, identityFault, type nodeFaults } from './identity.ts';
import { failedStates, holdStates, seedStates, type BootPurpose, type ProvisionStep } from './states.ts';
import { suspectConditions, type LossRecord } from './suspicion.ts';
import { driverInfoOf, type StoredInfo } from './driver-info.ts';
import { progressOf, type Heartbeat } from './heartbeat.ts';

export type NodeChange = Partial<Omit<NodeDocument, 'id' | 'version' | 'outbox' | 'unsent' | 'instance_claim'>>;

export type Power = (typeof powerStates)[number];
export type PowerTarget = Power | 'rebooting' | 'soft power off' | 'soft rebooting';

/** The work in progress, from which any process can continue. */
export interface NodeWork {
  /** New at each entry into a state, so that a late outcome finds another id and is dropped. */
  readonly id: string;
  readonly step: ProvisionStep;
  readonly since: string;
  readonly attempts: number;
  /** Milliseconds since the epoch. No attempt is made earlier. */
  readonly next_at: number;
  readonly deadline: number;
}

/** Steps that an operator, a runbook or a template asked for, and how far they are. */
export interface NodePlan {
  readonly steps: readonly NodeStep[];
  /** The number of steps that are done. */
  readonly at: number;
  /** State that the present step needs to continue, such as the path of a task. */
  readonly memo: JsonObject;
}
/** `pxe`: the machine finds its boot address by DHCP, and the server finds the node by the machine's UUID. */
export type BootMethod = 'http' | 'media' | 'pxe';

export interface BootLoad {
  readonly at: string;
  readonly sent: number;
  readonly size: number;
  readonly done: boolean;
}

/** The last reading of `BootProgress`. */
export interface BootSeen {
  readonly seen: string;
  /** When it began to show this value. */
  readonly at: string;
  /** When it was last read. Absent: at `at`. */
  readonly looked_at?: string;
  /** A reading after the exchange showed no self-test, so one that follows means that the machine has started again. */
  readonly left_post?: boolean;
}

/** A start from the disk by the BMC. */
export interface DiskStart {
  readonly at: string;
  readonly tries: number;
  /** The BMC refused the disk as boot device. */
  readonly warning?: Condition;
}

/** The boot of a machine: its secrets and its progress. */
export interface Boot {
  readonly purpose: BootPurpose;
  /** The host existed before, so its first contact is no news to the configuration service. Absent: false. */
  readonly rebuild?: boolean;
  /** Sealed: it is part of the URL given to the BMC. */
  readonly secret: Json;
  readonly secret_hash: string;
  /**
   * Sealed: `{token, requests_queue, responses_queue, report_token}` of the host, or `{token}` for the report of a cleaning or rescue,
   * with the password of the rescue.
   */
  readonly host: Json;
  /** Hash of the token of a report, which finds the node of a report. */
  readonly token_hash: string | null;
  readonly method: BootMethod | null;
  readonly tries: number;
  /** When the BMC was first asked to power on with this secret. No exchange counts before. */
  readonly commanded_at: string | null;
  readonly powered_at: string | null;
  /** When the machine or its BMC first read the boot document. This proves nothing. */
  readonly fetched_at: string | null;
  /** The last request of the firmware for its boot file: how much it got until when. Absent: it asked for none. */
  readonly load?: BootLoad;
  /** When the machine exchanged the secret, which proves that it booted. */
  readonly exchanged_at: string | null;
  /** Hash of the machine's exchange key. The machine may repeat the exchange until its agent asks for work. */
  readonly key_hash: string | null;
  /** When an exchange was last refused although its secret was right. */
  readonly refused_at: string | null;
  /** When its own machine booted once more, with another key: it had lost power, or its restart loaded the ramdisk. */
  readonly returned_at?: string;
  readonly progress: BootSeen | null;
  /** The last heartbeat of the ramdisk, while its work lasts. Absent: none, or its work is over. */
  readonly heartbeat?: Heartbeat;
  /** When its agent asked for work, or its cleaning was reported. */
  readonly answered_at: string | null;
  readonly report: {
    readonly status: (typeof bootReportStatuses)[number];
    readonly message: string;
    /** Why the machine failed without being at fault. Absent: it may be at fault. */
    readonly code?: (typeof bootReportCodes)[number] | undefined;
    /** The image did not arrive. Absent: that is not the reason. */
    readonly unreachable?: boolean | undefined;
    /** The machine powers off after `written`. Absent: it restarts itself, by a script of an older version. */
    readonly powers_off?: boolean | undefined;
  } | null;
  /** When the machine was allowed to leave the ramdisk that wrote its disk. Absent before. */
  readonly settled_at?: string;
  /** The last start from that disk by the BMC. Absent: none. */
  readonly disk?: DiskStart;
}

/** A machine without hardware, for tests of clients. */
export interface FakeMachine {
  readonly power: Power;
  readonly boot_device: BootDeviceView['supported'][number];
  readonly persistent: boolean;
  readonly boot_mode: 'uefi' | 'bios';
  readonly secure_boot: boolean;
  readonly console: boolean;
  /** The state of its light, by component and name: `led@system`. */
  readonly indicators: Readonly<Record<string, string>>;
}

/** The readings of the power of a node at rest. */
export interface PowerReadings {
  /** Failed ones in a row. */
  readonly failures: number;
  readonly reading: Power | null;
  /** When the BMC last answered, and when it was last asked: at most `contactMs` old. Absent: not known. */
  readonly answered_at?: string | null;
  readonly tried_at?: string;
  /** The error of the last one. Absent: it succeeded. */
  readonly error?: Failure;
}

/** The statement of a person that a machine is off. */
export interface OffStatement {
  readonly at: string;
  readonly by: string;
  readonly reason: string;
}

/** E.g. `admin confirmed at 2026-05-01T10:00:00.000Z that it is off: the rack has no power`. */
export const statementText = ({ at, by, reason }: OffStatement): string =>
  `${by} confirmed at ${at} that it is off: ${reason}`;

export interface NodeDocument extends WithOutbox, StoredInfo, LossRecord {
  readonly name: string;
  /** Sealed. */
  readonly password: Json;
  /** The verified machine. Null before the verification. */
  readonly identity: Identity | null;
  /** A different machine that the BMC reported instead. */
  readonly foreign: Identity | null;
  readonly claims: Claims;
  readonly resource_class: string;
  readonly traits: readonly string[];
  /** The operator's declaration, completed by the inspection. */
  readonly properties: JsonObject;
  /** The operator's declaration alone. Absent when there is none. */
  readonly declared?: JsonObject;
  /** Absent in documents of older versions. */
  readonly extra?: JsonObject;
  readonly state: NodeState;
  readonly target: NodeState | null;
  readonly power: Power | null;
  readonly power_target: PowerTarget | null;
  readonly instance_id: string | null;
  /** N3 of `records.ts`: `instance_id`, or the id of a node without one. Absent in documents of older versions. */
  readonly instance_claim?: string;
  /** True while a client or an allocation holds the node, and no server. Absent: false. */
  readonly reserved?: boolean;
  /** The allocation that holds it. Absent: none. */
  readonly allocation_id?: string | null;
  /** The next five are absent where nothing was declared. */
  readonly chassis_id?: string | null;
  readonly shard?: string | null;
  /** The interfaces of its driver that an operator chose, by kind. */
  readonly interfaces?: Readonly<Record<string, string>>;
  /** The volumes that `raid.create_configuration` creates when it has no arguments. */
  readonly target_raid?: JsonObject;
  /** The state of a machine that exists only here. Only with the driver `fake-hardware`. */
  readonly fake?: FakeMachine;
  readonly instance_info: JsonObject;
  /** Values that clients keep in `instance_info` beside those of the server, until the server is deleted. Absent: none. */
  readonly instance_notes?: JsonObject;
  /** Where its server is, and who last asked for work on it. Absent in documents of older versions. */
  readonly origin?: Origin | null;
  /** The facts that the agent reported. */
  readonly facts: JsonObject;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  /** The next fields are absent in documents of older versions. */
  readonly retired?: boolean;
  readonly retired_reason?: string | null;
  readonly protected?: boolean;
  readonly protected_reason?: string | null;
  readonly owner?: string | null;
  readonly lessee?: string | null;
  readonly description?: string | null;
  /** The last changes of state, oldest first. */
  readonly history?: readonly NodeHistoryEntry[];
  readonly fault: (typeof nodeFaults)[number] | null;
  readonly fault_since: string | null;
  readonly work: NodeWork | null;
  /** Absent: no steps beside those of the state. */
  readonly plan?: NodePlan | null;
  /** Sealed: the password of the rescue that an operator asked for. Absent: none. */
  readonly rescue_password?: Json;
  readonly boot: Boot | null;
  /** The statement of a person that the machine is off. Void as soon as Anneal may turn it on, or its BMC says that it is on. */
  readonly confirmed_off?: OffStatement | null;
  /** Conditions that a step recorded and that stay until a later step proves otherwise. Absent: none. */
  readonly warnings?: readonly Condition[];
  readonly poll: PowerReadings;
  readonly reason: string;
  readonly last_error: Failure | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly provision_updated_at: string;
}

/** Paths that the list of nodes is searched and sorted by, beside those of indexes. */
export const listedPaths = [
  'power',
  'resource_class',
  'maintenance',
  'properties.rack',
  'properties.power_domain',
  'poll.failures',
  'work.attempts',
] as const;
/** The collection without unique claims, for documents of older versions: absent claims would equal each other. */
export const unclaimedDefinition: CollectionDefinition = {
  name: 'provisioning_nodes',
  listed: listedPaths,
  indexes: [
    { fields: ['name'], unique: true },
    { fields: ['state', 'name'] },
    { fields: ['instance_id'] },
    { fields: ['boot.secret_hash'] },
    { fields: ['boot.token_hash'] },
    { fields: ['unsent'], only: { field: 'unsent', is: true } },
    { fields: ['fault'], only: { field: 'fault' } },
    // For the overview: the nodes that could not be verified.
    { fields: ['state', 'last_error.code'], only: { field: 'last_error.code' } },
  ],
};
export const nodesDefinition: CollectionDefinition = {
  ...unclaimedDefinition,
  indexes: [
    ...unclaimedDefinition.indexes,
    { fields: ['claims.given'], unique: true },
    { fields: ['claims.place'], unique: true },
    { fields: ['claims.machine'], unique: true },
    { fields: ['claims.serial'] },
    { fields: ['instance_claim'], unique: true },
  ],
};

/**
 * The values of its server, and those that clients keep beside them. Hides the boot data: only the client and the machine
 * may see it.
 */
export const shownInstanceInfo = ({
  instance_info: info,
  instance_notes: notes,
}: Pick<NodeDocument, 'instance_info' | 'instance_notes'>): JsonObject => ({
  ...notes,
  ...info,
  ...('user_data' in info && { user_data: '******' }),
  ...('metadata' in info && { metadata: '******' }),
});

/** @param turn its turn among the nodes that wait for a slot. */
export function nodeView(
  node: NodeDocument,
  { bmc, turn }: { bmc: BmcHealth | null; turn?: SlotTurn | undefined },
): NodeView {
  return {
    id: node.id,
    name: node.name,
    driver: node.driver,
    driver_info: driverInfoOf(node) as JsonObject,
    provision_state: node.state,
    target_provision_state: node.target,
    power_state: node.power,
    target_power_state: endOf(node.power_target),
    resource_class: node.resource_class,
    traits: [...node.traits],
    properties: node.properties,
    extra: node.extra ?? {},
    instance_id: node.instance_id,
    instance_info: shownInstanceInfo(node),
    maintenance: node.maintenance,
    maintenance_reason: node.maintenance_reason,
    retired: node.retired ?? false,
    retired_reason: node.retired_reason ?? null,
    protected: node.protected ?? false,
    protected_reason: node.protected_reason ?? null,
    owner: node.owner ?? null,
    lessee: node.lessee ?? null,
    description: node.description ?? null,
    step: stepOf(node),
    fault: node.fault,
    reservation: node.work && `provisioning: ${workText(node, node.work)}`,
    last_error: node.last_error,
    created_at: node.created_at,
    updated_at: node.updated_at,
    provision_updated_at: node.provision_updated_at,
    chassis_id: node.chassis_id ?? null,
    shard: node.shard ?? null,
    interfaces: { ...node.interfaces },
    allocation_id: node.allocation_id ?? null,
    target_raid: node.target_raid ?? {},
    console_enabled: node.fake?.console ?? null,
    version: node.version,
    conditions: [...conditionsOf(node), ...(turn ? [slotCondition(node, turn)] : [])],
    bmc,
    progress: nodeProgressOf(node),
  };
}

/** How far the machine is with its disk. Null when it reports nothing, or is done. */
export function nodeProgressOf({ boot, state, instance_info: info }: NodeDocument): NodeProgress | null {
  if (!boot?.heartbeat || boot.report !== null || !seedStates[boot.purpose].includes(state)) return null;
  return progressOf(boot.heartbeat, typeof info['image'] === 'string' ? info['image'] : null);
}

/** The boot without the progress of its work, which is over. */
export function withoutHeartbeat(boot: Boot): Boot {
  const { heartbeat: _, ...rest } = boot;
  return rest;
}

/** Why the BMC of a node does not answer. A node that failed before keeps the error of that. */
export const unreachableError = ({ state, poll, last_error: last }: NodeDocument): Failure | null =>
  (failedStates.includes(state) ? poll.error : undefined) ?? last;

/** The step in progress, and the task of the BMC that it waits for. */
export function stepText({ work, plan }: Pick<NodeDocument, 'work' | 'plan'>): string {
  const { step = 'work' } = work ?? {};
  const asked = step === 'run steps' ? plan?.steps[plan.at] : undefined;
  if (!plan || !asked) return `"${step}"`;
  const { task } = plan.memo;
  const waits = typeof task === 'string' ? `, which waits for the task ${task} of its BMC` : '';
  return `step ${plan.at + 1} of ${plan.steps.length} (${asked.interface}.${asked.step}${waits})`;
}

/** The present step, since when it runs, and when it ends at the latest. Before the slot no time runs. */
function workText(node: NodeDocument, { step, since, deadline }: NodeWork): string {
  const end = step === 'await slot' ? '' : `, until ${new Date(deadline).toISOString()} at the latest`;
  return `${node.state}, ${stepText(node)}, since ${since}${end}`;
}

/** The turn of a node that waits, among those that wait for the same kind of work. */
export interface SlotTurn {
  readonly position: number;
  readonly of: number;
  /** The limits that are reached, e.g. `1 of 1 deploys in rack r1`. */
  readonly why: string;
}

/** E.g. `waiting for a slot, position 2 of 5: 10 of 10 deploys`. */
export const slotText = ({ position, of, why }: SlotTurn): string =>
  `waiting for a slot, position ${position} of ${of}: ${why}`;

const slotCondition = (node: NodeDocument, turn: SlotTurn): Condition => ({
  type: 'HasSlot',
  status: 'False',
  reason: 'Waiting',
  message: slotText(turn),
  since: node.work?.since ?? node.provision_updated_at,
});

function stepOf({ plan, work, state }: NodeDocument): NodeView['step'] {
  const step = plan?.steps[plan.at];
  const isRunning = work?.step === 'run steps' || holdStates.includes(state);
  return plan && step && isRunning ? { ...step, at: plan.at + 1, of: plan.steps.length } : null;
}

const endOf = (target: PowerTarget | null): Power | null =>
  target === null ? null : target === 'power off' || target === 'soft power off' ? 'power off' : 'power on';

const namelessText =
  'Its BMC reports neither a system UUID nor a serial number, so another machine that answers at this address would not be noticed.';

function conditionsOf(node: NodeDocument): Condition[] {
  const stalled = node.work !== null && node.work.attempts > 0;
  const isOther = node.fault === identityFault;
  const isDead = node.fault === 'power failure';
  const unreachable = unreachableError(node);
  const isNameless = node.identity?.uuid === null && node.identity.serial === null;
  return [
    {
      type: 'Identity',
      status: isOther ? 'False' : node.identity === null ? 'Unknown' : 'True',
      reason: isOther
        ? 'AnotherMachine'
        : node.identity === null
          ? 'NotVerified'
          : isNameless
            ? 'NoIdentity'
            : 'Verified',
      message: isOther ? (node.last_error?.message ?? '') : isNameless ? namelessText : '',
      since: isOther ? (node.fault_since ?? node.created_at) : node.created_at,
    },
    {
      type: 'Reachable',
      status: isDead ? 'False' : node.power === null ? 'Unknown' : 'True',
      reason: isDead ? (unreachable?.code ?? 'BmcUnreachable') : node.power === null ? 'NotRead' : 'PowerRead',
      message: isDead ? (unreachable?.message ?? '') : '',
      since: node.fault_since ?? node.created_at,
    },
    {
      type: 'Stalled',
      status: stalled ? 'True' : 'False',
      reason: stalled ? (node.last_error?.code ?? 'Retrying') : 'Progressing',
      message: stalled ? `${node.work.step}: ${node.last_error?.message ?? ''}` : '',
      since: node.work?.since ?? node.provision_updated_at,
    },
    ...suspectConditions(node),
    ...(node.confirmed_off ? [confirmedCondition(node.confirmed_off)] : []),
    ...(node.warnings ?? []),
  ];
}

const confirmedCondition = (statement: OffStatement): Condition => ({
  type: 'ConfirmedOff',
  status: 'True',
  reason: 'Statement',
  message: statementText(statement),
  since: statement.at,
});

/** Replaces the earlier warning of the same type, and keeps its `since`. */
export function withWarning(node: NodeDocument, warning: Condition): readonly Condition[] {
  const known = node.warnings?.find(({ type }) => type === warning.type);
  return [...withoutWarning(node, warning.type), { ...warning, since: known?.since ?? warning.since }];
}

export function withoutWarning(node: NodeDocument, type: Condition['type']): readonly Condition[] {
  return (node.warnings ?? []).filter((warning) => warning.type !== type);
}
