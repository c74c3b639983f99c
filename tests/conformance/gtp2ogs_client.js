// gtp2ogs's own Bot and PvOutputParser against `nobi gtp`, without OGS: every time system, handicap, chat.
// node gtp2ogs_client.js NOBI VISITS FOLDER CHECKOUT, where FOLDER has npm's typescript, split2 and eventemitter3.
'use strict'

const fs = require('fs')
const path = require('path')
const {createRequire} = require('module')

const [nobi, visits, folder, checkout] = process.argv.slice(2)
const fromFolder = createRequire(path.join(path.resolve(folder), 'package.json'))
const typescript = fromFolder('typescript')

let failed = 0
const check = (text, isRight) => {
  failed += isRight ? 0 : 1
  console.log(`${isRight ? 'ok  ' : 'FAIL'} gtp2ogs: ${text}`)
}

// What Bot.ts imports of the rest of the bridge, which would connect to the server.
const problems = []
const silent = () => {}
const trace = {log: silent, info: silent, trace: silent, debug: silent, warn: (...words) => problems.push(words.join(' '))}
trace.error = trace.warn
const letters = 'abcdefghijklmnopqrstuvwxyz'
const known = {
  './trace': {trace},
  './util': {ignore_promise: promise => promise.catch(silent)},
  './config': {config: {showboard: true}},
  './socket': {socket: {clock_drift: 0}},
  './types': {},
  './Game': {},
  'goban-engine': {
    decodeMoves: moves => (moves || []).map(([x, y]) => ({x, y})),
    num2char: number => letters[number],
    char2num: letter => letters.indexOf(letter)
  }
}

function load(name) {
  const source = fs.readFileSync(path.join(checkout, 'src', `${name}.ts`), 'utf8')
  const options = {module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2020}
  const {outputText} = typescript.transpileModule(source, {compilerOptions: options})
  const module = {exports: {}}
  const find = wanted => known[wanted] || (wanted.startsWith('.') ? load(path.basename(wanted)) : builtin(wanted))
  new Function('require', 'module', 'exports', outputText)(find, module, module.exports)
  return module.exports
}

const builtin = name => {
  try {
    return require(name)
  } catch (error) {
    return fromFolder(name)
  }
}

const ME = 1
const OTHER = 2
const time = fields => ({thinking_time: 0, periods: 0, period_time: 0, moves_left: 0, block_time: 0, ...fields})
const SYSTEMS = {
  'byo-yomi, main time': [
    {system: 'byoyomi', main_time: 600, period_time: 30, periods: 5},
    time({thinking_time: 500, periods: 5, period_time: 30})
  ],
  'byo-yomi, overtime': [
    {system: 'byoyomi', main_time: 600, period_time: 30, periods: 5},
    time({periods: 2, period_time: 30})
  ],
  'Canadian, main time': [
    {system: 'canadian', main_time: 600, period_time: 300, stones_per_period: 10},
    time({thinking_time: 400, moves_left: 10, block_time: 300})
  ],
  'Canadian, overtime': [
    {system: 'canadian', main_time: 600, period_time: 300, stones_per_period: 10},
    time({moves_left: 4, block_time: 100})
  ],
  Fischer: [
    {system: 'fischer', initial_time: 120, time_increment: 30, max_time: 300},
    time({thinking_time: 100})
  ],
  'Fischer over days': [
    {system: 'fischer', initial_time: 259200, time_increment: 86400, max_time: 604800},
    time({thinking_time: 200000})
  ],
  simple: [{system: 'simple', per_move: 60}, time({})],
  absolute: [{system: 'absolute', total_time: 900}, time({thinking_time: 700})],
  none: [{system: 'none'}, time({})]
}

function state(system, moves, more = {}) {
  const [control, left] = SYSTEMS[system]
  const clock = {current_player: ME, black_player_id: ME, white_player_id: OTHER, last_move: Date.now() - 1500}
  return {
    ...{game_id: 1, width: 9, height: 9, komi: 6.5, initial_player: 'black', handicap: 0, moves},
    ...{free_handicap_placement: false, time_control: control, clock: {...clock, black_time: left, white_time: left}},
    ...more
  }
}

async function main() {
  const {Bot} = load('Bot')
  const config = {manager: 'distributed', enable_clock: true, send_chats: true, quit_grace_period: 5000}
  const bot = new Bot({...config, command: [nobi, 'gtp', '--visits', visits, '--set', 'ogs_chat=true']})
  const chats = []
  const variations = []
  bot.on('chat', message => chats.push(message))
  await bot.ready
  check('it lists its commands', bot.available_commands['kata-time_settings'] && bot.available_commands['kgs-time_settings'])
  const game = {processing: true, my_color: 'black', state: {moves: [], height: 9}}
  game.sendChat = message => variations.push(message)
  bot.setGame(game)

  let asked = 0
  const isOnBoard = ({x, y, pass, resign}) => pass || resign || (x >= 0 && x < 9 && y >= 0 && y < 9)
  const move = async (text, position, size = 9, kgs = true) => {
    await bot.loadState(position)
    bot.kgs_time = bot.kgs_time && kgs
    bot.kata_fischer = bot.kata_fischer && kgs
    const moves = await bot.getMoves('genmove black', position)
    asked += 1
    check(text, moves.length === 1 && (size > 9 || isOnBoard(moves[0])) && !bot.failed)
    bot.failed = false
  }
  for (const system of Object.keys(SYSTEMS)) {
    await move(`a move, time: ${system}`, state(system, [[4, 4], [2, 6]]))
    await move(`a move, time: ${system}, in words of GTP only`, state(system, [[4, 4], [2, 6]]), 9, false)
  }
  const repeated = [[3, 5], [4, 5], [2, 4], [5, 4], [3, 3], [4, 3], [4, 4], [3, 4], [4, 4], [3, 4]]
  await move('a game with a repetition', state('none', repeated))
  await move('a rectangle', state('none', [[0, 12], [8, 0]], {height: 13}), 13)
  await move('two passes are behind it', state('none', [[4, 4], [2, 6], [-1, -1], [-1, -1]]))
  await move('an initial position', state('none', [], {initial_state: {black: [[2, 2], [6, 6]], white: [[4, 4]]}}))
  const stones = state('none', [[2, 2], [6, 6], [4, 4]], {handicap: 2, free_handicap_placement: true})
  await bot.loadState(stones)
  check('handicap stones of the opponent', !bot.failed)
  const empty = state('none', [], {handicap: 3, free_handicap_placement: true})
  await bot.loadState(empty)
  const placed = await bot.getMoves('place_free_handicap 3', empty)
  check('handicap stones of ours', placed.length === 3 && placed.every(isOnBoard))
  await new Promise(resolve => setTimeout(resolve, 200))
  check(`its parser finds a variation for every move (${variations.length} of ${asked})`, variations.length === asked)
  check('with a winrate', variations.every(({engine_analysis: {win_rate}}) => win_rate >= 0 && win_rate <= 100))
  check('with visits', variations.every(({engine_analysis: found}) => found.visits > 0))
  check('with moves of two letters', variations.every(({moves}) => /^([a-z.]{2})+$/.test(moves)))
  check('nothing else goes to the chat', chats.length === 0)
  check(`nothing that it complains of: ${problems.slice(0, 3)}`, problems.length === 0)
  const ended = new Promise(resolve => bot.on('terminated', resolve))
  const stopping = Date.now()
  bot.kill()
  await ended
  check(`it ends when told (${Date.now() - stopping} ms)`, Date.now() - stopping < 5000)
  process.exit(failed > 0 ? 1 : 0)
}

main().catch(error => {
  console.log(`FAIL gtp2ogs: ${(error.stack || String(error)).split('\n').slice(0, 2).join(' ')}`)
  process.exit(1)
})
