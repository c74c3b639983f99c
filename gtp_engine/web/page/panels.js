// What stands beside the board: the players and their clocks, the engine, the candidates, the comment, the count.

import { el } from "./dom.js";
import { stoneIcon } from "./board.js";
import { clockText, lossClass, percent, playerName, points, resultText, short } from "./format.js";
import { BLACK, PASS, WHITE } from "./game.js";
import { language, side, t } from "./texts.js";

/** The leads and winrates of an analysis for the side that is to see them: Black, or who is to move. */
export function seenBy(perspective, toPlay, { winrate, lead }) {
  const isTurned = perspective === "mover" && toPlay === WHITE;
  return isTurned ? { winrate: 1 - winrate, lead: -lead } : { winrate, lead };
}

/** The candidates of an analysis as the side to move sees them, with what each loses against the best. */
export function candidatesOf(analysis, toPlay) {
  const own = analysis.moves.map((move) => ({ ...move, ...seenBy("mover", toPlay, move) }));
  const best = own.find((move) => move.order === 0) ?? own[0];
  return own.map((move) => ({ ...move, loss: Math.max(0, best.lead - move.lead) })).sort((a, b) => a.order - b.order);
}

/** A player's line: who, what was captured, whether they think, the clock. */
export function showPlayer(place, game, at, colour, levels, isThinking) {
  const node = game.node(at), name = colour === BLACK ? game.black : game.white;
  const isYou = game.mode === "play" && colour === game.person && !game.file;
  place.classList.toggle("turn", node.to_play === colour && !game.result);
  place.replaceChildren(
    stoneIcon(colour),
    el("span", { class: "name" }, isYou ? t("you") : playerName(name, levels) || side(colour)),
    el("span", { class: "soft" }, t("captured", { n: game.captured(at)[colour] })),
    el("span", { class: "soft" }, colour === WHITE ? `${t("komi")} ${game.komi}` : ""),
    el("span", { class: "soft" }, isThinking ? t("thinking") : ""),
    game.clock ? el("span", { class: "clock", role: "timer", "aria-label": t("clock") }) : "",
  );
}

/** Write a player's clock. `game.clock` has what was left when it was sent, at `game.clockAt`. */
export function showClock(place, game, colour) {
  const clock = game.clock, shown = place.querySelector(".clock");
  if (!clock || !shown) return;
  const left = clock.left[colour - 1];
  const gone = clock.running === colour ? clock.gone + (performance.now() - game.clockAt) / 1000 : 0;
  let rest = (left.in_overtime ? left.period : left.main) - gone, stages = left.in_overtime ? left.periods : clock.periods;
  const isOver = left.in_overtime || rest < 0;
  if (!left.in_overtime && rest < 0 && clock.byo_seconds) rest += clock.byo_seconds;
  for (; clock.periods && rest < 0 && stages > 1; stages--) rest += clock.byo_seconds;
  const more = isOver && clock.periods ? ` × ${stages}` : "";
  shown.textContent = clockText(rest) + more;
}

/** How far a review is; '' of another analysis. */
export const reviewed = ({ n, of }) => (n ? t("reviewing", { text: of ? `${n}/${of}` : t("move", { n }) }) : "");

/** The figures of a position: whose winrate, the lead, how many visits. */
export function showEngine(place, engine, analysis, toPlay, perspective) {
  const texts = {
    loading: () => t("engine_loading"),
    compiling: () => t("engine_compiling"),
    failed: () => t("engine_failed", engine.values),
    thinking: () => t("ai_thinks"),
    analysing: () => reviewed(engine.values),
  };
  const lines = [];
  if (analysis) {
    const seen = seenBy(perspective, toPlay, analysis), whose = perspective === "mover" ? toPlay : BLACK;
    const speed = analysis.per_second ? ` · ${short(Math.round(analysis.per_second))}/s` : "";
    lines.push(
      el(
        "div",
        { class: "row" },
        stoneIcon(whose),
        el("strong", {}, `${percent(seen.winrate)} %`),
        el("span", {}, t("points_n", { n: points(seen.lead) })),
        el("span", { class: "soft" }, `${short(analysis.visits)}${analysis.done === false ? " …" : ""}${speed}`),
      ),
    );
  }
  if (texts[engine.state]) lines.push(el("div", { class: engine.state === "failed" ? "error" : "soft" }, texts[engine.state]()));
  place.replaceChildren(...lines);
}

/** The table of candidates. `hover(move or null)` and `play(point)` are called. Rows stay while what they say changes, so
 * that a report of the engine takes away neither a click nor the keyboard's focus. */
export function showCandidates(place, game, moves, toPlay, perspective, next, { hover, play }) {
  const shown = moves.slice(0, 8), isTurned = perspective === "black" && toPlay === WHITE;
  if (!shown.length) return place.replaceChildren(el("p", { class: "soft" }, t("no_candidates")));
  if (!place.querySelector("tbody.moves")) {
    place.replaceChildren(el("table", {}, el("thead"), el("tbody", { class: "moves" })));
  }
  const [head, body] = place.querySelector("table").children;
  const heads = ["candidates", "winrate", "lead", "", "visits"].map((name) => el("th", {}, name && t(name)));
  head.replaceChildren(el("tr", {}, heads));
  while (body.rows.length > shown.length) body.lastChild.remove();
  while (body.rows.length < shown.length) body.append(candidateRow(hover, play));
  shown.forEach((move, index) => {
    const row = body.rows[index], [chip, button, mark] = row.cells[0].children;
    row.move = move;
    chip.className = `chip ${move.order ? lossClass(move.loss) : "best"}`;
    button.textContent = move.point === PASS ? t("pass") : game.vertex(move.point);
    mark.textContent = move.point === next ? " ◂" : "";
    [
      percent(isTurned ? 1 - move.winrate : move.winrate),
      points(isTurned ? -move.lead : move.lead),
      move.order ? points(-move.loss) : "",
      short(move.visits),
    ].forEach((text, column) => (row.cells[column + 1].textContent = text));
  });
}

function candidateRow(hover, play) {
  const button = el("button", { type: "button", onclick: () => play(row.move.point) });
  const row = el(
    "tr",
    { onmouseenter: () => hover(row.move), onmouseleave: () => hover(null), onfocusin: () => hover(row.move) },
    el("td", {}, el("span"), button, el("span")),
    [1, 2, 3, 4].map(() => el("td")),
  );
  return row;
}

/** The count of a finished game, part by part. */
export function showCount(place, count, { agree, again }) {
  const parts = ["stones", "territory", "prisoners", "komi", "bonus"].filter(
    (part) => count.black[part] || count.white[part],
  );
  place.replaceChildren(...[
    el("h2", {}, t("score")),
    agree && el("p", {}, t("dead_hint")),
    el(
      "table",
      {},
      el("tr", {}, el("th"), el("th", {}, side(BLACK)), el("th", {}, side(WHITE))),
      [...parts, "total"].map((part) =>
        el(
          "tr",
          {},
          el("td", {}, t(part)),
          [count.black, count.white].map((one) => el("td", {}, String(one[part]))),
        ),
      ),
    ),
    el("p", {}, resultText(count.result)),
    el(
      "div",
      { class: "row" },
      agree && el("button", { class: "main", onclick: agree }, t("agree")),
      el("button", { onclick: again }, t("again")),
    ),
  ].filter(Boolean));
}

/** What a point is, for those who do not see it: "Q16, black, move 3, lost 4 points". */
export function pointText(game, at, point, moves) {
  const stone = game.position(at)[point], parts = [game.vertex(point)];
  if (stone) parts.push(side(stone));
  for (let node = game.node(at); stone && node; node = game.node(node.parent)) {
    if (node.point !== point || node.colour !== stone) continue;
    parts.push(t("move", { n: node.number }));
    const lost = game.loss(node.id);
    if (lost > 0.5) parts.push(t("lost_points", { move: game.vertex(point), n: lost.toFixed(1) }));
    break;
  }
  const move = moves.find((each) => each.point === point);
  if (move) parts.push(`${t("winrate")} ${percent(move.winrate)} %`, t("points_n", { n: points(move.lead) }));
  return parts.join(", ");
}

/** Say a move: "White Q16". */
export const moveText = (game, node) =>
  node.point === PASS
    ? t("passed", { side: side(node.colour) })
    : t("played", { side: side(node.colour), point: game.vertex(node.point) });

/** Why the move was bad. `shade(area or null)` and `refute(whether)` show it on the board. */
export function showCause(place, cause, { shade, refute }) {
  place.hidden = !cause;
  if (!cause || place.dataset.said === cause.texts[language()]) return;
  place.dataset.said = cause.texts[language()];
  const toggle = (text, act) => {
    const button = el("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => {
        const isOn = button.getAttribute("aria-pressed") === "false";
        for (const other of place.querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
        shade(null);
        refute(false);
        button.setAttribute("aria-pressed", String(isOn));
        if (isOn) act();
      },
    }, text);
    return button;
  };
  place.replaceChildren(
    el("p", {}, cause.texts[language()]),
    el(
      "div",
      { class: "row" },
      cause.areas.map((area, index) => toggle(`${t("area")} ${index + 1}`, () => shade(area))),
      cause.refutation.length > 0 && toggle(t("refutation"), () => refute(true)),
    ),
  );
}
