// The page: what is looked at, what is shown of it, and what clicks and keys do.

import { Board } from "./board.js";
import { askForGame, askForRecord, showDialog, showGames, showLevels, showProblems, showSettings } from "./dialogs.js";
import { byId, el, svg } from "./dom.js";
import { lossClass, resultText } from "./format.js";
import { BLACK, Game, PASS, opponent } from "./game.js";
import { Graph } from "./graph.js";
import {
  candidatesOf, moveText, pointText, reviewed, showCandidates, showCause, showClock, showCount, showEngine, showPlayer,
} from "./panels.js";
import { Server } from "./server.js";
import { chooseLanguage, side, t } from "./texts.js";
import { Tree } from "./tree.js";

/** Of the last moves, so many have a dot that says what they lost. */
const DOTS = 8;
/** So many moves of a variation are shown on the board. */
const LONGEST_LINE = 16;

/** So many positions are deleted without a question. */
const FEW = 3;

/** Points that a mistake loses. */
const MISTAKE = 2;
/** How long a move's node may take to come after the answer: the stream may have to be opened anew. */
const PATIENCE_MS = 3000;

const STORE = "nobi";
const options = {
  language: null, theme: "auto", perspective: "black", cap: 1000, analyse: true, ownership: true, last: {},
  ...JSON.parse(localStorage.getItem(STORE) ?? "{}"),
};

let hello = null, game = null, engine = { state: "loading", values: {} };
/** The node that this page looks at. */
let view = null;
/** The latest analysis of a node, by its id. */
const analyses = new Map();
/** What a click on the board does: play, set a stone, put a mark. */
let tool = "play";
/** A count of what is looked at that was asked for; the game's own count is in `game.count`. */
let counted = null;
/** What the other side would play here: an analysis of its node. */
let threatened = null;
/** A node that an answer has named and that has not arrived yet. */
let awaited = null, arrived = null;
const count = () => counted ?? (view === game.at ? game.count : null);
/** The stones with a move that the server has not confirmed. */
let tried = null;

function set(changes) {
  Object.assign(options, changes);
  localStorage.setItem(STORE, JSON.stringify(options));
  options.language = chooseLanguage(options.language);
  if (options.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = options.theme;
  if (!game) return;
  layOut();
  look();
}

// --- What the server says -----------------------------------------------------------------------------------------

/** A record within the page itself: then there is no server, and nothing but looking. */
const record = byId("record");

const listeners = {
  hello(facts) {
    hello = facts;
    engine = facts.engine;
    take(facts.game);
    sayHowItStands();
  },
  game: take,
  nodes(change) {
    if (!game || change.game !== game.id) return;
    const followed = view === game.at, stood = standing(), asked = game.problem?.state, wasUnsaved = game.unsaved;
    const { game: _, ...fields } = change;
    game.update(fields);
    game.clockAt = performance.now();
    tried = null;
    if (awaited !== null && game.node(awaited)) {
      go(awaited);
      arrived?.();
    } else if (followed || !game.node(view) || game.problem?.state !== asked) go(game.at);
    const newest = game.node(game.at);
    if (fields.nodes?.includes(newest) && game.mode === "play" && newest.colour) heard(newest);
    const isOther = standing() !== stood;
    if (isOther) sayHowItStands();
    if (isOther || game.unsaved !== wasUnsaved) layOut();
    draw();
  },
  analysis(found) {
    if (!game || found.game !== game.id || !game.node(found.node)) return;
    const node = game.node(found.node);
    if (found.to_play && found.to_play !== node.to_play) return; // a threat, which its answer shows
    analyses.set(found.node, found);
    if (!(node.analysis?.visits > found.visits)) {
      node.analysis = { visits: found.visits, winrate: found.winrate, lead: found.lead };
    }
    draw();
  },
  engine(now) {
    engine = now;
    draw();
  },
  networks(networks) {
    Object.assign(hello, networks);
    if (byId("level")) showLevels(hello, Number(byId("level").value), useNetwork);
    if (byId("networks")) settings();
  },
  problems: (problems) => {
    hello.problems = problems;
    layOut();
  },
  progress({ done, total }) {
    const bar = byId("dialog").querySelector("progress");
    if (bar && total) bar.value = done / total;
    say(`${t("fetch")}: ${[done, total].map((bytes) => (bytes / 1e6).toFixed(1)).join(" / ")} MB`);
  },
  clock({ clock }) {
    if (!game) return;
    [game.clock, game.clockAt] = [clock, performance.now()];
  },
  message({ texts, kind }) {
    if (kind === "error" && byId("dialog").querySelector("progress")) listeners.networks({}); // buttons again
    say(texts.map(({ key, values }) => t(key, values)).join(" "), kind);
  },
  lost: (why) => say(t(why), "error"),
};
const server = record ? null : new Server(listeners);

function take(fields) {
  const isSame = game?.id === fields.id, before = view;
  if (isSame) leaveComment();
  game = new Game(fields);
  game.clockAt = performance.now();
  if (!isSame) analyses.clear();
  [tried, awaited] = [null, null];
  [counted, threatened] = [null, null];
  document.title = game.name ? `${game.name} – Nobi` : "Nobi";
  view = null;
  go(isSame && game.node(before) ? before : game.at);
  layOut();
  if (!isSame) sayHowItStands();
}

/** What is said of a game, and which buttons it has, are others when this is another text. */
const standing = () =>
  [game.offer?.node, game.to_place, game.result, game.problem?.state, Boolean(game.count), isUntouched(), isPass(game.at)].join();

const isPass = (id) => game.node(id)?.colour > 0 && game.node(id).point === PASS;

/** Whether it is the board that Nobi starts with. */
const isUntouched = () => game.nodes.size === 1 && game.mode === "analyse" && !game.file;

/** Announce the engine's move. */
function heard(node) {
  if (node.colour !== game.person) byId("said").textContent = moveText(game, node);
}

/** Say what the game waits for, or how it has ended, in place of what was said and shown before. */
function sayHowItStands() {
  board.line(null);
  if (server && isUntouched()) say(t("welcome"), "info", [{ text: t("new_game"), act: newGame }]);
  else if (game.count && view === game.at) say(t("dead_hint"), "info", [{ text: t("agree"), act: () => ask("agree") }]);
  else if (game.to_place) say(t("place_stones", { n: game.to_place }));
  else if (game.offer) offer(game.offer);
  else if (game.problem) sayProblem(game.problem);
  else if (game.result) say(resultText(game.result));
  else say(isPass(view) ? moveText(game, game.node(view)) : "");
}

/** Say what a person's move lost, show the answer to it, and offer to take it back. */
function offer({ node, loss, refutation }) {
  const lost = t("lost_points", { move: game.vertex(game.node(node).point), n: loss.toFixed(1) });
  const answered = (name) => () => {
    board.line(null);
    ask(name);
  };
  say(`${lost} · ${t("take_back_offer")}`, "info", [
    { text: t("take_back"), act: answered("undo") },
    { text: t("go_on"), act: answered("go_on") },
  ]);
  const line = refutation.slice(0, LONGEST_LINE);
  requestAnimationFrame(() => view === node && board.line(line, opponent(game.node(node).colour))); // on a drawn board
}

/** Say what is asked, or how it was answered, and what can be done then. */
function sayProblem({ state, node, loss, days, best }) {
  const act = (name, what) => ({ text: t(name), act: () => ask("problem", { do: what }) });
  const again = act("try_again", "again"), show = act("show_answer", "show");
  const next = hello.problems.due ? [act("next_problem", "next")] : [];
  const toPlay = game.node(game.root).to_play, move = game.vertex(game.node(node)?.point ?? PASS);
  const answers = {
    open: () => say(t("problem_open", { side: side(toPlay) }), "info", [show]),
    right: () => say(`${t("problem_right")} ${t(days ? "problem_again" : "problem_known", { n: days })}`, "info", next),
    wrong: () => say(`${t("lost_points", { move, n: loss })} · ${t("problem_wrong")}`, "info", [again, show, ...next]),
    shown: () => {
      say(t("problem_shown"), "info", [again, ...next]);
      requestAnimationFrame(() => view === game.root && board.line(best.slice(0, LONGEST_LINE), toPlay)); // on a drawn board
    },
  };
  answers[state]();
}

async function ask(name, body = {}) {
  if (!server) return null;
  try {
    return await server.ask(name, body);
  } catch (error) {
    if (error.message) say(error.message, "error");
    return null;
  }
}

function say(text, kind = "info", actions = []) {
  const place = byId("message"), above = byId("dialog").open && byId("dialog").querySelector("p.error");
  if (above && kind === "error") above.textContent = text;
  place.className = kind;
  place.replaceChildren(text, ...actions.map((action) => el("button", { onclick: action.act }, action.text)));
}

// --- Where we look ------------------------------------------------------------------------------------------------

function go(id) {
  if (!game.node(id)) return;
  if (id === awaited) awaited = null;
  if (id === view) return;
  leaveComment();
  view = id;
  [tried, counted, threatened] = [null, null, null];
  board.line(null);
  game.choose(id);
  draw();
  look();
}

/** Go where the person wants to: what was said of the place before is over. */
function walk(id) {
  const isElsewhere = id !== view;
  go(id);
  if (isElsewhere) sayHowItStands();
}

/** Send a comment that is being written, while we still look at its node. */
function leaveComment() {
  byId("comment").querySelector("textarea")?.blur();
}

function step(by) {
  let id = view;
  for (let i = 0; i < Math.abs(by); i++) {
    const next = by < 0 ? game.node(id).parent : game.next(id);
    if (next === null || next === undefined) break;
    id = next;
  }
  walk(id);
}

/** Go to the next move of the line that lost much. */
function nextMistake() {
  const line = game.line(), from = line.indexOf(view) + 1;
  const found = [...line.slice(from), ...line.slice(0, from)].find((id) => game.loss(id) >= MISTAKE);
  if (found === undefined) say(reviewed(engine.values) || t("no_mistake"));
  else walk(found);
}

/** Go to the next variation at the nearest fork on the way here. */
function fork(by) {
  for (let node = game.node(view), depth = 0; node.parent !== null; node = game.node(node.parent), depth++) {
    const siblings = game.children(node.parent);
    if (siblings.length < 2) continue;
    let id = siblings[(siblings.indexOf(node.id) + by + siblings.length) % siblings.length];
    for (; depth > 0 && game.next(id) !== undefined; depth--) id = game.next(id);
    return walk(id);
  }
}

let isLooking = false, looksAgain = false;
/** Tell the server what is looked at; while it is being told, only the last place counts. */
async function look() {
  if (view === null || !server) return;
  looksAgain = true;
  if (isLooking) return;
  isLooking = true;
  while (looksAgain) {
    looksAgain = false;
    const body = { node: view, analyse: isAnalysed(), visits: options.cap, ownership: options.ownership, page: hello.page };
    await server.ask("look", body).catch(() => {}); // where the game has just changed, the next look is of the new one
  }
  isLooking = false;
}

/** Whether the position is to be analysed: not in a game that goes on, where it would tell the person what to play. */
const isAnalysed = () => options.analyse && !isContest() && !count();
const isContest = () => game.mode === "play" && game.person !== 0 && !game.result;

// --- What is done -------------------------------------------------------------------------------------------------

async function clicked(point, event = {}) {
  if (counted) return;
  if (count()) return ask("dead", { point });
  if (tool !== "play") return edit(point, event);
  await play(point);
}

let lastPlay = Promise.resolve();
/** Play where we look. A click that comes before the answer to the one before it waits for that. */
function play(point) {
  if (!server) return playInRecord(point);
  lastPlay = lastPlay.then(() => playNow(point));
  return lastPlay;
}

async function playNow(point) {
  const node = game.node(view);
  if (isContest() && view === game.at && node.to_play !== game.person) return;
  if (point !== PASS) {
    tried = game.tried(view, node.to_play, point);
    if (!tried) return say(t("illegal"), "error");
    board.stones(tried);
    board.candidates([]);
  }
  sayHowItStands();
  const answer = await ask("play", { node: node.id, point });
  if (answer?.node === undefined) {
    tried = null;
    return draw();
  }
  if (view === node.id) await follow(answer.node); // else the engine's answer was here first
}

/** Go to a node that an answer has named, once it has arrived. */
async function follow(node) {
  awaited = node;
  if (game.node(awaited)) go(awaited);
  else await new Promise((resolve) => ((arrived = resolve), setTimeout(resolve, PATIENCE_MS)));
}

/** Where nothing can be added, a click goes to the move that is there. */
function playInRecord(point) {
  const found = game.children(view).find((id) => game.node(id).point === point);
  if (found !== undefined) go(found);
}

const MARKS = { triangle: "△", square: "□", circle: "○", cross: "×", labels: "A" };
const SET = { black: "set_black", white: "set_white", empty: "set_empty" };

/** Set a stone or put a mark where we look; each click waits for the answer to the one before it. */
function edit(point, { shiftKey }) {
  const kind = tool;
  lastPlay = lastPlay.then(() => (SET[kind] ? setStone(kind, point, shiftKey) : putMark(kind, point)));
  return lastPlay;
}

async function setStone(chosen, point, isOther) {
  const kind = isOther && chosen !== "empty" ? (chosen === "black" ? "white" : "black") : chosen;
  const answer = await ask("edit", { node: view, setup: { black: [], white: [], empty: [], [kind]: [point] } });
  if (answer) await follow(answer.node);
}

async function putMark(kind, point) {
  const node = game.node(view), marks = structuredClone(node.marks ?? {});
  if (kind === "labels") {
    const labels = (marks.labels ??= {}), used = Object.values(labels);
    if (labels[point]) delete labels[point];
    else labels[point] = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].find((letter) => !used.includes(letter)) ?? "?";
  } else {
    const points = (marks[kind] ??= []);
    marks[kind] = points.includes(point) ? points.filter((each) => each !== point) : [...points, point];
  }
  node.marks = marks; // the next click may come before the server's event
  draw();
  await ask("edit", { node: view, marks });
}

function newGame() {
  askForGame(hello, options.last, async (answers) => {
    const { size, clockKind, main, period, periods, increment, isFree, ...terms } = answers;
    const clocks = {
      none: null,
      absolute: { main: 60 * main },
      byoyomi: { main: 60 * main, byo_seconds: period, periods },
      fischer: { main: 60 * main, increment },
    };
    await server.ask("new", { width: size, height: size, clock: clocks[clockKind], is_free: isFree, ...terms });
    set({ last: answers });
  }, useNetwork);
}

const useNetwork = (name) => server.ask("network", { name });

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
}

const openBytes = (name, bytes) => server.ask("open", { name, bytes: base64(bytes) });

/** Go on against the engine from what is looked at. */
async function playOn() {
  await ask("play_on", { node: view, level: game.mode === "play" ? null : options.last.level });
}

async function score() {
  const place = view, isCounted = () => view === game.at && game.count;
  const found = isCounted() ? null : await ask("score", { node: view });
  if (view === place) counted = isCounted() ? null : found;
  board.line(null);
  if (counted) say(t("as_it_is", { result: resultText(counted.result) }));
  layOut();
}

async function hint() {
  const best = (await ask("hint", { node: view }))?.moves?.[0];
  if (!best) return;
  if (best.point !== PASS) board.line([best.point], game.node(view).to_play);
  say(`${t("hint")}: ${best.point === PASS ? t("pass") : game.vertex(best.point)}`);
}

async function threat() {
  threatened = await ask("threat", { node: view });
  draw();
}

async function keptGames() {
  const games = (await ask("games"))?.games;
  if (!games) return;
  showGames(games, hello.levels, {
    open: (id) => server.ask("open_saved", { id }),
    remove: (id) => confirm(t("delete_sure")) && server.ask("delete_saved", { id }),
  });
}

async function problems() {
  const kept = await ask("problems");
  if (!kept) return;
  showProblems(kept, {
    solve: () => server.ask("problem"),
    find: () => ask("review", { problems: true }),
  });
}

function settings() {
  const change = (changes) => {
    const isTranslated = changes.language !== options.language;
    set(changes);
    if (!isTranslated) return;
    settings();
    byId("language").focus();
  };
  showSettings({ networks: [], ...hello, options }, { set: change, useNetwork });
}

// --- What is shown ------------------------------------------------------------------------------------------------

let isDrawing = false;
function draw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (game && game.node(view)) drawNow();
  });
}

function drawNow() {
  const node = game.node(view), shown = count(), isShown = !isContest() && !shown;
  const analysis = isShown ? (threatened ?? analyses.get(view) ?? node.analysis) : null;
  const toPlay = threatened?.to_play ?? node.to_play;
  const moves = analysis?.moves ? candidatesOf(analysis, toPlay) : [];
  const next = game.node(game.next(view))?.point ?? null;
  board.resize(game, (point) => pointText(game, view, point, moves));
  board.stones(tried ?? game.position(view), new Set(shown?.dead));
  const owners = options.ownership && analysis?.ownership;
  if (shown) board.ownership(shown.owner.map((owner) => [0, 1, -1, 0][owner]));
  else board.ownership(owners ? owners.map((value) => value / 100) : null);
  board.marks(marksOf(node));
  board.candidates(options.analyse && !tried ? moves : [], next);
  const thinks = isContest() && engine.state === "thinking" && game.node(game.at).to_play !== game.person;
  for (const [name, colour] of [["black-side", 1], ["white-side", 2]]) {
    showPlayer(byId(name), game, view, colour, hello.levels, thinks && colour !== game.person);
  }
  tick();
  showEngine(byId("engine"), thinks ? { state: "ready" } : engine, analysis, toPlay, options.perspective);
  if (shown) {
    showCount(byId("candidates"), shown, {
      agree: !counted && (() => ask("agree")),
      again: counted ? leaveCount : () => ask("undo"),
    });
  } else if (isShown && options.analyse) {
    showCandidates(byId("candidates"), game, moves, toPlay, options.perspective, next, {
      hover: hovered,
      play,
    });
  } else {
    byId("candidates").replaceChildren();
  }
  if (isShown) graph.show(game, view);
  else graph.place.hidden = true;
  tree.show(game, view);
  const bad = game.problem?.state === "wrong" ? game.node(game.problem.node) : isShown ? node : null;
  showCause(byId("cause"), bad?.cause, {
    shade: (area) => board.ownership(area ? shadedBy(area, bad.colour) : null),
    refute: (isOn) => board.line(isOn ? bad.cause.refutation : null, opponent(bad.colour)),
  });
  const area = byId("comment").querySelector("textarea");
  if (!server) byId("comment").textContent = node.comment ?? "";
  else if (area && document.activeElement !== area) area.value = node.comment ?? "";
}

/** An area as ownership: whose it is after the move that lost it. */
function shadedBy({ points, change }, colour) {
  const values = new Array(game.width * game.height).fill(0), owner = change > 0 === (colour === BLACK) ? 1 : -1;
  for (const point of points) values[point] = owner;
  return values;
}

function leaveCount() {
  counted = null;
  sayHowItStands();
  layOut();
  look();
}

function marksOf(node) {
  const marks = [];
  let at = node;
  for (let i = 0; i < DOTS && at && at.colour && !isContest(); i++, at = game.node(at.parent)) {
    const lost = game.loss(at.id);
    const stands = at.point !== PASS && game.position(view)[at.point] === at.colour;
    if (lost !== null && stands) marks.push({ point: at.point, kind: "dot", class: lossClass(lost) });
  }
  if (node.colour && node.point !== PASS) marks.push({ point: node.point, kind: "last" });
  for (const [kind, points] of Object.entries(node.marks ?? {})) {
    if (kind === "labels") {
      for (const [point, text] of Object.entries(points)) marks.push({ point: Number(point), kind: "label", text });
    } else {
      for (const point of points) marks.push({ point, kind });
    }
  }
  return marks;
}

function hovered(move) {
  board.line(move ? move.pv.slice(0, LONGEST_LINE) : null, threatened?.to_play ?? game.node(view).to_play);
}

function tick() {
  for (const colour of [1, 2]) showClock(byId(colour === 1 ? "black-side" : "white-side"), game, colour);
}

/** Make the buttons anew, as the language, the game or what goes on with it has changed. */
function layOut() {
  if (!game || !hello) return;
  leaveComment();
  const focused = document.activeElement, place = focused.closest("#bar, #tools, #comment");
  const button = (text, act, attributes = {}) => {
    const key = Object.keys(BUTTONS).find((each) => BUTTONS[each] === attributes.id);
    const keys = key ? { "aria-keyshortcuts": key, title: `${text} (${key})` } : {};
    return el("button", { type: "button", onclick: act, ...keys, ...attributes }, text);
  };
  const isPlay = isContest();
  byId("bar").replaceChildren(
    el("h1", {}, game.name || "Nobi"),
    ...(server
      ? [
          button(t("new_game"), newGame, { id: "new" }),
          button(t("open"), () => askForRecord(openBytes), { id: "open" }),
          button(t("games"), keptGames, { id: "games" }),
          button(t("problems") + (hello.problems.due ? ` (${hello.problems.due})` : ""), problems, { id: "problems" }),
          game.can_save ? button(t("save") + (game.unsaved ? " *" : ""), () => ask("save").then((answer) => answer && say(t("saved")))) : "",
          el("a", { class: "button", href: "/api/download", download: "" }, t("download")),
        ]
      : []),
    button(t("more"), settings, { id: "settings" }),
  );
  byId("tools").setAttribute("aria-label", t("options"));
  const toggle = (name, text, act, on) => button(text, act, { id: name, "aria-pressed": String(on) });
  const arrow = (name, d, act) =>
    button(svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d })), act, { "aria-label": t(name), title: t(name) });
  const undo = button(t("undo"), () => ask("undo"), { id: "undo" });
  byId("tools").replaceChildren(
    arrow("first", "M4 3v10M13 3L6 8l7 5z", () => walk(game.root)),
    arrow("back", "M12 3L4 8l8 5z", () => step(-1)),
    arrow("forward", "M4 3l8 5-8 5z", () => step(1)),
    arrow("last", "M12 3v10M3 3l7 5-7 5z", () => step(10000)),
    ...(isPlay
      ? [
          button(t("pass"), () => play(PASS), { id: "pass" }),
          undo,
          game.problem?.state === "open" ? "" : button(t("hint"), hint, { id: "hint" }),
          game.problem ? "" : button(t("resign"), resign, { id: "resign" }),
        ]
      : [
          toggle("analyse", t("analyse"), () => set({ analyse: !options.analyse }), options.analyse),
          toggle("ownership", t("ownership"), () => set({ ownership: !options.ownership }), options.ownership),
          button(t("mistake"), nextMistake, { id: "mistake" }),
          server && button(t("review"), () => ask("review"), { id: "review" }),
          server && button(t("play_on"), playOn, { id: "play-on" }),
          server && game.mode === "play" && undo,
          server && button(t("pass"), () => play(PASS), { id: "pass" }),
          server && button(t("threat"), threat, { id: "threat" }),
        ].filter(Boolean)),
    ...(server ? [button(t("score"), score, { id: "score" })] : []),
  );
  buttonsOfEditing(button, isPlay);
  if (isPlay) tool = "play";
  // Who uses the keyboard stays on the button that was pressed.
  const isIt = (each) => each.textContent === focused.textContent && each.title === focused.title;
  [...(place?.querySelectorAll("button") ?? [])].find(isIt)?.focus();
  draw();
}

function buttonsOfEditing(button, isPlay) {
  const tools = [["play", t("place")], ...Object.entries(SET).map(([kind, name]) => [kind, t(name)])];
  tools.push(...Object.entries(MARKS));
  if (!server) return;
  byId("comment").replaceChildren(
    ...(isPlay
      ? []
      : [
          el("h2", {}, t("edit")),
          el("div", { class: "row" }, tools.map(([kind, text]) =>
            button(text, () => ((tool = kind), layOut()), { "aria-pressed": String(tool === kind) }))),
          el("div", { class: "row" },
            button(t("main_line"), () => ask("edit", { node: view, promote: true })),
            button(t("delete_branch"), deleteBranch)),
          el("textarea", {
            "aria-label": t("comment"), placeholder: t("comment"),
            onchange: (event) => ask("edit", { node: view, comment: event.target.value }),
          }),
        ]),
  );
}

/** Delete what is looked at and all that follows, if that is meant where it is much. */
function deleteBranch() {
  if (view === game.root) return say(t("beginning_stays"), "error");
  const n = game.below(view);
  if (n <= FEW || confirm(t("delete_moves_sure", { n }))) ask("edit", { node: view, delete: true });
}

function resign() {
  showDialog(t("resign"), el("p", {}, t("resign_sure")), { action: t("resign"), submit: () => server.ask("resign") });
}

// --- Keys, dropped and pasted records -----------------------------------------------------------------------------

const KEYS = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), PageUp: () => step(-10), PageDown: () => step(10),
  Home: () => walk(game.root), End: () => step(10000), ArrowUp: () => fork(-1), ArrowDown: () => fork(1),
};
/** The buttons that keys press. */
const BUTTONS = { a: "analyse", o: "ownership", p: "pass", u: "undo", h: "hint", n: "new", s: "score", m: "mistake" };

addEventListener("keydown", (event) => {
  if (!game || byId("dialog").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("textarea, input, select")) return;
  const act = KEYS[event.key] ?? (byId(BUTTONS[event.key]) && (() => byId(BUTTONS[event.key]).click()));
  if (!act) return;
  event.preventDefault();
  act();
});

if (server) {
  const openDropped = (name, bytes) =>
    openBytes(name, bytes).then(() => byId("dialog").close(), (error) => say(error.message, "error"));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    const bytes = file ? new Uint8Array(await file.arrayBuffer()) : new TextEncoder().encode(event.dataTransfer.getData("text"));
    openDropped(file?.name ?? "", bytes);
  });
  addEventListener("paste", (event) => {
    if (event.target.closest?.("textarea, input")) return;
    const text = event.clipboardData.getData("text");
    if (text.includes("(;")) openDropped("", new TextEncoder().encode(text));
  });
}

const board = new Board(byId("board"), {
  play: clicked,
  hover: hovered,
  step: (by) => game && step(by),
  isPlaying: () => tool === "play" && !count(),
  tapped: (point) => say(t("tap_again", { point: game.vertex(point) }), "info", [{ text: t("place"), act: () => play(point) }]),
  pointed: (text) => (byId("said").textContent = text),
});
const graph = new Graph(byId("graph"), walk);
const tree = new Tree(byId("tree"), walk);
setInterval(() => game?.clock?.running && tick(), 250);
set({});
if (record) listeners.hello({ ...JSON.parse(record.textContent), engine: { state: "ready", values: {} }, levels: [] });
