// Sabaki's own GTP library against `nobi gtp`, with Sabaki's sequences: start, sync, analysis, abort, move, stop.
// node sabaki_client.js NOBI VISITS FOLDER, where FOLDER has npm's @sabaki/gtp and @sabaki/go-board.
'use strict'

const path = require('path')
const {createRequire} = require('module')

const [nobi, visits, folder] = process.argv.slice(2)
const fromFolder = createRequire(path.join(path.resolve(folder), 'package.json'))
const {Controller, ControllerStateTracker} = fromFolder('@sabaki/gtp')
const {fromDimensions} = fromFolder('@sabaki/go-board')

let failed = 0
const check = (text, isRight) => {
  failed += isRight ? 0 : 1
  console.log(`${isRight ? 'ok  ' : 'FAIL'} Sabaki: ${text}`)
}

const play = words => words.split(' ').map((word, i) => ({name: 'play', args: ['BW'[i % 2], word]}))

async function main() {
  const controller = new Controller(nobi, ['gtp', '--visits', visits])
  const tracker = new ControllerStateTracker(controller)
  const stderr = []
  controller.on('stderr', ({content}) => stderr.push(content))
  const send = (name, ...args) => controller.sendCommand({name, args: args.map(String)})
  const syncs = async (text, state) => {
    let error = null
    await tracker.sync({komi: 6.5, boardsize: [9, 9], ...state}).catch(reason => (error = reason))
    check(error == null ? text : `${text}: ${error.message}`, error == null)
  }

  controller.start()
  const first = await Promise.all(['name', 'version', 'protocol_version', 'list_commands'].map(name => send(name)))
  check('four commands at once, four answers', first.every(answer => !answer.error && answer.content !== ''))
  const commands = first[3].content.split('\n')
  const prefer = names => names.find(name => commands.includes(name))
  check('its analysis', prefer(['analyze', 'kata-analyze', 'lz-analyze']) === 'kata-analyze')
  check('its moves', prefer(['genmove_analyze', 'kata-genmove_analyze', 'lz-genmove_analyze']) === 'kata-genmove_analyze')

  await syncs('an empty board', {history: []})
  await syncs('moves', {history: play('E5 C3 G7 D6')})
  await syncs('the same again', {history: play('E5 C3 G7 D6')})
  await syncs('two moves back and one forth, by undo', {history: play('E5 C3 F7')})
  await syncs('another komi', {komi: 0, history: play('E5 C3 F7')})
  await syncs('handicap stones', {history: [{name: 'set_free_handicap', args: ['C3', 'G7']}, {name: 'play', args: ['W', 'E5']}]})
  await syncs('a rectangle', {boardsize: [9, 13], history: play('A1 J13 pass A2')})
  await syncs('a ko that is retaken at once', {history: play('D4 E4 C5 F5 D6 E6 E5 D5 E5 D5')})
  await syncs('suicide of several stones', {history: play('A2 A3 B1 B2 J9 C1 A1 J8')})
  await syncs('moves after two passes', {history: play('E5 pass pass E6')})
  await syncs('one colour several times', {history: ['C3', 'C4', 'C5'].map(at => ({name: 'play', args: ['B', at]}))})
  await syncs('19x19', {boardsize: [19, 19], history: play('Q16 D4 Q4 D16')})

  const board = fromDimensions(19, 19)
  let lines = []
  const analysis = controller.sendCommand({name: 'kata-analyze', args: ['B', '50']}, ({line}) => lines.push(line))
  while (!lines.some(line => line.startsWith('info '))) await new Promise(resolve => setTimeout(resolve, 20))
  const asked = Date.now()
  check('an abort is answered', (await send('protocol_version')).content === '2')
  await analysis
  check(`and ends the analysis within a second (${Date.now() - asked} ms)`, Date.now() - asked < 1000)
  const segments = lines.find(line => line.startsWith('info ')).split(/\s*info\s+/).slice(1)
  const variations = segments.map(segment => {
    const at = segment.search(/ pv /)
    const words = segment.slice(0, at).split(/\s+/)
    const fields = {}
    for (let i = 0; i + 1 < words.length; i += 2) fields[words[i]] = words[i + 1]
    return {...fields, pv: segment.slice(at + 4).trim().split(/\s+/)}
  })
  check('candidates on the board', variations.every(({move}) => move === 'pass' || board.has(board.parseVertex(move))))
  check('winrates between 0 and 1', variations.every(({winrate}) => winrate > 0 && winrate < 1))
  check('paths of moves only', variations.every(({pv}) => pv.every(word => /^(pass|[A-T]\d+)$/.test(word))))

  lines = []
  await controller.sendCommand({name: 'kata-genmove_analyze', args: ['B', '50']}, ({line}) => lines.push(line))
  check('a move with analysis', lines.some(line => /^play ([A-T]\d+|pass|resign)$/.test(line.trim())))
  await new Promise(resolve => setTimeout(resolve, 50))
  check('the library knows the move', tracker.state.history.length === 5)
  const move = await tracker.queueCommand({name: 'genmove', args: ['W']})
  check('a plain move', /^([A-T]\d+|pass|resign)$/.test(move.content))
  const both = [send('genmove', 'B'), send('protocol_version')]
  const [moved, aborted] = await Promise.all(both)
  check('an abort during a move: both are answered', !moved.error && aborted.content === '2')
  check('an unknown command is an error', (await send('nonsense')).error)

  const stopping = Date.now()
  await controller.stop()
  check(`quit ends it (${Date.now() - stopping} ms)`, Date.now() - stopping < 3000)
  check('stderr has only lines of ours', stderr.filter(line => line.trim()).every(line => line.startsWith('nobi: ')))
  process.exit(failed > 0 ? 1 : 0)
}

main().catch(error => {
  console.log(`FAIL Sabaki: ${error.stack.split('\n').slice(0, 2).join(' ')}`)
  process.exit(1)
})
