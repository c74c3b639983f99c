// The course of the game: Black's winrate as an area, the lead as a broken line. A click goes to that move.

import { el, svg } from "./dom.js";
import { t } from "./texts.js";

const HEIGHT = 100;

export class Graph {
  #line = [];
  #analysed = [];
  #svg;
  #parts = {};

  /** `go(id)` is called with the node that was clicked. */
  constructor(place, go) {
    this.#svg = svg("svg", { preserveAspectRatio: "none", role: "img" });
    for (const [name, tag, kind] of [
      ["area", "path", "graph-area"], ["middle", "path", "graph-middle"], ["rate", "path", "graph-line"],
      ["lead", "path", "graph-lead"], ["now", "path", "graph-now"],
    ]) {
      this.#svg.append((this.#parts[name] = svg(tag, { class: kind })));
    }
    this.place = place;
    place.append(el("div", { class: "legend" }), this.#svg);
    const at = (event) => {
      const box = this.#svg.getBoundingClientRect();
      const index = Math.round(((event.clientX - box.left) / box.width) * Math.max(1, this.#line.length - 1));
      const id = this.#line[Math.min(this.#line.length - 1, Math.max(0, index))];
      if (id !== undefined) go(id);
    };
    this.#svg.addEventListener("pointerdown", (event) => {
      this.#svg.setPointerCapture(event.pointerId);
      at(event);
    });
    this.#svg.addEventListener("pointermove", (event) => event.buttons && at(event));
  }

  /** Show the line of a game that is looked at, and where one is. */
  show(game, at) {
    const line = game.line();
    const analysed = line.map((id) => game.node(id).analysis);
    this.place.hidden = analysed.filter(Boolean).length < 2;
    if (this.place.hidden) return;
    const wide = Math.max(1, line.length - 1);
    if (line.length !== this.#line.length || analysed.some((each, index) => each !== this.#analysed[index])) {
      this.#svg.setAttribute("viewBox", `0 0 ${wide} ${HEIGHT}`);
      const most = Math.max(10, ...analysed.map((each) => Math.abs(each?.lead ?? 0)));
      const rate = path(analysed, (each) => HEIGHT * (1 - each.winrate));
      this.#parts.area.setAttribute("d", areas(analysed, (each) => HEIGHT * (1 - each.winrate)));
      this.#parts.rate.setAttribute("d", rate);
      this.#parts.lead.setAttribute("d", path(analysed, (each) => HEIGHT / 2 - (each.lead / most) * (HEIGHT / 2 - 2)));
      this.#parts.middle.setAttribute("d", `M0 ${HEIGHT / 2}H${wide}`);
      this.place.firstChild.replaceChildren(
        el("span", {}, `— ${t("black")}: ${t("winrate")}`),
        el("span", {}, `┄ ${t("lead")} ±${Math.ceil(most)}`),
      );
      this.#svg.setAttribute("aria-label", `${t("winrate")}, ${t("lead")}`);
    }
    this.#line = line;
    this.#analysed = analysed;
    this.#parts.now.setAttribute("d", `M${line.indexOf(at)} 0V${HEIGHT}`);
  }
}

/** Runs of neighbouring values: [[first index, values]...]. */
function runs(values) {
  const found = [];
  values.forEach((value, index) => {
    if (!value) return;
    if (index && values[index - 1]) found.at(-1)[1].push(value);
    else found.push([index, [value]]);
  });
  return found;
}

const path = (values, y) =>
  runs(values)
    .map(([first, run]) => run.map((value, index) => `${index ? "L" : "M"}${first + index} ${y(value).toFixed(1)}`).join(""))
    .join("");

const areas = (values, y) =>
  runs(values)
    .map(([first, run]) => {
      const top = run.map((value, index) => `L${first + index} ${y(value).toFixed(1)}`).join("");
      return `M${first} ${HEIGHT}${top}L${first + run.length - 1} ${HEIGHT}Z`;
    })
    .join("");
