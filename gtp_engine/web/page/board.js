// The board: an SVG drawing of a position and what is known about it.
//
// Every point has its elements from the beginning, and a new position changes only those that differ: a move is on the
// screen within a frame also while the engine works.

import { el, svg } from "./dom.js";
import { BLACK, PASS, WHITE, columnName } from "./game.js";
import { lossClass, percent, points, short } from "./format.js";
import { t } from "./texts.js";

// The same as in drawing.py, which draws pictures.
const CELL = 40, EDGE = 40, STONE = 18.8, STAR = 3.6;
const STONE_CLASS = { 0: "none", [BLACK]: "black", [WHITE]: "white" };
/** From this share of ownership a point has a square, and the side of the largest as a share of CELL. */
const SURE = 0.15, SQUARE = 0.44;
/** Pixels between two lines below which a finger may miss: then a second tap on the same point plays. */
const FINGER = 30;
/** A candidate is drawn if it has this share of the best one's visits, and so many at most. */
const SHARE = 0.015, MOST_CANDIDATES = 12;

export class Board {
  #layers = {};
  #stones = [];
  #owners = [];
  #shown = new Uint8Array(0);
  #width = 0;
  #height = 0;
  #cursor = -1;
  #listeners;
  #candidates = [];
  #isTouched = false;
  #describe = () => "";

  /** `listeners`: `play(point)`, `hover(candidate or null)`, `step(by)`, `pointed(text)` at a point without playing,
   * `isPlaying()` whether a click plays, and `tapped(point)` for a finger that has to tap once more. */
  constructor(place, listeners) {
    this.#listeners = listeners;
    this.root = svg("svg", { id: "goban", tabindex: 0, role: "application", "aria-roledescription": "board" });
    place.append(this.root);
    this.root.addEventListener("pointermove", (event) => this.#hover(this.#pointAt(event)));
    this.root.addEventListener("pointerleave", () => this.#hover(-1));
    this.root.addEventListener("mousedown", (event) => event.preventDefault()); // a click takes no focus
    this.root.addEventListener("pointerdown", (event) => (this.#isTouched = event.pointerType === "touch"));
    this.root.addEventListener("click", (event) => {
      const point = this.#pointAt(event);
      if (point < 0) return;
      const isSmall = CELL * this.root.getScreenCTM().a < FINGER && this.#listeners.isPlaying();
      const isAimed = this.#isTouched && isSmall && point !== this.#cursor;
      if (this.#isTouched) this.#point(isAimed ? point : -1);
      if (isAimed) this.#listeners.tapped(point);
      else this.#listeners.play(point, event);
    });
    this.root.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.deltaY) this.#listeners.step(Math.sign(event.deltaY));
    }, { passive: false });
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.addEventListener("blur", () => this.#point(-1));
    this.#swipes();
  }

  /** Draw an empty board of this size, with stars on these points. `describe(point)` names a point for those who do not
      see it. */
  resize({ width, height, stars }, describe) {
    this.#describe = describe;
    this.root.setAttribute("aria-label", t("board", { size: `${width}×${height}` }));
    if (width === this.#width && height === this.#height) return;
    [this.#width, this.#height, this.#cursor] = [width, height, -1];
    const right = EDGE * 2 + CELL * (width - 1), bottom = EDGE * 2 + CELL * (height - 1);
    this.root.setAttribute("viewBox", `0 0 ${right} ${bottom}`);
    this.root.style.setProperty("--ratio", right / bottom);
    this.root.replaceChildren(
      svg("rect", { class: "wood", width: right, height: bottom, rx: 6 }),
      svg("path", { class: "lines", d: this.#lines() }),
      ...stars.map((point) => {
        const [cx, cy] = this.#place(point);
        return svg("circle", { class: "star", cx, cy, r: STAR });
      }),
      ...this.#coordinates(),
    );
    for (const name of ["stones", "owners", "marks", "candidates", "line", "cursor"]) {
      this.root.append((this.#layers[name] = svg("g", { class: name })));
    }
    const count = width * height;
    this.#shown = new Uint8Array(count);
    this.#stones = [];
    this.#owners = [];
    for (let point = 0; point < count; point++) {
      const [x, y] = this.#place(point);
      this.#stones.push(svg("circle", { cx: x, cy: y, r: STONE, class: "none" }));
      this.#owners.push(svg("rect", { x, y, width: 0, height: 0 }));
    }
    this.#layers.stones.append(...this.#stones);
    this.#layers.owners.append(...this.#owners);
    this.#layers.cursor.append(svg("rect", { id: "cursor", role: "img", width: CELL, height: CELL, class: "none" }));
  }

  /** Show these stones. `faded`: points of stones that are dead. */
  stones(position, faded = new Set()) {
    for (let point = 0; point < position.length; point++) {
      const shown = position[point] + (faded.has(point) ? 3 : 0);
      if (shown === this.#shown[point]) continue;
      this.#shown[point] = shown;
      const stone = STONE_CLASS[position[point]];
      this.#stones[point].setAttribute("class", faded.has(point) ? `${stone} dead` : stone);
    }
  }

  /** Show marks: `[{point, kind, text, class}]`, of the kinds triangle, square, circle, cross, label, last, dot. */
  marks(marks) {
    this.#layers.marks.replaceChildren(...marks.filter((mark) => mark.point >= 0).map((mark) => this.#mark(mark)));
  }

  /** Show who will own each point by squares, the larger the surer: -1 to 1, + black's; null for nothing. */
  ownership(values) {
    for (let point = 0; point < this.#owners.length; point++) {
      const value = values ? values[point] : 0, [x, y] = this.#place(point);
      const side = Math.abs(value) < SURE ? 0 : Math.round(CELL * SQUARE * Math.sqrt(Math.abs(value)));
      const square = this.#owners[point];
      if (side !== Number(square.getAttribute("width"))) {
        for (const [name, is] of Object.entries({ x: x - side / 2, y: y - side / 2, width: side, height: side })) {
          square.setAttribute(name, is);
        }
      }
      if (side) square.setAttribute("class", value > 0 ? "black" : "white");
    }
  }

  /** Show candidates: `[{point, order, visits, winrate, lead, loss, pv}]` for the side to move; the best is first. */
  candidates(moves, played = null) {
    const most = Math.max(1, ...moves.map((move) => move.visits));
    const shown = moves.filter((move) => move.order === 0 || move.visits >= SHARE * most).slice(0, MOST_CANDIDATES);
    this.#candidates = shown;
    this.#layers.candidates.replaceChildren(
      ...shown.filter((move) => move.point !== PASS).map((move) => this.#candidate(move, move.point === played)),
    );
  }

  /** Show how play may go on: points in turn, the first by `colour`; null for none. */
  line(points, colour) {
    const layer = this.#layers.line;
    if (!layer) return; // nothing is drawn yet
    layer.replaceChildren();
    this.#layers.candidates.classList.toggle("none", Boolean(points));
    if (!points) return;
    const seen = new Set();
    points.forEach((point, index) => {
      if (point === PASS || seen.has(point)) return;
      seen.add(point);
      const [x, y] = this.#place(point), side = index % 2 ? 3 - colour : colour;
      layer.append(
        svg("circle", { cx: x, cy: y, r: STONE, class: STONE_CLASS[side] }),
        svg("text", { x, y, class: `number on-${STONE_CLASS[side]}` }, String(index + 1)),
      );
    });
  }

  #place(point) {
    return [EDGE + CELL * (point % this.#width), EDGE + CELL * Math.floor(point / this.#width)];
  }

  #pointAt(event) {
    const matrix = this.root.getScreenCTM();
    if (!matrix) return -1;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    const x = Math.round((at.x - EDGE) / CELL), y = Math.round((at.y - EDGE) / CELL);
    return x >= 0 && y >= 0 && x < this.#width && y < this.#height ? y * this.#width + x : -1;
  }

  #hovered = null;
  #hover(point) {
    const found = this.#candidates.find((move) => move.point === point) ?? null;
    if (found === this.#hovered) return;
    this.#hovered = found;
    this.#listeners.hover(found);
  }

  #lines() {
    const right = EDGE + CELL * (this.#width - 1), bottom = EDGE + CELL * (this.#height - 1);
    let path = "";
    for (let x = 0; x < this.#width; x++) path += `M${EDGE + CELL * x} ${EDGE}V${bottom}`;
    for (let y = 0; y < this.#height; y++) path += `M${EDGE} ${EDGE + CELL * y}H${right}`;
    return path;
  }

  #coordinates() {
    const found = [], right = EDGE * 2 + CELL * (this.#width - 1), bottom = EDGE * 2 + CELL * (this.#height - 1);
    const write = (x, y, text) => found.push(svg("text", { x, y, class: "coordinate", "aria-hidden": "true" }, text));
    for (let x = 0; x < this.#width; x++) {
      for (const y of [12, bottom - 12]) write(EDGE + CELL * x, y, columnName(x));
    }
    for (let y = 0; y < this.#height; y++) {
      for (const x of [12, right - 12]) write(x, EDGE + CELL * y, String(this.#height - y));
    }
    return found;
  }

  #mark({ point, kind, text, class: name = "" }) {
    const [x, y] = this.#place(point), on = `on-${STONE_CLASS[this.#shown[point] % 3]} ${name}`;
    switch (kind) {
      case "triangle":
        return svg("path", { class: `mark ${on}`, d: `M${x} ${y - 11}L${x + 10} ${y + 7}H${x - 10}Z` });
      case "square":
        return svg("rect", { class: `mark ${on}`, x: x - 8, y: y - 8, width: 16, height: 16 });
      case "circle":
        return svg("circle", { class: `mark ${on}`, cx: x, cy: y, r: 9 });
      case "cross":
        return svg("path", { class: `mark ${on}`, d: `M${x - 8} ${y - 8}l16 16m0 -16l-16 16` });
      case "last":
        return svg("circle", { class: `last ${on}`, cx: x, cy: y, r: 6 });
      case "dot": // how much a move lost: colour and size, so that either tells
        return svg("circle", { class: `dot ${name}`, cx: x + 11, cy: y + 11, r: 3 + Number(name.at(-1)) });
      default:
        return svg("text", { x, y, class: `label ${on}` }, text);
    }
  }

  #candidate(move, isPlayed) {
    const [x, y] = this.#place(move.point), isBest = move.order === 0;
    return svg(
      "g",
      { "aria-hidden": "true", class: `candidate ${isBest ? "best" : lossClass(move.loss)}${isPlayed ? " played" : ""}` },
      svg("circle", { cx: x, cy: y, r: STONE }),
      svg("text", { x, y: y - 9.5, class: "small" }, percent(move.winrate)),
      svg("text", { x, y: y + 1, class: "main" }, isBest ? points(move.lead) : points(-move.loss)),
      svg("text", { x, y: y + 11, class: "small" }, short(move.visits)),
    );
  }

  // Without a mouse: Tab reaches the board, arrows move from point to point, Enter plays, Escape leaves.

  #key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step) {
      const at = this.#cursor >= 0 ? this.#cursor : Math.floor((this.#width * this.#height) / 2);
      const x = Math.min(this.#width - 1, Math.max(0, (at % this.#width) + step[0]));
      const y = Math.min(this.#height - 1, Math.max(0, Math.floor(at / this.#width) + step[1]));
      this.#point(y * this.#width + x);
    } else if ((event.key === "Enter" || event.key === " ") && this.#cursor >= 0) {
      this.#listeners.play(this.#cursor, event);
    } else if (event.key === "Escape") {
      this.root.blur();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #point(point) {
    this.#cursor = point;
    const cursor = this.root.querySelector("#cursor");
    if (!cursor) return;
    cursor.setAttribute("class", point < 0 ? "none" : "");
    if (point < 0) return this.root.removeAttribute("aria-activedescendant");
    const [x, y] = this.#place(point);
    cursor.setAttribute("x", x - CELL / 2);
    cursor.setAttribute("y", y - CELL / 2);
    cursor.setAttribute("aria-label", this.#describe(point));
    this.root.setAttribute("aria-activedescendant", "cursor");
    this.#hover(point);
    this.#listeners.pointed(this.#describe(point));
  }

  #swipes() {
    let from = null;
    this.root.addEventListener("touchstart", (event) => (from = event.touches.length === 1 ? event.touches[0] : null), {
      passive: true,
    });
    this.root.addEventListener("touchend", (event) => {
      const to = event.changedTouches[0];
      if (!from || !to) return;
      const across = to.clientX - from.clientX, down = to.clientY - from.clientY;
      if (Math.abs(across) < 50 || Math.abs(across) < 2 * Math.abs(down)) return;
      event.preventDefault(); // no click at its end
      this.#listeners.step(across < 0 ? 1 : -1);
    });
  }
}

/** A small stone, to stand in a line of text. */
export const stoneIcon = (colour) => el("span", { class: `stone ${STONE_CLASS[colour]}`, "aria-hidden": "true" });
