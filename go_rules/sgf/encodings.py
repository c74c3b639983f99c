"""What the bytes of an SGF file mean, decided in one place.

Few files say truly in which encoding their texts are: CA is missing, or a program always writes the same. So each
encoding is judged by the characters that it makes of the texts: how likely they are in names of players and in talk
about Go. The tables of usual characters and of surnames were written for this, from general knowledge.
"""

from __future__ import annotations

import codecs
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

# --- Languages ----------------------------------------------------------------------------------------------------

_HAN_SURNAMES = (
    "王李周徐朱胡高林何郭梁宋唐于董程曹袁傅沈曾彭蔡丁魏薛余潘杜戴夏汪田任姜范方石姚廖熊金郝孔白崔康毛邱秦江史侯邵孟段雷"
    "尹黎易常武樊殷施陶洪翟安倪牛季俞章葛伍申尤焦向柳邢岳梅辛管祝左涂谷舒耿牟卜路詹苗凌靳盛童甄曲成游裴席查屈霍翁隋甘景"
    "包司柏柯阮桂古元丘冉芮辜岑房解应庾褚桑竺邹藺慕上諸张刘陈杨黄赵吴孙马罗郑谢韩冯萧邓许吕苏卢蒋贾叶阎钟谭陆顾龙万钱汤"
    "乔贺赖龚庞颜严温鲁韦毕聂丛骆齐庄时关费纪欧项阳卫鲍单宁闵连党华肖闫楼简蓝蒙边邬诸祁芦佟兰车郁娄谈储張劉陳楊黃趙吳孫"
    "馬羅鄭謝韓馮蕭鄧許呂蘇盧蔣賈葉閻鍾譚鄒陸顧龍萬錢湯喬賀賴龔龐顏嚴溫魯韋畢聶駱齊莊時關費紀歐項陽衛鮑單寧閔連華簡藍邊"
    "塗巫卓紅池鐘朴卞睦南玄尚"
)
_HAN = (
    "一二三四五六七八九十大小中上下天地人子女心手目水火木金土日月星山川江河海雨雪花草竹梅春夏秋冬南北西東青白黑紅朱明光"
    "元正文武平和安志永生成力公士王玉英秀芳美佳欣怡宇宏家嘉君俊晨昊皓浩波洋清洪涵源泉洁丹妍婷娜琳琪瑞璇瑜珍珠琴敏敬新旭"
    "昌昕昱晴景智晶暉曉思恩恆恒惠慧念忠信仁孝良善立健伟傑杰仲伯仙以任何佑作保偉儒克冠凡凱刚勇勝千卓卿原友古可台吉名向品"
    "哲唐商喜國坤城堂培基境壽夢奇奎如妮姿宜宗定宣宸宥容富寶少尚展屏岩岳峰崇崔左巧帆帝常年幸庭康建廷弘強彤彦彬彭彰影德必"
    "怀悦情惟愷慈承才振捷揚斌方旦早旺易昆映昭柏柔柱根栋桐桓梓棋森楠楷榕樂樹毅民汉沁沛泰津洲浚涛淑淳淵深添渝湘漢潔潤澄澤"
    "熙燕燦爽牧特狄玄玲珊珂理瑋環璋甫用男申畅登皇益盛真睦瞳知石碧祖祥福禄禹科秦程穎童竣章笑筠管素紫維縱羊羽羿翊翔翰耀聖"
    "聰肇育胤能臣自舒航芝芬若茂茹荃荣莉莎莲菁菲萍葉蓉蔚蕙蕾薇虎虹行裕言詠誠諾謙貝貞貴賢赫超越路軒辰迪通道遠邦郁都里重野"
    "量鈞銘鋒錦鎮長開陽雁雄雅雙雯震霄霆霖霞非音韻頌風飛香駿高魁鳳鴻鵬麗麟黎默鼎龍龐奕烨煜炜炎烈焕然煌牛犬丰乃乔之也书予"
    "云井亚交亦京亨仪优会伍伦传佐佩依修倩倫偲允兆先全共兰其典冰凌分初利加务动化半升卫即又双发受变叶同吾员味命哥唯喻在坚"
    "型堅壁多太夕夜失好妹姐委学孩宁守完官实宝密寒对将尔尧局巅巴师席并幻广应底店度弈弟当彩往得徐微快怒怪恋息悟惊愁愚意感"
    "慎戏战打找抱拉拳持按探教敌敢散數斯断无既时昔晚曲有望朝未末本朵来果枫某染查标树校格梦棒榮樵次止此步死残每比毫求沙没"
    "法注泡流浪浮消淡游湖满滴漫潇濠烟焰熊燃片牌物狂狐狗狼猫率现球田由电画界番疯百的皮盈相看眼睡砂破碎社神离私种空窗笔笨"
    "等算粉精糖红级纯线经绝维缘罗老者而聊联肥胖至舞色艺节苍苏茶荷菜落著蓝藏血衣被要见觉解训记话请谁谈负贫赛走起跑跳身车"
    "转轻输过运近还进迷追送退逍适逐造遇運遥那邪部采釋针钓铁银错锋长门闲间闻阿陌限院陪随隐难零雷霜静面頭风飘食马骑骨鬼魂"
    "魔鱼鸟鸣鹤鹰鹿麻龙杯盘段胜贴届第决职业余围圣坊因挑轮国园寿专岛带帮厂强从复爱态庆忆择据扬损摇扑击数旧晋晓晖东极乐桥"
    "机权欢岁归杀气泪净渊汤温灭润潜泽济湾为热灯营争独猎奖狮兽环产毕尽众础礼禅称颖稳穷窦范简粮纪约纳纸细终组结给统绿纲网"
    "绪编纬纵总绩继续罢义习聪声听肃脑脸临兴举艳药处虚号蝶装规视亲观计许诗该详诚语说课调论谋谦讲证识誉读让财贡贵买费贺宾"
    "贤赖赢赶迹跃军轩软载辉办农这连达远迟选遗边邮乡医释钧铃铜铭锐钢录钱锦键镇镜钟鑫开闪阁关阵陈阴阳队阶际险只杂鸡灵顶项"
    "顺须颂预领头题愿类飞馆骏体斗鲜凤鸿鹏丽麦么黄点龟与们个侠俩仅价亿儿两册划剧刘创劲劳势励区协单卖吗吓启团报场块伙妈孙"
    "宫层冈几后忧悬户扫挥拨拥齐旗历弃杨枪楼朴殴毁污冲渔渐洒爷状玮玛琼异盗矫码祸御税谷竞篮纷丝翘脚献蒋萨蚂蛮睿铄钰铮镔锴"
    "骁骐骋颢颐韬鸢莺芊芷苒苡茗茜荟莞菡蓓蔓岚峥嵘屿岑峻嶂嵩昀晗晔晟暄曦珞珺琛琰瑾瑗璟泓沅沐泊泠洛洵浠涟淇淼渤溪滢漪澍濮"
    "炅炯炳烁焱熠焜旻旎杉枋柯栩桀桢桦梁棠楚榆槿樱橙檬佟侃倪傲僖亓仝伊仟仕仞攀敖斓斐孜孟孪媛嫣嫦姗姝婉婕婧妤妙妃姬娇娟娥"
    "娴蝉翎翠翡剛園圍學實專將對島嶼巖師帶幫廣廠應從復愛態慶憶戀戰戲擇據損搖撲擊斷舊時晉會業極橋機權歡歲歸殺氣決沒淚淨湯"
    "溫滅滿潛濤濟灣為無煙熱燁燈營爭爾獨獵獎獅獸珮現產畢當發盤盡眾礎禮禪種稱穩窮竇筆節範簡糧紀約納純紙級細終組結絕給統經"
    "綠綱網緒線緣編緯總績繼續罷義習聞聯聲職聽肅腦臉臨興舉艷藝藥蘇蘭處虛號裝裡見規視親覺觀計記許詩話該詳語說誰課調請論謀"
    "講證識譽讀變讓負財貢買費賀賓賴賽贏趕跡躍車軍軟載輕輝輪輸轉辦農這連進過達遙適遲選遺還邊郵鄉醫針鈴銀銅銳鋼錄錢錯鍵鏡"
    "鐘鐵門閃間閣關陣陳陰隊階際隨險隱隻雜雞離難雲電靈靜頂項順須預領題願類飄館馬驚體髮鬥魚鮮鳥鳴鶴鷹麥麼麵黃點龜與們個來"
    "俠倆傳僅價億優兒兩冊劃劇劉創勁務勞勢勵區協單賣嗎嚇啟圓圖團報場塊夥媽孫宮屆層岡幾後悅憂懷懸戶掃採揮撥擁敵齊曆棄楊槍"
    "樓樸歐殘毀汙沖漁漸灑爺狀瑪瓊畫異瘋皚盜矯碼禍禦稅穀競籃紛絲翹腳臺獻蔣薩螞蠻瑩瑤璐瓏鈺錚鎧驍騏騁顥頤韜鶯薈蘊嵐崢嶸崑"
    "崙瀅漣煒曄暘楨樺櫻嫻嬌嬋姍靚靖頡賡賁贊臻玨璿琬琨鍇鑑鏞鋐銓鎔釗詣詮謹軾輔輿聿闊闓闔闡霈霽響顯驊驥騰鯤鳶鵑黛齡豪儀儷"
    "倢僑勳勛埕堉塏墉壎"
)
_HANGUL_SURNAMES = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구나민진지엄채원천방공현함변염여추도소"
    "석선설마길연위표명기반왕금옥육인맹제모탁국어은편용예경봉사부빈목라"
)
_KANA = "".join(map(chr, range(0x3041, 0x30FD)))
_HANGUL = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구나민진지엄채원천방공현함변염여추도소"
    "석선설마길연위표명기반왕금옥육인맹제모탁국어은편용예경봉사부창호세돌훈철준영수동환태재상희승혁혜미아규건찬일대병종"
    "광덕근식범섭욱별솔빛슬보람새봄결다가율린휘효형필학택열엽순자숙란례복만산림해운중생초겸담라리온늘를을의에는로스시관"
    "과와들그것년월게으면님요네까니단급흑불계집바둑프덤후점접행무청룡랑독달꽃꿈검객귀풍악삼팔칠십회샤쿵롄멍타웨팅커펑쯔"
    "쉬쉐뤄셰쑤량캉판페녜첸톈탕퉁죠벽적"
)
_KANJI = (
    "山田中村本藤木井小大川林松石原高橋佐伊渡辺邊加吉野清水池上森阿部岡島後長谷斎斉近遠坂青西東北南福前今平河内宮崎武金"
    "岩久保菊地千葉桜丸荒関安市新横浜古杉三浦竹下工柴酒片黒白沢澤瀬張趙結城羽根尾口屋垣塚堀奥子寺戸所手持星春桑梅沖津浅"
    "滝潮熊玉矢砂神秋種稲笠篠細綾芝花若茂草荻菅萩落蔵藪角赤越足達郷都里重鈴鎌門間阪飯馬鳥鶴鹿黄倉仲伏児六兵出八別勝半友"
    "双名吾和君呂四国土坊垂士夏多太夫奈妹姉宇守定宗宝実宣家富寛寿将少尚岸峰岳崇巌左己幸広庄庭康弘弥彦彰影徳心志忠恒恭恵"
    "悠悟悦慎慶憲成戦拓拳掛操政敏敬教数文斗方旭昇昌明映昭時晃晋晴智暁更月望朋朗未札杏杜来枝柳栄栗桃桂梓梨植椎楠楽榎樹橘"
    "次正歩毅毛民永汐江沙治法泉泰洋洸海涼淳深渉渚温港湊満滋潤澄灯為照熙牛狩猪玄王珠現理琴瑛瑞瑠璃生甚由男町畑番百的盛直"
    "相省真眞睦知矩碁磯祐祥禎秀稔空立竜章笹策筒節範米糸紀紗純紘素紳絃絢絵統継綱網総緑織美翔翼耕聖聡肇育胤臣臨舞航良色芦"
    "芳苑英茅茉茜莉菜華菫萌葵蓮蔭薫藍虎虹蛍行街衛衣裕要覚親言詩誉誠諒豊貞貴賀賢路輔輝輪辰迪迫透通造進遊遥遼邦郁郎采釈量"
    "鉄銀鋭錦鏡鎮開陣院陸陽隆隼雅雄雪雲霞静鞠音順須頼風飛馨駒駿鬼魁鮎鯉鳳鳴鷹鷺麗麻麿黎龍亀亜亮仁介他令以会伝伯伴伸位住"
    "作佑佳使依侑俊信修倫健偉優元充先光克入全典冬冴冷凌凜凪分初利剣剛力功務勇勲勘包化匠卓協占卯収叔取可司吏向周命咲品哉"
    "哲唯善喜嘉団囲園圭坪型基堂堅塁境増壮壱夕奏好如妙始姫季学孝完官宿寄寒對導局届居屏展岐岬州巡巣巨希帆帝常年幹床序底店"
    "度建廣引弓弦強当形彩彬彼往従得復徹応快念怜思恩悌情想意愛感慈慧憩懸戒我房扇才打投折抱拾指捷探掲描提握揮揺搭撃播擁改"
    "攻放故料断旗既旧早昂是昼景暉暖暢曙曜曲書曽最朔服朝期末朱材条板果架柊柏柑柚柿染核案桐梧梶梁検棋棟椿楊業極楓構槙様標"
    "模権檀段級負互杯第回決挑面着目日付人座天因者"
)


class _Language(NamedTuple):
    """How likely characters outside ASCII are in texts of a language."""

    standard: str
    """The character set of its everyday use. What is not in it is rare."""
    common: tuple[int, int]
    """The first bytes of common characters in `standard`, first and last. Behind them are less common ones."""
    usual: tuple[tuple[float, str], ...]
    """Usual characters, and how large a share of all is among them; the last ones that have a character count."""
    first: tuple[tuple[float, str], ...]
    """The same for the first character of a name."""


_CHINESE = ((0.85, _HAN),), ((0.1, _HAN), (0.8, _HAN_SURNAMES))
_JAPANESE = _Language(
    "euc_jp", (0xB0, 0xCF), ((0.1, _HAN), (0.8, _KANJI + _KANA)), ((0.1, _HAN_SURNAMES), (0.8, _KANJI + _KANA))
)
_ASIAN = {
    "gb18030": _Language("gb2312", (0xB0, 0xD7), *_CHINESE),
    "cp950": _Language("big5", (0xA4, 0xC6), *_CHINESE),
    "cp932": _JAPANESE,
    "euc_jp": _JAPANESE,
    "cp949": _Language("euc_kr", (0xB0, 0xC8), ((0.85, _HANGUL),), ((0.1, _HANGUL), (0.8, _HANGUL_SURNAMES))),
}
"""Their languages by the encodings, as Python calls them."""
_ACCENTED = "[éèêëáàâäãåæçíìîïñóòôöõøœúùûüýÿßðþšžÉÈÊÁÀÂÄÃÅÆÇÍÎÓÔÖÕØÚÜŠŽÐÞ]"
_EUROPEAN = {
    "cp1252": re.compile(f"(?<=[A-Za-z]){_ACCENTED}|{_ACCENTED}(?=[A-Za-z])"),
    "cp1251": re.compile("(?<![A-Za-z])[А-ЯЁ]?[а-яё]{2,}(?![A-Za-z])"),
}
"""By the encoding: where letters stand as they do in words."""

# Logarithms of probabilities. Those of usual and common characters follow from how many there are.
_LESS_COMMON, _RARE, _NO_TEXT, _INVALID = -12.0, -16.5, -20.0, -25.0
_LETTER, _SIGN, _OTHER_LETTER = -4.5, -14.0, -8.0
# What other evidence adds: bytes that are UTF-8 are so hardly by chance.
_IS_UTF8, _STATED, _HINTED, _IN_FILE_NAME = 5.0, 6.0, 4.0, 5.0
_MARGIN, _LEAST = 1.0, -13.5
"""How far ahead of the next best one an encoding must be, and how likely its average character, to be decided on."""


@lru_cache
def _likely(language: _Language, is_first: bool) -> dict[str, float]:
    """Return the logarithms of the probabilities of usual characters, of the first ones of names if `is_first`."""
    found: dict[str, float] = {}
    for share, characters in language.first if is_first else language.usual:
        there = [c for c in characters if c.encode(language.standard, "ignore")]
        found.update(dict.fromkeys(there, math.log(share / len(there))))
    return found


@lru_cache(maxsize=20_000)
def _likelihood(character: str, language: _Language, is_first: bool) -> float:
    """Return the logarithm of the probability of a character outside ASCII."""
    likely = _likely(language, is_first).get(character)
    if likely is not None:
        return likely
    if character == "\ufffd":
        return _INVALID
    if not character.isprintable():
        return _NO_TEXT
    first, last = language.common
    raw = character.encode(language.standard, "ignore")
    if raw and first <= raw[0] <= last:
        return math.log(0.1 / ((last - first + 1) * 94))
    return _LESS_COMMON if raw and raw[0] > last and language.standard != "euc_kr" else _RARE


# --- Encodings ----------------------------------------------------------------------------------------------------

_CHARSETS = {
    **{"utf-8": "UTF-8", "gb18030": "GB18030", "cp950": "Big5", "cp932": "Shift_JIS", "euc_jp": "EUC-JP"},
    **{"cp949": "EUC-KR", "cp1252": "windows-1252", "cp1251": "windows-1251"},
}
"""What CA calls the encodings that are decided on."""
_HINTS = {
    "gb18030": r"\.cn\b|china|chinese|beijing|shanghai|foxwq|sina|multigo|weiqi",
    "cp950": r"\.tw\b|taiwan|taipei",
    **dict.fromkeys(("cp932", "euc_jp"), r"\.jp\b|japan|tokyo|pandanet|honinbo|meijin|kisei|gosei|judan"),
    "cp949": r"\.kr\b|korea|seoul|tygem|\boro\b|baduk",
}
"""What speaks for an encoding in the name of a program, a source, an event, a place or the file."""
_SAMPLE = 2_000
"""How many bytes of a game's texts are judged; the names come first."""
_NAMES = ("PB", "PW")


class Verdict(NamedTuple):
    """What the texts of a game are in."""

    encoding: str
    """As Python calls it. UTF-8 where nothing is known: what is none becomes U+FFFD."""
    charset: str
    """As CA calls it, if texts and CA do not contradict each other or the texts leave no doubt; else empty."""


def encoding_of(nodes: Sequence[Mapping[str, list[bytes]]], file_name: str = "") -> Verdict:
    """Decide in which encoding the values of a game's nodes are. `file_name` may help."""
    root = nodes[0]
    stated = root.get("CA", [b""])[0].decode("ascii", "ignore").strip()
    known = _known_encoding(stated)
    names = [(value, True) for name in _NAMES for value in root.get(name, [])]
    others = ((value, False) for node in nodes for n, values in node.items() if n not in _NAMES for value in values)
    texts, room = [], _SAMPLE
    for value, is_name in chain(names, others):
        if not value.isascii():
            texts.append((value[:room], is_name))
            room -= len(value)
        elif b"\x1b$" in value and known is None:
            known, stated = "iso2022_jp", "ISO-2022-JP"
        if room <= 0:
            break
    known = known or (None if texts else "utf-8")
    fitting = {e for e in ("utf-8", known, *_EUROPEAN, *_ASIAN) if e and all(is_text(value, e) for value, _ in texts)}
    if "utf-8" in fitting and known not in (None, *_ASIAN) and (texts or known == "utf-8"):
        return Verdict("utf-8", "UTF-8")  # no text in another of these encodings looks like that
    if known in fitting and (not texts or known not in (*_EUROPEAN, *_ASIAN)):
        return Verdict(known, stated)
    said = b" ".join(chain.from_iterable(root.get(name, []) for name in ("AP", "SO", "EV", "PC", "GN")))
    hints = f"{file_name} {said.decode('ascii', 'ignore')}"
    scores = []
    for encoding in ("utf-8", *_EUROPEAN, *_ASIAN):
        score = sum(_score(value, encoding, is_name, file_name) for value, is_name in texts)
        score += _IS_UTF8 * (encoding == "utf-8" and encoding in fitting) + _STATED * (encoding == known in fitting)
        score += _HINTED * (re.search(_HINTS.get(encoding, "(?!)"), hints, re.IGNORECASE) is not None)
        scores.append((score, encoding))
    (best, encoding), (second, _) = sorted(scores, reverse=True)[:2]
    count = sum(not c.isascii() for value, _ in texts for c in value.decode(encoding, "replace"))
    if best - second >= _MARGIN and (best >= _LEAST * count or encoding == "utf-8" in fitting):
        return Verdict(encoding, stated if encoding == known else _CHARSETS[encoding])
    return Verdict(known or "utf-8", "")


def _score(value: bytes, encoding: str, is_name: bool, file_name: str) -> float:
    """Return the logarithm of the probability of a text, as far as it depends on the encoding."""
    text = value.decode(encoding, "replace")
    foreign = [(c, is_name and index == 0) for index, c in enumerate(text) if not c.isascii()]
    in_file_name = _IN_FILE_NAME * sum(c in file_name for c, _ in foreign)
    if encoding in _EUROPEAN:
        letters = sum(map(len, _EUROPEAN[encoding].findall(text)))
        return in_file_name + letters * _LETTER + (len(foreign) - letters) * _SIGN
    languages = [_ASIAN[encoding]] if encoding in _ASIAN else [*_ASIAN.values()]
    likelihoods = [sum(_likelihood(c, language, first) for c, first in foreign) for language in languages]
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c, _ in foreign}
    if encoding == "utf-8" and len(scripts) == 1 and "\ufffd" not in text:
        likelihoods.append(_OTHER_LETTER * len(foreign))
    return in_file_name + max(likelihoods)


def is_text(data: bytes, encoding: str) -> bool:
    """Return whether all of these bytes are characters of an encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


_ENCODINGS = re.compile(r"utf[-_]8|(iso8859|iso2022_jp|koi8|cp|gb|big5|shift_jis|euc_)[-\w]*")
"""The encodings of text by Python's names. Other codecs of Python's are slow or decode to something else."""
_LARGER = {
    **{"ascii": "utf-8", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"},
    **{"shift_jis": "cp932", "big5": "cp950", "euc_kr": "cp949"},
}
"""By the encoding that a file names: the one that programs take for it, which has more characters."""


def _known_encoding(charset: str) -> str | None:
    """Return the encoding that a CA property names, as Python calls it; None where it names none that we know."""
    try:
        encoding = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return None
    encoding = _LARGER.get(encoding, encoding)
    return encoding if _ENCODINGS.fullmatch(encoding) else None


_UTF16 = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", b"(\0;\0": "utf-16-le", b"\0(\0;": "utf-16-be"}
"""The encodings by how files in them begin."""
_CHARSET = re.compile(rb"CA\s*\[[\w\s-]{1,40}\]")


def from_utf16(data: bytes) -> bytes:
    """Return a file in UTF-8 if its mark or its first brackets say that it is in UTF-16, where these have two bytes;
    else the file as it is."""
    codec = next((codec for start, codec in _UTF16.items() if data.startswith(start)), None)
    if codec is None:
        return data
    return _CHARSET.sub(b"CA[UTF-8]", data.decode(codec, "replace").encode())
