/**
 * Follows one run: sends its streams to the server while they grow, and learns when the server withdraws it.
 *
 * L1 The server counts what it stores, and each piece names its offset. So a repeat after a lost answer, or after a
 *    restart of the agent, stores no byte twice.
 * L2 A server that cannot take reports (an older version) is not asked again. The answer carries the end of each stream.
 * L3 A run that ends within a second costs no report, unless its streams are too long for the answer or no text.
 */
import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { outputLimit } from '@anneal/contracts/calls/host-messages.ts';
import { outputPrefix, pieceLimit } from '@anneal/contracts/output.ts';
import { RefusedError, type AgentConnection, type ReportAnswer, type ReportedPiece } from './connection.ts';
import type { Log } from './log.ts';
import { readPiece, sizeOfFile } from './output.ts';
import { mayYetSucceed, untilDone } from './patience.ts';
import { keptIn } from './tools/read-outputs.ts';

const sendEveryMs = 1_000;
const waitSeconds = 25;
const errorPauseMs = 2_000;

interface Position {
  /** In the file. */
  at: number;
  /** At the server. */
  offset: number;
  full: boolean;
}

export interface FollowOptions {
  readonly connection: Pick<AgentConnection, 'report'>;
  readonly id: string;
  /** The folder of the run. */
  readonly run: string;
  /** True when an earlier process of this agent may have sent a part. */
  readonly isResumed: boolean;
  readonly log: Log;
  /** Ends the following: the run has ended, or the agent stops. */
  readonly signal: AbortSignal;
}

/** A refusal that another attempt cannot change, such as that of a server without this call. */
const isFinal = (error: unknown): boolean =>
  error instanceof RefusedError && (error.status === 404 || !mayYetSucceed(error));

/** The server deleted this host, so nothing waits for what it runs. */
const isGone = (error: unknown): boolean => error instanceof RefusedError && error.status === 410;

export class FollowedRun {
  readonly #options: FollowOptions;
  readonly #stop = new AbortController();
  readonly #positions = new Map<string, Position>();
  #streams: readonly string[] = [];
  #isRefused = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Aborted when the server withdraws the run. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Runs until the signal. Never rejects. */
  async follow(): Promise<void> {
    await Promise.all([this.#watch(), this.#send()]);
  }

  /** Chooses the streams to send; none before. */
  sendOnly(streams: readonly string[]): void {
    this.#streams = streams;
  }

  /** The streams begin again: the program was started once more. */
  restarted(): void {
    for (const position of this.#positions.values()) position.at = 0;
  }

  /** Sends the rest of the streams of a run that has ended. */
  async flush(signal: AbortSignal): Promise<void> {
    if (this.#isRefused || (await this.#fitsAnswer())) return;
    const { log } = this.#options;
    const worthwhile = (error: unknown): boolean => !isFinal(error);
    const what = 'sending the output of a config';
    await untilDone(() => this.#sendNew(signal), { signal, log, what, worthwhile }).catch((error: unknown) => {
      signal.throwIfAborted();
      log.warn({ err: error }, 'output of a config not stored; the answer carries the end of each stream');
    });
  }

  /** L3: whether nothing was sent so far, and the answer can carry all. */
  async #fitsAnswer(): Promise<boolean> {
    const { run, isResumed } = this.#options;
    if (isResumed || this.#positions.size > 0) return false;
    for (const name of this.#streams) {
      const file = join(run, name);
      const limit = outputLimit;
      const fits = await sizeOfFile(file).then(
        async (size) => size === 0 || (size <= limit && isUtf8(await readPiece(file, { offset: 0, limit }))),
        () => true,
      );
      if (!fits) return false;
    }
    return true;
  }

  /** Sends an output as bytes. Resolves with the mistake when the server does not store the whole. */
  async storeOutput(name: string, file: string, signal: AbortSignal): Promise<string | undefined> {
    const { log } = this.#options;
    const what = 'sending an output';
    try {
      const worthwhile = (error: unknown): boolean => error instanceof TypeError || !isFinal(error);
      const size = await sizeOfFile(file);
      const target = outputPrefix + name;
      const stored = await untilDone(() => this.#sendFile(file, target, signal), { signal, log, what, worthwhile });
      if (stored >= size) return undefined;
      return `it is longer than the server stores (ANNEAL_CONFIGURATION_OUTPUT_BYTES)${keptIn(file)}`;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof RefusedError && error.status === 404) return `it has more than 65536 bytes${keptIn(file)}`;
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Waits at the server for the stop, instead of asking again and again. */
  async #watch(): Promise<void> {
    const { signal, log } = this.#options;
    await sleep(sendEveryMs, undefined, { signal }).catch(() => undefined); // L3
    while (!signal.aborted && !this.#stop.signal.aborted && !this.#isRefused) {
      const asked = performance.now();
      try {
        this.#heed(await this.#report([], waitSeconds, signal));
        // A server that stops answers without waiting.
        if (performance.now() - asked < errorPauseMs) await sleep(errorPauseMs, undefined, { signal });
      } catch (error) {
        if (signal.aborted) return;
        log.debug({ err: error }, 'cannot ask whether a config must stop; asking again');
        await sleep(errorPauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #send(): Promise<void> {
    const { signal, log } = this.#options;
    while (!signal.aborted && !this.#isRefused) {
      try {
        await sleep(sendEveryMs, undefined, { signal });
        await this.#sendNew(signal);
      } catch (error) {
        if (!signal.aborted) log.debug({ err: error }, 'output of a config not sent; sending it again');
      }
    }
  }

  async #sendNew(signal: AbortSignal): Promise<void> {
    for (let more = true; more && !this.#isRefused;) {
      const pieces: ReportedPiece[] = [];
      for (const name of this.#streams) {
        const piece = await this.#nextPiece(name, signal);
        if (piece) pieces.push(piece);
      }
      if (pieces.length === 0) return;
      const answer = await this.#report(pieces, 0, signal);
      for (const { name, offset } of pieces) this.#noteStored(name, offset, answer);
      this.#heed(answer);
      more = pieces.some(({ bytes }) => bytes.length === pieceLimit);
    }
  }

  async #nextPiece(name: string, signal: AbortSignal): Promise<ReportedPiece | undefined> {
    const file = join(this.#options.run, name);
    const size = await sizeOfFile(file).catch(() => 0);
    if (size === 0) return undefined;
    const position = this.#positions.get(name) ?? (await this.#firstPosition(name, signal));
    this.#positions.set(name, position);
    // A shorter file was trimmed: what is in it now follows what was sent.
    if (size < position.at) position.at = 0;
    if (position.full || size === position.at) return undefined;
    const bytes = await readPiece(file, { offset: position.at, limit: pieceLimit }).catch(() => Buffer.alloc(0));
    return bytes.length === 0 ? undefined : { name, offset: position.offset, bytes };
  }

  /** An earlier process of this agent may have sent a part of the stream. */
  async #firstPosition(name: string, signal: AbortSignal): Promise<Position> {
    if (!this.#options.isResumed) return { at: 0, offset: 0, full: false };
    const { stored } = await this.#report([{ name, offset: 0, bytes: new Uint8Array() }], 0, signal);
    const { bytes = 0, full = false } = stored.get(name) ?? {};
    return { at: bytes, offset: bytes, full };
  }

  #noteStored(name: string, offset: number, { stored }: ReportAnswer): void {
    const position = this.#positions.get(name);
    const { bytes = offset, full = false } = stored.get(name) ?? {};
    if (!position) return;
    position.at += Math.max(0, bytes - offset);
    position.offset = bytes;
    position.full = full;
  }

  /** The number of bytes that the server stores of it. */
  async #sendFile(file: string, name: string, signal: AbortSignal): Promise<number> {
    let offset = 0;
    for (;;) {
      const bytes = await readPiece(file, { offset, limit: pieceLimit });
      const answer = await this.#report([{ name, offset, bytes }], 0, signal);
      const { bytes: now = offset, full = false } = answer.stored.get(name) ?? {};
      if (full || now <= offset) return now;
      offset = now;
    }
  }

  async #report(pieces: readonly ReportedPiece[], wait: number, signal: AbortSignal): Promise<ReportAnswer> {
    try {
      return await this.#options.connection.report({ id: this.#options.id, pieces, wait, signal });
    } catch (error) {
      if (isFinal(error)) this.#isRefused = true; // L2
      if (isGone(error)) this.#stop.abort();
      throw error;
    }
  }

  #heed({ stop }: ReportAnswer): void {
    if (stop) this.#stop.abort();
  }
}
