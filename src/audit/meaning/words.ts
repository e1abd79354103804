// Words of outcomes and of reasons, in English, German, French and Spanish: the specification shows neither fields nor texts (section 6).
// What no row knows is unknown, and counts for nothing certain. Rows are written for texts as `plainWords` returns them.

/** What a text says: words in lower case without accents, with spaces in place of underscores, hyphens and dots between them. */
export const plainWords = (text: string): string =>
  text
    .slice(0, 1000)
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/(?<=\w)[-_.]+(?=\w)|\s+/g, " ")
    .trim();

/** Why a call was refused. */
export type Reason =
  | "credentials"
  | "device"
  | "pin"
  | "locked"
  /** The limit of failed attempts was reached. */
  | "attempts"
  /** The limit of starts without an acknowledgement was reached. */
  | "starts"
  /** The vault does not exist, not any longer, or has no uses left. */
  | "gone"
  /** What failed before the vault's credentials were looked at. */
  | "application"
  | "rate"
  | "malformed"
  | "unavailable"
  /** The service or a connection failed: the call may have counted. */
  | "service"
  /** The application's credentials, or the vault's. */
  | "unauthorized";

const locks = String.raw`(?:locked|gesperrt|verrouillee?s?|bloquead[ao]s?|bloquee?s?)`;
const vaults = String.raw`(?:vault|tresor|coffre|boveda)`;
const keys = String.raw`(?:credentials?|encrypted ?data|hashed ?pin|pin|device|zugangsdaten|anmeldedaten|identifiants|credenciales)`;

/** Parts of a text that would mislead: conditions, negations, and what is about something else. They are taken out. */
const misleading: readonly RegExp[] = [
  // "2 attempts remaining before the vault is locked"
  /\b(?:\d+ )?(?:attempts?|tries|retries|versuche?|tentatives?|intentos?)(?: (?:are|is|remain\w*|left|ubrig|restantes?))+\b[^.,;:]*/g,
  /\b(?:remaining|noch|restantes?|quedan?):? \d+ (?:attempts?|tries|versuche?|tentatives?|intentos?)\b[^.,;:]*/g,
  /\b(?:before|until|till|unless|if|when|once|to avoid|bevor|bis|wenn|falls|sobald|avant|jusqu|si|antes|hasta|cuando)\b[^.,;:]*/g,
  // "a vault is locked after three failures"
  new RegExp(
    String.raw`\b(?:an?|any|each|every|eine?|une?|una) ${vaults}\b[^.;]*|\b(?:is|gets|becomes|wird|est) ${locks} (?:after|nach|apres)\b[^.,;:]*|(?:^|[.;,:] ?)after \d+ [^.,;:]*`,
    "g",
  ),
  // "will be locked", "not locked", "locked: no"
  new RegExp(
    String.raw`\b(?:will|would|may|might|could|can|should|wird|werden|sera|serait|pourrait|puede|podria)(?: \w+){0,4} (?:lock|${locks})\b`,
    "g",
  ),
  new RegExp(
    String.raw`\b(?:not|never|no|isn't|wasn't|nicht|kein\w*|pas|non|nunca)(?: \w+){0,2} ${locks}`,
    "g",
  ),
  new RegExp(String.raw`\b${locks} ?[?:=] ?(?:no|false|nein|non|0)\b`, "g"),
  // "the account is locked", "locked by another transaction"
  new RegExp(
    String.raw`\b(?:database|db|tables?|rows?|files?|records?|accounts?|users?|benutzer\w*|konto|compte|cuenta|usuario|utilisateur|application|app|anwendung|keys?|devices?|cards?|session|ip|address|adresse|queue|transaction|documents?)(?: (?!${vaults})[\w']+){0,4} ${locks}`,
    "g",
  ),
  new RegExp(
    String.raw`\b${locks} by (?:another|other|a different|transaction|process|thread|session)\b`,
    "g",
  ),
  // "credentials ok", "not because of the credentials"
  new RegExp(
    String.raw`\b${keys}(?: (?:were|are|is|was|checks?))* (?:ok|okay|valid|accepted|correct|verified|matched|fine|good|current|gultig|korrekt|valides|validas|correct[ao]?s)\b`,
    "g",
  ),
  new RegExp(
    String.raw`(?<!\b(?:no|not|without) )\b(?:valid|correct|good) (?:vault )?${keys}\b`,
    "g",
  ),
  new RegExp(
    String.raw`\b(?:not|no|nicht|pas|non) (?:about|because of|related to|due to|caused by|an?|the)(?: \w+){0,3} ${keys}\b`,
    "g",
  ),
  /\b(?:user|login|account|service|admin\w*|database|db|proxy|ldap|smtp) ?(?:credentials?|password|zugangsdaten|anmeldedaten)\b/g,
  /\b(?:left on|block|storage|usb) device\b|\bdevice (?:busy|driver|or resource)\b|\b(?:certificate|cert|key|ssl|tls) pin\b/g,
  new RegExp(
    String.raw`\b${vaults}(?: \w+){0,2} (?:unavailable|not available|indisponible|no disponible)\b`,
    "g",
  ),
];

const application: readonly RegExp[] = [
  /\b(?:application|app|api|client)(?:'s)? (?:credentials?|secret|token|password)\b|\bcredentials? (?:of|for) (?:the |this |your )?(?:application|app|client|api)\b/g,
  /\b(?:anwendungs|applikations)(?:zugangs|anmelde)daten\b|\bidentifiants (?:de l'|d')(?:application|api)\b|\bcredenciales de (?:la )?(?:aplicacion|api)\b/g,
  /\bapi ?(?:key|schlussel)|\bcle (?:d')?api\b|\bclave (?:de )?api\b|\bj(?:wt|ws)\b|\b(?:bearer|access|oauth|id|session) token\b|\bwhite ?list|\ballow ?list|\bsignature\b|\bquotas?\b/g,
  /\bip(?: address)?(?: \S+)? (?:is |was )?(?:not|denied|blocked|refused|rejected)\b|\baddress (?:is |was )?(?:not|refused|denied|blocked)\b|\bip ?adresse (?:ist )?(?:nicht|gesperrt)|\badresse ip (?:non|refusee)\b|\bdireccion ip (?:no|rechazada)\b/g,
  /\bapplication (?:is |was )?(?:refused|unknown|not|or|disabled|suspended|inactive|blocked|expired)\b|\b(?:unknown|invalid|disabled|inactive) application\b/g,
];

const rows: readonly (readonly [Reason, RegExp])[] = [
  [
    "starts",
    /\btoo many (?:\w+ ){0,2}(?:starts|reads|transactions|exchanges)\b|\bunacknowledged\b|\bwithout (?:an? )?acknowledge?ment|\blimit of starts\b|\bunbestatigt|\bohne bestatigung\b|\bnon (?:confirme|acquitte)|\bsans (?:confirmation|acquittement)\b|\bsin confirma|\bno confirmad/,
  ],
  [
    "attempts",
    /\b(?:too many|excessive|repeated|max(?:imum)?|limit of|number of|zu vielen?|trop de|demasiados|\d+) (?:\w+ ){0,4}(?:attempts?|tries|failures|(?:fehl)?versuche\w*|tentatives?|intentos?)\b|\battempts? (?:exceeded|limit)/,
  ],
  [
    "locked",
    new RegExp(
      String.raw`^${locks}$|\b(?:is|was|been|already|now|currently|and|it|ist|wurde|est|esta|${vaults}) ${locks}\b|\block(?:s|ed) the vault\b|\b${locks} (?:out|vault)\b|, ${locks}\b|^${locks} ?[,;:(]|\btresor(?: \w+){0,6} gesperrt$`,
    ),
  ],
  [
    "gone",
    new RegExp(
      [
        String.raw`\b(?:no such|unknown|deleted|expired|non ?existent|unbekannter|geloschter) ${vaults}\b`,
        String.raw`\b${vaults}(?: (?:id|uuid|with|mit|avec|con|\S*\d\S*)){0,8} (?:(?:is|was|has|been|already|ist|wurde|est|a|ete|esta|ha|sido|no longer|nicht mehr) )*(?:expired|deleted|removed|gone|not found|unknown|exists?|geloscht|abgelaufen|nicht gefunden|unbekannt|supprime|expire|introuvable|inconnu|eliminada|borrada|caducada|no encontrada|desconocida)\b(?! credentials)`,
        String.raw`\b${vaults} (?:does|did) not exist\b|\b${vaults} existiert nicht\b|\b${vaults} n'existe pas\b|\b(?:la )?${vaults} no existe\b|^(?:not found|gone)$|\bexpiry ?date (?:reached|has passed)\b`,
        String.raw`\bno (?:\w+ )?uses (?:remain\w*|left)\b|\buses (?:remaining|left)\W{1,3}0\b|\buses? (?:are |have been )?(?:spent|exhausted|used up)\b|\bkeine nutzung\w*|\bsin usos\b|\busos agotados\b|\bplus d'utilisations?\b`,
      ].join("|"),
    ),
  ],
  [
    "rate",
    /\brate ?limit|\btoo many requests\b|\bthrottl|\bslow down\b|\bresource exhausted\b|\bzu viele anfragen\b|\btrop de requetes\b|\bdemasiadas (?:solicitudes|peticiones)\b/,
  ],
  [
    "malformed",
    /\bmalformed\b|\b(?:not|cannot) be parsed\b|\bpars(?:e|ing) (?:error|failed)\b|\b(?:invalid|unexpected|bad) (?:json|syntax|request body|character)\b|\bunexpected token\b|\bsyntax error\b|^validation$|(?<!credentials? )\bvalidation (?:failed|error)|\bmust (?:be|have|match|contain) (?:an?|at|the|between|of|one|\d\w*)\b|\bmissing (?:field|property|parameter|header|body|required)|\brequired (?:field|property|parameter)|\bunsupported media\b|\b(?:payload|entity|body|request|uri) (?:is )?too (?:large|long)\b|\blarger than\b|\bmethod (?:must|not allowed)\b|\bno such endpoint\b|\bnot implemented\b|\bungultige anfrage\b|\brequete (?:invalide|mal formee)\b|\b(?:solicitud|peticion) (?:no valida|mal formada)\b/,
  ],
  [
    "unavailable",
    /\bmaintenance\b|\bwartung|\bmantenimiento\b|\bunavailable\b|\bnicht verfugbar\b|\bindisponible\b|\bno disponible\b|\boverload|\bshutting down\b|\bout of service\b|\bcircuit breaker\b/,
  ],
  [
    "service",
    /\b(?:internal|server|upstream|backend|gateway|network|io|system) (?:\w+ )?(?:error|failure)\b|\binternal$|\bbad gateway\b|\bupstream\b|\bgateway\b|\bdatabase\b|\bsql|\bdb error\b|\bdeadlock|\btime ?d? ?out\b|\bdeadline exceeded\b|\bcancel+ed\b|\baborted\b|\bconnection (?:was )?(?:reset|refused|closed|aborted|lost|error|failed)\b|\bconnect(?:ion)? to\b|\becon\w+|\be(?:timedout|notfound|pipe|hostunreach|ai again)\b|\bsocket\b|\bbroken pipe\b|\bdns\b|\b(?:tls|ssl|handshake)\b|\bout of memory\b|\bno space\b|\bcould not (?:answer|be (?:checked|verified|loaded|read|decrypted))\b|\bunable to\b|\bfailed to\b|\b(?:null ?pointer|runtime|illegal \w+|io|sql) ?exception\b|\btraceback\b|\bstack ?trace\b|\bpanic: |\bgoroutine \d|\b(?:java|javax|com|org|net|io) \w+ \w+|\bat [\w$ <>]+\(|\b\w+ (?:java|py|go|js|ts|cs):\d+|\bdatenbank|\bzeituberschreitung\b|\bverbindung (?:zuruckgesetzt|abgebrochen|verloren)|\binterner (?:server)?fehler\b|\bserverfehler\b|\bdelai (?:d'attente )?depasse\b|\berreur (?:interne|serveur)\b|\bbase de (?:donnees|datos)\b|\bconnexion (?:reinitialisee|interrompue|refusee)\b|\btiempo de espera\b|\berror interno\b|\bconexion (?:restablecida|rechazada|cerrada|perdida)\b/,
  ],
  [
    "device",
    /^device$|\(device\b|\bdevice(?: fingerprint)?[^.;]{0,30}\b(?:mis ?match|match|not|unknown|different|differs|changed|invalid|wrong|refused|rejected|recogni[sz]ed|denied)|\b(?:unknown|wrong|other|another|different|unrecogni[sz]ed|invalid|unregistered) device\b|\bdevice fingerprint\b|\b(?:unbekanntes|falsches|anderes) gerat\b|\bgerat (?:ist )?(?:unbekannt|stimmt nicht|passt nicht)|\bappareil (?:inconnu|non reconnu|different|refuse)|\bdispositivo (?:no reconocido|desconocido|no coincide|distinto|rechazado)/,
  ],
  [
    "pin",
    /^(?:hashed ?)?pin$|\(hashed ?pin\b|\b(?:invalid|wrong|bad|incorrect|falsche|ungu?e?ltige|mauvais) (?:hashed ?)?(?:pin|nip|geheimzahl|code pin)\b|\b(?:pin|nip|geheimzahl)(?: (?:is|was|ist|est|es))? (?:invalid\w*|wrong|incorrect\w*|mis ?match|(?:does|did)(?:n't| not) match|not valid|rejected|refused|falsch|ungu?e?ltig|errone\w*|no valido|non valide)\b/,
  ],
  [
    "credentials",
    new RegExp(
      [
        String.raw`^vault credentials(?: payload| encrypted ?data)?$|\(vault credentials\b|^bad credentials\b`,
        // A noun and what is wrong with it, in either order.
        String.raw`\b(?:invalid|bad|wrong|incorrect|mis ?match\w*|stale|outdated|superseded|unknown|no (?:longer )?valid|no matching|rejected|refused|denied|failed|failure|ungu?e?ltige?[rsn]?|falsche?[rsn]?|veraltete?[rsn]?)\b[^.;]{0,40}\b(?:credentials?|encrypted ?data|zugangsdaten|anmeldedaten|anmeldeinformationen)\b`,
        String.raw`\b(?:credentials?|encrypted ?data|zugangsdaten|anmeldedaten|anmeldeinformationen)\b[^.;]{0,40}\b(?:invalid|bad|wrong|incorrect|mis ?match\w*|(?:do|does|did)(?:n't| not) match|not (?:match\w*|valid|current|accepted|recogni[sz]ed)|no longer (?:valid|current)|stale|outdated|superseded|unknown|rejected|refused|denied|fail\w*|ungu?e?ltig|falsch|abgelehnt|veraltet|stimmen nicht|nicht (?:gultig|korrekt))\b`,
        String.raw`\bidentifiants (?:\w+ ){0,3}(?:invalides|incorrects|errones|refuses|perimes|non valides)\b|\b(?:mauvais|faux) identifiants\b|\bcredenciales (?:\w+ ){0,3}(?:no validas|invalidas|incorrectas|rechazadas|erroneas|caducadas)\b|\bpayload (?:mis ?match|(?:do|does|did) not match)`,
      ].join("|"),
    ),
  ],
  ["unauthorized", /^(?:unauthori[sz]ed|unauthenticated|not authenticated)$/],
];

/** Adds the reasons in a text. */
function reasonsIn(text: string, reasons: Set<Reason>): void {
  // "403 Forbidden" says what "Forbidden" says.
  const plain = plainWords(text).replace(/^(?:http(?:\/\d \d| \d \d)? )?[1-5]\d\d (?=[a-z])/, "");
  let rest = plain;
  for (const part of application) {
    const without = rest.replaceAll(part, " * ");
    if (without !== rest) reasons.add("application");
    rest = without;
  }
  for (const part of misleading) rest = rest.replaceAll(part, " * ");
  rest = rest.trim();
  for (const [reason, row] of rows)
    if (row.test(reason === "service" ? plain : rest)) reasons.add(reason);
}

const ofStatus: Readonly<Record<string, Reason>> = {
  401: "unauthorized",
  404: "gone",
  405: "malformed",
  408: "service",
  410: "gone",
  411: "malformed",
  413: "malformed",
  414: "malformed",
  415: "malformed",
  423: "locked",
  429: "rate",
  431: "malformed",
  501: "malformed",
  503: "unavailable",
};

/** Returns the HTTP status that an outcome begins with: `403`, `403 Forbidden`, `HTTP/1.1 423`, `status=503`. */
const statusOf = (outcome: string): string | undefined =>
  /^(?:http(?:\/\d(?:\.\d)?)?|status(?: ?code)?)?[ :=]*([1-5]\d\d)\b/i.exec(outcome.trim())?.[1];

/** Names of gRPC that are no words of a row. */
const ofCode: Readonly<Record<string, Reason>> = {
  NOT_FOUND: "gone",
  INTERNAL: "service",
  DATA_LOSS: "service",
  UNIMPLEMENTED: "malformed",
};

/** Why a call was refused: one reason, `locking` for a refusal that locked, undefined if the texts say none or contradict each other. */
export function reasonOf(
  outcome: string | null,
  texts: readonly string[],
): Reason | "locking" | undefined {
  const reasons = new Set<Reason>();
  const status = outcome === null ? undefined : statusOf(outcome);
  const given =
    status === undefined
      ? ofCode[outcome ?? ""]
      : (ofStatus[status] ?? (status.startsWith("5") ? "service" : undefined));
  if (outcome !== null && given === undefined) reasonsIn(outcome, reasons);
  const saysLocked = given === "locked" || reasons.has("locked");
  for (const text of texts) reasonsIn(text, reasons);
  if (given !== undefined && (given !== "unauthorized" || reasons.size === 0)) reasons.add(given);
  const has = (...any: Reason[]): boolean => any.some((reason) => reasons.has(reason));
  const isOtherwise = has("gone", "application", "rate", "malformed", "unavailable", "service");
  if (has("locked") && (saysLocked || !isOtherwise))
    return has("starts")
      ? "starts"
      : has("attempts", "credentials", "device", "pin")
        ? "locking"
        : "locked";
  if (!isOtherwise) return ofVault(reasons, texts);
  if (has("locked", "starts", "attempts", "credentials", "device", "pin")) return undefined;
  if (has("gone")) return reasons.size === 1 ? "gone" : undefined;
  // A failure to look at the credentials is not one of theirs, but they may have been looked at.
  if (has("service")) return texts.some((text) => /credential/i.test(text)) ? undefined : "service";
  return [...reasons].find((reason) => reason !== "unauthorized");
}

/** The reason of a refusal that is about the vault alone. */
function ofVault(reasons: ReadonlySet<Reason>, texts: readonly string[]): Reason | undefined {
  if (reasons.has("starts")) return "starts";
  const secrets = (["device", "pin", "credentials"] as const).filter((one) => reasons.has(one));
  // "bad credentials (device)" is about the device, "device or credentials" about either.
  const isEither = texts.some((text) => /\b(?:or|oder|ou|o)\b|\//i.test(text));
  if (secrets.length > 0)
    return secrets.length > 1 && isEither
      ? secrets.includes("credentials")
        ? "credentials"
        : undefined
      : secrets[0];
  return reasons.has("unauthorized") ? "unauthorized" : undefined;
}

/** Meaning of an outcome; `unclear` if it is neither a known success nor a known failure. */
export type Outcome = "good" | "bad" | "unclear";

const noFailure =
  /\b(?:no|0|without|kein|keine|ohne|sans|aucune|sin) (?:errors?|failures?|fehler|erreurs?|errores)\b|\b(?:errors?|failures?|failed)\W{1,3}(?:false|no|none|null|0)\b/;
const bad =
  /^(?:false|no|n|f|0|nok|ko|nein|non|falso|faux|falsch)$|^n ?i ?o\b|[✗✘❌]|^[45]\d\d\b|\bfail(?:s|ed|ure|ing)?\b|\binvalid\b|\bbad\b|\bwrong\b|\bincorrect\b|\bden(?:y|ied)\b|\brefused?\b|\breject(?:ed)?\b|\bunauthori[sz]ed\b|\bunauthenticated\b|\bforbidden\b|\bmis ?match\w*|\berrors?\b|\bnot (?:valid|ok|found|allowed|accepted|authori[sz]ed|success\w*)\b|\bunsuccessful\b|\btoo many\b|\bpermission denied\b|\b(?:success|succeeded|ok)\W{1,3}(?:false|no|0)\b|\bfehler\w*|\bfehlgeschlagen\b|\bfehlschlag\b|\berfolglos\b|\bnicht erfolgreich\b|\babgelehnt\b|\bverweigert\b|\bzuruckgewiesen\b|\bungultig\w*|\bfalsche?\w?\b|\bgescheitert\b|\bechec\b|\bechoue\w*|\brefuse\w*|\brejete\w*|\berreurs?\b|\binvalides?\b|\binterdit\w*|\bnon (?:reussi|valide|autorise)\w*|\bfallo\b|\bfall(?:ido|ida)\b|\bdenegad[oa]\b|\brechazad[oa]\b|\bincorrect[oa]s?\b|\bno (?:valid[oa]s?|exitos[oa]|autorizad[oa]|permitid[oa])\b/;
const good =
  /^(?:true|yes|y|s|1|ja|oui|si|wahr|vrai|verdadero)$|^i ?o$|[✓✔✅]|^2\d\d\b|\bsuccess(?:ful(?:ly)?)?\b|\bsucceed(?:ed|s)?\b|\bok(?:ay)?\b|\bdone\b|\bcompleted?\b|\ballow(?:ed)?\b|\baccept(?:ed)?\b|\bgranted\b|\bpermit(?:ted)?\b|\bapproved\b|\bpass(?:ed)?\b|\berfolg(?:reich)?\b|\bgelungen\b|\bakzeptiert\b|\berlaubt\b|\bsucces\b|\breussie?s?\b|\baccept[eé]e?\b|\bautorisee?\b|\baccordee?\b|\bexito(?:so|sa)?\b|\bcorrect[oa]\b|\baceptad[oa]\b|\bautorizad[oa]\b|\bpermitid[oa]\b/;

/** What an outcome says. `inverted` is for a column like `failed`, whose "true" is a failure. */
export function outcomeOf(outcome: string, inverted = false): Outcome {
  const words = plainWords(outcome);
  if (inverted) {
    if (/^(?:true|yes|y|ja|oui|si|wahr|vrai|verdadero|[1-9]\d?)$/.test(words)) return "bad";
    if (/^(?:false|no|n|nein|non|falso|faux|falsch|0|none|null)$/.test(words)) return "good";
  }
  if (noFailure.test(words)) return "good";
  if (bad.test(words) || /^[45]\d\d$/.test(statusOf(outcome) ?? "")) return "bad";
  if (good.test(words) || /^2\d\d$/.test(statusOf(outcome) ?? "")) return "good";
  return reasonOf(outcome, []) === undefined ? "unclear" : "bad";
}

/** Words of a description that tell of a call that was accepted. */
const accepted =
  /\b(?:started|created|acknowledged|confirmed|updated|deleted|opened|retrieved|read(?! only)|gestartet|gelesen|bestatigt|lu|lue|leida|iniciada|confirmada)\b/;

/** What a description says of an item that has no outcome. */
export function describedOutcome(text: string): Outcome {
  const words = plainWords(text);
  if (noFailure.test(words)) return "good";
  if (bad.test(words) || reasonOf(null, [text]) !== undefined) return "bad";
  return good.test(words) || accepted.test(words) ? "good" : "unclear";
}
