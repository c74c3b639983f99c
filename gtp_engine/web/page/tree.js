// The tree of variations: a column for each move, a row for each line. A click goes to that node.

import { el, svg } from "./dom.js";
import { t } from "./texts.js";

// A finger needs more room.
const STEP = matchMedia("(pointer: coarse)").matches ? 32 : 18, RADIUS = STEP / 3, MARGIN = STEP / 1.5;

/** Place every node: {id: [column, row]}. The first child goes on in its parent's row, others have a row of their own
 * below what stands there. */
function places(game) {
  const found = new Map(), taken = []; // the last column that is taken, by row
  const waiting = [[game.root, 0, 0]];
  while (waiting.length) {
    const [first, column, least] = waiting.pop();
    const line = [];
    for (let id = first; id !== undefined; id = game.children(id)[0]) line.push(id);
    let row = least;
    // A line needs room from its parent's column to its end.
    while ((taken[row] ?? Infinity) <= column + line.length) row++;
    taken[row] = Math.min(taken[row] ?? Infinity, Math.max(0, column - 1));
    line.forEach((id, index) => found.set(id, [column + index, row]));
    // The branches nearest to the end come first, so that lines do not cross.
    line.forEach((id, index) => {
      for (const child of game.children(id).slice(1).reverse()) waiting.push([child, column + index + 1, row + 1]);
    });
  }
  return found;
}

export class Tree {
  #scroll = el("div", { class: "scroll" });
  #svg = svg("svg", { role: "img" });
  #circles = new Map();
  #places = new Map();
  #game = null;
  #revision = 0;
  #at = null;

  constructor(place, go) {
    this.place = place;
    this.#scroll.append(this.#svg);
    place.append(this.#scroll);
    this.#svg.addEventListener("click", (event) => {
      const box = this.#svg.getBoundingClientRect();
      const at = [event.clientX - box.left, event.clientY - box.top].map((each) => Math.round((each - MARGIN) / STEP));
      const found = [...this.#places].find(([, place]) => place[0] === at[0] && place[1] === at[1]);
      if (found) go(found[0]);
    });
  }

  show(game, at) {
    this.place.hidden = game.nodes.size < 2;
    if (game !== this.#game || game.revision !== this.#revision) {
      [this.#game, this.#revision] = [game, game.revision];
      this.#draw(game);
    }
    this.#circles.get(this.#at)?.classList.remove("at");
    this.#at = at;
    this.#circles.get(at)?.classList.add("at");
    const [column, row] = this.#places.get(at) ?? [0, 0];
    const box = this.#scroll, x = MARGIN + column * STEP, y = MARGIN + row * STEP;
    if (x < box.scrollLeft + STEP || x > box.scrollLeft + box.clientWidth - STEP) box.scrollLeft = x - box.clientWidth / 2;
    if (y < box.scrollTop + STEP || y > box.scrollTop + box.clientHeight - STEP) box.scrollTop = y - box.clientHeight / 2;
  }

  #draw(game) {
    this.#svg.setAttribute("aria-label", t("variations"));
    this.#places = places(game);
    this.#circles.clear();
    let ways = "", right = 0, bottom = 0;
    const drawn = [];
    for (const [id, [column, row]] of this.#places) {
      const node = game.node(id), x = MARGIN + column * STEP, y = MARGIN + row * STEP;
      [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
      const parent = this.#places.get(node.parent);
      if (parent) {
        const [px, py] = parent.map((place) => MARGIN + place * STEP);
        ways += py === y ? `M${px} ${py}H${x}` : `M${px} ${py}V${y - STEP / 2}L${px + STEP / 2} ${y}H${x}`;
      }
      const stone = ["none", "black", "white"][node.colour];
      const name = node.colour ? `${t("move", { n: node.number })}: ${game.vertex(node.point)}` : t("first");
      const circle = svg("circle", { cx: x, cy: y, r: RADIUS, class: stone }, svg("title", {}, name));
      this.#circles.set(id, circle);
      drawn.push(circle);
    }
    this.#svg.setAttribute("width", right + MARGIN);
    this.#svg.setAttribute("height", bottom + MARGIN);
    this.#svg.replaceChildren(svg("path", { class: "way", d: ways }), ...drawn);
  }
}
