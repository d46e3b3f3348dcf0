"""Stop words of the common European languages: function words only.

The collections at hand (stopwordsiso, stop-words) list over a thousand "stop words" of English, among them fire, free,
help, open, today, half, computer and shell: the very words people subscribe to. These lists were written for Nearcast
and hold nothing but articles, pronouns, prepositions, conjunctions, auxiliary verbs and their kin. A frequent word that
is not listed does no harm, since tf-idf makes it weigh little; a listed word that means something is lost.
"""

from __future__ import annotations

FUNCTION_WORDS = {
    "en": """
        a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself yourselves
        he him his himself she her hers herself it its itself they them their theirs themselves who whom whose which
        what am is are was were be been being have has had having do does did doing will would shall should can could
        may might must ought cannot and but or nor if because as until while although though of at by for with about
        against between into through during before after to from in on onto upon than then so too very just not no
        only own same such other each both either neither some any all more most there here when where why how again
        also yet ever via per etc let i'm i've i'll i'd you're you've you'll you'd he's he'll he'd she's she'll she'd
        it's it'll it'd we're we've we'll we'd they're they've they'll they'd that's there's here's what's who's
        where's how's let's can't couldn't don't doesn't didn't won't wouldn't shan't shouldn't isn't aren't wasn't
        weren't haven't hasn't hadn't mustn't dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt couldnt
        wouldnt shouldnt
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines ich mich mir
        mein meine meinen meinem meiner meines du dich dir dein deine deinen deinem deiner deines er ihn ihm sein
        seine seinen seinem seiner seines sie ihr ihre ihren ihrem ihrer ihres es wir uns unser unsere unseren unserem
        unserer unseres euch euer eure euren eurem eurer eures ihnen sich man wer wen wem wessen was welche welcher
        welches welchen welchem dieser diese dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden
        jedem alle aller alles allen allem bin bist ist sind seid war warst waren wart gewesen habe hast hat haben
        habt hatte hattest hatten hattet gehabt werde wirst wird werden werdet wurde wurden worden geworden kann
        kannst können könnt konnte konnten könnte könnten muss musst müssen müsst musste mussten will willst wollen
        wollt wollte wollten soll sollst sollen sollt sollte sollten darf dürfen mag mögen möchte möchten und oder
        aber denn sondern weil dass daß wenn ob als wie während obwohl damit in im ins an am ans auf aus bei beim mit
        nach von vom vor zu zum zur über unter für durch gegen ohne um bis seit zwischen wegen nicht nichts nur noch
        schon sehr auch so da dort hier dann nun doch ja nein mal bereits wieder etwa etwas selbst wo wann warum woher
        wohin
    """,
    "fr": """
        le la les un une des du de au aux ce cet cette ces je me moi mon ma mes tu te toi ton ta tes il elle lui se
        soi son sa ses nous notre nos vous votre vos ils elles eux leur leurs on y en qui que quoi dont où lequel
        laquelle lesquels lesquelles quel quelle quels quelles celui celle ceux celles ceci cela ça c'est suis es est
        sommes êtes sont étais était étions étiez étaient serai seras sera serons serez seront serais serait seraient
        sois soit soyez soient être étant ai as a avons avez ont avais avait avions aviez avaient aurai auras aura
        aurons aurez auront aurais aurait auraient aie ait aient avoir ayant eu fut furent et ou mais donc or ni car
        si comme quand lorsque puisque parce tandis à dans par pour sur sous avec sans chez vers entre depuis pendant
        avant après contre jusque jusqu qu ne pas plus moins très trop aussi encore déjà même mêmes tout toute tous
        toutes autre autres ici là alors ainsi peu afin dès
    """,
    "es": """
        el la los las lo un una unos unas al del este esta esto estos estas ese esa eso esos esas aquel aquella
        aquello aquellos aquellas yo me mí mi mis conmigo tú te ti tu tus contigo él ella ello le se sí su sus consigo
        nosotros nosotras nos nuestro nuestra nuestros nuestras vosotros vosotras os vuestro vuestra vuestros vuestras
        ellos ellas les usted ustedes que qué quien quién quienes quiénes cual cuál cuales cuáles cuyo cuya cuyos
        cuyas donde dónde cuando cuándo como cómo cuanto cuánto soy eres es somos sois son era eras éramos eran fui
        fuiste fue fuimos fueron seré será serán sería serían sea sean ser siendo sido estoy estás está estamos estáis
        están estaba estaban estuvo estar estado he has ha hemos habéis han había habían hubo haya hayan habrá haber
        habiendo tengo tiene tienen tenía tener hay y e o u pero sino si porque pues aunque mientras a ante bajo con
        contra de desde durante en entre hacia hasta para por según sin sobre tras no ni más menos muy tan tanto
        también tampoco ya aún todavía solo sólo todo toda todos todas otro otra otros otras mismo misma mismos mismas
        cada algo alguno alguna algunos algunas algún nada ninguno ninguna ningún así aquí allí ahí
    """,
    "it": """
        il lo la i gli le un uno una del dello della dei degli delle al allo alla ai agli alle dal dallo dalla dai
        dagli dalle nel nello nella nei negli nelle sul sullo sulla sui sugli sulle col coi questo questa questi
        queste quello quella quelli quelle quel quei quegli io me mi mio mia miei mie tu te ti tuo tua tuoi tue lui
        lei egli ella esso essa si sé suo sua suoi sue noi ci nostro nostra nostri nostre voi vi vostro vostra vostri
        vostre loro essi esse ne li che chi cui quale quali dove quando come quanto quanta quanti quante sono sei è
        siamo siete ero eri era eravamo erano sarò sarai sarà saremo saranno sarebbe sarebbero sia siano fu furono
        essere essendo stato stata stati state ho hai ha abbiamo avete hanno avevo avevi aveva avevano avrò avrà
        avranno avrebbe abbia abbiano avere avendo avuto e ed o od ma però se perché poiché mentre anche a ad da di in
        con su per tra fra senza verso contro dopo prima non né più meno molto troppo già ancora così qui qua lì là
        poi pure tutto tutta tutti tutte altro altra altri altre stesso stessa ogni c'è
    """,
    "nl": """
        de het een der des den dit dat deze die ik me mij mijn jij je jou jouw u uw hij hem zijn ze zij haar wij we
        ons onze jullie hen hun zich zichzelf men wie wat welke welk waar wanneer waarom hoe ben bent is was waren
        geweest heb hebt heeft hebben had hadden gehad word wordt worden werd werden geworden kan kun kunt kunnen kon
        konden zal zult zullen zou zouden moet moeten moest moesten mag mogen mocht wil wilt willen wilde wilden doe
        doet doen deed en of maar want omdat doordat als dan toen terwijl hoewel dus noch aan achter bij binnen boven
        buiten door in langs met na naar naast om onder op over per rond sinds tegen tegenover tot tussen uit van
        vanaf voor voorbij zonder niet niets geen al ook nog wel te toe er hier daar heel zeer veel meer meest zo zelf
        alle alles iets iemand niemand elk elke ieder iedere andere ander zulke reeds nu
    """,
    "pt": """
        o a os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela pelos pelas num numa este esta
        isto estes estas esse essa isso esses essas aquele aquela aquilo aqueles aquelas neste nesta nesse nessa deste
        desta desse dessa eu me mim meu minha meus minhas tu te ti teu tua teus tuas você vocês ele ela lhe se si seu
        sua seus suas nós nosso nossa nossos nossas vós eles elas lhes que quê quem qual quais cujo cuja onde quando
        como quanto sou és é somos são era eram fui foi fomos foram serei será serão seria seriam seja sejam ser sendo
        sido estou está estamos estão estava estavam esteve estar estado hei há havia houve haver haja tenho tem têm
        temos tinha tinham teve ter tido e ou mas porém porque pois embora enquanto de em para por com sem sob sobre
        entre até desde contra ante após não nem mais menos muito muita muitos muitas também já ainda só todo toda
        todos todas outro outra outros outras mesmo mesma mesmos mesmas cada algo algum alguma alguns algumas nada
        nenhum nenhuma assim aqui ali lá depois
    """,
    "sv": """
        en ett den det de dem denna detta dessa jag mig min mitt mina du dig din ditt dina han honom hans hon henne
        hennes vi oss vår vårt våra ni er ert era sig sin sitt sina man vem vilka vilken vilket vad var när varför hur
        som är vara varit blir blev bli blivit har hade ha haft kan kunde kunna ska skall skulle vill ville måste får
        fick och eller men utan eftersom om att då medan än i på av till från med för under över mellan mot vid genom
        efter före hos åt inte ej icke ingen inget inga bara också redan mycket mer mest så här där nu sedan alla allt
        någon något några varje själv sådan sådant sådana
    """,
    "da": """
        en et den det de dem denne dette disse jeg mig min mit mine du dig din dit dine han ham hans hun hende hendes
        vi os vor vores i jer jeres sig sin sit sine man hvem hvilken hvilket hvad hvor hvornår hvorfor hvordan som er
        var være været bliver blev blive har havde have haft kan kunne skal skulle vil ville må måtte og eller men
        fordi at da mens hvis end på af til fra med for om under over mellem mod ved gennem efter før hos ud ikke ej
        ingen intet kun også allerede meget mere mest så her der nu siden alle alt nogen noget nogle hver selv sådan
    """,
    "no": """
        en ei et den det de dem denne dette disse jeg meg min mitt mi mine du deg din ditt di dine han ham hans hun
        henne hennes vi oss vår vårt våre dere deres seg sin sitt si sine man hvem hvilken hvilket hva hvor når
        hvorfor hvordan som er var være vært blir ble bli blitt har hadde ha hatt kan kunne skal skulle vil ville må
        måtte og eller men fordi at da mens hvis enn i på av til fra med for om under over mellom mot ved gjennom
        etter før hos ut ikke ikkje ingen intet bare også allerede mye mer mest så her der nå siden alle alt noen noe
        hver selv sånn eg ho dei
    """,
    "fi": """
        minä minun minut minua minulle sinä sinun sinut sinua sinulle hän hänen hänet häntä hänelle me meidän meidät
        meitä te teidän teidät teitä he heidän heidät heitä tämä tämän tätä tässä tästä nämä näiden näitä tuo tuon
        tuota nuo niiden niitä se sen sitä siinä siitä siihen sillä ne joka jonka jota jossa josta jotka joiden mikä
        mitä minkä missä mistä kuka kenen ketä miksi miten milloin olen olet on olemme olette ovat oli olin olivat ole
        olla ollut olisi olisivat ei en et emme ette eivät ja tai vai mutta sekä että jos kun koska kuin vaikka niin
        myös vain jo vielä nyt sitten kanssa ilman ennen jälkeen
    """,
    "pl": """
        i a o u w z ze na do od po za przed przez przy dla bez pod nad między ku oraz ale lub albo czy że żeby aby bo
        ponieważ gdy gdyż jeśli jeżeli choć więc jak jako niż nie ani tak też także tylko już jeszcze bardzo się
        siebie sobie ja mnie mi mną mój moja moje mojego mojej ty ciebie cię tobie ci tobą twój twoja twoje on jego go
        jemu mu nim ona jej ją nią ono my nas nam nami nasz nasza nasze wy was wam wami wasz wasza wasze oni one ich
        im nimi ten ta to tego tej temu tym tę te tych tymi tamten tamta tamto kto kogo komu kim co czego czemu czym
        który która które którego której którzy których którym gdzie kiedy dlaczego jest są jestem jesteś jesteśmy być
        był była było byli były będzie będą będę by tu tam teraz wszystko wszystkie wszyscy każdy każda każde inny
        inna inne
    """,
    "ru": """
        и в во не что он на я с со как а то все она так его но да ты к ко у же вы за бы по только ее её мне было вот
        от меня еще ещё нет о об из ему теперь когда даже ну ли если уже или ни быть был была были него до вас вам
        нибудь опять уж сам себя свой своя свое своё свои ей может они тут где есть надо ней для мы тебя их чем сама
        само сами чтоб чтобы без будто чего тоже себе под будет ж тогда кто этот того потому этого какой ним здесь
        этом мой моя мое моё мои тем эта эти это твой твоя твоё наш наша наше наши ваш ваша ваше ваши хотя при через
        над про между перед после тот та те тех этой этих который которая которое которые которого которой которых
    """,
}

HOMOGRAPHS = {
    "en": """
        ai allen ante aura bare ben bent bin car con dan den die dig dit doe door dove elk ella encore end era go ham
        hat hay hem hoe hun ins kim mag man med meer men mens mere met mia mina mot one par pas plus pour prima pure
        reeds sans sea sean sin sit solo son sous soy state sue tam tan ten ter till toe tot tout ut van war wart
        wilde word worden wy
    """,
    "es": "mes sur",
}
"""Words of one language that mean something and that another language's list would drop."""
