// Numbers, results and names as the page writes them.

import { named, side, t } from "./texts.js";

/** Where a move's loss, in points, begins to be a small one, a mistake, a bad one and a blunder. */
const LOSSES = [0.5, 1.5, 3, 6];

/** "53": a winrate in percent. */
export const percent = (winrate) => (100 * winrate).toFixed(winrate > 0.995 || winrate < 0.005 ? 1 : 0);

/** "+3.5": points with their sign. */
export function points(value) {
  const rounded = Math.abs(value) >= 99.5 ? Math.round(value) : Math.round(10 * value) / 10;
  return (rounded > 0 ? "+" : rounded < 0 ? "−" : "") + Math.abs(rounded).toFixed(Math.abs(value) >= 99.5 ? 0 : 1);
}

/** "1.2k": a count in little room. */
export function short(count) {
  if (count < 1000) return String(count);
  if (count < 9950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999500 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** The class of a loss, "loss-0" (none) to "loss-4" (a blunder). */
export const lossClass = (loss) => `loss-${LOSSES.filter((limit) => loss >= limit).length}`;

/** "Black wins by 3.5 points": a result that SGF writes as B+3.5. */
export function resultText(result) {
  const [, letter, how] = result.match(/^([BW])\+(.*)$/) ?? [];
  const ways = { R: "resign", Resign: "resign", T: "time", Time: "time", F: "forfeit", Forfeit: "forfeit" };
  const draws = { 0: "draw", Draw: "draw", Jigo: "draw", Void: "void" };
  if (letter && (ways[how] || Number(how))) {
    return t(`result_${ways[how] ?? "points"}`, { side: side(letter === "B" ? 1 : 2), n: Number(how) });
  }
  return draws[result] ? t(`result_${draws[result]}`) : t("result", { text: result });
}

/** The name of rules, in words where there are some. */
export const rulesName = (name) => named(`rules_${name.replaceAll("-", "_")}`, name);

/** What a level is called: its strength as far as that is known, or whom it plays like. */
export function levelName({ id, name, elo, is_rank: isRank }) {
  if (isRank) return t("rank", { name });
  if (elo === null) return `${id}: ${t("level_full")}`;
  return elo ? `${id}: GNU Go ${elo > 0 ? "+" : "−"}${Math.abs(elo)} Elo` : `${id}: ≈ GNU Go`;
}

/** A player's name: in the page's language where we have written it ourselves. */
export function playerName(name, levels) {
  if (name === "Person") return t("you");
  const level = levels.find((each) => name === `Nobi, ${each.name}`);
  return level ? `Nobi ${levelName(level)}` : name;
}

/** "1:05": seconds of a clock. */
export function clockText(seconds) {
  const whole = Math.max(0, Math.ceil(seconds)), hours = Math.floor(whole / 3600);
  const rest = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  return hours ? `${hours}:${rest.join(":")}` : `${Number(rest[0])}:${rest[1]}`;
}
