/**
 * Bare SQLite with the statements of a queue and the same durability: insert, take, delete; one transaction for everything
 * in flight. It does nothing else, so its speed is the upper limit of the file.
 */
import { DatabaseSync } from 'node:sqlite';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { cpuMicros, type LoadSample, type Window } from './load.ts';

export class RawSqlite {
  readonly name = 'raw node:sqlite';
  readonly #db: DatabaseSync;
  readonly #mint: (key: string) => Envelope;

  constructor(parameters: { file: string; synchronous: 'normal' | 'full'; mint: (key: string) => Envelope }) {
    this.#mint = parameters.mint;
    this.#db = new DatabaseSync(parameters.file);
    this.#db.exec(`PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=${parameters.synchronous};
      CREATE TABLE q (seq INTEGER PRIMARY KEY, queue INTEGER NOT NULL, body TEXT NOT NULL);
      CREATE INDEX q_queue ON q (queue);`);
  }

  oneWay(options: { batch: number; window: Window }): LoadSample {
    const { batch, window } = options;
    return this.#measure(window, batch, () => {
      this.#transaction(() => this.#insert(0, batch));
      const taken = this.#take(0, batch);
      return () => this.#transaction(() => this.#remove(taken));
    });
  }

  /** Two transactions a round: requests in; requests out and responses in. The responses leave with the next requests. */
  roundTrips(options: { hosts: number; outstanding: number; window: Window }): LoadSample {
    const { hosts, outstanding, window } = options;
    const queues = Array.from({ length: hosts }, (_, host) => ({ requests: 2 * host, responses: 2 * host + 1 }));
    let answered: number[] = [];
    const sample = this.#measure(window, hosts * outstanding, () => {
      this.#transaction(() => {
        this.#remove(answered);
        for (const { requests } of queues) this.#insert(requests, outstanding);
      });
      this.#transaction(() => {
        for (const { requests, responses } of queues) {
          this.#remove(this.#take(requests, outstanding));
          this.#insert(responses, outstanding);
        }
      });
      answered = queues.flatMap(({ responses }) => this.#take(responses, outstanding));
      return () => undefined;
    });
    this.#transaction(() => this.#remove(answered));
    return sample;
  }

  close(): void {
    this.#db.close();
  }

  /** `round` returns the work to do after its items have arrived. */
  #measure({ warmMs, measureMs }: Window, perRound: number, round: () => () => void): LoadSample {
    const latencies: number[] = [];
    const start = performance.now();
    let opened: { at: number; cpu: number } | undefined;
    let done = 0;
    for (;;) {
      const since = performance.now();
      if (!opened && since - start >= warmMs) opened = { at: since, cpu: cpuMicros() };
      if (opened && done >= 2 * perRound && since - opened.at >= measureMs) {
        const seconds = (since - opened.at) / 1000;
        return { done, seconds, latencies, cpuMicros: (cpuMicros() - opened.cpu) / done };
      }
      const finish = round();
      const latency = performance.now() - since;
      finish();
      if (!opened) continue;
      done += perRound;
      for (let item = 0; item < perRound; item += 1) latencies.push(latency);
    }
  }

  #transaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    work();
    this.#db.exec('COMMIT');
  }

  #insert(queue: number, count: number): void {
    for (let item = 0; item < count; item += 1) {
      this.#statement('INSERT INTO q (queue, body) VALUES (?, ?)').run(queue, JSON.stringify(this.#mint(String(item))));
    }
  }

  #take(queue: number, count: number): number[] {
    const rows = this.#statement('SELECT seq, body FROM q WHERE queue = ? ORDER BY seq LIMIT ?').all(queue, count);
    for (const { body } of rows) JSON.parse(String(body));
    return rows.map(({ seq }) => Number(seq));
  }

  #remove(seqs: readonly number[]): void {
    for (const seq of seqs) this.#statement('DELETE FROM q WHERE seq = ?').run(seq);
  }

  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();

  #statement(sql: string): ReturnType<DatabaseSync['prepare']> {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)));
    return statement;
  }
}
