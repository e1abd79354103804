import type { Basics } from "../../parts/settings.ts";
import { VaultError } from "../../errors.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { ManyExchangeOptions } from "./in-turn.ts";
import type { ManyOptions } from "./flags.ts";

/** Flags that say something about one vault. */
const ofOne = {
  credentials: "--credentials",
  encryptedData: "--encrypted-data",
  payload: "--payload",
  hashedPin: "--hashed-pin",
  credentialsOut: "--credentials-out",
  saveCmd: "--save-cmd",
  generation: "--generation",
  force: "--force",
  out: "--out",
  card: "--card",
  cardNumber: "--card-number",
  cardName: "--card-name",
  expiry: "--expiry",
  content: "--content",
} as const;

/**
 * Refuses flags that say something about one vault, and updates whose contents do not stand in a list.
 * @throws `usage`
 */
export function checkNothingOfOne(options: ManyExchangeOptions, operation: Operation): void {
  const [given] = Object.entries(ofOne).filter(
    ([name]) => (options as Record<string, unknown>)[name] !== undefined,
  );
  if (given !== undefined) {
    throw new VaultError("usage", `${given[1]} is about one vault, and excludes many`, {
      hint: "write what belongs to one of them into its line of --from; vault help many-vaults",
    });
  }
  if (operation === "get" || options.from !== undefined) return;
  throw new VaultError(
    "usage",
    "the contents of many vaults must stand in a list: --from is missing",
    {
      hint: 'vault update --from FILE (lines such as {"uuid":"…","card":{…}})',
    },
  );
}

/**
 * How a command with many vaults prints: lines for a program, or rows for a person.
 * @throws `usage` for an output that cannot have many
 */
export function formOf(
  { io: { host, output }, settings: { flags } }: Basics,
  options: ManyOptions & { dryRun?: boolean | undefined },
  operation: Operation,
): "ndjson" | "rows" {
  const usage = (message: string, hint: string): VaultError =>
    new VaultError("usage", `${message}; nothing was sent`, { hint });
  if (options.dryRun === true) return output.format === "table" ? "rows" : "ndjson";
  if (output.field !== undefined)
    throw usage(
      "--field prints one value, and there are many vaults",
      "use -o ndjson, and a tool such as jq",
    );
  if (flags["output"] === "json")
    throw usage("--json prints one document, and there are many vaults", "use -o ndjson");
  const isForProgram = [options.from, options.all, options.exec, options.outDir].some(
    (given) => given !== undefined,
  );
  if (output.format !== "table" || (isForProgram && !host.stdout.isTTY)) return "ndjson";
  const reachesNobody =
    operation === "get" &&
    options.outDir === undefined &&
    options.exec === undefined &&
    !output.reveal;
  if (reachesNobody)
    throw usage(
      "nobody would get the contents, which rows show masked",
      "use -o ndjson, --out-dir, --exec or --reveal",
    );
  return "rows";
}
