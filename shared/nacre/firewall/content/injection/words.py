"""The words that injection features are built from, by meaning, in sixteen languages.

A word belongs to one or more classes. `*` at its end stands for any ending. Words are recognised
through endings, digits in place of letters, swapped letters and single typing errors.
"""

# ruff: noqa: E501, RUF001 (a list of words is read best as it is; some are not Latin)

from functools import cache

from nacre.core.bounded_cache import BoundedCache
from nacre.firewall.content.injection.normalized_text import LEET, fold, squeeze

_MAX_WORDS = 20_000
_SHORTEST_TYPO = 5
_SHORTEST_LEET = 4
_MAX_LETTERS = 24


class Word:
    """The classes of words, as bits: plain numbers, because sets would be slow."""

    DROP = 1 << 0  # verbs that set instructions aside
    ORDERS = 1 << 1  # the instructions of a model
    LIMITS = 1 << 2  # the limits of a model
    EARLIER = 1 << 3  # earlier, previous
    OWN = 1 << 4  # the reader's own
    INNER = 1 << 5  # the system's, hidden, initial
    PROMPT = 1 << 6  # the prompt itself
    MODEL = 1 << 7  # names for a model
    USER = 1 << 8  # the user, as somebody else
    TELL = 1 << 9  # verbs of telling a person
    SHOW = 1 << 10  # verbs of giving something out
    NOT = 1 << 11
    SECRETLY = 1 << 12
    SEND = 1 << 13
    SECRET = 1 << 14
    PRIVATE = 1 << 15  # data of the conversation or the user
    PLACE = 1 << 16  # an address or another place that data may go to
    HOSTILE = 1 << 17  # a place with an openly hostile name
    ACT = 1 << 18  # verbs that order an action
    TOOL = 1 << 19
    ANSWER = 1 << 20
    READ = 1 << 21  # verbs of reading a text
    WHEN = 1 << 22  # before, after, when
    TEXT = 1 << 23  # the text that is read
    MUST = 1 << 24
    URGENT = 1 << 25
    CHIEF = 1 << 26  # somebody with authority
    GRANTED = 1 << 27  # allowed already
    CHECK = 1 << 28  # approvals and safety checks
    BECOME = 1 << 29  # taking a role
    FREE = 1 << 30  # without limits
    MODE = 1 << 31
    KEEP = 1 << 32  # remembering
    LATER = 1 << 33  # from now on
    CODE = 1 << 34  # encodings
    DECODE = 1 << 35
    ALL = 1 << 36
    NEW = 1 << 37
    ONLY = 1 << 38
    YOU = 1 << 39
    FOLLOW = 1 << 40
    BE = 1 << 41
    TASK = 1 << 42
    MONEY = 1 << 43
    TOLD = 1 << 44
    WITHOUT = 1 << 45
    STOP = 1 << 46
    ATTENTION = 1 << 47
    IF = 1 << 48
    WHAT = 1 << 49
    DANGER = 1 << 50  # verbs of damage: delete, disable
    GONE = 1 << 53  # no longer valid
    THIS = 1 << 54
    WANT = 1 << 55
    KNOW = 1 << 56
    CHAT = 1 << 57  # the conversation itself
    PRAISE = 1 << 58
    WHATEVER = 1 << 59
    FIRST_PERSON = 1 << 61
    WORDS = 1 << 62
    GET = 1 << 63
    ADDRESS = 1 << 64  # a mail address or a URL
    DEED = 1 << 65  # an identifier that names a risky action
    RUN = 1 << 67
    APPROVE = 1 << 68
    PHRASE = 1 << 69  # begins a phrase
    SECURITY = 1 << 70  # how people talk about attacks
    LONGER = 1 << 71
    ABOUT = 1 << 72  # told, said or written about something
    RENDER = 1 << 73  # verbs that turn a text into another one
    HIDDEN_PROMPT = 1 << 74  # the system's prompt
    OWN_PROMPT = 1 << 75  # the reader's own prompt
    LAST = 1 << 76  # of a language where the verb comes last
    BEGINS = 1 << 66  # where an imperative may stand
    AGENT = 1 << 51  # names for a model that other things have too
    NAME = 1 << 52  # an identifier such as send_mail
    TYPO = 1 << 60  # recognised only through a disguise
    DO = 1 << 77  # other verbs that order something
    COMMAND = 1 << 78  # a verb of any list where an imperative may stand
    ASSET = 1 << 79  # things that a model with tools may touch
    FAULT = 1 << 80  # errors, and their fixes
    ITS_USER = 1 << 81  # "your user": said to a model alone
    SECRETIVE = 1 << 82  # verbs of making known, often forbidden: ask, log, flag
    PERSIST = 1 << 83  # places where a model remembers things
    SHELL = 1 << 84  # programs that a command line names
    CONTINUE = 1 << 85  # verbs of going on, offered in return for an order
    STATED = 1 << 86  # verdicts that are put into a model's mouth
    STRANGER = 1 << 87  # unnamed readers: anyone reading this, automated readers


_LISTS: dict[int, str] = {
    Word.DROP: """
        ignore ignoring disregard disregarding forget forgetting override bypass
        neglect discard dismiss overlook abandon nullify revoke unlearn disobey invalidate
        ignorier* vergiss vergesst vergessen missacht* verwirf verwerfen uberschreib* umgeh* ubergeh* aufgehoben
        ignorez ignorer oublie oubliez oublier negligez outrepasse* ecarte* contourne* annule annulez
        ignora ignore ignorar ignoren olvida olvide olvidar olviden descarta descarte omite omita desatiende anula
        dimentica dimenticate dimenticare ignorate ignorare trascura tralascia scavalca aggira scarta
        esqueca esquece esquecer desconsidere desconsiderar descarte anule contorne
        игнорир* проигнорир* забудь забудьте забыть отбрось отмени отмените обойди обойти пренебр*
        ігнор* забудьте negeer negeren vergeet zignoruj* ignoruj* zapomnij pomin
        忽略 无视 無視 忘记 忘記 忘掉 忽視 抛开 绕过 繞過 撤销 不要遵 不再遵 废弃 作废 过期内容 跳过
        無視 忘れ 破棄 従わない 従わず 上書き 取り消 무시 잊어 잊고 우회 تجاهل انس अनदेखा नज़रअंदाज़ भूल ignorera unut gormezden abaikan
    """,
    Word.ORDERS: """
        instruction instructions instruct prompt prompts directive directives guideline guidelines guidance directions
        programming briefing ruleset orders preprompt
        anweisung* anleitung* instruktion* vorgabe* weisung* befehle* auftrag auftrage richtlinie* systemnachricht*
        consigne* instruction* directive* ordres
        instruccion* indicacion* directriz directrices ordenes consigna*
        istruzion* direttiv* indicazion* ordini
        instrucoes instrucao diretriz diretrizes ordens orientacoes
        инструкц* указан* директив* предписан* промпт* распоряжен* інструкц*
        instructies instrukcj* polecen* polecenia talimat* instruktioner instruksi
        指令 指示 提示词 提示 说明 說明 操作规范 规范 指導 プロンプト 指図 지시 지침 프롬프트 تعليمات निर्देश คำสั่ง
    """,
    Word.LIMITS: """
        rule rules policy policies filtering restriction restrictions constraint limits limitations filter filters safeguard
        safeguards guardrail guardrails protocol protocols safety ethics moderation censorship training orders
        security constraints controls
        regel regeln richtlinien einschrankung* beschrankung* sicherheitsrichtlinie* sicherheitsregel* schutzmassnahme* training
        regle regles restriction* politique* limites filtres securite
        regla reglas restriccion* politica politicas limites filtros seguridad normas
        regola regole restrizion* politiche limiti filtri sicurezza
        regra regras restricoes politicas filtros seguranca
        правил* ограничен* политик* запрет* фильтр* безопасност*
        zasad zasady regels kurallar kural
        规则 規則 限制 命令 명령 策略 安全 约束 護欄 护栏 ルール 制限 規則 制約 ポリシー 규칙 제한 정책 القواعد قواعد नियम
    """,
    Word.EARLIER: """
        previous previously prior preceding earlier above foregoing former original originally initial initially existing
        past before beforehand preliminary governing beginning
        vorherig* vorig* bisherig* fruher* obig* ursprunglich* vorangegang* zuvor bestehend* oben
        precedent* anterieur* dessus initiale* initiaux prealable* precedemment avant
        anterior* previa* previo* originales inicial* arriba precedente*
        precedent* iniziali originali sopra
        anteriores anteriormente acima originais
        предыдущ* прежн* прошл* ранее выше изначальн* исходн* предшествующ* попередн*
        vorige eerdere poprzedni* wczesniejsz* onceki
        之前 以前 先前 此前 前面 上面 以上 上述 原有 初始 原来 これまで 今まで 以前 前の 上記 元の 最初 初期 이전 앞선 기존 위의 최초 السابقة السابق पिछले
    """,
    Word.OWN: """
        your you're yours dein* deine ihre ihren ihr tes vos votre tus sus tu suo tuo tue tuoi vostre teu teus seu suas seus tuas
        твои твой твоих твоего ваш* свои своих jouw uw twoj* senin
        你的 您的 自己的 あなたの 君の 당신의 너의
    """,
    Word.INNER: """
        system hidden secret initial initially original internal private concealed confidential underlying developer unseen
        startup bootstrap invisible system's
        systemprompt systemanweisung* systemnachricht* geheim* versteckt* intern* verborgen* ursprunglich*
        systeme cachee cachees secrete* sistema oculto oculta ocultas secreto secretas interno interna inicial iniciales
        nascost* segret* intern* iniziale originali ocultas secretas internas iniciais
        системн* скрыт* секретн* внутренн* начальн* исходн* изначальн*
        系统 系統 隐藏 隱藏 秘密 私密 不可见 初始 内部 启动 开发者 システム 隠された 内部 秘密 初期 시스템 숨겨진 비밀 내부 초기
    """,
    Word.PROMPT: """
        prompt preprompt systemprompt instructions preamble directives systemnachricht* systemanweisung*
        anweisungen consignes instrucciones istruzioni instrucoes programming
        промпт* инструкц* 提示词 提示 指令 说明 プロンプト 指示 プロンプト 프롬프트 지침 지시
    """,
    Word.MODEL: """
        assistant assistants ai ais llm llms chatbot chatbots gpt chatgpt claude gemini copilot llama grok deepseek summarizer summariser
        copilots l'ia d'ia all'ia dell'ia un'ia l'ai asystent* asystenc* asistan* asistent* асистент* المساعد zeka
        ki assistent assistenten assistenzsystem* assistante assistentin sprachmodell* chatbot* ia assistente assistenti asistente
        ии ассистент* нейросет* 助手 智能体 人工智能 语言模型 アシスタント 人工知能 어시스턴트 인공지능
    """,
    Word.AGENT: """
        model models agent agents bot bots chatbots automated autonomous automation agente agenten modell modelo modele modello агент* модел* помощник*
        模型 代理 モデル エージェント 모델 에이전트
    """,
    Word.USER: """
        user users user's human humans
        benutzer* nutzer* anwender* utilisateur* usuario usuarios utente utenti utilizador* proprietario пользовател* пользователю
        uzivatel* anvandar* kullanici* корист* المستخدم
        用户 使用者 用戶 ユーザー ユーザ 利用者 사용자 uzytkownik* gebruiker*
    """,
    Word.TELL: """
        tell telling mention mentioning mentioned inform informing informed notify notifying notified alerted reveal revealing disclose disclosing alert alerting
        say saying show showing report reporting warn warning ask asking explain acknowledge
        sag* erwahn* informier* mitteil* verrat* mention* informe informez parle* dire dis dites previen* signale* montre*
        mencion* informar informe informes digas diga decir avis* revel* muestr* dire dirlo dica menzion* informare rivel* avvis*
        mencione mencionar conte diga avise avisar revele
        nezminuj nezminujte namna bahsetme soyleme повідомля* تخبر
        сообщ* упомин* говори* скаж* уведомл* рассказ* показыва*
        告诉 提及 告知 通知 透露 提到 知らせ 伝え 言及 教え 通知 알리 언급 말하 zglasza* wspomin*
    """,
    Word.SHOW: """
        reveal show print output display repeat tell give leak disclose expose dump share write recite list return echo
        reproduce spell paste quote provide state describe include restate recall
        zeig* verrat* nenn* gib gebe ausgeben wiederhol* druck* offenbar*
        affiche* revele* montre* repete* donne* imprime* divulgue* quelles ecris
        muestra* muestr* revel* imprim* repit* dime dame cuales escribe
        mostra* rivela* stampa* ripet* dimmi elenca scrivi quali
        mostre mostrar revele repita imprima diga quais escreva
        покажи* раскро* выведи* напечата* повтори* расскажи* назови*
        显示 顯示 输出 輸出 告诉我 透露 泄露 打印 展示 复述 重复 交出 公开 给我 列出 表示 出力 教え 見せ 開示 繰り返 公開 보여 출력 알려 공개 반복 pokaz* ujawnij toon goster
    """,
    Word.NOT: """
        not don't dont needn't won't never cannot can't mustn't shouldn't doesn't avoid refrain nicht kein* niemals nie pas jamais aucun* ne no nunca mai
        nao jamais не никогда nie niet geen 不要 不得 别 勿 不能 无需 不必 ないで ずに ません 말고 마세요 않고 degil
    """,
    Word.SECRETLY: """
        secretly silently quietly covertly invisibly discreetly stealthily surreptitiously unnoticed
        heimlich unbemerkt stillschweigend secretement discretement silencieusement furtivement
        secretamente silenciosamente discretamente segretamente silenziosamente
        тайно незаметно скрытно втайне 悄悄 秘密地 暗中 偷偷 静默 密かに こっそり ひそかに 黙って 몰래 조용히
    """,
    Word.SEND: """
        send sends sending forward forwarding upload uploading post posting exfiltrate exfiltrating transmit email mail leak
        export relay deliver submit append attach
        schick* sende ubermittel* weiterleit* hochlad* envoy* envoie* transmet* transfere* televers*
        envia enviar envie envien reenvi* manda mandar inoltra* invia* inviare trasmett* carica envie enviar encaminh* transmita
        gonder* skicka posli надішл* ارسل
        отправ* перешли* пересла* загруз* вышли* 发送 發送 转发 轉發 上传 上傳 寄给 传送 送信 送って 転送 アップロード 送る 보내 전송 업로드 wyslij przeslij stuur verzend gonder
    """,
    Word.SECRET: """
        password passwords passwort* passphrase credential credentials secret secrets token tokens apikey apikeys
        key keys ssh cookies id_rsa wallet seed otp mfa pin
        zugangsdaten kennwort* schlussel* motdepasse motsdepasse identifiants passe cle cles contrasena* clave claves credencial*
        heslo hesla sifre* losenord* hasel haslem كلمات
        credenziali chiave chiavi senha senhas chave chaves пароль пароли паролей ключ* токен* учетн* 密码 密碼 凭证 凭据 密钥 令牌 口令 パスワード 認証情報 秘密鍵 トークン 鍵 비밀번호 토큰 자격 hasla haslo wachtwoord*
    """,
    Word.PRIVATE: """
        inbox emails messages contacts transcript database records memory memories context session
        data files documents details invoices repositories calendar clipboard contents logs
        konversation gesprach* verlauf daten dateien kontakte postfach historique donnees fichiers contacts courriels
        historial conversacion datos archivos contactos correos cronologia conversazione dati file contatti
        historico conversa dados arquivos contatos переписк* истори* данны* файл* контакт* 对话 对话记录 聊天记录 数据 数据库 文件 联系人 会話 履歴 データ ファイル 連絡先 대화 기록 데이터 파일
    """,
    Word.CHAT: """
        conversation chat chats transcript history context konversation gesprach* unterhaltung verlauf historique conversacion historial conversazione cronologia conversa historico
        переписк* разговор* 对话 聊天记录 聊天 会話 履歴 대화
    """,
    Word.PLACE: """
        url endpoint webhook address domain link adresse direccion indirizzo endereco адрес* 地址 网址 アドレス 주소 site host
    """,
    Word.HOSTILE: """
        attacker attackers evil exfil collector pastebin webhook malicious ngrok burpcollaborator requestbin external angreifer attaquant atacante attaccante 攻击者 攻撃者
    """,
    Word.ACT: """
        execute run call invoke delete remove transfer buy purchase install approve grant change update reset disable add create
        send forward upload download open click visit navigate fetch insert write modify rename pay wire book schedule post include append
        read search retrieve use perform begin start issue merge push commit deploy drop wipe rm
        fuhre ausfuhren losch* ruf rufe offne nutze uberweise installiere executez appelle* lance supprim* utilise utilisez ouvre* ajoute*
        ejecuta ejecute llama llame borra borre elimina elimine abre usa utiliza transfiere instala esegui chiama* cancella apri usa elimina trasferisci
        execute chame apague exclua abra use transfira выполни* запусти* вызови* удали* открой* переведи* установи*
        执行 运行 调用 删除 转账 打开 安装 调用 実行 呼び出 削除 開いて 送金 使って 실행 호출 삭제 uruchom wykonaj usun
    """,
    Word.RUN: """
        execute run call invoke trigger launch obey carry act fuhre ausfuhren rufe aufrufen execute executez appelle appeler lance ejecuta ejecutar llama llamar
        esegui eseguire chiama chiamare execute executar chame chamar выполни* вызови* запусти* 执行 运行 调用 実行 呼び出 실행 호출
    """,
    Word.APPROVE: "approve accept allow confirm auto-approve genehmige bestatige approuve acceptez aprueba acepta approva accetta aprove aceite одобри* разреши* 批准 同意 承認 승인",
    Word.TOOL: """
        tool tools werkzeug* outil outils herramienta* strumento strumenti ferramenta* инструмент* 工具 ツール 도구 narzedzi*
    """,
    Word.ANSWER: """
        answer answers reply replies response respond summary summaries recommendation verdict reasoning completion review rating
        antwort* zusammenfassung reponse* repond* resume* respuesta* responde* resumen risposta* rispond* riassunto resposta* respond* resumo
        ответ* отвеч* резюме 回答 回复 答复 摘要 总结 输出 回覆 返答 応答 要約 回答 答え 답변 응답 요약 odpowied* antwoord*
    """,
    Word.READ: """
        reads summarises summarizes processes handles parses converts sorting handling converting browsing visiting comparing resolving reading processing summarizing summarising analyzing analysing parsing answering responding replying
        translating reviewing indexing ingesting summarize summarise summarized summarised analyze analyse analyzed parse answer answered respond reply
        translate translated review evaluating screens
        liest lesen lest bearbeite* zusammenfass* verarbeite* antwortest lisez lire traite* resumer repondre continuer
        leer leas lees procesar resumir resume responder continuar analiz* leggi leggere elabor* riassum* rispondere continuare
        ler leia lendo processar responder continuar читаешь читаете чтении обработк* анализ* отвеча* продолж*
        阅读 处理 总结 分析 回答 继续 读到 読む 読んで 処理 要約 分析 回答 続け 읽는 처리 요약 분석
    """,
    Word.WHEN: """
        before after when whenever while once prior during bevor vor nachdem wenn sobald beim avant apres lorsque quand antes despues cuando al
        prima dopo quando depois ao прежде после перед когда при 之前 之后 当 时 前に 後に とき 際 전에 후에 때
    """,
    Word.TEXT: """
        page document email message text file article content webpage website ticket comment issue record description listing readme report note result dataset transcript
        seite dokument mail nachricht page courriel texte fichier pagina documento correo mensaje texto messaggio testo mensagem
        страниц* документ* письм* сообщен* текст* 页面 文档 网页 邮件 文本 内容 ページ 文書 メール 文章 페이지 문서 메일
    """,
    Word.MUST: """
        must shall required requires mandatory obligatory necessary should strictly always
        musst mussen muss soll sollst sollen zwingend unbedingt doit dois devez obligatoire debe debes deben obligatorio deve devi dovete obbligatorio deves devem
        должен должны обязан* необходимо нужно 必须 必須 务必 应当 必ず 必要 なければ 반드시 musi
    """,
    Word.URGENT: """
        urgent urgently immediately important critical asap emergency priority precedence attention now essential
        dringend sofort wichtig urgence immediatement importante urgente inmediatamente subito immediatamente imediatamente
        срочно немедленно важно 紧急 立即 重要 马上 緊急 直ちに 今すぐ 重要 긴급 즉시 중요 pilne natychmiast
    """,
    Word.CHIEF: """
        admin administrator administrators developer developers supervisor operator openai anthropic ceo moderator
        superuser compliance god directeur administrateur entwickler* administrador desarrollador* amministratore sviluppatore
        администратор* разработчик* начальник* 管理员 管理員 开发者 管理方 管理者 開発者 관리자 개발자
    """,
    Word.GRANTED: """
        authorized authorised approved preapproved permitted allowed consented verified trusted confirmed granted authorization authorisation clearance
        agreed consents zugestimmt accepte acepto acconsentito concordou согласил* ingestemd toegestemd souhlasil zgodzil*
        genehmigt autorisiert erlaubt freigegeben autorise autorisee approuve autorizado autorizada aprobado autorizzat* approvat* aprovado
        разреш* одобр* авторизован* 授权 批准 允许 已同意 許可 承認 승인 허가
    """,
    Word.CHECK: """
        approval approvals confirmation confirmations permission consent verification guardrail guardrails safety safeguards moderation oversight safeguards
        bestatigung* genehmigung* sicherheitsprufung* rueckfrage ruckfrage* confirmation* approbation* autorisation* verification* confirmacion* aprobacion* permiso
        conferma* approvazion* permesso confirmacao aprovacao permissao подтвержден* одобрен* разрешен* проверк* 确认 批准 审批 许可 确认 検証 確認 承認 許可 확인 승인 허락
    """,
    Word.BECOME: """
        pretend roleplay simulate simulating imagine persona character impersonate emulate behave
        verhalte spiel* stell joue* agis pretends actua finge simula imagina comportate fingi recita aja finja simule
        притвор* представь* веди играй* 扮演 假装 假裝 模拟 充当 ふり 演じ なりきり 가장 연기 udawaj
    """,
    Word.FREE: """
        unrestricted unfiltered uncensored jailbreak jailbroken dan unbound unconstrained limitless amoral freed liberated unshackled
        uneingeschrankt* unbeschrankt* ungefiltert* unzensiert* illimitad* irrestrict*
        неограничен* 不受限制 无限制 没有限制 越狱 無制限 制限なし 脱獄 무제한 탈옥
    """,
    Word.MODE: "mode modus modo modalita режим* 模式 モード 모드 tryb entwicklermodus administratormodus debugmodus",
    Word.KEEP: """
        remember memorize memorise memory store save record persist keep merke* speicher* merk souviens souvenez memorise* retiens recuerda* memoriza* guarda ricorda* memorizza* salva
        lembre* memorize guarde запомни* сохрани* 记住 記住 保存 牢记 覚え 記憶 保存 기억 저장 zapamietaj
    """,
    Word.LATER: """
        future henceforth permanent permanently long-term forever always onward onwards hereafter kunftig* zukunftig* immer dauerhaft dorenavant desormais toujours futur*
        adelante partir siempre futuro futuras permanentemente sempre future futuri futuras permanente всегда впредь навсегда будущ* отныне 永久 今后 以后 始终 永远 今後 常に 永続 ずっと 앞으로 항상 영구
        sessions
    """,
    Word.CODE: "base64 rot13 hexadecimal morse cipher ciphertext braille caesar kodiert* codificad* codifie* codificat* закодирован* 编码 暗号 エンコード 인코딩",
    Word.DECODE: "decode decodes decrypt unscramble decipher deobfuscate unescape dekodier* entschlussel* decode* decodez dechiffre* decodifica* descifra* decifra* decodifique расшифруй* декодируй* 解码 解密 デコード 解読 디코딩 odkoduj",
    Word.ALL: """
        all everything anything any every whole entire each pending alle alles tout tous toute toutes todo todas todos toda tutto tutte tutti tudo всё все всех
        所有 全部 一切 すべて 全て 全部 모든 전부 wszystk*
    """,
    Word.NEW: """
        new updated revised real actual true next following replacement instead neue* neuen folgende* nouvelle* nouveau suivante* nueva* nuevo siguiente* nuov* seguent* novas novo seguinte* новы* следующ* 新的 以下 下面 接下来 新しい 次の 以下 새로운 다음
    """,
    Word.ONLY: "only just single solely exclusively verbatim exactly precisely nur ausschliesslich wortlich genau seulement uniquement exactement solo solamente unicamente exactamente soltanto esattamente apenas somente exatamente только точно дословно 只 仅 原样 逐字 完整 だけ のみ そのまま 正確 오직 그대로 정확히",
    Word.YOU: "you you're you've yourself thou du sie ihr dich dir tu vous usted tu te voi lei voce ты вы тебе тебя вам 你 您 あなた 君 당신 ty",
    Word.FOLLOW: "follow obey comply adhere abide heed befolg* folge gehorch* suis suivez suivre obeis obei* sigue siga sigas seguir obedece segui seguite segue seguir obedeca следуй* подчин* выполня* соблюда* 遵循 遵守 服从 听从 按照 従って 従い 従う 遵守 따르 따라 준수",
    Word.BE: "are is now bist bin ist jetzt es etes maintenant eres es ahora sei ora agora теперь являешься 现在 이제",
    Word.TASK: "task tasks request goal objective mission assignment question aufgabe* ziel tache* objectif tarea* objetivo compito obiettivo tarefa* задач* цель 任务 目标 请求 タスク 目的 任務 작업 목표 zadani*",
    Word.MONEY: "money payment funds usd eur bitcoin btc iban account dollars transaction transfer wallet geld konto virement compte dinero cuenta denaro conto dinheiro conta деньги счет перевод 钱 账户 转账 お金 口座 送金 돈 계좌",
    Word.TOLD: "told given said written instructed received gesagt gegeben dit donne dicho dijeron dado dato detto dito disseram говорили сказан* 告诉 说过 告訴 言われ 与えられ 말한 받은 been learned",
    Word.WITHOUT: "without ohne sans sin senza sem без 无需 不经 无须 没有 なしに なしで せずに 없이 bez zonder skip skipping",
    Word.STOP: "stop halt pause nevermind cease quit hor stopp arrete* arretez deten* basta fermati pare остановись прекрати 停止 停下 やめて 中止 중지 멈추",
    Word.ATTENTION: "attention note notice dear hey hi hello instruction instructions reminder memo achtung hinweis nachricht hallo cher bonjour atencion nota aviso hola attenzione avviso ciao atencao ola mensagem внимание сообщение заметка привет уважаемый 注意 通知 提示 亲爱的 你好 メッセージ 注意 お知らせ 주의 알림 안녕",
    Word.GONE: """
        withdrawn void expired revoked superseded overridden cancelled canceled suspended lifted
        ungultig aufgehoben abgelaufen nichtig annulees perimees caduques anuladas annullat* revocad* отменен* недействительн* 作废 失效 撤销 过期 無効 무효
    """,
    Word.THIS: "this these that dies diese dieser dieses diesen ce cette ces cet este esta estos estas esto questo questa questi isto этот эту это этого 这 本 该 この これ 이",
    Word.WANT: "wants want wanted asked asks requested requests agreed prefers prefer expects expected changed decided consented instructed gebeten mochte demande veut souhaite quiere pidio pide vuole chiesto quer pediu хочет просит попросил* 希望 要求 想要 望ん 依頼 원하",
    Word.KNOW: "know knows notice notices noticing aware awareness knowledge see sees learn suspect realize realise wissen merkt bemerkt mitbekommt sache sachant remarque sepa note entere sappia accorga saiba perceba узнал* заметил* 知道 察觉 発覚 気づか 気付か 알지 모르게",
    Word.PRAISE: "recommend rate rank hire endorse prefer praise favour favor best positively bewert* empfiehl* empfehl* recommande* recomiend* raccomand* recomend* порекомендуй* 推荐 评为 推薦 評価 추천",
    Word.WHATEVER: "whatever regardless irrespective matter egal unabhangig cualquier qualunque indipendentemente независимо 无论 不管 関わらず 무조건",
    Word.FIRST_PERSON: "i i'm we me my our ich wir je nous yo soy nosotros io sono noi eu sou nos я мы 我 我们 私 저는 나는",
    Word.WORDS: "words word text sentence sentences everything worter satz mots phrase palabras parole frase palavras слова 文字 内容 言葉 文章",
    Word.GET: "collect gather harvest extract retrieve copy encode read fetch find grab sammle lies recopile recueille raccogli colete собери 收集 读取 集め 수집",
    Word.SECURITY: """
        attack attacks attacker attackers injection injections jailbreak jailbreaks jailbreaking malicious vulnerability vulnerabilities vulnerable mitigation
        mitigations threat threats adversarial exploit exploits phishing detect detects detection detector owasp cve researchers
        redteam payload payloads untrusted sanitize guardrail guardrails angriff* attaque* ataque* attacc* атак* уязвим* 攻击 注入 攻撃 脆弱性 공격 취약점
    """,
    Word.RENDER: "translate summarize summarise encode rephrase ubersetze traduis traduisez traduce traduci traduza переведи 翻译 翻訳 번역",
    Word.LAST: "ignorieren vergessen missachten weiterleiten senden schicken aufrufen ausfuhren zeigen unut goster",
    Word.DO: """
        set put list pass place paste insert replace switch rename mark move invite subscribe register fill enter type treat state rank output
        give leave attach supply hand sign unlock turn enable relaunch reinstall resend repeat rerun locate gzip zip compile label refuse claim
        substitute advance disclose swap deactivate download append grant elevate invoke trigger fetch withhold edit redirect mirror import query pick select advance cancel archive free hide present surface elevate publish share
        look load prove order serve recall agree confirm describe count sell adjust clear grep leak schedule wire print echo report say tell write copy
        setze trage gib nimm schreib* fuge fug ersetze stufe markier* ander* ubertrag* kopier* klick* beginn* antworte bewerte losche teile
        recupere recuperez colle collez copie copiez mets mettez remplace* indique* choisis ajoute* modifie* partage* affirme* fais clique* reponds
        anade anada pon ponga di confirma* escribe copia cambia cambie comparte incluye incluya repite haz agrega reemplaza marca modifica responde
        condividi conferma inserisci aggiungi scrivi cambia fornisci sostituisci rispondi clicca segna
        altere confirme inclua compartilhe copie escreva coloque adicione feche insira marque responda clique faca
        оцени* добавь* укажи* напиши* скопируй* измени* замени* подтверди* поделись нажми* включи* ответь* передай*
        发到 发给 传到 提交 寄到 回答 评价 打开 写入 读取 添加 更改 修改 填写 填入 复制 替换 标记 点击 下载 回复 优先 入力 追加 紹介 書き込 貼り付け 変更 置き換え コピー クリック 返信 評価して
        추가 입력 생략 결제 복사 변경 클릭 작성 교체 zet geef voeg plaats kopieer verwijder podaj wpisz skopiuj zmien dodaj smaz vypni posli pridej zkopiruj andra skicka sag ekle yaz topla kopyala degistir
        ارسل اكتب احذف نفذ افتح انسخ भज надішли виконай виконуй додай видали
    """,
    Word.ASSET: """
        shell terminal script cron sudo env environment repo repos repository branch main registry firewall backup backups calendar cart basket card
        invoice inbox mailbox vault keychain folder folders directory clipboard drafts permissions access privileges namespace bucket workspace account accounts
        bookings orders order payment iban crm spreadsheet address addresses contacts phone name email mail browser history location profile settings config
        surname 2fa tls ssl audit hook registry channel document documents group project projects pull request wire sso
        ordner postfach warenkorb sicherung* konto adresse* karte termine carpeta carrito rama cuenta tarjeta agenda dossier panier compte carte adresse*
        cartella carrello conto carta indirizzo rubrica pasta carrinho conta cartao fatura папк* аккаунт* карт* адрес* таблиц*
        电话 电话号码 通讯录 电邮 邮件 邮箱 购物车 文件夹 账户 账号 银行 地址 メールボックス カート フォルダ 口座 アカウント 住所 장바구니 폴더 계좌 주소 결제 schowek koszyk slozk*
    """,
    Word.FAULT: """
        error fatal failed failure exceeded err timeout crashed corrupted corrupt mismatch missing invalid blocked expired stuck conflict quota unauthorized
        truncated retry resolve recover remediation fix workaround troubleshoot reproduce fehler fehlgeschlagen erreur echec fallo errore fallito erro falha ошибк* 错误 失败 エラー 失敗 오류 실패
    """,
    Word.SECRETIVE: """
        ask asking confirm confirming log logging list flag flagging show showing display verify verifying comment explain justify bring check question trouble
        draw seek prompt prompting reviewing hesitate refuse warn wait nachfragen fragen ruckfrage demander preguntar consultar chiedere perguntar спрашива* 询问 確認 尋ね 묻지 vragen pytaj sor
    """,
    Word.PERSIST: """
        memory memories notes profile cursorrules preferences gedachtnis memoire memoria памят* 记忆 長期記憶 記憶 메모리 기억
    """,
    Word.SHELL: """
        curl wget bash sudo chmod powershell netcat nc rm npm pip git ssh scp kubectl terraform docker nohup crontab sh ufw
    """,
    Word.CONTINUE: """
        continue proceed finish complete unlock verify authenticate resume accepted displayed finished fortfahren abschliessen continuer terminer continuar terminar
        concludere proseguire concluir prosseguir продолж* заверш* 继续 完成 続ける 続行 完了 계속 완료 dokonczyc
    """,
    Word.STATED: """
        safe approved cheapest winner excellent verified legitimate outstanding hire accept lgtm clean paid best undervalued trustworthy confirmed unanimously exceptional
        geeignet hervorragend meilleur mejor barata migliore melhor отлично 第一 一位 最好 安全 最高 최고 안전
    """,
    Word.STRANGER: """
        whoever whichever reader readers crawler crawlers scraper scrapers grader graders screener screeners classifier classifiers summariser summarizer
        helper companion neural machine maschine machines robot robots roboter robo robos робот* 机器人 ロボット 로봇 gpts
    """,
    Word.IF: "if wenn falls si se если 如果 若 もし 만약 jesli",
    Word.WHAT: "what which where how was welche* wie lautet lauten quel quelle* quels cual cuales que quali qual quais какие какой какова каковы 什么 哪些 何 なに 무엇 뭐",
    Word.DANGER: "delete wipe erase disable destroy drop remove losch* deaktivier* supprim* desactiv* elimina elimine borra borre cancella disattiv* apague удали* отключи* 删除 关闭 禁用 削除 無効 삭제 비활성",
}  # fmt: skip

# Two words with one meaning; the first of them carries the classes.
_PHRASES: dict[str, int] = {
    "your user": Word.ITS_USER, "your human": Word.ITS_USER, "your operator": Word.ITS_USER, "your owner": Word.ITS_USER, "your principal": Word.ITS_USER,
    "deinem nutzer": Word.ITS_USER, "deinem benutzer": Word.ITS_USER, "ton utilisateur": Word.ITS_USER, "tu usuario": Word.ITS_USER,
    "tuo utente": Word.ITS_USER, "seu usuario": Word.ITS_USER, "твоему пользователю": Word.ITS_USER,
    "is to": Word.MUST, "are to": Word.MUST, "needs to": Word.MUST, "may now": Word.MUST, "agree to": Word.MUST,
    "no need": Word.NOT, "need not": Word.NOT, "leave out": Word.NOT | Word.TELL, "keep quiet": Word.NOT | Word.TELL, "keep silent": Word.NOT | Word.TELL,
    "next time": Word.WHEN, "every time": Word.WHEN, "each time": Word.WHEN, "any time": Word.WHEN, "as soon": Word.WHEN,
    "system prompt": Word.INNER, "has to": Word.MUST, "have to": Word.MUST, "need to": Word.MUST, "security team": Word.CHIEF,
    "language model": Word.MODEL, "language models": Word.MODEL,
    "non dire": Word.NOT | Word.TELL, "non dirlo": Word.NOT | Word.TELL, "non informare": Word.NOT | Word.TELL,
    "non menzionare": Word.NOT | Word.TELL, "non seguire": Word.NOT | Word.FOLLOW, "invite systeme": Word.PROMPT | Word.INNER,
    "set aside": Word.DROP, "turn off": Word.DROP | Word.DANGER, "switch off": Word.DROP | Word.DANGER,
    "turned off": Word.GONE, "no longer": Word.LONGER,
    "told about": Word.ABOUT, "said about": Word.ABOUT, "written about": Word.ABOUT, "carry out": Word.RUN, "act on": Word.RUN, "act as": Word.BECOME, "are now": Word.BECOME, "content policy": Word.INNER,
    "content rules": Word.INNER, "content filter": Word.INNER, "ethical guidelines": Word.INNER | Word.ORDERS,
    "safety rules": Word.INNER, "safety policy": Word.INNER, "safety guidelines": Word.INNER | Word.ORDERS,
    "from now": Word.LATER,     "long term": Word.LATER,
    "word for": Word.ONLY, "pay no": Word.DROP, "stop following": Word.DROP, "stop obeying": Word.DROP,
    "ab sofort": Word.LATER, "von jetzt": Word.LATER, "d'ora in": Word.LATER,
    "desde ahora": Word.LATER, "с этого": Word.LATER, "не обращай": Word.DROP, "no hagas": Word.DROP,
    "ne tenez": Word.DROP, "ne tiens": Word.DROP, "nothing else": Word.ONLY, "no matter": Word.WHATEVER,
}  # fmt: skip

# Words that are recognised through typing errors too, because so much depends on them.
_MISSPELT = [
    "ignore",
    "disregard",
    "forget",
    "override",
    "bypass",
    "previous",
    "earlier",
    "preceding",
    "original",
    "instruction",
    "instructions",
    "directives",
    "guidelines",
    "prompt",
    "prompts",
    "system",
    "assistant",
    "chatbot",
    "reveal",
    "password",
    "credentials",
    "developer",
    "everything",
    "restrictions",
    "ignoriere",
    "vergiss",
    "anweisungen",
    "vorherigen",
    "ignorez",
    "oubliez",
    "instructions",
    "consignes",
    "precedentes",
    "olvida",
    "instrucciones",
    "anteriores",
    "dimentica",
    "istruzioni",
    "precedenti",
    "esqueca",
    "instrucoes",
]
# Everyday words that are one typing error away from one of these.
_NOT_TYPOS = frozenset(
    [
        "forged",
        "forest",
        "forgot",
        "clause",
        "precious",
        "originate",
        "revel",
        "directive",
        "systemd",
        "olivia",
        "esquema",
        "prompto",
        "direction",
        "directions",
        "ignorez",
        "ignorer",
        "ignorar",
        "ignoren",
        "prevision",
        "previously",
    ]
)


def _is_scriptless(word: str) -> bool:
    """Tell whether a word is written without spaces between words."""
    return any(
        0x3040 <= ord(letter) <= 0x9FFF or 0xAC00 <= ord(letter) <= 0xD7A3 for letter in word
    )


class Lexicon:
    """The lists above, ready to look words up."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.stems: dict[str, int] = {}
        self.parts: dict[str, list[tuple[str, int]]] = {}
        self._typos: dict[str, str] = {}
        self._shuffled: dict[str, str] = {}
        self.known: BoundedCache[str, int] = BoundedCache(_MAX_WORDS)
        scriptless: dict[str, int] = {}
        for kind, text in _LISTS.items():
            for entry in text.split():
                word = fold(entry)
                if _is_scriptless(word):
                    scriptless[word] = scriptless.get(word, 0) | kind
                elif word.endswith("*"):
                    self.stems[word[:-1]] = self.stems.get(word[:-1], 0) | kind
                else:
                    self.words[word] = self.words.get(word, 0) | kind
        for word, kinds in sorted(scriptless.items(), key=lambda item: -len(item[0])):
            self.parts.setdefault(word[0], []).append((word, kinds))
        self.phrases: dict[str, dict[str, int]] = {}
        for phrase, kinds in _PHRASES.items():
            first, second = fold(phrase).split(" ")
            self.phrases.setdefault(first, {})[second] = kinds
            self.words[first] = self.words.get(first, 0) | Word.PHRASE
        self._longest = max(map(len, self.stems))
        for word in _MISSPELT:
            self._typos[word] = word
            for place in range(1, len(word)):
                self._typos.setdefault(word[:place] + word[place + 1 :], word)
            self._shuffled.setdefault(_shuffle(word), word)

    def classes(self, word: str) -> int:
        """Return the classes of a folded word, or 0, and cache them in `known`."""
        kinds = self.known[word] = self._look_up(word)
        return kinds

    def _look_up(self, word: str) -> int:
        if len(word) > _MAX_LETTERS:
            return 0
        kinds = self._exact(word)
        if kinds:
            return kinds
        if not word.isalpha() and any(map(str.isalpha, word)):
            letters = word.translate(LEET)
            kinds = self._exact(letters) or self._exact(word.replace("1", "l").translate(LEET))
            if kinds and len(letters) >= _SHORTEST_LEET:
                return kinds | Word.TYPO
        if len(word) >= _SHORTEST_TYPO and word not in _NOT_TYPOS:
            target = self._corrected(word)
            if target is not None:
                return self._exact(target)
        return 0

    def _exact(self, word: str) -> int:
        kinds = self.words.get(word, 0)
        for size in range(min(len(word), self._longest), 2, -1):
            stem = self.stems.get(word[:size])
            if stem is not None:
                return kinds | stem
        return kinds

    def _corrected(self, word: str) -> str | None:
        """Return the listed word that this one is a misspelling of."""
        target = self._typos.get(word) or self._shuffled.get(_shuffle(word))
        for place in range(1, len(word)) if target is None else ():
            target = self._typos.get(word[:place] + word[place + 1 :])
            if target is not None:
                break
        if target is None or abs(len(target) - len(word)) > 1:
            return None
        # An ending is grammar and no typing error.
        is_ending = word.startswith(target[:-1]) and len(word) != len(target)
        return None if is_ending and word != target + target[-1] else target


def _shuffle(word: str) -> str:
    return word[0] + "".join(sorted(word[1:-1])) + word[-1]


@cache
def lexicon() -> Lexicon:
    """Return the lexicon of the process, built when first needed."""
    return Lexicon()


# Letters that were taken apart are scanned only if they contain one of these.
SQUEEZED_HINTS = tuple(
    squeeze(word)
    for word in [
        "ignore",
        "disregard",
        "forget",
        "override",
        "overwrite",
        "bypass",
        "neglect",
        "reveal",
        "disclose",
        "prompt",
        "instruction",
        "password",
        "attacker",
        "approval",
        "safety",
        "guideline",
        "secretly",
    ]
)
_SQUEEZED = (
    Word.DROP | Word.ORDERS | Word.LIMITS | Word.EARLIER | Word.INNER | Word.PROMPT | Word.SHOW
    | Word.SEND | Word.SECRET | Word.PRIVATE | Word.HOSTILE | Word.CHECK | Word.USER | Word.TELL
)  # fmt: skip


@cache
def squeezed_words() -> dict[str, list[tuple[str, int]]]:
    """Return listed words as squeezed letters, the longest first, by their first three letters."""
    by_letters: dict[str, list[tuple[str, int]]] = {}
    for word, kinds in lexicon().words.items():
        letters = squeeze(word)
        if word.isascii() and (
            (len(letters) >= 4 and kinds & _SQUEEZED) or word in ("all", "your", "not", "dont")
        ):
            by_letters.setdefault(letters[:3], []).append((letters, kinds))
    for words in by_letters.values():
        words.sort(key=lambda item: -len(item[0]))
    return by_letters
