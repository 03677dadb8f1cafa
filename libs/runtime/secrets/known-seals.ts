/**
 * The seals that were made or opened most recently. A seal and its content belong together for ever, because sealing is
 * deterministic and a seal is only known after its key has proved it. So a step that is tried again, and each of a
 * thousand stacks that read one secret, pay for the cipher once.
 *
 * Callers never change a content: many readers share it.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { Json } from '@anneal/contracts/json.ts';

interface Known {
  readonly seal: string;
  /** The content as JSON. It is parsed when a reader first needs it. */
  readonly text: string;
  content?: { readonly value: Json };
}

/** Contents by seal, and seals by content. Bounded by the characters of both. */
export class KnownSeals {
  readonly #bySeal = new Map<string, Known>();
  readonly #byText = new Map<string, Known>();
  readonly #most: number;
  #characters = 0;

  /** @param most the characters of all seals and contents together */
  constructor(most: number) {
    this.#most = most;
  }

  /** The content of a seal; undefined when the seal is not known. */
  contentOf(seal: string): { readonly value: Json } | undefined {
    const known = this.#bySeal.get(seal);
    if (!known) return undefined;
    this.#use(known);
    return (known.content ??= { value: parseExact(known.text) });
  }

  /** The seal of a content, given as JSON. */
  sealOf(text: string): string | undefined {
    const known = this.#byText.get(text);
    if (known) this.#use(known);
    return known?.seal;
  }

  /** Adds a seal that a key has made or proved. Drops those that were used least recently when there are too many. */
  add(seal: string, text: string, content?: { readonly value: Json }): void {
    // One very large secret must not push out all others.
    if (seal.length + text.length > this.#most / 4 || this.#bySeal.has(seal)) return;
    const known: Known = { seal, text, ...(content && { content }) };
    this.#characters += seal.length + text.length;
    this.#bySeal.set(seal, known);
    this.#byText.set(text, known);
    for (const oldest of this.#bySeal.values()) {
      if (this.#characters <= this.#most) break;
      this.#characters -= oldest.seal.length + oldest.text.length;
      this.#bySeal.delete(oldest.seal);
      if (this.#byText.get(oldest.text) === oldest) this.#byText.delete(oldest.text);
    }
  }

  #use(known: Known): void {
    this.#bySeal.delete(known.seal);
    this.#bySeal.set(known.seal, known);
  }
}
