// Numbers as the page writes them.

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

/** "1:05": seconds of a clock. */
export function clockText(seconds) {
  const whole = Math.max(0, Math.ceil(seconds)), hours = Math.floor(whole / 3600);
  const rest = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  return hours ? `${hours}:${rest.join(":")}` : `${Number(rest[0])}:${rest[1]}`;
}
