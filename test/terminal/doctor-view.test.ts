import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { command } from "../../src/way.ts";
import { doctorTable } from "../../src/commands/doctor.ts";
import { createPalette, plain } from "../../src/terminal/palette.ts";

const vault = "123e4567-e89b-42d3-a456-426614174000";
const findings = [
  { check: "node", level: "ok" as const, message: "Node 24.21.0", next: [] },
  {
    check: "configuration",
    level: "ok" as const,
    message: "no configuration file; settings come from flags and the environment",
    next: [],
  },
  {
    check: "key",
    level: "ok" as const,
    message:
      "key e2de0f7327bd8ba8 (key file /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key), opens all 5 sealed values",
    hint: "keep a copy of /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key elsewhere: no backup contains it",
    next: [],
  },
  {
    check: "tls",
    level: "error" as const,
    message: "certificate of vaults.example.com:443 is not trusted: its issuer is unknown",
    hint: "if you trust it, name its certificate in NODE_EXTRA_CA_CERTS",
    next: [],
  },
  {
    check: "pending",
    level: "warn" as const,
    message: `vault ${vault}: a get is held`,
    next: [command`vault ack ${vault}`],
  },
  {
    check: "dates",
    level: "warn" as const,
    message: `the daily one\u001b[31m (${vault}) auto-locks 2026-12-19 12:00 (in 28 days)`,
    hint: "first",
    next: [{ ...command`vault get ${vault}`, note: "then" }],
  },
];
const table = async (columns: number, color: boolean) =>
  doctorTable(findings, {
    isTTY: true,
    columns,
    palette: await createPalette(color),
  });

describe("the findings of vault doctor", () => {
  test("at 80 columns", async () => {
    expect(`\n${await table(80, false)}`).toMatchInlineSnapshot(`
      "
        ok     node           Node 24.21.0
        ok     configuration  no configuration file; settings come from flags and the
                              environment
        ok     key            key e2de0f7327bd8ba8 (key file
                              /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key),
                              opens all 5 sealed values
                              → keep a copy of
                              /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key
                              elsewhere: no backup contains it
        error  tls            certificate of vaults.example.com:443 is not trusted:
                              its issuer is unknown
                              → if you trust it, name its certificate in
                              NODE_EXTRA_CA_CERTS
        warn   pending        vault 123e4567-e89b-42d3-a456-426614174000: a get is
                              held
                              next: vault ack 123e4567-e89b-42d3-a456-426614174000
        warn   dates          the daily one\\u{1b}[31m
                              (123e4567-e89b-42d3-a456-426614174000) auto-locks
                              2026-12-19 12:00 (in 28 days)
                              → first
                              next: vault get 123e4567-e89b-42d3-a456-426614174000
                                    (then)
      "
    `);
  });

  test("at 120 columns", async () => {
    expect(`\n${await table(120, false)}`).toMatchInlineSnapshot(`
      "
        ok     node           Node 24.21.0
        ok     configuration  no configuration file; settings come from flags and the environment
        ok     key            key e2de0f7327bd8ba8 (key file /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key), opens all
                              5 sealed values
                              → keep a copy of /home/ada/.config/vaultsvc/keys/e2de0f7327bd8ba8.key elsewhere: no backup
                              contains it
        error  tls            certificate of vaults.example.com:443 is not trusted: its issuer is unknown
                              → if you trust it, name its certificate in NODE_EXTRA_CA_CERTS
        warn   pending        vault 123e4567-e89b-42d3-a456-426614174000: a get is held
                              next: vault ack 123e4567-e89b-42d3-a456-426614174000
        warn   dates          the daily one\\u{1b}[31m (123e4567-e89b-42d3-a456-426614174000) auto-locks 2026-12-19 12:00 (in
                              28 days)
                              → first
                              next: vault get 123e4567-e89b-42d3-a456-426614174000 (then)
      "
    `);
  });

  test("in color, which changes nothing else", async () => {
    const colored = await table(80, true);
    expect(colored).toContain("\u001b[31merror\u001b[39m");
    expect(colored).toContain("\u001b[33mwarn\u001b[39m");
    expect(colored).toContain(
      `\u001b[36m                        next: vault ack ${vault}\u001b[39m`,
    );
    expect(stripVTControlCharacters(colored)).toBe(await table(80, false));
  });

  test.each([40, 60, 80, 100, 120, 200])("no line is wider than %i columns", async (columns) => {
    // A word of a command stays whole.
    const lines = (await table(columns, false))
      .split("\n")
      .filter((line) => !line.includes("next: ") && !line.includes(vault));
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(
      Math.max(columns, 48),
    );
  });

  test("without a terminal, a field for each way on", async () => {
    const view = { isTTY: false, columns: 80, palette: plain };
    const next = [command`vault ack ${vault}`, command`vault get ${vault} --discard-pending`];
    const found = { check: "pending", level: "warn" as const, message: "a get is held", next };
    expect(doctorTable([found], view)).toBe(
      `warn\tpending\ta get is held\t\tvault ack ${vault}\tvault get ${vault} --discard-pending\n`,
    );
  });
});
