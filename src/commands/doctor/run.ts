import type { StateFacts, StatePart } from "../../parts/state.ts";
import type { Basics } from "../../parts/settings.ts";
import type { Remote } from "../../parts/service.ts";
import { configPath } from "../../settings/config-file.ts";
import { checkSigner } from "../../settings/jwt.ts";
import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import type { DoctorOptions } from "../doctor.ts";
import type { Finding } from "../../documents/setup.ts";
import { bad, failed, ok, unverified, warning } from "./finding.ts";
import { limiterFinding, probeFinding, reachFindings } from "./service.ts";
import { stateFindings } from "./state.ts";
import { vaultFindings } from "./vaults.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import type { Cell, Painted } from "../../terminal/tables.ts";
import type { View } from "../../cli/vault-view.ts";
import { count } from "../../terminal/count.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { command, wayLines, wayText } from "../../way.ts";

/** Runs all checks and prints their findings. Exit 17 after the document, if there is one of the level of --fail-on or worse. */
export async function runDoctor(app: App, options: DoctorOptions): Promise<number> {
  const checks = await examine(app, options);
  const isLong = await app.io.output.show(
    { checks },
    async (view) => await doctorTable(checks, view),
  );
  if (isLong) sayWorst(app.io.narrator, checks);
  const { failOn = "error" } = options;
  const isBad = ({ level }: Finding): boolean =>
    failOn !== "never" && (level === "error" || level === failOn);
  const found = checks.filter(isBad);
  if (found.length === 0) return 0;
  const names = found.map(({ check }) => check).join(", ");
  throw new VaultError("finding", `${summary(found)}: ${names}`);
}

async function examine(app: App, options: DoctorOptions): Promise<Finding[]> {
  const { problem } = app.settings.configuration;
  const findings = [ok("node", `Node ${app.io.host.versions.node}`)];
  // Which state and which service are meant is not known then.
  if (problem !== undefined) return [...findings, failed("configuration", problem)];
  const { host, output } = app.io;
  const now = host.now();
  // What a program reads has times as they are.
  const isForPerson = output.format === "table" && output.field === undefined && host.stdout.isTTY;
  const reader = { self: host.actor, now: isForPerson ? now : null };
  const found = await inspect(app.state).catch(asVaultError);
  const facts = found instanceof VaultError ? null : found;
  const vaults = facts?.vaults ?? null;
  const isOffline = options.offline === true;
  const [application, service] = await Promise.all([
    applicationFinding(app, vaults ?? [], isOffline),
    isOffline ? [] : serviceFindings(app, tokenSecondsOf(vaults ?? [])),
  ]);
  findings.push(await configurationFinding(app), application);
  if (found instanceof VaultError)
    findings.push(failed(found.code === "usage" ? "state" : "key", found));
  if (facts !== null) findings.push(...stateFindings(facts, now, reader));
  findings.push(...service);
  findings.push(limiterFinding(app.settings.rate));
  if (facts !== null && vaults !== null) {
    const circumstances = { policy: app.settings.policy, clock: app.io.host };
    const used = new Set(facts.locks.map(({ uuid }) => uuid));
    findings.push(...vaultFindings(vaults, used, circumstances, reader));
  }
  return findings;
}

const inspect = async (state: StatePart): Promise<StateFacts> =>
  await (await (await state.open()).state.whole()).inspect();

async function configurationFinding({
  io: { host },
  settings: {
    configuration: { directory, profile },
  },
}: Basics): Promise<Finding> {
  const file = configPath(directory);
  const named = profile === undefined ? "" : `, profile ${profile}`;
  try {
    await host.readFile(file);
    return ok("configuration", `${file}${named}`);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT")
      return ok(
        "configuration",
        "no configuration file; settings come from flags and the environment",
      );
    return bad("configuration", `${file} cannot be read (${code ?? ""})`, [
      command`chmod u+r ${file}`,
    ]);
  }
}

/** Base URL, and all that a request needs to be written. Where the service does not say, the state knows what it said last. */
async function applicationFinding(
  app: App,
  vaults: readonly VaultRecord[],
  isOffline: boolean,
): Promise<Finding> {
  try {
    const name = app.settings.serviceName();
    await app.service.client();
    await checkSigner(app.settings, app.io);
    const application = `${app.settings.appUuid} at ${name}`;
    const found = isOffline ? null : probeFinding(application, await app.service.probe());
    if (found !== null) return found;
    const refusal = lastRefusal(vaults.filter(({ service }) => service === name));
    if (refusal === null)
      return unverified("application", `${application}: complete; not verified with the service`);
    const message = `${application}: refused by the service at the last call, ${refusal.at}; ${refusal.message}`;
    return warning(
      "application",
      message,
      "check --app-uuid, --api-key and --jwt; the next accepted command clears this",
    );
  } catch (error) {
    return failed("application", asVaultError(error));
  }
}

/** The newest refusal of the application, if the service has accepted no start since. */
function lastRefusal(vaults: readonly VaultRecord[]): VaultRecord["lastError"] {
  const refusals = vaults.flatMap(({ lastError }) =>
    lastError?.code === "unauthorized" ? [lastError] : [],
  );
  const [newest] = refusals.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const accepted = vaults.flatMap(({ generations }) =>
    generations.filter(({ proven }) => proven).map(({ createdAt }) => createdAt),
  );
  return newest === undefined || accepted.some((at) => at > newest.at) ? null : newest;
}

/** Lifetime of the newest token in seconds; null if unknown. */
function tokenSecondsOf(vaults: readonly VaultRecord[]): number | null {
  const newest = vaults
    .flatMap(({ exchanges }) => exchanges)
    .filter(({ tokenExpiry }) => tokenExpiry !== null)
    .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0];
  const seconds =
    (Date.parse(newest?.tokenExpiry ?? "") - Date.parse(newest?.startedAt ?? "")) / 1000;
  return seconds > 0 ? seconds : null;
}

async function serviceFindings(
  { io, settings, service }: Remote,
  tokenSeconds: number | null,
): Promise<Finding[]> {
  try {
    return reachFindings(
      settings.serviceName(),
      await service.reach(),
      tokenSeconds,
      io.host.now(),
    );
  } catch (error) {
    // A base URL that is missing or wrong is told already.
    if (error instanceof VaultError) return [];
    throw error;
  }
}

/** Most findings that are said once more below a long table. */
const repeatedAtMost = 3;

/** Says the worst findings once more, with what to do. */
function sayWorst(narrator: Narrator, findings: readonly Finding[]): void {
  const worst = (["error", "warn"] as const).flatMap((wanted) =>
    findings.filter(({ level }) => level === wanted),
  );
  for (const { level, check, message, hint, next } of worst.slice(0, repeatedAtMost)) {
    narrator.note(`${level}: ${check}: ${message}`);
    if (hint !== undefined) narrator.note(`  hint: ${hint}`);
    narrator.note("", next);
  }
}

/** Each finding with what to do below it, then the sum; for a program a line for each. */
export async function doctorTable(
  findings: readonly Finding[],
  { facts }: Pick<View, "facts">,
): Promise<string> {
  const { columnWidths, drawRows, gap, lastWidth, tabbedLines } =
    await import("../../terminal/tables.ts");
  if (!facts.isTTY)
    return tabbedLines(
      findings.map(({ check, level, message, hint, next }) => [
        level,
        check,
        message,
        hint ?? "",
        ...next.map(wayText),
      ]),
    );
  const palette = await createPalette(facts.color);
  const widths = columnWidths(findings.map(({ check, level }) => [level, check]));
  const margin = 2;
  const drawn = findings.map(({ check, level, message, hint, next }) => {
    const isFine = level === "ok" || level === "info";
    const rows: Cell[][] = [
      [
        { text: level, paint: levelPaint(level, palette) },
        { text: check, paint: palette.dim },
        { text: message, paint: isFine ? palette.same : palette.strong },
      ],
      ...(hint === undefined ? [] : [["", "", { text: `→ ${hint}`, paint: palette.dim }]]),
    ];
    const left = widths.reduce((sum, width) => sum + width + gap, margin);
    const ways = wayLines(next, facts.columns, left).map(
      (line) => `${(isFine ? palette.dim : palette.code)(printableLine(line))}\n`,
    );
    return drawRows(rows, [...widths, lastWidth(facts.columns, left)], margin) + ways.join("");
  });
  return `${drawn.join("")}\n  ${summary(findings)}\n`;
}

/** `1 error, 2 warnings, 9 ok, 1 not verified`. */
export function summary(findings: readonly Finding[]): string {
  const n = (level: Finding["level"]): number =>
    findings.filter((finding) => finding.level === level).length;
  const parts = [
    ...(n("error") > 0 ? [count(n("error"), "error")] : []),
    ...(n("warn") > 0 ? [count(n("warn"), "warning")] : []),
    ...(n("ok") > 0 ? [`${n("ok")} ok`] : []),
    ...(n("info") > 0 ? [`${n("info")} not verified`] : []),
  ];
  return parts.join(", ");
}

const levelPaint = (level: Finding["level"], palette: Palette): Painted["paint"] =>
  ({ ok: palette.good, info: palette.dim, warn: palette.warn, error: palette.bad })[level];
