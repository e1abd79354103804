// Words of outcomes and reasons in en, de, fr and es, outcomes also in it, nl and pt: neither texts
// nor fields are documented. What no row knows is not certain. Rows take texts of `plainWords`.

/** Words of a text in lower case without accents; spaces replace underscores, hyphens and dots. */
export const plainWords = (text: string): string =>
  text
    .slice(0, 1000)
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .normalize("NFKD")
    .replaceAll("’", "'")
    .replaceAll(/[\p{M}\p{Cf}]/gu, "")
    .toLowerCase()
    .replaceAll(/(?<=\w)[-_.]+(?=\w)|\s+/g, " ")
    .replace(/[\s.!]+$/, "")
    .trim();

/** Words before a vault's credentials. Any other makes them another's: "merchant credentials". */
const ours =
  "vault(?:'s)?|tresors?|offline|online|credit card|the|this|these|that|your|its|an?|of|or|and|supplied|provided|given|presented|submitted|sent|stored|current|old|new|pair|because|as|since|but|with|previous|expired|superseded|rotated|received|decrypted|both|\\d+|err(?:or)?|failed|failure|denied|refused|rejected|unauthorized|forbidden|credentials?|payload|die|den|der|dieser?|ihre|angegebenen?|ubermittelten?|aktuellen?";

const nouns: Readonly<Record<string, string>> = {
  LOCKED: "(?:locked|gesperrt|verrouillee?s?|bloquead[ao]s?|bloquee?s?)",
  VAULT: "(?:vault|tresor|coffre|boveda|caja fuerte)",
  UUID: "[\\da-f]{8}(?: [\\da-f]{4}){3} [\\da-f]{12}",
  THEIR: `(?:(?:${ours}) )*`,
  OWN: `(?<!(?<![\\w'])(?!(?:${ours}) )[\\w']+ )`,
  OTHERS:
    "(?:users?|login|accounts?|services?|admin\\w*|operator|console|tenant|merchant|partner|customer|bank|card(?! vault)|database|db|proxy|ldap|sasl(?: authentication failed)?|hashi ?corp(?: vault)?|key vault|smtp|imap|s?ftp|ssh|kerberos|saml|sso|registry|cloud|aws|azure|gcp|s3|hsm|kms|upstream|backend|broker|kafka|redis|queue|vpn|webhook)",
  PAIR: "(?:credentials?|encrypted ?data|zugangsdaten|anmeldedaten|anmeldeinformationen)",
  SECRET:
    "(?:credentials?|encrypted ?data|hashed ?pin|pin|device|zugangsdaten|anmeldedaten|identifiants|credenciales)",
  /** The service as a whole, before "unavailable": it has looked at nothing. */
  ITSELF:
    "(?:(?:^|[-.:;,(] ?|\\d |(?:because|since|as) )(?:(?:the|this|our|vault|service|server|system|api|host|is|was|temporarily|currently) )*)",
  NOT: "(?:not|never|no|isn't|wasn't|without|nicht|nie|kein\\w*|ohne|pas|non|ne|nunca|sin)",
};

/** Compiles the alternatives of a row, one a line or separated by bars: whole words. */
const row = (alternatives: string): RegExp =>
  new RegExp(
    `\\b(?:${alternatives
      .trim()
      .replaceAll(/\s*\n\s*/g, "|")
      .replaceAll(/[A-Z]{3,}/g, (noun) => nouns[noun] ?? noun)})(?!\\w)`,
    "g",
  );

/** Misleading parts of a text, taken out: hints, conditions, negations, what is about others. */
const misleading = row(String.raw`
  (?:\d+ )?(?:attempts?|tries|retries|versuche?|tentatives?|intentos?)(?: (?:are|is|remain\w*|left|ubrig|restantes?))+[^.,;:]*|(?:possibly|probably|maybe|perhaps|presumably|vermutlich|moglicherweise|wahrscheinlich|peut etre|posiblemente|probablemente) [^.;:?,]*
  (?:remaining|noch|restantes?|quedan?):? \d+ (?:attempts?|tries|versuche?|tentatives?|intentos?)[^.,;:]*
  (?:before|until|till|unless|if|when|once|to avoid|bevor|bis|wenn|falls|sobald|avant|jusqu|si|antes|hasta|cuando) [^.,;:]*
  (?:an?|any|each|every|eine?|une?|una) VAULT[^.;]*|(?:is|gets|becomes|wird|est) LOCKED (?:after|nach|apres) [^.,;:]*|(?<=^|[.;,:] ?)after \d+ [^.,;:]*
  (?:will|would|may|might|could|can|should|wird|werden|sera|serait|pourrait|puede|podria)(?: \w+){0,4} (?:lock|LOCKED)
  NOT(?: \w+){0,2} LOCKED|LOCKED ?[?:=] ?(?:no|false|nein|non|0)
  (?:database|db|tables?|rows?|files?|records?|accounts?|users?|benutzer\w*|konto|compte|cuenta|usuario|utilisateur|application|app|anwendung|keys?|devices?|cards?|session|ip|address|adresse|queue|transaction|documents?|merchant|client|tenant|partner|customer|owner|orders?):?(?: (?!VAULT)(?:UUID|[\w']+:?)){0,4} LOCKED
  LOCKED by (?:another|other|a different|transaction|process|thread|session)|another (?:exchange|transaction|process|thread|session) has LOCKED
  SECRET(?: (?:were|are|is|was|checks?))* (?:ok|okay|valid|accepted|correct|verified|matched|fine|good|current|gultig|korrekt|valides|validas|correct[ao]?s)
  (?<!NOT )(?:valid|correct|good) (?:vault )?SECRET|NOT (?:about|because of|related to|due to|caused by|an?|the|invalid|wrong|bad)(?: \w+){0,3} SECRET
  OTHERS(?: \w+)? ?(?:credentials?|password|zugangsdaten|anmeldedaten)|OTHERS: [^.;]*|[^.;]*\((?:ldap|sasl|kerberos|saml|sso|smtp|database)[^)]*\)|credentials? (?:of|for|from) (?:the |this |an? )?OTHERS[^.;,:]*
  (?<=^|[.;:,] ?)(?:simulat\w*|dry run|test (?:call|mode|run)) ?[-:](?! ?(?:no|false|off|0)\b)[^.;,]*
  (?<!vault )credentials(?: \((?:x )?application(?: uuid)?\)|: application(?: uuid)?$)
  (?:left on|block|storage|usb) device|device (?:busy|driver|or resource)|(?:certificate|cert|key|ssl|tls|hsm|kms|sim|smart ?card) pin
  VAULT(?: \w+){0,2} (?:unavailable|not available|indisponible|no disponible)
  (?:generat|creat|stor|sav|writ|load|fetch|rotat|renew|encrypt)(?:ing|ion|age) (?:of )?(?:THEIR)PAIR|(?<!\()(?:PAIR|device|hashed ?pin|pin) (?:look ?up|refresh|rotation|renewal|generation|creation|storage|store|write|table|cache|provider|service|backend|(?:en|de)cryption|header|counter|format|encoding|length|type|schema|syntax|object|field|size|parameter|cookie|checksum)`);

/** Why a call was refused. What comes first is taken out, before `misleading` is. */
const rows = {
  application: row(String.raw`
    (?:application|app|api|client)(?:'s)? (?:credentials?|secret|token|password)|credentials? (?:of|for) (?:the |this |your )?(?:application|app|client|api)
    (?:anwendungs|applikations)(?:zugangs|anmelde)daten|identifiants (?:de l'|d')(?:application|api)|credenciales de (?:la )?(?:aplicacion|api)
    api ?(?:keys?|schlussel)|cle (?:d')?api|clave (?:de )?api|jwt|jws|(?:bearer|access|oauth|id|session) token|white ?list(?:ed)?|allow ?list(?:ed)?|(?:request|token) signature|quotas?|client cert(?:ificate)?
    ip(?: address)?(?: \S+)? (?:is |was )?(?:not|denied|blocked|refused|rejected)|address (?:is |was )?(?:not|refused|denied|blocked)
    ip ?adresse (?:ist )?(?:nicht|gesperrt)|adresse ip (?:non|refusee)|direccion ip (?:no|rechazada)
    application (?:is |was )?(?:refused|unknown|not|or|disabled|suspended|inactive|blocked|expired)|(?:unknown|invalid|disabled|inactive) application`),
  /** The limit of starts without an acknowledgement was reached. */
  starts: row(String.raw`
    too many (?:\w+ ){0,2}(?:starts|reads|transactions|exchanges)|unacknowledged|without (?:an? )?acknowledge?ments?|limit of starts
    unbestatigt\w*|ohne bestatigung|non (?:confirme|acquitte)\w*|sans (?:confirmation|acquittement)|sin confirma\w*|no confirmad\w*`),
  /** The limit of failed attempts was reached. */
  attempts: row(String.raw`
    (?:too many|excessive|repeated|max(?:imum)?|limit of|number of|zu vielen?|trop de|demasiados|\d+) (?:\w+ ){0,4}(?:attempts?|tries|failures|(?:fehl)?versuche\w*|tentatives?|intentos?)
    attempts? (?:exceeded|limit)`),
  locked: row(String.raw`
    ^LOCKED(?:$| ?[,;:(])|(?:^|it |resource that is being accessed )(?:(?:is|was|has been|already|now|currently|ist|wurde|est|esta) )+LOCKED|(?:is|was|been|already|now|currently|and|it|ist|wurde|est|esta|encuentra|status:?|state:?|VAULT) LOCKED(?<=\b(?:VAULT|[\da-f]{12})\b.*)|lock(?:s|ed) the vault
    LOCKED (?:out|vault)|\w+, (?:now )?LOCKED|tresor(?: \w+){0,6} gesperrt$`),
  /** The vault does not exist, not any longer, or has no uses left. */
  gone: row(String.raw`
    (?:no such|unknown|deleted|expired|non ?existent|unbekannter|geloschter) VAULT(?! (?:types?|kinds?|errors?|operations?|actions?|states?|metadata|keys?|versions?|credentials?|owner|items?)\b)|(?:no VAULT (?:with|was found|found)|cannot find (?:the )?VAULT)(?!(?: [\w']+){0,5} SECRET)|VAULT missing(?! \w)|VAULT (?:could not be found|nicht vorhanden|inexistante?|wurde entfernt|n'existe plus)|^(?:not found|gone)$|expiry ?date (?:was |is )?(?:reached|(?:has )?passed|exceeded)|reached its expiry(?: ?date)?
    VAULT(?: (?:id|uuid|with|mit|avec|con|\S*\d\S*)){0,8} (?:(?:is|was|has|been|already|ist|wurde(?: am [\d .]+)?|est|a|ete|esta|ha|sido|no longer|nicht mehr) )*(?:expired|deleted|removed|purged|destroyed|gone|not found|unknown|exists?|geloscht|abgelaufen|nicht gefunden|unbekannt|supprime|expire|introuvable|inconnu|eliminada|borrada|caducada|no encontrada|desconocida)(?! credentials)
    VAULT (?:does|did) not exist|VAULT existiert nicht|VAULT n'existe pas|VAULT no existe
    no (?:\w+ )?uses (?:remain\w*|left)|uses (?:remaining|left)\W{1,3}0|no more uses|max(?:imum)? (?:number of )?us(?:es|age) (?:was |is )?(?:reached|exceeded)|us(?:es?|age) (?:are |is |have been |limit )?(?:spent|exhausted|used up|reached|exceeded)(?! (?:for|of) (?:the )?(?:app\w*|api|account|token|user))|keine nutzung\w*|sin usos|usos agotados|plus d'utilisations?`),
  rate: row(String.raw`
    rate ?limit(?:ed|ing|s)?|too many requests|throttl\w+|slow down|resource exhausted|zu viele anfragen|trop de requetes|demasiadas (?:solicitudes|peticiones)`),
  /** Nothing in the request could be looked at. */
  malformed: row(String.raw`
    malformed|(?:not|cannot) be parsed|pars(?:e|ing) (?:error|failed)|(?:invalid|unexpected|bad) (?:json|syntax|request body|character)|unexpected token|syntax error
    ^validation$|(?<!credentials? )validation (?:failed|errors?)|must (?:be|have|match|contain) (?:an?|at|the|between|of|one|\d\w*)|must not be (?:null|empty|blank)|(?:do|does|did) not match (?:the )?(?:pattern|regex\w*)|missing (?:field|property|parameter|header|body|required)|(?:not|invalid|wrong|bad) (?:valid )?(?:base ?64|encoding|format|length|size)|expected (?:an? )?(?:string|object|array)|by schema
    required (?:field|property|parameter)|unsupported media|(?:payload|entity|body|request|uri) (?:is )?too (?:large|long)|larger than|method (?:must|not allowed)|no such endpoint|not implemented
    ungultige anfrage|requete (?:invalide|mal formee)|(?:solicitud|peticion) (?:no valida|mal formada)`),
  unavailable: row(String.raw`
    maintenance|wartung\w*|mantenimiento|unavailable(?<=ITSELFunavailable)|nicht verfugbar|indisponible|no disponible|overload\w*|shutting down|out of service|circuit breaker`),
  /** The service or a connection failed: whether the call was accepted is not known. */
  service: row(String.raw`
    (?:internal|server|upstream|backend|gateway|network|io|system) (?:\w+ )?(?:errors?|failure)|internal$|upstream|gateway|database|sql\w*|db error|deadlock\w*|time ?d? ?out|deadline exceeded|cancell?ed|aborted
    connection (?:was )?(?:reset|refused|closed|aborted|lost|error|failed)|connect(?:ion)? to|econ\w+|e(?:timedout|notfound|pipe|hostunreach|ai again)|socket|broken pipe|dns|tls|ssl|handshake|OTHERS (?:is )?(?:offline|down|unreachable)|unavailable(?<!ITSELFunavailable)
    out of memory|no space|could not (?:answer|be (?:checked|verified|loaded|read|decrypted|fetched|generated|stored|created|encrypted))|unable to|failed to|(?:null ?pointer|runtime|illegal \w+|io|sql) ?exception|traceback|stack ?trace|panic: \w+|goroutine \d+
    (?:java|javax|com|org|net|io) \w+ \w+|at [\w$ <>]+\(\S*|\w+ (?:java|py|go|js|ts|cs):\d+
    datenbank\w*|zeituberschreitung|verbindung (?:zuruckgesetzt|abgebrochen|verloren)|interner (?:server)?fehler|serverfehler
    delai (?:d'attente )?depasse|erreur (?:interne|serveur)|base de (?:donnees|datos)|connexion (?:reinitialisee|interrompue|refusee)
    tiempo de espera|error interno|conexion (?:restablecida|rechazada|cerrada|perdida)`),
  device: row(String.raw`
    ^device$|credentials \((?:vault )?device|device(?: fingerprint)?[^.;]{0,30} (?:mis ?match|match|not (?:(?:recogni[sz]|register|trust|accept|allow|authori[sz]|permitt|enroll|match|link|pair|associat)(?:ed|ing)|known|valid|bound|correct|the (?:same|one))|unknown|different|differs|changed|invalid|wrong|refused|rejected|denied)
    (?:unknown|wrong|other|another|different|unrecogni[sz]ed|invalid|unregistered) device|device fingerprint
    (?:unbekanntes|falsches|anderes) gerat|gerat (?:ist )?(?:unbekannt|stimmt nicht|passt nicht|nicht (?:erkannt|bekannt|registriert))|appareil (?:inconnu|non reconnu|different|refuse)|dispositivo (?:no reconocido|desconocido|no coincide|distinto|rechazado)`),
  pin: row(String.raw`
    ^(?:vault credentials )?(?:hashed ?)?pin$|credentials \((?:vault credentials )?hashed ?pin|(?:invalid|wrong|bad|incorrect|falsche[rsn]?|ungu?e?ltige[rsn]?|mauvais) (?:hashed ?)?(?:pin|nip|geheimzahl|code pin)
    (?:pin|nip|geheimzahl)(?: (?:is|was|ist|est|es))? (?:invalid\w*|wrong|incorrect\w*|mis ?match|(?:does|did)(?:n't| not) match|not valid|rejected|refused|falsch|ungu?e?ltig|errone\w*|no valido|non valide)`),
  credentials: row(String.raw`
    ^vault credentials(?: payload| encrypted ?data)?$|credentials \(vault credentials
    (?:invalid|bad|wrong|incorrect|mis ?match\w*|stale|outdated|superseded|unknown|no (?:longer )?valid|no matching|rejected|refused|denied|failed|failure|ungu?e?ltige?[rsn]?|falsche?[rsn]?|veraltete?[rsn]?) (?:THEIR)PAIR
    (?:OWN)PAIR(?: [^.;]{0,40})? (?:invalid|bad|wrong|incorrect|mis ?match\w*|(?:do|does|did)(?:n't| not) match|not (?:match\w*|valid|current|accepted|recogni[sz]ed)|no longer (?:valid|current)|stale|outdated|superseded|unknown|rejected|refused|denied|fail\w*|ungu?e?ltig|falsch|abgelehnt|veraltet|stimmen nicht|nicht (?:gultig|korrekt))
    identifiants (?:\w+ ){0,3}(?:invalides|incorrects|errones|refuses|perimes|non valides)|(?:mauvais|faux) identifiants
    credenciales (?:\w+ ){0,3}(?:no validas|invalidas|incorrectas|rechazadas|erroneas|caducadas)|payload (?:mis ?match|(?:do|does|did) not match)(?! (?:the )?(?:declared )?(?:schema|content|type|format|pattern|regex|size|length|hash|signature))`),
  /** The application's credentials, or the vault's. */
  unauthorized: row(String.raw`^(?:unauthori[sz]ed|unauthenticated|not authenticated)$`),
};
export type Reason = keyof typeof rows;
const entries = Object.entries(rows) as [Reason, RegExp][];

function reasonsIn(text: string, reasons: Set<Reason>): void {
  // "403 Forbidden" says what "Forbidden" says.
  const plain = plainWords(text).replace(/^(?:http(?:\/\d \d| \d \d)? )?[1-5]\d\d (?=[a-z])/, "");
  const rest = plain.replaceAll(rows.application, "*").replaceAll(misleading, "*").trim();
  for (const [reason, words] of entries)
    if ((reason === "application" || reason === "service" ? plain : rest).search(words) >= 0)
      reasons.add(reason);
}

/** Reasons of HTTP statuses and of names of gRPC. Others, like 400 and 403, give none. */
const ofCode: ReadonlyMap<string, Reason> = new Map(
  Object.entries({
    unauthorized: "401",
    gone: "404 410 NOT_FOUND",
    locked: "423",
    rate: "429",
    malformed: "405 411 413 414 415 431 501 UNIMPLEMENTED",
    unavailable: "503",
    service: "408 500 502 504 INTERNAL DATA_LOSS",
  } satisfies Partial<Record<Reason, string>>).flatMap(([reason, codes]) =>
    codes.split(" ").map((code) => [code, reason as Reason] as const),
  ),
);

/** Returns the HTTP status at the start of an outcome: `403`, `HTTP/1.1 423`, `status=503`. */
const statusOf = (outcome: string): string | undefined =>
  /^(?:http(?:\/\d(?:\.\d)?)?|status(?: ?code)?)?[ :=]*([1-5](?:\d\d|xx))\b/i.exec(
    outcome.trim(),
  )?.[1];

/** Returns why a call was refused, `locking` if it locked; undefined without one clear reason. */
export function reasonOf(
  outcome: string | undefined,
  texts: readonly string[],
): Reason | "locking" | undefined {
  const reasons = new Set<Reason>();
  const given = outcome === undefined ? undefined : ofCode.get(statusOf(outcome) ?? outcome);
  if (outcome !== undefined && given === undefined) reasonsIn(outcome, reasons);
  const isLocked = given === "locked" || reasons.has("locked");
  for (const text of texts) reasonsIn(text, reasons);
  if (given !== undefined && (given !== "unauthorized" || reasons.size === 0)) reasons.add(given);
  const has = (...any: Reason[]): boolean => any.some((reason) => reasons.has(reason));
  const isElsewhere = has("gone", "application", "rate", "malformed", "unavailable", "service");
  const secrets = (["device", "pin", "credentials"] as const).filter((one) => reasons.has(one));
  if (has("locked") && (isLocked || !isElsewhere))
    return has("starts") ? "starts" : has("attempts") || secrets.length > 0 ? "locking" : "locked";
  if (isElsewhere && (has("locked", "starts", "attempts") || secrets.length > 0)) return undefined;
  if (has("gone")) return reasons.size === 1 ? "gone" : undefined;
  // What is about others beside a vault's credentials may be about these.
  const ofVault =
    /(?:invalid|wrong|bad|incorrect|stale|fail(?:ed|ure):?(?: for| of)?|validat\w* (?:of|for|error:?)) (?:the )?vault.{0,4}credential|credentials?\)? (?:rejected|refused|invalid|wrong|failed|must|stale|denied|do|did)|(?:payload|encrypted ?data|pin) (?:do|did|must)/i;
  if (isElsewhere && texts.some((text) => ofVault.test(text))) return undefined;
  // A failure to look at credentials is not one of theirs, but they may have been looked at.
  if (has("service")) return texts.some((text) => /credential/i.test(text)) ? undefined : "service";
  if (has("starts")) return "starts";
  // "bad credentials (device)" is about the device, "device or credentials" about either.
  if (secrets.length > 1 && texts.some((text) => /\b(?:or|oder|ou|o)\b|\//i.test(text)))
    return secrets.find((one) => one === "credentials");
  return secrets[0] ?? [...reasons].find((reason) => reason !== "attempts");
}

/** Meaning of an outcome; `unclear` if it is neither a known success nor a known failure. */
export type Outcome = "good" | "bad" | "unclear";

const yes = "true|t|yes|y|ja|oui|si|sim|tak|wahr|vrai|verdadero";
const no = "false|f|no|n|nein|non|nee|nao|nie|nej|falso|faux|falsch";
const done = String.raw`success(?:ful(?:ly)?)?|succeed(?:ed|s)?|ok(?:ay)?|done|completed?|allow(?:ed)?|accept(?:ed)?|granted|permit(?:ted)?|approved|pass(?:ed)?|erfolg(?:reich)?|zugelassen|gelungen|akzeptiert|erlaubt|succes|reussi(?:e|te)?s?|acceptee?|autorisee?|accordee?|exito(?:so|sa)?|correct[oa]|aceptad[oa]|autorizad[oa]|permitid[oa]|sucesso|sucedid[oa]|riuscit[oa]|geslaagd|gelukt|authori[sz]ed|gewahrt|genehmigt`;
const failed = String.raw`fail(?:s|ed|ures?|ing)?|errors?|den(?:y|ied)|refused?|reject(?:ed)?|blocked|forbidden|fehler|fehlgeschlagen|abgelehnt|abgewiesen|verweigert|zuruckgewiesen|erreurs?|refusee?s?|rejetee?s?|errore[si]?|fallos?|denegad[oa]|rechazad[oa]|negad[oa]|negat[oa]|recusad[oa]|rifiutat[oa]|geweigerd|afgewezen`;
/** Negations of outcomes alone: "cannot open locked vault" denies no lock. */
const negated =
  "hasn't|couldn't|cannot|neither|nothing|lack of|unable to be|sans|aucune?|nao|sem|mal|senza|nessun[ao]?|niet|geen|zonder|inte|ikke|ingen";
/** Between a word and its value; also with brackets, bars and "is". */
const pair = String.raw`["'\\]* ?[=:] ?["'\\]*`;
const is = String.raw`(?:["'\\]* ?[=:?|(] ?["'\\]*| is )`;
/** Failures that were none: they are taken out. */
const noFailure = row(String.raw`
  (?:NOT|${negated}|0) (?:${failed})(?: (?:were |was )?(?:found|reported|occurred))?|(?:${failed})${pair}false(?! \w)|(?:${failed})(?:["'\\]+ ?:|=) ?["'\\]*(?:${no}|none|null|0)(?! (?!\w+[=:])\w)|(?:errors|failures|erreurs|errores|fallos)(?:${is}| )(?:none|null|(?:${no}|0)(?! (?!\w+[=:])\w))|failed${pair}0(?! (?!\w+[=:])\w)|(?:error|fault) ?(?:free|less)|fehler(?:frei|los)`);
const bad = row(String.raw`
  ^(?:${no}|nok|ko)$|^n ?i ?o|(?:NOT|${negated}) (?:\w+ ){0,3}(?:${done}|valid|found)|(?:${done})${is}(?:false|nein|(?:${no})(?! \w))|(?:success(?:ful)?|succeeded|ok|allowed|granted|accepted|passed|authori[sz]ed)${pair}0(?! \w)|in(?:complete|correct[oa]?s?|valid[aeo]?s?)
  ${failed}|bad|wrong|un(?:authori[sz]ed|authenticated|successful(?:ly)?)|mis ?match\w*|too many|permission denied
  fehler\w*|fehlschlag|erfolglos|ungu?e?ltig\w*|falsche?\w?|gescheitert
  echec|echoue\w*|interdit\w*|non valide\w*|fallid[ao]|fracas(?:o|ado)|no valid[oa]s?
  nack|abort(?:ed)?|fal(?:ha|hou)|fallit[oa]|mislukt`);
/** Words that may stand beside a success: any other, like "almost", may make it none. */
const beside = String.raw`status|result|outcome|operation|request|call|command|login|access|vault|read|the|was|is|has|been|with|warnings?|abgeschlossen|ausgefuhrt|bem|audit\w*|auth(?:entication|ori[sz]ation)?|log ?on|action|job|task|transaction|event|response|query|session|process(?:ing|ed)?|executed|finished|ended|returned|normally|state|code|http|decision|policy|by|api|(?:s|e|rc|ldap|txn)(?= ok| success)|created|updated?|retrieved|acknowledged|validation|cached|in|info|completion|grpc|msg|res|der|die|wurde|vorgang|aktion|anfrage|anmeldung|zugriff|uberwachung|beendet|durchgefuhrt|verarbeitet|con|com|avec|mit|operacion|operacao|realizada|concluid[oa]|completad[oa]|demande|requete|acces|acces[os]o|terminee?|effectuee?|bewerking|controll?[eo]|rbac`;
const good = new RegExp(
  String.raw`^(?:${yes}|s|i ?o|(?=.*\b(?:${done})\b)[^\p{L}\d!]*(?:(?:${done}|[23]\d\d|(?<=\()0(?=\))|(?<=[=:] ?["']?)(?:${yes})|(?<=\b(?:${done})["']? ?[=:] ?["']?)1|\d+ ?ms|\d+s|0(?:x0+)?(?= ?[-:(]| errors| warnings)|${beside})(?!\w)[^\p{L}\d!]*)+)$`,
  "u",
);
const doneWord = row(done);
/** Words of a description of a call that was accepted. */
const accepted = row(
  `(?<!\\b(?:NOT|${negated}|almost|nearly|partially) (?:\\w+ )?|(?<!\\d )\\b0 )(?:${done}|started|created|acknowledged|confirmed|updated|deleted|opened|retrieved|read(?! only)|gestartet|gelesen|bestatigt|lue?|leida|iniciada|confirmada)`,
);

const isYes = new RegExp(`^(?:${yes}|x)$`);
const isNo = new RegExp(`^(?:${no}|none|null)$`);

const says = (words: string, pattern: RegExp): boolean => words.search(pattern) >= 0;

/** Whether a text is a number, like a code of an error. */
export const isNumber = (text: string): boolean => /^-?(?:\d{1,15}|0x[\da-f]{1,8})$/i.test(text);

/** Whether a text stands for none, as exports write it. */
export const saysNothing = (text: string): boolean =>
  /^\s*(?:|-+|n\/?a|none|null|\(null\)|undefined)\s*$/i.test(text);

/** What an outcome says. `inverted` as in `Action`: without it, 0 and 1 say nothing. */
export function outcomeOf(outcome: string, inverted?: boolean): Outcome {
  const words = plainWords(outcome);
  if (inverted === true && isNumber(words)) return Number(words) === 0 ? "good" : "bad";
  if (inverted === false && /^\d\d?$/.test(words))
    return words === "0" ? "bad" : words === "1" ? "good" : "unclear";
  if (inverted !== undefined && isYes.test(words)) return inverted ? "bad" : "good";
  if (inverted === true && isNo.test(words)) return "good";
  const status = statusOf(outcome)?.[0];
  if (status === "4" || status === "5") return "bad";
  const said = textOutcome(words, outcome);
  return status === "2" && said === "unclear" ? "good" : said;
}

export function describedOutcome(text: string): Outcome {
  const words = plainWords(text);
  const outcome = textOutcome(words, text);
  return outcome === "unclear" && says(words, accepted) ? "good" : outcome;
}

function textOutcome(words: string, text: string): Outcome {
  const rest = words.replaceAll(noFailure, "").trim();
  if (says(rest, bad) || /[✗✘❌]/.test(words)) return "bad";
  if ((rest !== words && !/[\p{L}\d]/u.test(rest)) || good.test(rest) || /^[✓✔✅]/.test(words))
    return "good";
  return says(rest, doneWord) || reasonOf(text, []) === undefined ? "unclear" : "bad";
}
