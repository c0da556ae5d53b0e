"""Languages: those whose words are known, and which of them an utterance is in. Pure.

An utterance is in the language that most of its function words speak for. Only the words of that language are dropped
then: "die" and "war" stay in English. The lists hold no number words, and none that people want to find again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import cache

from haru.language import HESITATION, LETTERS, NEVER, Language, any_of, spaced, unspaced

ENGLISH = spaced(
    "en",
    "english",
    signs="""about above actually after again against all am an and any anyone anything anyway are as at basically
    be because before being below between both but by called can could did do does doing done down during each
    either else enough ever every few for from further get gets getting go goes going gonna good got guess had has
    have having he her here hers herself him himself his household how if in into is it its itself just know let
    literally ll lot made make makes many maybe might more most much must my myself named never no nor not now of
    off on only onto or other others our ours ourselves out over own rather really right said same say says shall
    she should since some someone something stuff such sure tell than that the their theirs them themselves then
    there these they thing things this those through to too toward towards under until up upon us user users very
    wanna want wants was we well were what whatever when where which while who whom whose why will with without
    would yeah yep yes you your yours yourself yourselves""",
    hints="""been me mine re so ve""",
    also="""alright also bye ca cancel cheers continue er goodbye hello hey hi ok okay once pardon pause quiet
    recall recalls remember remembers remind reminds sha sorry stop thank welcome wo""",
    filler="""erm, huh, hey, hi, hello, please, thanks, thank you, thx, sorry, pardon, bye, goodbye, cheers, nope,
    nah, you know, do you know, i mean""",
    small_talk="""good (?:night|morning|evening|afternoon|day), never ?mind, see you(?: later| soon| tomorrow)?, how
    are you(?: doing)?, what s up, shut up, be quiet, excuse me, no problem, no worries, you know what, of course,
    all right, (?:so|um|uh|was|and) like, like i said, forget it, kind of""",
    opening="""(?:can|could|would|will) you (?:tell|remind) me, (?:do )?you remember, tell me, remind me, so, well,
    ok, okay, alright, right, like, now, and, anyway, actually, basically, yeah, yes""",
    numbers="""zero, one first, two second twice, three third, four fourth, five fifth, six sixth, seven seventh,
    eight eighth, nine ninth, ten tenth, eleven eleventh, twelve twelfth, thirteen thirteenth, fourteen fourteenth,
    fifteen fifteenth, sixteen sixteenth, seventeen seventeenth, eighteen eighteenth, nineteen nineteenth,
    twenty twentieth, thirty thirtieth, forty fortieth, fifty fiftieth, sixty, seventy, eighty, ninety""",
)

GERMAN = spaced(
    "de",
    "german",
    signs="""aber als am an auf aus bei beim benutzer benutzerin benutzers bis bist dabei damit dann das dass dazu
    dein deine deinem deinen deiner dem denn der dich diese diesem diesen dieser dieses dir doch dort du durch ein
    eine einem einen einer eines er erinnere erinnerst es etwas euch euer eure gegen genannt gesagt hab habe haben
    habt hast hatte hatten heiße heißen heißt hier hin hätte hätten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer in
    ins ist jede jedem jeden jeder jedes jemand jetzt kann kannst kein keine keinen können könnte könnten könntest
    mein meine meinem meinen meiner meines mich mir muss musst möchte müssen nach nein nennt nicht nichts nie
    niemals niemand noch nur nutzer nutzerin nutzers oder ohne sag sagen sagst sagt schon sehr sein seinem seinen
    seiner seit sich sie sind so soll sollen sollte und uns unser unsere unserem unseren unserer unter viel viele
    vom von vor wann warum was weil weißt welche welchem welchen welcher welches wem wenn wer werde werden wie
    wieder will willst wir wird wissen wo wofür wogegen woher wohin womit wonach woran worauf worüber wovon wozu
    wurde wurden wäre würde würden zu zum zur zwischen""",
    hints="""ach alle alles da des für hallo hat im ja magst mit na nee nochmal nun ob seine waren wen über""",
    also="""also bin ciao den die hey hi mag mal man merci ok okay sage sorry um war wart""",
    filler="""ähm, öhm, hallo, hi, hey, bitte, danke, dankeschön, bitteschön, tschüss, tschau, servus, moin,
    entschuldigung, sorry, ciao, na, tja, weißt du, ich meine, vielen dank, danke schön, danke sehr, bitte schön,
    bitte sehr, sag mal, sei so gut""",
    small_talk="""guten (?:morgen|tag|abend), gute nacht, schönen (?:tag|abend)(?: noch)?, bis (?:bald|später|dann),
    auf wiedersehen, wie geht s(?: dir)?, wie geht es dir, kein problem, alles klar, tut mir leid, vergiss es, schon
    gut, macht nichts, sei (?:still|ruhig|leise), mach s gut, ach so, na ja, nicht so wichtig, genau""",
    opening="""(?:kannst|könntest) du mir (?:mal )?sagen, (?:können|könnten) sie mir (?:mal )?sagen, weißt du noch,
    sag mir, erinnere mich, also, so, nun, ach, ok, okay, und, ja""",
    numbers="""null, eins erste ersten erster erstes, zwei zwo zweite zweiten zweiter zweites,
    drei dritte dritten dritter drittes, vier vierte vierten vierter viertes, fünf fünfte fünften fünfter,
    sechs sechste sechsten sechster, sieben siebte siebten siebter, acht achte achten achter,
    neun neunte neunten neunter, zehn zehnte zehnten zehnter, elf elfte elften, zwölf zwölfte zwölften,
    dreizehn dreizehnte dreizehnten, vierzehn vierzehnte vierzehnten, fünfzehn fünfzehnte fünfzehnten,
    sechzehn sechzehnte sechzehnten, siebzehn siebzehnte siebzehnten, achtzehn achtzehnte achtzehnten,
    neunzehn neunzehnte neunzehnten, zwanzig zwanzigste zwanzigsten, dreißig dreißigste dreißigsten, vierzig, fünfzig,
    sechzig, siebzig, achtzig, neunzig""",
)

FRENCH = spaced(
    "fr",
    "french",
    signs="""afin aimerais ainsi appelle appellent appelles après aussi autre autres avaient avais avait avec avez
    avoir avons beaucoup cela ces cet cette ceux chaque combien comme dans depuis dire dis dois doit donc du elles
    eux faut ici ils jamais je jusqu leur leurs lorsqu mais mes moi moins nos nous ont ou ouais oui où parce parmi
    peut peux plaît pourquoi pourrais pourrait pourriez pouvez puis puisqu qu quand que quel quelle quelles quelqu
    quelque quelques quels qui quoi rappelle rien sais savez savoir selon ses sommes sont souviens suis toi toujours
    tous toute toutes trop une utilisateur utilisatrice veut veux voici vos votre voudrais vous étaient étais était
    êtes être""",
    hints="""ai as au aux c ce chez d de des dit elle en encore entre est et eu faire fait il j l la le les lui ma
    me mon n ne ni non notre on par pas peu pour sa sans se sous sur ta te tes tout très tu un va vais vers y ça""",
    also="""alors avant bon ciao comment es merci même ok pardon pendant plus salut si son stp svp ton""",
    filler="""heu, bah, hein, merci, bonjour, bonsoir, salut, coucou, pardon, désolé, désolée, voilà, stp, svp,
    ciao, s'il te plaît, s'il vous plaît, merci beaucoup, (?:est ce que )?tu sais, vous savez, tu vois, je veux
    dire, je te prie, je vous prie""",
    small_talk="""bonne (?:nuit|journée|soirée), au revoir, à (?:bientôt|demain|plus tard|tout à l heure),
    (?:comment )?ça va(?: bien)?, comment (?:vas tu|allez vous), je t en prie, je vous en prie, de rien, (?:c est
    )?pas (?:de problème|grave), tant pis, tais toi, laisse tomber, (?:excuse|excusez) moi, bien sûr, d accord, eh
    bien""",
    opening="""(?:est ce que )?(?:tu peux|tu pourrais|vous pouvez|vous pourriez) me (?:dire|rappeler),
    (?:peux|pourrais) tu me (?:dire|rappeler), (?:pouvez|pourriez) vous me (?:dire|rappeler), (?:est ce que )?tu
    sais, sais tu, dis moi, dites moi, rappelle moi, alors, bon, donc, et, ok, en fait, du coup""",
    numbers="""zéro, premier première, deux deuxième, trois troisième, quatre quatrième, cinq cinquième, six sixième,
    sept septième, huit huitième, neuf neuvième, dix dixième, onze onzième, douze douzième, treize treizième,
    quatorze quatorzième, quinze quinzième, seize seizième, , , , vingt vingtième, trente trentième, quarante,
    cinquante, soixante, septante, huitante octante, nonante""",
)

SPANISH = spaced(
    "es",
    "spanish",
    signs="""ahora ahí algo alguien alguna algunas alguno algunos algún allí aquel aquella aquellos aquí así aunque
    cada como cual cuando cuál cuáles cuánta cuántas cuánto cuántos decir decirme desde dices dicho donde dónde
    ellas ellos esas eso esos estaba estar estas este esto estos estoy está están fue fueron había hacia hasta jamás
    llamaba llaman llamo muy nada nadie nos nosotros nuestra nuestras nuestro nuestros nunca otra otras otro otros
    para pero podría podrías por porque puede puedes puedo que quien quiere quieres quiero quisiera quisieras quién
    quiénes recordar recordarme recuerda recuerdas recuérdame sabes según también tengo tenía tiene tienen tienes
    una unas unos usted ustedes usuaria usuario vosotros""",
    hints="""acuerdas al antes con de del dime el en entonces entre era eran eres es esa ese favor ha hace han has
    he la le llama llamas lo me menos mi mis más ni no os se ser si sin sino sobre soy su sus sí tanto te ti toda
    todas todo todos tu tus un y ya yo""",
    also="""bueno chao claro hay hola las les los ok oye perdón pues solo son tan vale""",
    filler="""hola, buenas, oye, gracias, adiós, chao, perdón, perdona, disculpa, disculpe, por favor, muchas
    gracias, o sea, ya sabes, es decir, quiero decir""",
    small_talk="""^a ver, buenos días, buenas (?:tardes|noches), de nada, hasta (?:luego|mañana|pronto|la vista),
    nos vemos, cómo estás?, qué tal(?: estás)?, lo siento, no importa, no pasa nada, no hay problema, está bien, de
    acuerdo, por supuesto, claro que sí, cállate, olvídalo""",
    opening="""(?:me )?(?:puedes|podrías|puede|podría) (?:decirme|decir|recordarme|recordar), dime, recuérdame,
    sabes, te acuerdas(?: de)?, bueno, pues, entonces, a ver, así que, y, ok, vale""",
    numbers="""cero, uno primero primera primer, dos segundo segunda, tres tercero tercera tercer, cuatro cuarta,
    cinco quinto quinta, seis sexto sexta, siete séptimo séptima, ocho octavo octava, nueve noveno novena,
    diez décimo décima, once undécimo, doce duodécimo, trece, catorce, quince, dieciséis, diecisiete, dieciocho,
    diecinueve, veinte vigésimo, treinta, cuarenta, cincuenta, sesenta, setenta, ochenta, noventa""",
)

ITALIAN = spaced(
    "it",
    "italian",
    signs="""abbiamo adesso agli alcune alcuni alle anche ancora avere avete aveva avevo chiama chiamano chiamata
    chiamato chiamo cosa così dagli dall dalla dalle degli delle dello devo dici dimmi dire dirmi dov durante erano
    essere favore gli hanno loro mentre mie miei molta molti molto nei nella nelle nello nessuno niente noi nostra
    nostre nostri nostro ogni perché però piu possiamo posso potrebbe potresti puoi può qualche qualcosa qualcuno
    quale quali quando quanta quante quanti quanto quel quell quella quelle quelli quello questa queste questi
    questo qui ricorda ricordami ricordare ricordarmi ricordi sapere senza siamo siete sono stai stanno stata stati
    stato sto sua sugli sull sulla sulle suo suoi tra tua tue tuo tuoi tutta tutte tutti tutto una utente voglio
    vorrei vostra vostro vuoi vuole""",
    hints="""ad ai al all alla allora c che chi ci con d da dal de dei del dell della devi di dunque e ed era fa
    fra ha hai ho il in io l la le lei li lo lui ma mai mi mia mio ne nel nell non od ora per po quest quindi sai se
    si solo sta su sue sul te ti tu un v vi voi""",
    also="""bene ciao come dove no ok prego salve scusa senti""",
    filler="""boh, beh, mah, ehi, ciao, salve, grazie, prego, buongiorno, buonasera, buonanotte, arrivederci, scusa,
    scusami, scusi, per favore, per piacere, per cortesia, grazie mille, molte grazie, tante grazie, cioè, voglio
    dire""",
    small_talk="""buon giorno, buona (?:sera|notte|giornata|serata), come (?:stai|sta|va), a (?:presto|domani|dopo),
    ci vediamo, mi dispiace, non importa, (?:non )?fa niente, nessun problema, va bene, d accordo, certo, di niente,
    stai zitto, lascia (?:stare|perdere)""",
    opening="""(?:mi )?(?:puoi|potresti|può|potrebbe) (?:dirmi|dire|ricordarmi|ricordare), dimmi, ricordami, ti
    ricordi, lo sai, sai, allora, quindi, dunque, bene, senti, e, ok""",
    numbers="""zero, uno primo, due secondo seconda, tre terzo terza, quattro quarta, cinque quinto quinta,
    sei sesto sesta, sette settimo settima, otto ottavo ottava, nove nono nona, dieci decimo decima,
    undici undicesimo, dodici dodicesimo, tredici tredicesimo, quattordici quattordicesimo, quindici quindicesimo,
    sedici sedicesimo, diciassette, diciotto, diciannove, venti ventesimo, trenta, quaranta, cinquanta, sessanta,
    settanta, ottanta, novanta""",
)

PORTUGUESE = spaced(
    "pt",
    "portuguese",
    signs="""agora algum alguma algumas alguns alguém ao aos aquela aquelas aquele aqueles aqui aquilo assim cada
    chama chamam chamo como dela dele deles depois desde dessa desse deste diz dizer dizes durante ela elas ele eles
    essa essas esse esses estamos estar estava este estou está estão foi foram gostaria gostava isso isto jamais
    lembra lembrar lembras lhe mais mas meu meus minha minhas muita muitas muito muitos nada nem nenhum ninguém
    nossa nossas nosso nossos numa nunca não onde ou outra outras outro outros para pela pelas pelo pelos pode podem
    poderia poderias podes podias por porque posso quais qual quando quanta quantas quanto quantos que quem quer
    queres quero sabe sabes seu seus sim somos sou sua suas também tem temos tenho teu teus tinha tua tuas tudo uma
    umas uns usuária usuário utilizador utilizadora você vocês""",
    hints="""a as com da das de do dos e em entre então era eram eu favor ha já la lo me na nas ne no nos o oi os
    pois saber se sem ser si so sobre são te tens ti toda todas todo todos tu um""",
    also="""ate bem bom claro hum ok ola perdão""",
    filler="""oi, tchau, obrigado, obrigada, desculpa, desculpe, perdão, né, pois, hum, por favor, faz favor, se faz
    favor, muito obrigado, muito obrigada, quer dizer, ou seja""",
    small_talk="""^olá$, bom dia, boa (?:tarde|noite), até (?:logo|amanhã|mais|já|breve), tudo bem(?: contigo)?,
    como (?:vai|estás|está), de nada, não faz mal, não importa, (?:não há|sem) problema, sinto muito, está bem, com
    licença, cala a boca, deixa (?:lá|para lá|pra lá), esquece""",
    opening="""(?:você )?(?:podes|pode|podias|poderias|poderia)(?: me)? (?:dizer|lembrar)(?: me)?, (?:diz|lembra)
    me, me (?:diz|lembra), (?:você )?sabe, sabes, lembras te(?: de)?, olá, então, bem, bom, e, ok""",
    numbers="""zero, primeiro primeira, dois duas segundo, três terceiro, quatro, cinco quinto, seis sexto,
    sete sétimo sétima, oito oitavo oitava, nove nono nona, dez décimo décima, onze, doze, treze, catorze quatorze,
    quinze, dezesseis dezasseis, dezessete dezassete, dezoito, dezenove dezanove, vinte vigésimo, trinta, quarenta,
    cinquenta, sessenta, setenta, oitenta, noventa""",
)

DUTCH = spaced(
    "nl",
    "dutch",
    signs="""aan als andere bij daar dat deze dit doen doet een elke er gaan gaat gebruiker gebruikers geen genoemd
    graag had heb hebben hebt heeft herinner herinneren het hier hij hoeveel iemand iets ik in is je jij jou jouw
    jullie kan kun kunnen kunt maar me mij mijn moet moeten naar niemand niet niets noemen noemt nooit of omdat
    onder ons onze ook over sinds tegen toen tussen uit vanaf veel vertel vertellen voor waar waarmee waarom waarop
    waarvan waarvoor wanneer want waren was wat we weet wel welk welke werd weten wie willen wilt worden wordt zal
    zeggen zegt zich zij zijn zo zonder zou zouden zullen""",
    hints="""al alle alles de doe dus en ga he hem hen heten hun ja n nee nog nou nu om op te tot u van wil ze zeg""",
    also="""bent den die door elk hallo hoe mag men met ok pardon sorry""",
    filler="""hallo, hoi, hé, hè, doei, dankjewel, dankuwel, bedankt, alsjeblieft, alstublieft, sorry, pardon, nou,
    tja, dank je wel, dank u wel, dank je, weet je, ik bedoel""",
    small_talk="""goeden? ?(?:morgen|middag|avond|nacht|dag), goeiemorgen, welterusten, tot
    (?:ziens|straks|morgen|later), hoe gaat het(?: met je)?, geen probleem, laat maar, graag gedaan, het spijt me,
    wees stil, hou op, fijne (?:dag|avond)(?: nog)?, (?<=ik )ben, ben(?= ik)""",
    opening="""(?:kun|kan|kunt|kon) (?:je|jij|u) (?:me|mij) (?:vertellen|zeggen), zou (?:je|u) (?:me|mij) kunnen
    (?:vertellen|zeggen), weet je nog, vertel me, zeg, dus, nou, ok, ja, en""",
    numbers="""nul, eerste, twee tweede, drie derde, vier vierde, vijf vijfde, zes zesde, zeven zevende, acht achtste,
    negen negende, tien tiende, elf elfde, twaalf twaalfde, dertien dertiende, veertien veertiende,
    vijftien vijftiende, zestien zestiende, zeventien zeventiende, achttien achttiende, negentien negentiende,
    twintig twintigste, dertig dertigste, veertig, vijftig, zestig, zeventig, tachtig, negentig""",
)

_ASKING_JA = (
    r"この|その|あの|どの|これ|それ|あれ|どれ|ここ|そこ|どこ|いつ(?![もか])|だれ|なに|なん|なぜ|どう(?:して)?|どんな"
)
JAPANESE = unspaced(
    "ja",
    stop="は の が を に で と も へ や か ね よ はい いいえ うん ううん まあ",
    filler=r"え[えー]?っ?とー?|うーん|あの[うー]|(?<!\S)(?:ね[えぇ])?(?:ハル|はる)(?:さん|ちゃん)?(?!\S)|(?<!\S)ね[えぇ]"
    r"|す[みい]ません(?:が)?|ごめん(?:なさい)?|お願い(?:します)?"
    r"|を?教えて(?:(?:くだ|下)さい|くれる|くれますか)?|(?:くだ|下)さい|(?:覚えて|知って)(?:いますか|ますか|いる|る)",
    small_talk=r"おはよう(?:ございます)?|こん(?:にち|ばん)[はわ]|お(?:休|やす)み(?:なさい)?|お元気で|またね"
    r"|どうも|ありがとう(?:ござい(?:ます|ました))?|さよう?なら|どういたしまして|じゃあね?|利用者|ユーザー"
    r"|(?:でしょう|でした|です|ました|ませんか|ます|だっけ|だった|って)[かねよけ]*(?![ぁ-ん])"
    rf"|(?<=[一-龯々ァ-ヺー])[のはがをにでとも](?:{_ASKING_JA})|(?<![ぁ-ん])(?:{_ASKING_JA}|わたし|ぼく)"
    r"|私(?![立書])|僕|誰|何|を|(?<=[一-龯々ァ-ヺー])(?:から|まで|より|には|では|とは|[のはがにでともへや])(?=[一-龯々ァ-ヺ\s]|\Z)",
    numbers="〇 零, 一, 二, 三, 四, 五, 六, 七, 八, 九, 十",
)

CHINESE = unspaced(
    "zh",
    stop="的 是 了 在 和 有 也 都 就 吗 呢 好 不 对 那 这 请 叫",
    filler=r"[请請][问問]|(?<!\S)[请請](?![假客教])|麻[烦煩][你您]?|嗯+|呃+|不好意思|拜托|(?:能不能|可不可以|可以|能)?告[诉訴]我"
    r"|[谢謝]{1,2}[你您]?(?!\w)|[你您]好(?!\w)|(?<!\S)[嘿喂](?!\S)|你知道(?=.)",
    small_talk=r"(?:早上|上午|中午|下午|晚上)好(?!\w)|[早晚]安|再[见見]|拜拜|不客[气氣]|[没沒][关關][系係]"
    r"|[对對]不起|抱歉|[没沒]事|好的|算了|你好[吗嗎]|(?:[我你您她它]|(?<![其吉])他)[们們]?的?|用[户戶]的?|[为為]什[么麼]"
    r"|叫?[什甚][么麼](?:名字)?|怎[么麼样樣]+|哪[里裡儿兒个個些]?|[谁誰]|多少|[几幾](?!乎)|[这這那][个個些里裡儿兒](?!月)|是不是|有[没沒]有"
    r"|(?<![但还還可于总總老若要])是(?![否非])|(?<!目)的(?![士确確])|[吗嗎呢吧啊呀]|一下",
    numbers="零 〇, 一, 二 两 兩, 三, 四, 五, 六, 七, 八, 九, 十",
)

_NONE = frozenset[str]()
_LEAST = ENGLISH.stop - ENGLISH.signs - ENGLISH.hints
UNKNOWN = replace(ENGLISH, code="", signs=_NONE, hints=_NONE, stop=_LEAST, small_talk=NEVER)
"""Any other language, or a few words that show none. "her", "so" and "me" may be content words in it."""

_SPACED = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH)
LANGUAGES = (*_SPACED, JAPANESE, CHINESE)

_SPEAKING = [language.signs | language.hints for language in _SPACED]
_SILENT = HESITATION | LETTERS

_ANSWER = any_of({"no", "ja", "nein", "nee", "oui", "non", "si", "sim", "nao", "good", "never", "enough", "well", "so"})
_KANA = re.compile(r"[ぁ-ゖァ-ヺ]")
_HAN = re.compile(r"[ぁ-ゖァ-ヺ一-鿿㐀-䶿]")
_ONE_IN = 4
"""So many words need one that speaks for the language: a word of a language that is not known here may look like it."""
_ONE_IN_ENGLISH = 8
"""It is the likeliest before anything is said."""
_ENOUGH = 4
"""So many are enough, however many words there are."""


def detect(words: Collection[str]) -> Language | None:
    """The language that folded words are in; ``None`` where too few of them, or as many, speak for another one.

    A word in Japanese or Chinese script is a sign of its language. English wins where it has as many as another;
    between others, words decide that alone would tell nothing.
    """
    said = frozenset(words)
    counts = [len(said & each) for each in _SPEAKING]
    most = max(counts)
    text = "".join(said)
    if not text.isascii() and _HAN.search(text) and sum(bool(_HAN.search(word)) for word in said) > most:
        return JAPANESE if _KANA.search(text) else CHINESE
    if not most:
        return None
    likely = [language for language, count in zip(_SPACED, counts, strict=True) if count == most]
    if len(likely) > 1 and likely[0] is not ENGLISH:
        held = [len(said & language.stop) for language in likely]
        likely = [language for language, count in zip(likely, held, strict=True) if count == max(held)]
    one_in = _ONE_IN_ENGLISH if likely[0] is ENGLISH else _ONE_IN
    enough = most >= min(_ENOUGH, len(said - _SILENT) / one_in) and (most > 1 or said & likely[0].signs)
    return likely[0] if enough and (len(likely) == 1 or likely[0] is ENGLISH) else None


def polite(spoken: str) -> bool:
    """Whether folded words are nothing but filler and small talk, of whatever language."""
    return _politeness().fullmatch(spoken) is not None


@cache
def _politeness() -> re.Pattern[str]:
    longer_first = [*(each.small_talk for each in _SPACED), *(each.filler for each in _SPACED), _ANSWER]
    return re.compile(rf"(?>(?:{'|'.join(longer_first)}) ?)++")
