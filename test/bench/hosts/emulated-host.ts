/**
 * A host without a machine: speaks the protocol of the agent over one HTTP connection that stays open, and answers
 * every request at once.
 */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';

/** One request as its host observed it. Milliseconds since the epoch. */
export interface StepSample {
  readonly queuedAt: number;
  readonly startedAt: number;
}

export interface FleetTally {
  /** Hosts whose first message was accepted. */
  hellos: number;
  /** HTTP requests, refused ones included. */
  calls: number;
  refused: number;
  readonly samples: StepSample[];
  readonly sockets: Set<Socket>;
  /** Bytes of connections that have ended. */
  bytes: number;
  onChange: () => void;
}

interface HostOptions {
  readonly url: string;
  readonly project: string;
  readonly id: string;
  readonly token: string;
  /** Longest wait for a request. */
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
  readonly tally: FleetTally;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface ClaimedMessage {
  readonly id: string;
  readonly href: string;
  readonly body: { readonly id: string; readonly creation_time: string };
}

const batch = 10;
/** Spreads the ends of the first waits, as those of hosts that started at different times. */
const firstWait = (id: string, most: number): number => 1 + (Number.parseInt(id.slice(-6), 16) % most);
const posted = (body: object) => ({ ttl: 600, body });

export class EmulatedHost {
  readonly #options: HostOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #requests: string;
  readonly #responses: string;
  #wait: number;
  /** Answers that the server has not confirmed. */
  #answers: object[] = [];

  constructor(options: HostOptions) {
    this.#options = options;
    this.#wait = firstWait(options.id, options.waitSeconds);
    const queues = `${options.url}/messaging/v2/queues/host.${options.id}`;
    this.#requests = `${queues}.requests`;
    this.#responses = `${queues}.responses`;
  }

  /** Works until the signal. A failed call is counted and repeated after a pause. */
  async run(): Promise<void> {
    const { signal, tally } = this.#options;
    let said = false;
    while (!signal.aborted) {
      try {
        if (!said) {
          await this.#post({ hello: true, facts: { kernel: 'Linux', processors: 2 } });
          said = true;
          tally.hellos += 1;
          tally.onChange();
        }
        await this.#step();
      } catch {
        if (signal.aborted) break;
        tally.refused += 1;
        await new Promise((resolve) => void setTimeout(resolve, 500));
      }
    }
    this.#agent.destroy();
  }

  /** Sends the answers to the last requests, waits for the next ones and runs them in order. */
  async #step(): Promise<void> {
    const { tally } = this.#options;
    const sent = this.#answers;
    const body = { ttl: 60, grace: 60, batch, ...(sent.length > 0 && { answers: sent.map(posted) }) };
    const answer = await this.#call('POST', `${this.#requests}/claims?wait=${this.#wait}`, JSON.stringify(body));
    this.#wait = this.#options.waitSeconds;
    this.#answers = this.#answers.filter((each) => !sent.includes(each));
    if (answer.status === 204) return;
    const { messages } = JSON.parse(answer.body) as { messages: ClaimedMessage[] };
    for (const message of messages) {
      const startedAt = Date.now();
      const { id, creation_time } = message.body;
      const at = new Date(startedAt).toISOString();
      this.#answers.push({
        id,
        status_code: 0,
        stdout: 'done\n',
        stderr: '',
        outputs: {},
        started_at: at,
        finished_at: at,
      });
      tally.samples.push({ queuedAt: Date.parse(creation_time), startedAt });
    }
  }

  async #post(body: object): Promise<void> {
    await this.#call('POST', `${this.#responses}/messages`, JSON.stringify({ messages: [posted(body)] }));
  }

  #call(method: string, url: string, body?: string): Promise<Answer> {
    const { token, project, id, signal, tally } = this.#options;
    tally.calls += 1;
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        url,
        {
          method,
          agent: this.#agent,
          signal,
          headers: {
            'X-Auth-Token': token,
            'X-Project-Id': project,
            'Client-ID': id,
            Accept: 'application/json',
            ...(body !== undefined && {
              'Content-Type': 'application/json',
              'Content-Length': Buffer.byteLength(body),
            }),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (chunk: string) => (text += chunk));
          response.once('error', reject);
          response.once('end', () => {
            const { statusCode: status = 0, headers } = response;
            if (status < 300) resolve({ status, headers, body: text });
            else reject(new Error(`${method} ${url}: ${status} ${text.slice(0, 300)}`));
          });
        },
      );
      request.once('socket', (socket) => this.#count(socket));
      request.once('error', reject);
      request.end(body);
    });
  }

  #count(socket: Socket): void {
    const { tally } = this.#options;
    if (tally.sockets.has(socket)) return;
    tally.sockets.add(socket);
    socket.once('close', () => {
      tally.sockets.delete(socket);
      tally.bytes += socket.bytesRead + socket.bytesWritten;
    });
  }
}
