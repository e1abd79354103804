import { describe, expect, test } from "vitest";
import { startVault } from "../support/run-vault.ts";
import { hasCurl, note, rehearse, rehearseScript } from "../support/rehearse.ts";

describe("sandbox rehearse (two programs that survive it: torture/rehearse)", () => {
  test.skipIf(!hasCurl)("a naive script with curl loses the vault, and is found out", async () => {
    const { code, stderr, document } = await rehearseScript("naive.sh");
    const lost = document.scenarios.filter(({ outcome }) => outcome === "lost").map(({ call, failure }) => `${call.n} ${failure}`);
    expect(lost).toContain("2 killed-after");
    expect(lost).not.toContain("1 lost-before");
    expect(code).toBe(17);
    expect(stderr).toMatch(/"code":"finding"/);
  });

  test("a program that fails anyway is told before anything is rehearsed", async () => {
    expect(await rehearse("--check", "true", "--", "false")).toMatchObject({ code: 2 });
    expect(await rehearse("--check", "true", "--", "true")).toMatchObject({ code: 2 });
    expect(await rehearse("--check", "false", "--", "vault", "get", note)).toMatchObject({ code: 2 });
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
