import { command } from "../cli/command.ts";
import type { SettingsPart } from "../parts/basics.ts";
import { configPath, readConfiguration } from "../settings/config-file.ts";
import type { App } from "../app.ts";
import { asVaultError, VaultError } from "../errors.ts";
import type { Finding } from "../documents/schemas.ts";
import {
  failed,
  ok,
  probeFinding,
  reachFindings,
  stateFindings,
  unverified,
} from "./doctor/findings.ts";
import type { Cell, TableOptions } from "../terminal/tables.ts";
import { columnWidths, gap, rowsTable, tabbedLines } from "../terminal/tables.ts";
import { printableLine } from "../terminal/redactor.ts";
import { wayLines, wayText } from "../way.ts";

export const doctor = command({
  description:
    "Check the configuration, the key, the state, the clock, TLS, and whether the service can be reached and does not refuse the application; say what to do " +
    "about each finding. Changes nothing, and sends nothing about a vault: one request without credentials, and the acknowledgement of " +
    "a vault that does not exist, which does not count toward lockout. Errors stop commands, warnings may do so soon; info could not be verified.",
  options: {
    "--offline": "do not contact the service",
    "--fail-on <level>": {
      help: "exit 17 on a finding of this level or worse (default: error)",
      choices: ["warn", "error", "never"],
    },
  },
  examples: ["vault doctor", "vault doctor --offline --fail-on warn", "vault doctor --json"],
  mode: "lenient",
  async run(app, options) {
    const checks = await examine(app, options.offline === true);
    // What was stopped is no finding.
    app.io.host.interrupted.throwIfAborted();
    const { failOn = "error" } = options;
    const isBad = ({ level }: Finding): boolean =>
      failOn !== "never" && (level === "error" || level === failOn);
    const found = checks.filter(isBad);
    const names = found.map(({ check, level }) => `${check} (${level})`).join(", ");
    const failure = found.length === 0 ? undefined : new VaultError("finding", names);
    await app.io.output.show({ checks }, (view) => doctorTable(checks, view), failure);
  },
});

async function examine(app: App, isOffline: boolean): Promise<Finding[]> {
  const { problem } = app.settings.configuration;
  const findings = [ok("node", `Node ${app.io.host.versions.node}`)];
  // Which state and which service are meant is not known then.
  if (problem !== undefined) return [...findings, failed("configuration", problem)];
  const [application, state, service] = await Promise.all([
    applicationFinding(app, isOffline).catch((error: unknown) =>
      failed("application", asVaultError(error)),
    ),
    inspect(app).then(stateFindings, (cause: unknown) => {
      const error = asVaultError(cause);
      return [failed(error.code === "usage" ? "state" : "key", error)];
    }),
    isOffline ? [] : serviceFindings(app),
  ]);
  return [...findings, configurationFinding(app.settings), application, ...state, ...service];
}

const inspect = async ({ state }: App) =>
  await (await (await state.open()).state.whole()).inspect();

/** The file can be read, or is not there: else the settings have a problem. */
function configurationFinding({ configuration: { directory, profile } }: SettingsPart): Finding {
  const named = profile === undefined ? "" : `, profile ${profile}`;
  const what =
    readConfiguration(directory) === null
      ? "no configuration file; settings come from flags and the environment"
      : `${configPath(directory)}${named}`;
  return ok("configuration", what);
}

/** Base URL, and all that a request needs to be written; and what the service says of it. */
async function applicationFinding(app: App, isOffline: boolean): Promise<Finding> {
  const name = app.settings.serviceName();
  await app.service.client();
  const application = `${app.settings.appUuid} at ${name}`;
  const found = isOffline ? null : probeFinding(application, await app.service.probe());
  return (
    found ?? unverified("application", `${application}: complete; not verified with the service`)
  );
}

const serviceFindings = async ({ settings, service }: App): Promise<Finding[]> =>
  await service.reach().then(
    (reach) => reachFindings(settings.serviceName(), reach),
    (error: unknown) => {
      // A base URL that is missing or wrong is told already.
      if (error instanceof VaultError) return [];
      throw error;
    },
  );

/** Each finding with what to do below it, for a program a line for each. */
export function doctorTable(
  findings: readonly Finding[],
  { isTTY, columns, palette }: TableOptions,
): string {
  if (!isTTY)
    return tabbedLines(
      findings.map(({ check, level, message, hint, next }) => [
        level,
        check,
        message,
        hint ?? "",
        ...next.map(wayText),
      ]),
    );
  const widths = columnWidths(findings.map(({ check, level }) => [level, check]));
  const { good, dim, warn, bad, code } = palette;
  const paints = { ok: good, info: dim, warn, error: bad };
  const margin = 2;
  const left = widths.reduce((sum, width) => sum + width + gap, margin);
  const drawn = findings.map(({ check, level, message, hint, next }) => {
    const rows: Cell[][] = [
      [{ text: level, paint: paints[level] }, { text: check, paint: dim }, message],
      ...(hint === undefined ? [] : [["", "", { text: `→ ${hint}`, paint: dim }]]),
    ];
    const ways = wayLines(next, columns, left).map((line) => `${code(printableLine(line))}\n`);
    return rowsTable(rows, columns, margin, widths) + ways.join("");
  });
  return drawn.join("");
}
