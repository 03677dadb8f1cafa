/**
 * Schedules of groups: a durable timer for the next time of each. A time that passes while no replica runs fires once,
 * when one runs again; the next is then computed from the present.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceAction, ResourceRequest } from '@anneal/contracts/resource.ts';
import type { Result } from '@anneal/provider/document.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import { cronProblem, parseCron } from '@anneal/contracts/readers/cron.ts';
import { nextCronTime } from '@anneal/runtime/time/cron.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { Timers } from '@anneal/store/timers.ts';
import { scheduleTimerId, waitTimers, type ScheduleTimer } from '../../documents/wait-timers.ts';

export class Schedules {
  readonly #context: ServiceContext;
  readonly #timers: () => Timers;

  readonly #stacks: Pick<Collection<StackDocument>, 'get'>;

  constructor(
    context: ServiceContext,
    parts: { timers: () => Timers; stacks: Pick<Collection<StackDocument>, 'get'> },
  ) {
    this.#context = context;
    this.#timers = parts.timers;
    this.#stacks = parts.stacks;
  }

  /** Sets, moves or cancels the timer of a schedule. A repeat does the same again. */
  async take(action: ResourceAction, { data, project = '' }: Envelope<ResourceRequest>): Promise<Result> {
    const { id, name } = data.resource;
    if (action === 'delete') {
      await this.#timers().cancel([scheduleTimerId(id)]);
      return { kind: 'complete' };
    }
    if (action !== 'create' && action !== 'update') return { kind: 'complete' };
    const { group, cron, time_zone, size } = openProperties(this.#context.secrets, data.properties);
    const timer: ScheduleTimer = {
      kind: 'schedule',
      schedule: id,
      name,
      project,
      group: typeof group === 'string' ? group : '',
      pattern: typeof cron === 'string' ? cron : '',
      time_zone: typeof time_zone === 'string' && time_zone !== '' ? time_zone : 'UTC',
      size: Number(size),
    };
    try {
      await this.#set(timer);
      return { kind: 'complete', physical_id: id };
    } catch (error) {
      if (!(error instanceof AnnealError) || error.kind !== 'final') throw error;
      return { kind: 'failed', error: toFailure(error) };
    }
  }

  /** Asks the group for the size, and sets the timer for the next time. */
  async fire(timer: ScheduleTimer, dueAt: number): Promise<void> {
    const { bus, log, mint } = this.#context;
    const { schedule: id, name, project, group, pattern, time_zone, size } = timer;
    const adjustment = mint(groupAdjust, {
      id: `${id}:${dueAt}:schedule`,
      subject: group,
      project,
      data: {
        stack_id: group,
        policy: name,
        adjustment_type: 'exact_capacity',
        adjustment: size,
        min_step: null,
        cooldown: null,
        reason: 'schedule',
        occasion: {
          actor: { kind: 'schedule', id, name },
          cause: { kind: 'schedule', id: null, reason: `${pattern} ${time_zone}` },
        },
      },
    });
    // A schedule reaches only groups of its own project.
    const isOwn = (await this.#stacks.get(group))?.project === project;
    if (isOwn) await bus.send({ queue: requestsQueue('scheduling'), messages: [adjustment] });
    else log.warn({ schedule: id, group }, 'schedule fired, but its group does not exist; the next time is set');
    await this.#set(timer);
  }

  async #set(timer: ScheduleTimer): Promise<void> {
    const { name, pattern, time_zone: zone } = timer;
    const parsed = parseCron(pattern);
    const dueAt = parsed && nextCronTime(parsed, zone, this.#context.now().getTime());
    if (dueAt === undefined) {
      const why = cronProblem(pattern)?.message ?? 'its date never comes';
      const message = `The schedule ${name} cannot fire by "${pattern}": ${why}.`;
      throw new AnnealError('InvalidRequest', message);
    }
    await this.#timers().set([waitTimers.at(timer, dueAt)]);
  }
}
