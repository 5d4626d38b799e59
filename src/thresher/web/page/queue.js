// The documents to review, a page of them at a time; review walks along it.

import { get } from "./api.js";

const PAGE = 20;

export class Queue {
  constructor(wish) {
    this.wish = wish; // order, category, q, state
    this.documents = [];
    this.place = 0;
    this.counts = { open: 0, unsure: 0, done: 0, total: 0 };
    this.matching = 0;
  }

  async begin() {
    await this.#more(0);
    return this.current;
  }

  get current() {
    return this.documents[this.place] ?? null;
  }

  get left() {
    return this.documents.filter((document) => !document.settled).length;
  }

  /** Go to the next one, asking for more where these end; null at the end. */
  async next() {
    if (this.place < this.documents.length) this.place++;
    while (!this.current) {
      const known = this.documents.length;
      const asked = await this.#more(this.left);
      if (!asked || this.documents.length === known) return null;
    }
    return this.current;
  }

  previous() {
    this.place = Math.max(0, this.place - 1);
    return this.current;
  }

  goTo(id) {
    const found = this.documents.findIndex((document) => document.id === id);
    if (found >= 0) this.place = found;
    return this.current;
  }

  /** The current one has another state now, and so may not match any longer. */
  settle(document, state) {
    this.counts[document.state]--;
    this.counts[state]++;
    document.state = state;
    document.settled = state !== this.wish.state;
  }

  async #more(offset) {
    const found = await get("/v1/queue", { ...this.wish, limit: PAGE, offset });
    const { open, unsure, done, total } = found;
    this.counts = { open, unsure, done, total };
    this.matching = found.matching;
    const known = new Set(this.documents.map((document) => document.id));
    this.documents.push(...found.documents.filter((document) => !known.has(document.id)));
    return found.documents.length;
  }
}
