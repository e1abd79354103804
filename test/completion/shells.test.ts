import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { ShellUser } from "./support.ts";
import {
  fishOffers,
  isInstalled,
  machineWithVaults,
  shellUser,
  typeAndTab,
  vaults,
} from "./support.ts";
import { tempDir } from "../support/cleanup.ts";

const [labelled, bare, office] = vaults;

/** Text typed before a tab, and the line after it. Several candidates complete to their common prefix. */
const typed: readonly (readonly [string, string])[] = [
  ["vault statu", "vault status "],
  ["vault statu", "vault status "],
  ["vault get off", "vault get office\\ card "],
  ["vault import off", "vault import off"],
  ["vaultsvc sandbox res", "vaultsvc sandbox reset "],
  ["vault get 11", `vault get ${labelled.uuid} `],
  ["vault get --kind generic/of", "vault get --kind generic/offline "],
  ["vault get --kind=generic/of", "vault get --kind=generic/offline "],
  ["vault status --reve", "vault status --reveal "],
  ["vault status --fail-on locked,at", "vault status --fail-on locked,at-risk "],
  ["vault --profile we", "vault --profile we\\ ird "],
  ["vault import --file pa", "vault import --file pair\\ one.json "],
  ["vault import --credentials @pa", "vault import --credentials @pair\\ one.json "],
  ["vault import --credentials=@pa", "vault import --credentials=@pair\\ one.json "],
  ["vault import --credentials env:VAULTSVC_STA", "vault import --credentials env:VAULTSVC_STATE "],
  ["vault sandbox start --data fo", "vault sandbox start --data folder/"],
  ["vault run x --env A=label -- vaultsv", "vault run x --env A=label -- vaultsvc "],
  ["vault sandbox exec -- cat pair", "vault sandbox exec -- cat pair\\ one.json "],
  ["vault --nothing-like-it x", "vault --nothing-like-it x"],
  ["vault get --external-ref pa", "vault get --external-ref pa"],
];

/** As `typed`, with a word that is quoted: what fish offers for one is its own. */
const quoted: typeof typed = [
  ["vault get office\\ c", "vault get office\\ card "],
  ["vault get 'office c", "vault get 'office card' "],
  ['vault get "office c', 'vault get "office card" '],
  ["vault import --file 'pair o", "vault import --file 'pair one.json' "],
];

let user: ShellUser;

beforeAll(async () => {
  const machine = await machineWithVaults();
  machine.file("config/config.json", {
    profiles: { staging: {}, "we ird": {}, "$(touch pwned)": {}, "hidden\u001b[31m": {} },
  });
  user = shellUser({ VAULTSVC_STATE: machine.stateDir, VAULTSVC_CONFIG_DIR: machine.configDir });
  writeFileSync(join(user.cwd, "pair one.json"), "");
  mkdirSync(join(user.cwd, "folder"));
});

/** Returns a user whose program fails. */
function brokenUser(): ShellUser {
  const folder = tempDir("broken");
  for (const name of ["vault", "vaultsvc"])
    writeFileSync(join(folder, name), "#!/bin/sh\necho boom; echo boom >&2; exit 1\n", {
      mode: 0o700,
    });
  return { ...user, env: { ...user.env, PATH: `${folder}:${user.env["PATH"]}` } };
}

/** Checks that no label or profile name was run as a command. */
const expectNothingRun = (): void =>
  expect(readdirSync(user.cwd).toSorted()).toEqual(["folder", "pair one.json"]);

const onTerminal = (["bash", "zsh"] as const).map((shell) => ({
  shell,
  isMissing: !isInstalled(shell),
}));

describe.each(onTerminal)(
  "$shell, on a terminal (skipped where there is none)",
  ({ shell, isMissing }) => {
    test.skipIf(isMissing)("completes what is typed", async () => {
      const all = [...typed, ...quoted];
      const { lines } = await typeAndTab(
        shell,
        user,
        all.map(([line]) => line),
      );
      expect(lines).toEqual(all.map(([, completed]) => completed));
      expectNothingRun();
    });

    test.skipIf(isMissing)("lists what there is", async () => {
      const { shown } = await typeAndTab(shell, user, ["vault get ", "vault --profile ", "vault "]);
      for (const { uuid } of vaults) expect(shown).toContain(uuid);
      for (const text of ["staging", "sandbox", "completion"]) expect(shown).toContain(text);
      expect(shown).not.toContain("hidden");
      expectNothingRun();
    });

    test.skipIf(isMissing)("lists with what it means, labels as they are", async () => {
      const { lines, shown } = await typeAndTab(shell, user, ["vault get ", "vault s"]);
      expect(lines).toEqual(["vault get ", "vault s"]);
      for (const [word, meaning] of [
        [labelled.uuid, labelled.shown],
        [bare.uuid, bare.kind],
        [office.uuid, office.shown],
        ["status", "show what this machine knows"],
        ["state", "create, move, back up"],
      ] as const)
        expect(shown).toMatch(new RegExp(`${word} +-- ${escape(meaning)}`));
      expectNothingRun();
    });

    test.skipIf(isMissing)("says nothing where the program fails", async () => {
      const { lines, shown } = await typeAndTab(shell, brokenUser(), [
        "vault ge",
        "vault get --kind ",
        "vaultsvc ",
      ]);
      expect(lines).toEqual(["vault ge", "vault get --kind ", "vaultsvc "]);
      expect(shown).not.toContain("boom");
    });

    test.skipIf(isMissing)("leaves another program of the name vault alone", async () => {
      const other = `${shell === "bash" ? "" : "autoload -U compinit bashcompinit; compinit -u -D; bashcompinit\n"}complete -C /bin/true vault`;
      const script = shell === "bash" ? "" : `eval "$(vaultsvc completion zsh)"`;
      // compinit takes the first script of a name; here the script is evaluated after the other one.
      const { lines } = await typeAndTab(
        shell,
        user,
        ["vault statu", "vaultsvc statu"],
        other,
        script,
      );
      expect(lines).toEqual(["vault statu", "vaultsvc status "]);
    });
  },
);

test.skipIf(!isInstalled("bash"))(
  "bash offers nothing within quotes that ends them, or is run there (skipped where there is none)",
  async () => {
    const lines = ['vault --profile "$(', "vault --profile '$(to", "vault --profile \\$\\(to"];
    const completed = [
      'vault --profile "$(',
      "vault --profile '$(touch pwned)' ",
      "vault --profile \\$\\(touch\\ pwned\\) ",
    ];
    expect((await typeAndTab("bash", user, lines)).lines).toEqual(completed);
    expectNothingRun();
  },
);

describe.skipIf(!isInstalled("zsh"))("zsh (skipped where there is none)", () => {
  test("completes by vault completion zsh, too", async () => {
    const { lines } = await typeAndTab(
      "zsh",
      user,
      ["vault statu", "vaultsvc statu"],
      "",
      `compdef -d vault; eval "$(vault completion zsh)"`,
    );
    expect(lines).toEqual(["vault status ", "vaultsvc status "]);
  });
});

describe.skipIf(!isInstalled("fish"))("fish (skipped where there is none)", () => {
  test.each(typed)("%s", (line, completed) => {
    const offered = fishOffers(user, line).map((candidate) => candidate.split("\t")[0]);
    // fish quotes what it inserts, and adds no space after a folder.
    const word = completed
      .trimEnd()
      .replaceAll(/\\(?=.)/g, "")
      .slice(line.lastIndexOf(" ") + 1);
    expect(offered).toEqual(line === completed ? [] : [word]);
  });

  test("says nothing where the program fails", () => {
    expect(fishOffers(brokenUser(), "vault ge")).toEqual([]);
  });

  test("shows labels, and kinds where there is none", () => {
    expect(fishOffers(user, "vault get ")).toEqual([
      `${labelled.uuid}\t${labelled.shown}`,
      `${office.uuid}\t${office.shown}`,
      `${bare.uuid}\t${bare.kind}`,
    ]);
    expect(fishOffers(user, "vaultsvc sandbox star")).toEqual([
      "start\tstart a sandbox that serves until interrupted",
    ]);
    expectNothingRun();
  });
});

const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
