import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { Dice } from "./dice.ts";

// Audit logs whose answers are known: lives of vaults, written by hand (docs/interface.md, Lockout). 3 failed attempts in a row lock; an
// accepted start zeroes them and counts one without acknowledgement; the 5th of those in a row locks; an acknowledgement zeroes both.
// The truth stands beside each ending; nothing computes it.

export type Verdict = "locked" | "at-risk" | "open-exchange" | "deleted" | "ok";

/** What happened, whatever an export calls it. */
export interface Item {
  letter: string;
  id: string;
  /** Milliseconds since the epoch. */
  time: number;
  action: string;
  isFailure: boolean;
  description: string;
  vaultUuid: string;
  applicationUuid: string;
  externalRef: string | null;
  /** Null for what the service does by itself. */
  ipAddress: string | null;
  endpoint: string | null;
}

export interface VaultTruth {
  uuid: string;
  /** The script of its last days. */
  ending: string;
  verdict: Verdict;
  rule?: "failed-attempts" | "unacknowledged-starts" | "administrator";
  /** An administrator unlocked it once, which no item says. */
  isUnlockedUnseen: boolean;
  lockedAt?: number;
  /** Times of the items that led to the lock or to the risk. */
  chain: number[];
  /** At the end, of a locked vault as they were when it locked; of a deleted one they mean nothing. */
  unackedStarts: number;
  failedAttempts: number;
  /** Failed key checks that name it left out. */
  items: number;
}

export interface LogOptions {
  seed?: string;
  /** About so many. */
  items?: number;
  vaults?: number;
  /** Share of the vaults that end locked, at risk or with an exchange open. */
  problems?: number;
  /** Share of the other vaults that end with an exchange open. */
  open?: number;
  days?: number;
}

/**
 * R get-start · U update-start · Q a start that is one too many: it locks · A the acknowledgement of the last start
 * F a failed access · G the failed access that locks · E an end call that is refused · K a failed key check that names the vault
 * C creation · D deletion · X its expiryDate · V its uses are used up · Z a call that is refused because the vault is locked
 * L an administrator locks · N an administrator unlocks, n of which there is no item · `*`: of the chain to the lock or the risk
 */
const letters: Record<string, [action: string, description: string, call?: string]> = {
  C: ["CREATE_VAULT", "vault created", "POST "],
  R: ["READ_VAULT", "read started", "POST /get-start"],
  U: ["UPDATE_VAULT", "update started", "POST /update-start"],
  Q: ["READ_VAULT", "too many starts without acknowledgement, vault locked", "POST /get-start"],
  A: ["ACKNOWLEDGE_READ_VAULT", "read acknowledged", "PUT /get-end"],
  a: ["ACKNOWLEDGE_UPDATE_VAULT", "update acknowledged", "PUT /update-end"],
  E: ["ACKNOWLEDGE_READ_VAULT", "the token is unknown or has expired", "PUT /get-end"],
  F: ["READ_VAULT", "bad credentials (vault.credentials)", "POST /get-start"],
  G: ["READ_VAULT", "bad credentials (vault.credentials), vault locked", "POST /get-start"],
  K: ["API_KEY_CHECK", "API key check failed", "POST /get-start"],
  Z: ["READ_VAULT", "the vault is locked; an administrator can unlock it", "POST /get-start"],
  D: ["DELETE_VAULT", "vault deleted", "DELETE "],
  X: ["DELETE_VAULT", "expiryDate reached"],
  V: ["DELETE_VAULT", "no uses remain"],
  L: ["LOCK_VAULT", "vault locked by an administrator"],
  N: ["UNLOCK_VAULT", "vault unlocked by an administrator"],
};
const failures = "QEFGKZ";

/** What happens between creation and ending. Each begins and ends with both counters at zero. */
const episodes = [
  { weight: 60, scripts: ["R A"] },
  { weight: 10, scripts: ["U A", "R A R A R A R A R A", "F R A", "F F R A"] },
  { weight: 6, scripts: ["R R A", "R R R R A", "R F A", "R F F R A", "R U A", "R E A"] },
  { weight: 1, scripts: ["F F R F F R F F R A", "F R F R F R F R F F A", "F K F R A"] },
  { weight: 1, scripts: ["R E E R E A", "F F G Z Z N R A", "R R R R Q Z N R A", "L Z N R A"] },
];

const ended =
  (verdict: Verdict, rule?: VaultTruth["rule"]) =>
  (unackedStarts: number, failedAttempts: number, ...scripts: string[]) => {
    const truth = { verdict, unackedStarts, failedAttempts, ...(rule && { rule }) };
    return scripts.map((script) => ({ ...truth, script }));
  };
const ok = ended("ok");
const open = ended("open-exchange");
const risky = ended("at-risk");
const failed = ended("locked", "failed-attempts");
const unacked = ended("locked", "unacknowledged-starts");
const administered = ended("locked", "administrator");

const openEndings = [
  ...open(1, 0, "R", "U", "R E", "F F R"),
  ...open(2, 0, "R R"),
  ...open(3, 0, "R R R"),
  ...open(1, 1, "R F"),
  ...open(3, 1, "R R F R F"),
];
const problems = [
  openEndings,
  [
    ...risky(0, 2, "F* F*", "F* K F*"),
    ...risky(1, 2, "R F* F*"),
    ...risky(2, 2, "F F R R F* F*"),
    ...risky(4, 0, "R* R* R* R*", "F R* R* R* R*", "R* F F R* F R* R*", "R* E R* E R* E R*"),
    ...risky(4, 1, "R* R* R* R* F"),
  ],
  [
    ...failed(0, 3, "F* F* G*", "F* F* G* Z Z Z", "F* K F* K G*", "F F G n R A F* F* G*"),
    ...failed(1, 3, "R F* F* G*", "F F R F* F* G*"),
    ...failed(2, 3, "R R F* F* G* Z", "R F F R F* F* G*"),
    ...failed(4, 3, "R R R R F* F* G*"),
  ],
  [
    ...unacked(5, 0, "R* R* R* R* Q*", "R* R* R* R* Q* Z Z", "F F R* R* R* R* Q*"),
    ...unacked(5, 0, "R* F R* R* F F R* Q*", "R* E R* R* R* F F Q*", "F F G n R* R* R* R* Q*"),
  ],
  [...administered(0, 0, "L*"), ...administered(1, 0, "R L* Z")],
];
const others = [
  { weight: 85, endings: ok(0, 0, "") },
  { weight: 5, endings: [...ok(0, 1, "F", "R A F"), ...ok(0, 0, "F F G N", "L N")] },
  { weight: 2, endings: ok(0, 0, "F F G n R A", "F F G Z Z n R A R A", "R R R R Q n R A") },
  { weight: 8, endings: ended("deleted")(0, 0, "D", "F D", "R D", "R A V", "X", "F F G Z X") },
];

/** References as careless or hostile clients send them. */
const awkward = [
  'a,b|say "hi"|two\nlines|a\ttab|=1+1|\u001b[31mred\u001b[0m|<script>alert(1)</script>|Zürich ✓ 🔒',
  'back\\slash\\|__proto__|{"time":1,"action":"DELETE_VAULT"}|READ_VAULT FAILURE bad credentials',
  "123e4567-e89b-42d3-a456-426614174000|2026-11-20T14:02:11Z",
].flatMap((texts) => texts.split("|"));

interface Life {
  truth: VaultTruth;
  address: string;
  /** Time of what was told last. */
  last: number;
  /** The call of the last start, and the references of that and of the last call. */
  started: string;
  startReference: string | null;
  reference: string | null;
}

interface Coming {
  life: Life;
  letter: string;
  time: number;
  isChain: boolean;
}

/** All that happens to all vaults, in the order of time; the truths are whole when all of it is told. */
export class AuditWorld {
  readonly truths: VaultTruth[] = [];
  readonly #dice: Dice;
  readonly #items: number;
  readonly #lives: Life[];
  readonly #meanGap: number;
  readonly #application: string;
  /** The next one last. */
  readonly #coming: Coming[] = [];
  #clock = Date.parse("2026-10-01T00:00:00.000Z");
  #told = 0;

  constructor(options: LogOptions = {}) {
    const { seed = "vault", items = 2000, vaults = Math.ceil(items / 100) } = options;
    this.#dice = new Dice(`${seed} ${items} ${vaults}`);
    this.#items = items;
    this.#meanGap = ((options.days ?? 30) * 86_400_000) / items;
    this.#application = this.#dice.uuid();
    this.#lives = Array.from({ length: vaults }, () => this.#life(options));
    this.truths = this.#lives.map(({ truth }) => truth);
  }

  *items(): Generator<Item> {
    const lives = this.#lives;
    const { length } = lives;
    let created = 0;
    let ended = 0;
    // Vaults are created in the first third of the log, and end in the last one.
    while (ended < length) {
      const share = (this.#told + this.#coming.length) / this.#items;
      if (created < length && created <= share * 3 * length) {
        this.#plan(lives[created] as Life, "C");
        created += 1;
      } else if (ended < created && ended < (share - 0.66) * 3 * length) {
        const life = lives[ended] as Life;
        this.#plan(life, life.truth.ending, true);
        ended += 1;
      } else {
        const at = ended + Math.floor(this.#dice.fraction() ** 2 * (created - ended));
        this.#plan(lives[at] as Life, this.#dice.pick(this.#dice.draw(episodes).scripts));
      }
      yield* this.#until(this.#clock);
    }
    yield* this.#until(Infinity);
  }

  #life({ problems: problemShare = 0.1, open: openShare = 0 }: LogOptions): Life {
    const dice = this.#dice;
    const endings = dice.chance(problemShare)
      ? dice.pick(problems)
      : dice.chance(openShare)
        ? openEndings
        : dice.draw(others).endings;
    const { script, ...truth } = dice.pick(endings);
    const uuid = dice.uuid();
    const isUnlockedUnseen = script.includes("n");
    return {
      truth: { ...truth, uuid, ending: script, isUnlockedUnseen, chain: [], items: 0 },
      address: `10.${dice.between(0, 255)}.${dice.between(0, 255)}.${dice.between(1, 254)}`,
      last: 0,
      started: "R",
      startReference: null,
      reference: null,
    };
  }

  /** Lays down when each step of a script happens; the clock moves on by as many items. */
  #plan(life: Life, script: string, isEnding = false): void {
    const dice = this.#dice;
    const steps = script.split(" ").filter((step) => step !== "");
    life.last = Math.max(this.#clock, life.last + dice.between(1000, 60_000));
    for (const step of steps) {
      const letter = step.charAt(0);
      // Acknowledgements come while their token lives.
      life.last += "AE".includes(letter) ? dice.between(40, 9000) : dice.wait(10_000);
      if (letter === "n") continue;
      const coming = { life, letter, time: life.last, isChain: isEnding && step.endsWith("*") };
      let at = this.#coming.length;
      while (at > 0 && (this.#coming[at - 1] as Coming).time <= coming.time) at -= 1;
      this.#coming.splice(at, 0, coming);
    }
    this.#clock += dice.wait(this.#meanGap * (steps.length || 0.1));
  }

  *#until(time: number): Generator<Item> {
    while (this.#coming.length > 0 && (this.#coming.at(-1) as Coming).time <= time)
      yield this.#tell(this.#coming.pop() as Coming);
  }

  #tell({ life, letter, time, isChain }: Coming): Item {
    const dice = this.#dice;
    const { truth } = life;
    this.#told += 1;
    if (letter !== "K") truth.items += 1;
    if (isChain) truth.chain.push(time);
    if (isChain && truth.verdict === "locked") truth.lockedAt = time;
    if ("RUQFGZD".includes(letter)) life.reference = this.#reference();
    if ("RU".includes(letter)) [life.started, life.startReference] = [letter, life.reference];
    const known = letter === "A" && life.started === "U" ? "a" : letter;
    const [action, description, call] = letters[known] ?? [letter, letter];
    const [method, step] = (call ?? "").split(" ");
    const own = step === "" && letter === "C" ? "" : `/${truth.uuid}`;
    const isStranger = "FGK".includes(letter) && dice.chance(0.4);
    const address = isStranger ? `203.0.113.${dice.between(1, 254)}` : life.address;
    const ofStart = letter === "A" ? life.startReference : life.reference;
    const reference = "CKXVLN".includes(letter) ? null : ofStart;
    return {
      letter,
      id: dice.uuid(),
      time,
      action,
      isFailure: failures.includes(letter),
      description,
      vaultUuid: truth.uuid,
      applicationUuid: this.#application,
      externalRef: reference,
      ipAddress: "XV".includes(letter) ? null : "LN".includes(letter) ? "192.0.2.10" : address,
      endpoint:
        call === undefined ? null : `${method} /vaultsvc/v1-2/vault/generic/offline${own}${step}`,
    };
  }

  #reference(): string | null {
    const dice = this.#dice;
    const kind = dice.fraction();
    if (kind < 0.35) return null;
    if (kind < 0.75)
      return `vault-01K${dice.uuid().replaceAll("-", "").slice(0, 20).toUpperCase()}`;
    return kind < 0.98 ? `order-${dice.between(1000, 999_999)}` : dice.pick(awkward);
  }
}

export interface Truth {
  items: number;
  vaults: Map<string, VaultTruth>;
  verdicts: Partial<Record<Verdict, number>>;
}

/** The columns of exports: about 240 bytes an item in NDJSON, or 340 with what most of them have. */
const lean = ["id", "time", "action", "outcome", "vaultUuid", "ipAddress", "description"] as const;
const full = [...lean, "applicationUuid", "externalRef"] as const;

const cell = (text: string | null): string =>
  /["\t\r\n,;]/.test(text ?? "") ? `"${text?.replaceAll('"', '""')}"` : (text ?? "");

/** How a log is written as text: what stands before, between and after its items. */
const forms = {
  ndjson: { head: "", item: (row: Row) => JSON.stringify(row), between: "\n", tail: "\n" },
  json: { head: "[", item: (row: Row) => JSON.stringify(row), between: ",", tail: "]\n" },
  csv: {
    head: "",
    item: (row: Row) => Object.values(row).map(cell).join(","),
    between: "\n",
    tail: "\n",
  },
};
type Row = Record<string, string | null>;

/** As the emulator exports it; every item has a reference, so that all are of about the same length. */
const rowOf = (item: Item, columns: readonly (typeof full)[number][]): Row =>
  Object.fromEntries(
    columns.map((column) => {
      if (column === "time") return [column, new Date(item.time).toISOString()];
      if (column === "outcome") return [column, item.isFailure ? "FAILURE" : "SUCCESS"];
      return [column, item[column] ?? (column === "externalRef" ? "none" : null)];
    }),
  );

/** Writes a log to a file; memory grows with the vaults only. The same options write the same items. */
export async function writeLog(
  path: string,
  options: LogOptions & { columns?: "lean" | "full"; form?: keyof typeof forms } = {},
): Promise<Truth> {
  const world = new AuditWorld(options);
  const columns = options.columns === "lean" ? lean : full;
  const { head, item, between, tail } = forms[options.form ?? "ndjson"];
  const file = createWriteStream(path);
  let text = options.form === "csv" ? `${columns.join(",")}\n` : head;
  let items = 0;
  for (const each of world.items()) {
    text += (items === 0 ? "" : between) + item(rowOf(each, columns));
    items += 1;
    if (text.length < 1 << 20) continue;
    if (!file.write(text)) await once(file, "drain");
    text = "";
  }
  file.end(text + tail);
  await finished(file);
  const verdicts: Truth["verdicts"] = {};
  for (const { verdict } of world.truths) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
  return { items, vaults: new Map(world.truths.map((truth) => [truth.uuid, truth])), verdicts };
}
