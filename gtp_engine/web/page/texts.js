// What the page says, in the languages of those who play Go. Each text: English, 中文, 日本語, 한국어.

const LANGUAGES = ["en", "zh", "ja", "ko"];
export const LANGUAGE_NAMES = { en: "English", zh: "中文", ja: "日本語", ko: "한국어" };

const TEXTS = {
  agree: ["Count", "确认计分", "整地する", "계가"],
  ai_thinks: ["Nobi is thinking", "Nobi 正在思考", "Nobi が考えています", "Nobi가 생각 중"],
  again: ["Back to the game", "继续对局", "対局に戻る", "대국으로 돌아가기"],
  analyse: ["Analyse", "分析", "解析", "분석"],
  area: ["Area", "区域", "範囲", "영역"],
  at_hand: ["at hand", "已安装", "導入済み", "설치됨"],
  back: ["Back", "后退", "戻る", "뒤로"],
  best: ["best", "最佳", "最善", "최선"],
  black: ["Black", "黑", "黒", "흑"],
  black_area: ["Black's area", "黑方地盘", "黒の地", "흑집"],
  board: ["Go board, {size}", "棋盘，{size}", "碁盤、{size}", "바둑판, {size}"],
  bonus: ["by the rules", "规则调整", "ルールによる加減", "규칙 보정"],
  cancel: ["Cancel", "取消", "キャンセル", "취소"],
  candidates: ["Candidates", "候选点", "候補手", "후보수"],
  captured: ["captured {n}", "提子 {n}", "アゲハマ {n}", "사석 {n}"],
  clock: ["Clock", "棋钟", "持ち時間", "시계"],
  clock_absolute: ["Main time only", "包干", "切れ負け", "시간패"],
  clock_byoyomi: ["Byo-yomi", "读秒", "秒読み", "초읽기"],
  clock_fischer: ["Fischer", "加秒", "フィッシャー", "피셔"],
  clock_none: ["No clock", "不计时", "なし", "없음"],
  close: ["Close", "关闭", "閉じる", "닫기"],
  colour_of_mine: ["I play", "我执", "手番", "내 돌"],
  comment: ["Comment", "注释", "コメント", "해설"],
  dead_hint: [
    "Click groups that are dead, or alive after all.",
    "点击死棋（再点一次恢复）。",
    "死に石をクリックしてください（もう一度で取り消し）。",
    "죽은 돌을 누르세요(다시 누르면 되돌립니다).",
  ],
  delete: ["Delete", "删除", "削除", "삭제"],
  delete_branch: ["Delete from here", "删除此后着法", "ここから削除", "여기부터 삭제"],
  download: ["Download SGF", "下载 SGF", "SGF を保存", "SGF 내려받기"],
  drop_here: ["Paste or drop an SGF file here.", "在此粘贴或拖入 SGF。", "SGF を貼り付けるかドロップ。", "SGF를 붙여넣거나 끌어놓으세요."],
  edit: ["Edit", "编辑", "編集", "편집"],
  engine_compiling: [
    "Nobi is compiling itself for this processor, once ({text})",
    "Nobi 正在为本机处理器编译（仅一次，{text}）",
    "このプロセッサ用にコンパイル中です（初回のみ、{text}）",
    "이 프로세서용으로 컴파일 중(한 번만, {text})",
  ],
  engine_failed: ["The engine has failed: {text}", "引擎出错：{text}", "エンジンの異常：{text}", "엔진 오류: {text}"],
  engine_loading: ["Loading the network", "正在载入网络", "ネットワークを読込中", "신경망을 불러오는 중"],
  fetch: ["Fetch", "下载", "取得", "받기"],
  first: ["First", "开头", "最初", "처음"],
  forward: ["Forward", "前进", "進む", "앞으로"],
  games: ["My games", "我的棋局", "自分の棋譜", "내 기보"],
  go_on: ["Go on", "继续", "続ける", "계속"],
  handicap: ["Handicap", "让子", "置石", "접바둑"],
  hint: ["Hint", "提示", "ヒント", "힌트"],
  illegal: ["Not allowed there", "此处不能下", "そこには打てません", "그곳에 둘 수 없습니다"],
  kept: ["Every game is kept here after each move.", "每步之后自动保存。", "一手ごとに自動保存されます。", "매 수마다 자동 저장됩니다."],
  keys: ["Keys", "快捷键", "キー", "단축키"],
  komi: ["Komi", "贴目", "コミ", "덤"],
  komi_usual: ["usual", "惯例", "標準", "기본"],
  label_marks: ["Letters", "字母", "文字", "문자"],
  language: ["Language", "语言", "言語", "언어"],
  last: ["Last", "末尾", "最後", "마지막"],
  lead: ["Lead", "领先目数", "目数差", "집 차이"],
  level: ["Level", "级别", "強さ", "레벨"],
  limit: ["Offer a take-back from a loss of", "损失达到此目数时可悔棋", "この損失以上で待ったを提案", "이만큼 손해면 무르기 제안"],
  look_only: ["Both sides", "双方自己下", "両方自分", "양쪽 모두"],
  lost_connection: ["Nobi does not answer; trying again", "Nobi 无响应，重试中", "Nobi が応答しません。再接続中", "Nobi가 응답하지 않습니다. 재시도 중"],
  lost_points: ["{move} lost {n} points", "{move} 损失 {n} 目", "{move} は {n} 目の損", "{move}: {n}집 손해"],
  main_line: ["Make main line", "设为主变", "本譜にする", "주 변화로"],
  main_time: ["Main time (minutes)", "基本用时（分）", "持ち時間（分）", "기본 시간(분)"],
  marks: ["Marks", "标记", "記号", "표시"],
  mistake: ["Next mistake", "下一个失误", "次の悪手", "다음 실수"],
  more: ["Settings", "设置", "設定", "설정"],
  move: ["Move {n}", "第 {n} 手", "{n} 手目", "{n}수"],
  moves: ["Moves", "手数", "手数", "수"],
  network: ["Network", "网络", "ネットワーク", "신경망"],
  new_game: ["New game", "新对局", "新規対局", "새 대국"],
  no_candidates: ["Nothing analysed here yet.", "尚未分析。", "未解析です。", "아직 분석하지 않았습니다."],
  open: ["Open", "打开", "開く", "열기"],
  opponent: ["Opponent", "对手", "相手", "상대"],
  options: ["View", "显示", "表示", "보기"],
  ownership: ["Territory", "形势", "地の予測", "집 예측"],
  pass: ["Pass", "停一手", "パス", "패스"],
  passed: ["{side} passes", "{side}停一手", "{side}がパス", "{side} 패스"],
  period: ["Period (seconds)", "每次读秒（秒）", "秒読み（秒）", "초읽기(초)"],
  periods: ["Periods", "读秒次数", "秒読み回数", "초읽기 횟수"],
  increment: ["Increment (seconds)", "每步加秒", "加算（秒）", "가산(초)"],
  perspective: ["Figures for", "数字视角", "数値の視点", "수치 기준"],
  play_here: ["Play", "对局", "対局", "대국"],
  play_on: ["Play from here", "从此处对局", "ここから対局", "여기서 대국"],
  played: ["{side} {point}", "{side} {point}", "{side} {point}", "{side} {point}"],
  policy: ["First guess", "直觉", "第一感", "첫 느낌"],
  points_n: ["{n} points", "{n} 目", "{n} 目", "{n}집"],
  prisoners: ["prisoners", "提子", "アゲハマ", "사석"],
  refutation: ["The answer", "对方应手", "相手の応手", "상대의 응수"],
  resign: ["Resign", "认输", "投了", "기권"],
  resign_sure: ["Resign this game?", "确定认输？", "投了しますか？", "기권하시겠습니까?"],
  result: ["Result: {text}", "结果：{text}", "結果：{text}", "결과: {text}"],
  review: ["Review the game", "复盘全局", "一局を検討", "전체 복기"],
  reviewing: ["Reviewing {text}", "复盘中 {text}", "検討中 {text}", "복기 중 {text}"],
  rules: ["Rules", "规则", "ルール", "규칙"],
  save: ["Save", "保存", "上書き保存", "저장"],
  saved: ["Saved.", "已保存。", "保存しました。", "저장했습니다."],
  score: ["Score", "点目", "形勢", "계가"],
  set_black: ["Set black", "放黑子", "黒を置く", "흑돌 놓기"],
  set_empty: ["Remove", "移除", "取り除く", "돌 제거"],
  set_white: ["Set white", "放白子", "白を置く", "백돌 놓기"],
  side_to_move: ["side to move", "行棋方", "手番側", "둘 차례"],
  size: ["Board", "棋盘", "碁盤", "판 크기"],
  start: ["Start", "开始", "開始", "시작"],
  stones: ["stones", "子数", "石", "돌"],
  take_back: ["Take back", "悔棋", "待った", "무르기"],
  take_back_offer: ["Take it back?", "要悔棋吗？", "待ったしますか？", "무르시겠습니까?"],
  teaching: ["Teaching game: say what a move lost", "指导棋：指出损失", "指導碁：損失を表示", "지도 대국: 손해 표시"],
  territory: ["territory", "地", "地", "집"],
  theme: ["Colours", "外观", "配色", "화면"],
  theme_auto: ["as the system", "跟随系统", "システム", "시스템"],
  theme_dark: ["dark", "深色", "ダーク", "어둡게"],
  theme_light: ["light", "浅色", "ライト", "밝게"],
  threat: ["What would the other side play?", "对方会下哪里？", "相手番なら？", "상대 차례라면?"],
  to_play: ["{side} to play", "轮到{side}", "{side}番", "{side} 차례"],
  total: ["total", "合计", "合計", "합계"],
  undo: ["Undo", "撤回", "待った", "무르기"],
  variations: ["Moves", "着手", "手順", "수순"],
  visits: ["Visits", "计算量", "探索数", "탐색"],
  visits_cap: ["Stop after so many visits", "计算量上限", "探索数の上限", "탐색 상한"],
  white: ["White", "白", "白", "백"],
  winrate: ["Winrate", "胜率", "勝率", "승률"],
  you: ["You", "你", "あなた", "나"],
};

let chosen = 0;

/** Choose a language by its code, or that of the browser. Returns its code. */
export function chooseLanguage(code) {
  const wanted = code ? [code] : navigator.languages.map((each) => each.slice(0, 2).toLowerCase());
  chosen = Math.max(0, LANGUAGES.indexOf(wanted.find((each) => LANGUAGES.includes(each))));
  document.documentElement.lang = ["en", "zh-Hans", "ja", "ko"][chosen];
  return LANGUAGES[chosen];
}

/** The code of the language that was chosen. */
export const language = () => LANGUAGES[chosen];

/** The text of this name, with `{name}` replaced by values. */
export function t(name, values = {}) {
  return TEXTS[name][chosen].replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

/** "Black" or "White". */
export const side = (colour) => t(colour === 1 ? "black" : "white");
