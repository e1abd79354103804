import { vaultInPty } from "../support/pty.ts";
import { describe, expect, test } from "vitest";
import { startVault, demoNote, hasCurl, rehearse } from "../support/run-vault.ts";

describe("sandbox rehearse (programs that read vaults: torture/rehearse)", () => {
  test.skipIf(!hasCurl())(
    "a program that does not try again is found out, whatever becomes of its call",
    async () => {
      const call = `curl --silent --data '{}' "$VAULTSVC_BASE_URL/vaultsvc/v1-2/vault/generic/offline/${demoNote}/get-start"`;
      const once = `test -e tried && exit; touch tried; ${call} && touch answered`;
      const { code, stderr, document } = await rehearse(
        "--check",
        "test -e answered",
        "--",
        "sh",
        "-c",
        once,
      );
      expect(
        document.scenarios.map(({ failure, outcome, check }) => `${failure} ${outcome} ${check}`),
      ).toEqual([
        "lost-before lost 1",
        "lost-after lost 1",
        "killed-before lost 1",
        "killed-after lost 1",
      ]);
      expect(code).toBe(17);
      expect(stderr).toMatch(/"code":"finding"/);
    },
  );

  test("a program that fails anyway is told before anything is rehearsed", async () => {
    expect(await rehearse("--check", "true", "--", "false")).toMatchObject({ code: 2 });
    expect(await rehearse("--check", "true", "--", "true")).toMatchObject({ code: 2 });
    expect(await rehearse("--check", "false", "--", "vault", "get", demoNote)).toMatchObject({
      code: 2,
    });
    expect(await rehearse("--", "true")).toMatchObject({ code: 2 });
  });

  test("Ctrl-C ends the program that runs, and the rehearsal", async () => {
    const running = startVault([
      "sandbox",
      "rehearse",
      "--json",
      "--setup",
      "echo ready; sleep 60",
      "--check",
      "true",
      "--debug",
      "--",
      "true",
    ]);
    await running.waitFor(/ready/, "stderr");
    running.kill("SIGINT");
    const { code, stderr } = await running.exit;
    expect(stderr).toContain('"code":"interrupted"');
    expect(code).toBe(130);
  });

  test("a person sees how far it is, how many were fine, and what was found until Ctrl-C", async () => {
    const whole = ["sandbox", "rehearse", "--check", "true", "--", "vault", "get", demoNote];
    const seen = vaultInPty(whole, { columns: 120, timeoutMs: 60_000 });
    await seen.waitFor(/3 of 8: call 1, killed-before/);
    seen.type("\u0003");
    const { code, text } = await seen.exit;
    expect(code).toBe(130);
    expect(text).toMatch(/1 of 8: call 1, lost-before …/);
    expect(text).toMatch(/lost-after +fine[^]*2 of 8 fine/);
  });
});
