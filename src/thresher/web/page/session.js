// Who is here and what they may do, and the names of the categories; the views ask it.

import { get } from "./api.js";
import { remember, remembered } from "./memory.js";

const RIGHTS = new Map([
  ["reader", 0],
  ["teacher", 1],
  ["admin", 2],
]);

class Session {
  model = null;
  names = [];

  async begin() {
    this.model = await get("/v1/model");
    this.names = [];
    return this.model;
  }

  get rights() {
    return RIGHTS.get(this.model?.role) ?? 0;
  }

  get mayCorrect() {
    return this.rights >= 1;
  }

  get mayChange() {
    return this.rights >= 2;
  }

  /** Whether the token is everybody's, so that a name is what its user says it is. */
  get isShared() {
    return !this.model?.user;
  }

  get user() {
    return this.model?.user || remembered("user") || "";
  }

  set user(name) {
    remember("user", name.trim());
  }

  get howMany() {
    const known = this.model?.categories;
    return Array.isArray(known) ? known.length : (known ?? this.names.length);
  }

  /** Ask for the categories again; what was known stays if nobody answers. */
  async look() {
    const found = await get("/v1/categories");
    this.know(found.categories);
    return found;
  }

  know(categories) {
    this.names = categories.map((category) => category.name);
  }

  knows(name) {
    return this.names.includes(name);
  }
}

export const session = new Session();
