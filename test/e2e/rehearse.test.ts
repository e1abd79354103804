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
});
