import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { below, program } from "../support/program.ts";
import { demoNote, hasCurl, rehearse, runVault } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

describe("sandbox rehearse", () => {
  test("vault get --save-cmd survives everything", async () => {
    const get = [
      "vault",
      "get",
      demoNote,
      "--save-cmd",
      "cat > saved.tmp && mv saved.tmp saved.json",
      "--json",
    ];
    const { code, document } = await rehearse(
      "--check",
      `vault get ${demoNote} --json`,
      "--",
      ...get,
    );
    expect(document.scenarios.filter(({ outcome }) => outcome !== "fine")).toEqual([]);
    expect(
      document.scenarios.map(({ call: { n, endpoint }, failure }) => `${n} ${endpoint} ${failure}`),
    ).toEqual(
      ["1 generic/offline get-start", "2 generic/offline get-end"].flatMap((call) =>
        ["lost-before", "lost-after", "killed-before", "killed-after"].map(
          (failure) => `${call} ${failure}`,
        ),
      ),
    );
    expect(code).toBe(0);
  });

  test("a program that uses vault run survives everything", async () => {
    const line = ["run", demoNote, "--env", "NOTE=vault.content"];
    const check = `vault ${line.join(" ")} -- sh -c 'test -n "$NOTE"'`;
    const program = ["vault", ...line, "--", "sh", "-c", 'test -n "$NOTE"'];
    const { code, document } = await rehearse("--check", check, "--", ...program);
    const told = document.scenarios.map(
      ({ failure, outcome, check }) => `${failure} ${outcome} ${check}`,
    );
    const each = ["lost-before", "lost-after", "killed-before", "killed-after"];
    expect(told).toEqual([...each, ...each].map((failure) => `${failure} fine 0`));
    expect(code).toBe(0);
  });

  test.skipIf(!hasCurl())("a correct script with curl survives everything", async () => {
    const { code, document } = await rehearseScript("careful.sh");
    expect(document.scenarios.filter(({ outcome }) => outcome !== "fine")).toEqual([]);
    expect(code).toBe(0);
  });

  test.skipIf(!hasCurl())(
    "a naive script with curl loses the vault, and is found out",
    async () => {
      const { code, stderr, document } = await rehearseScript("naive.sh");
      const lost = document.scenarios
        .filter(({ outcome }) => outcome === "lost")
        .map(({ call, failure }) => `${call.n} ${failure}`);
      expect(lost).toContain("2 killed-after");
      expect(lost).not.toContain("1 lost-before");
      expect(code).toBe(17);
      expect(stderr).toMatch(/"code":"finding"/);
    },
  );

  test("the examples of its help work", async () => {
    const cwd = tempDir("rehearse");
    for (const name of ["read.sh", "check"])
      writeFileSync(join(cwd, name), `#!/bin/sh\nvault get ${demoNote}\n`, { mode: 0o700 });
    writeFileSync(join(cwd, "setup"), "#!/bin/sh\n", { mode: 0o700 });
    const command = below(program).find((each) => each.name() === "rehearse");
    const { examples = [] } = command?.descriptor ?? {};
    expect(examples).toHaveLength(2);
    for (const example of examples) {
      const words = example
        .replaceAll(/"\$PWD([^"]*)"/g, `${cwd}$1`)
        .split(" ")
        .slice(1);
      expect(await runVault(words, { cwd, timeoutMs: 150_000 })).toMatchObject({ code: 0 });
    }
  });

  test("in table form each scenario is a row", async () => {
    const folder = tempDir("rehearse");
    writeFileSync(join(folder, "read.sh"), `vault get ${demoNote} --quiet > contents\n`);
    const args = [
      "sandbox",
      "rehearse",
      "--check",
      `sh ${join(folder, "read.sh")}`,
      "--",
      "sh",
      join(folder, "read.sh"),
    ];
    const { code, stdout, stderr } = await runVault(args, { timeoutMs: 150_000 });
    expect(stderr).toMatch(
      /^vault: warning: sh .*read\.sh will run many times, against sandboxes\n$/,
    );
    expect(stdout).toMatch(/^2\tPUT generic\/offline get-end\tkilled-after\tfine\t0$/m);
    expect(code).toBe(0);
  });
});

/** Rehearses a script of test/fixtures/curl, which reads the note over HTTP with its credentials in a file. */
async function rehearseScript(name: string): ReturnType<typeof rehearse> {
  const script = `${join(import.meta.dirname, "..", "fixtures", "curl", name)} ${demoNote}`;
  return await rehearse(
    "--setup",
    `vault export ${demoNote} --field credentials > credentials.json`,
    "--check",
    script,
    "--",
    "sh",
    "-c",
    script,
  );
}
