// The game on the page: a tree of nodes as the server sends it, and the position at each of them.

export const BLACK = 1, WHITE = 2, PASS = -1;
const COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ";

export const opponent = (colour) => 3 - colour;

export class Game {
  #positions = new Map();
  #children = new Map(); // ids by the parent's
  /** The child that was last looked at, by parent. */
  #chosen = new Map();

  constructor(fields) {
    this.nodes = new Map();
    /** Grows with every change of the tree. */
    this.revision = 0;
    this.update(fields);
  }

  /** Take over what has changed: fields of the game, nodes that are new or other than before, nodes that are gone. */
  update({ nodes = [], removed = [], ...fields }) {
    Object.assign(this, fields);
    this.revision += 1;
    for (const id of removed) {
      const node = this.nodes.get(id);
      if (!node) continue;
      const siblings = this.#children.get(node.parent);
      if (siblings) siblings.splice(siblings.indexOf(id), 1);
      this.nodes.delete(id);
      this.#positions.delete(id);
      if (this.#chosen.get(node.parent) === id) this.#chosen.delete(node.parent);
    }
    for (const node of nodes) {
      const before = this.nodes.get(node.id);
      if (!before) {
        if (!this.#children.has(node.parent)) this.#children.set(node.parent, []);
        this.#children.get(node.parent).push(node.id);
      }
      if (before && JSON.stringify(before.setup) !== JSON.stringify(node.setup)) this.#positions.clear();
      this.nodes.set(node.id, node);
    }
  }

  get root() {
    return this.children(null)[0];
  }

  node(id) {
    return this.nodes.get(id);
  }

  children(id) {
    return this.#children.get(id) ?? [];
  }

  /** How many nodes there are from this one on. */
  below(id) {
    const ids = [id];
    for (const each of ids) ids.push(...this.children(each));
    return ids.length;
  }

  /** The child on whose line the page is: the one last looked at, else the first. */
  next(id) {
    return this.#chosen.get(id) ?? this.children(id)[0];
  }

  /** Remember the way to a node as the line that is looked at. */
  choose(id) {
    for (let node = this.node(id); node && node.parent !== null; node = this.node(node.parent)) {
      this.#chosen.set(node.parent, node.id);
    }
  }

  /** How many points the move of a node lost, as its player sees it; null where that is not known. */
  loss(id) {
    const node = this.node(id), before = this.node(node.parent);
    if (!node.colour || !before) return null;
    if (node.loss !== null && node.loss !== undefined) return node.loss;
    if (!node.analysis || !before.analysis) return null;
    const lost = before.analysis.lead - node.analysis.lead;
    return node.colour === BLACK ? lost : -lost;
  }

  /** The ids of the line that is looked at, from the root to its end. */
  line() {
    const ids = [];
    for (let id = this.root; id !== undefined; id = this.next(id)) ids.push(id);
    return ids;
  }

  /** The stones at a node: an array of colours, 0 where there is none. It is not to be changed. */
  position(id) {
    const known = this.#positions.get(id);
    if (known) return known;
    const way = [];
    let at = id;
    for (; at !== null && !this.#positions.has(at); at = this.node(at).parent) way.push(at);
    let stones = at === null ? new Uint8Array(this.width * this.height) : this.#positions.get(at);
    for (const step of way.reverse()) {
      const { setup, colour, point, taken } = this.node(step);
      stones = stones.slice();
      if (setup) {
        for (const each of setup.black) stones[each] = BLACK;
        for (const each of setup.white) stones[each] = WHITE;
        for (const each of setup.empty) stones[each] = 0;
      }
      if (colour && point !== null && point !== PASS) stones[point] = colour;
      for (const each of taken ?? []) stones[each] = 0;
      this.#positions.set(step, stones);
    }
    return stones;
  }

  /** How many stones each colour has captured on the way to a node, as {1: black's, 2: white's}. */
  captured(id) {
    const count = { [BLACK]: 0, [WHITE]: 0 };
    for (let node = this.node(id); node; node = this.node(node.parent)) {
      if (node.colour) count[node.colour] += node.taken?.length ?? 0;
    }
    return count;
  }

  /** The stones after a move, null where a stone stands already: what the page shows at once. The server decides. */
  tried(id, colour, point) {
    const stones = this.position(id).slice();
    if (stones[point]) return null;
    stones[point] = colour;
    const taken = this.#neighbours(point)
      .filter((near) => stones[near] === opponent(colour))
      .map((near) => this.#withoutLiberty(stones, near))
      .flat();
    for (const each of taken) stones[each] = 0;
    return stones;
  }

  #neighbours(point) {
    const x = point % this.width, near = [];
    if (x > 0) near.push(point - 1);
    if (x < this.width - 1) near.push(point + 1);
    if (point >= this.width) near.push(point - this.width);
    if (point < this.width * (this.height - 1)) near.push(point + this.width);
    return near;
  }

  /** The points of the chain at `first` if it has no liberty, else none. */
  #withoutLiberty(stones, first) {
    const chain = [first], seen = new Set(chain);
    for (const point of chain) {
      for (const near of this.#neighbours(point)) {
        if (!stones[near]) return [];
        if (stones[near] === stones[first] && !seen.has(near)) {
          seen.add(near);
          chain.push(near);
        }
      }
    }
    return chain;
  }

  /** The name of a point, as Go programs write it: "D4". */
  vertex(point) {
    if (point === PASS) return "pass";
    return COLUMNS[point % this.width] + (this.height - Math.floor(point / this.width));
  }
}

/** The letter of a column. */
export const columnName = (x) => COLUMNS[x];
