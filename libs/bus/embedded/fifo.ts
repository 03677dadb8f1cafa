/** First in, first out, without moving the remaining items at every take. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  take(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Drops all items that `keep` rejects; the order stays. */
  filter(keep: (item: T) => boolean): void {
    this.#items = this.#items.slice(this.#head).filter((item) => keep(item));
    this.#head = 0;
  }
}
