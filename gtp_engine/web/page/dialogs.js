// What is asked in a window of its own: a new game, a record to open, the games that were kept, settings.

import { byId, el } from "./dom.js";
import { levelName, playerName, resultText, rulesName } from "./format.js";
import { LANGUAGE_NAMES, named, t } from "./texts.js";

/** Show a dialog with a title and content. `submit()` is called by its main button, and may throw an Error, which is
 * shown. */
export function showDialog(title, content, { action = null, submit = null } = {}) {
  const dialog = byId("dialog"), error = el("p", { class: "error", role: "alert" });
  const form = el(
    "form",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          await submit?.();
          dialog.close();
        } catch (failure) {
          error.textContent = failure.message;
        }
      },
    },
    el("h2", {}, title),
    content,
    error,
    el(
      "div",
      { class: "buttons" },
      el("button", { type: "button", onclick: () => dialog.close() }, t(action ? "cancel" : "close")),
      action && el("button", { class: "main" }, action),
    ),
  );
  dialog.replaceChildren(form);
  if (dialog.open) return;
  // What opened it may have been made anew meanwhile.
  const opener = document.activeElement.id;
  dialog.addEventListener("close", () => (dialog.replaceChildren(), byId(opener)?.focus()), { once: true });
  dialog.showModal();
}

const field = (label, input) => [el("label", { for: input.id }, label), input];

function choice(id, values, chosen) {
  const options = values.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, text));
  return el("select", { id }, options);
}

const number = (id, value, attributes = {}) => el("input", { id, type: "number", value, ...attributes });

/** A button that has a network play or fetches it, `choose(name)`, and then a bar of how far that is. */
function networkButton({ name, size }, choose) {
  const fault = el("span", { class: "error" });
  const button = el("button", { type: "button", onclick: async () => {
    button.disabled = true;
    fault.textContent = "";
    try {
      await choose(name);
      if (size) button.replaceWith(el("progress", { max: 1, "aria-label": t("fetch") }));
    } catch (error) {
      button.disabled = false;
      fault.textContent = ` ${error.message}`;
    }
  } }, t(size ? "fetch" : "play_here"));
  return el("span", {}, button, fault);
}

const megabytes = (size) => t("mb_to_fetch", { mb: Math.round(size / 1e6) });

const USUAL_LEVEL = 7;

/** Show the levels of a new game, and the button that fetches the network which adds people's ranks. */
export function showLevels({ levels, people }, chosen, useNetwork) {
  const select = byId("level");
  select.replaceChildren(...levels.map((each) =>
    el("option", { value: each.id, selected: each.id === (levels.some(({ id }) => id === chosen) ? chosen : USUAL_LEVEL) }, levelName(each))));
  const more = people ? [t("fetch_ranks"), " ", megabytes(people.size), " ", networkButton(people, useNetwork)] : [];
  byId("levels-what").replaceChildren(el("p", {}, t("levels_what")), el("p", {}, ...more));
}

/** Ask for a new game. `last`: what was answered the last time. `begin(answers)` begins it. */
export function askForGame(hello, last, begin, useNetwork) {
  const rules = hello.rules;
  const parts = {
    size: choice("size", [9, 13, 19].map((size) => [size, `${size}×${size}`]), last.size ?? 9),
    person: choice("person", [[1, t("black")], [2, t("white")], [0, t("look_only")]], last.person ?? 1),
    level: choice("level", []),
    handicap: choice("handicap", [0, 2, 3, 4, 5, 6, 7, 8, 9].map((count) => [count, String(count)]), last.handicap ?? 0),
    isFree: el("input", { id: "is-free", type: "checkbox", checked: Boolean(last.isFree) }),
    komi: number("komi", last.komi ?? "", { step: 0.5, min: -100, max: 100, placeholder: t("komi_usual") }),
    rules: choice("rules", rules.map((name) => [name, rulesName(name)]), last.rules ?? "chinese"),
    clock: choice(
      "clock",
      ["none", "absolute", "byoyomi", "fischer"].map((kind) => [kind, t(`clock_${kind}`)]),
      last.clockKind ?? "none",
    ),
    main: number("main", last.main ?? 10, { min: 0, max: 600 }),
    period: number("period", last.period ?? 30, { min: 1, max: 3600 }),
    periods: number("periods", last.periods ?? 5, { min: 1, max: 99 }),
    increment: number("increment", last.increment ?? 10, { min: 1, max: 600 }),
    teaching: el("input", { id: "teaching", type: "checkbox", checked: Boolean(last.teaching) }),
    limit: number("limit", last.limit ?? 3, { min: 0.5, max: 50, step: 0.5 }),
  };
  const rows = {
    main: field(t("main_time"), parts.main), period: field(t("period"), parts.period),
    periods: field(t("periods"), parts.periods), increment: field(t("increment"), parts.increment),
    level: [...field(t("level"), parts.level), el("div", { class: "soft wide", id: "levels-what" })], clock: field(t("clock"), parts.clock),
    isFree: field(t("free_stones"), parts.isFree), teaching: field(t("teaching"), parts.teaching), limit: field(t("limit"), parts.limit),
  };
  const visible = {
    main: (kind) => kind !== "none", period: (kind) => kind === "byoyomi", periods: (kind) => kind === "byoyomi",
    increment: (kind) => kind === "fischer",
    isFree: () => parts.handicap.value !== "0" && parts.person.value !== "2",
    limit: () => parts.person.value !== "0" && parts.teaching.checked,
  };
  const arrange = () => {
    const isAlone = parts.person.value === "0", kind = isAlone ? "none" : parts.clock.value;
    parts.main.min = kind === "absolute" ? 1 : 0;
    for (const [name, row] of Object.entries(rows)) {
      const isShown = visible[name] ? visible[name](kind) : !isAlone;
      for (const element of row) element.hidden = !isShown;
    }
  };
  const content = el(
    "div",
    { class: "fields", onchange: arrange },
    field(t("size"), parts.size), field(t("colour_of_mine"), parts.person), rows.level,
    field(t("handicap"), parts.handicap), rows.isFree, field(t("komi"), parts.komi), field(t("rules"), parts.rules),
    rows.clock, rows.main, rows.period, rows.periods, rows.increment, rows.teaching, rows.limit,
  );
  arrange();
  showDialog(t("new_game"), content, {
    action: t("start"),
    submit: () =>
      begin({
        size: Number(parts.size.value), person: Number(parts.person.value), level: Number(parts.level.value),
        handicap: Number(parts.handicap.value), isFree: parts.isFree.checked, komi: parts.komi.value === "" ? null : Number(parts.komi.value),
        rules: parts.rules.value, clockKind: parts.person.value === "0" ? "none" : parts.clock.value,
        main: Number(parts.main.value), period: Number(parts.period.value), periods: Number(parts.periods.value),
        increment: Number(parts.increment.value), teaching: parts.teaching.checked, limit: Number(parts.limit.value),
      }),
  });
  showLevels(hello, last.level, useNetwork);
}

/** Ask for a game record: a file, or text that is pasted or dropped. `open(name, bytes)` opens it. */
export function askForRecord(open) {
  const area = el("textarea", { class: "drop", placeholder: t("drop_here"), "aria-label": t("drop_here") });
  const submit = async () => {
    const chosen = file.files[0];
    file.value = "";
    if (chosen) await open(chosen.name, new Uint8Array(await chosen.arrayBuffer()));
    else await open("", new TextEncoder().encode(area.value));
  };
  const file = el("input", { type: "file", accept: ".sgf,.SGF", hidden: true, onchange: () => file.form.requestSubmit() });
  const choose = el("button", { type: "button", onclick: () => file.click() }, t("choose_file"));
  showDialog(t("open"), el("div", {}, choose, file, area), { action: t("open"), submit });
}

/** Show the games that were kept. `levels`: of the players' names. */
export function showGames(games, levels, { open, remove }) {
  const dialog = byId("dialog");
  const tried = (act, done) => async () => {
    const error = dialog.querySelector("p.error");
    error.textContent = "";
    try {
      if (await act()) done();
    } catch (failure) {
      error.textContent = failure.message;
    }
  };
  const rows = games.map((game) => {
    const [black, white] = [game.black, game.white].map((name) => playerName(name, levels));
    const players = game.name || `${black || t("black")} – ${white || t("white")}`;
    const row = el(
      "tr",
      {},
      el("td", {}, game.date),
      el("td", {}, el("button", { type: "button", onclick: tried(() => open(game.id), () => dialog.close()) }, players)),
      el("td", {}, game.size),
      el("td", {}, `${game.moves}`),
      el("td", {}, game.result && resultText(game.result)),
      el("td", {}, el("button", { type: "button", onclick: tried(() => remove(game.id), () => row.remove()) }, t("delete"))),
    );
    return row;
  });
  const head = el("tr", {}, ["", "", t("size"), t("moves"), "", ""].map((text) => el("th", {}, text)));
  showDialog(t("games"), el("div", { class: "list" }, el("p", { class: "soft" }, t("kept")), el("table", {}, head, rows)));
}

/** Show how many problems there are and are due. `solve()` asks the next one, `find()` searches the game for some. */
export function showProblems({ due, count, next }, { solve, find }) {
  const close = () => byId("dialog").close();
  showDialog(
    t("problems"),
    el(
      "div",
      {},
      el("p", {}, t("problems_due", { due, count }), !due && next ? ` ${t("problems_next", { day: next })}` : ""),
      el("p", { class: "soft" }, t("problems_what")),
      el(
        "div",
        { class: "row" },
        el("button", { type: "button", id: "find", onclick: () => (close(), find()) }, t("problems_find")),
        count > 0 && el("a", { class: "button", href: "/api/problems.sgf", download: "" }, t("download")),
      ),
    ),
    due ? { action: t("solve"), submit: solve } : {},
  );
}

/** Show what can be set: `options` of this page, and the network. */
export function showSettings({ options, networks, network, version }, { set, useNetwork }) {
  const list = networks.map((each) => {
    const what = [named(`net_${each.name.split("-")[0]}`, each.place), each.size ? megabytes(each.size) : ""];
    const isUsed = each.name === network;
    return el("tr", {}, el("td", {}, each.name), el("td", { class: "soft" }, what.filter(Boolean).join(", ")),
      el("td", {}, isUsed ? "✓" : networkButton(each, useNetwork)));
  });
  const language = choice("language", Object.entries(LANGUAGE_NAMES), options.language);
  const theme = choice("theme", ["auto", "light", "dark"].map((name) => [name, t(`theme_${name}`)]), options.theme);
  const perspective = choice("perspective", [["black", t("black")], ["mover", t("side_to_move")]], options.perspective);
  const cap = choice("cap", [100, 400, 1000, 5000, 20000].map((count) => [count, String(count)]), options.cap);
  const change = () =>
    set({ language: language.value, theme: theme.value, perspective: perspective.value, cap: Number(cap.value) });
  showDialog(
    t("more"),
    el(
      "div",
      {},
      el(
        "div",
        { class: "fields", onchange: change },
        field(t("language"), language), field(t("theme"), theme), field(t("perspective"), perspective),
        field(t("visits_cap"), cap),
      ),
      el("h2", {}, t("network")),
      el("div", { class: "list", id: "networks" }, el("table", {}, list)),
      el("p", { class: "soft" }, `Nobi ${version}`),
    ),
  );
}
