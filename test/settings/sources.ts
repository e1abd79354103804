import type { SettingWorld } from "../../src/settings/sources.ts";

/** A world with given files, variables and time, which records secrets, warnings and output. */
export function fakeWorld({
  files = {},
  env = {},
}: { files?: Record<string, string>; env?: Record<string, string> } = {}) {
  const told = {
    secrets: [] as string[],
    warnings: [] as string[],
    said: "",
    ended: [] as number[],
  };
  const clock = { now: Date.parse("2026-11-21T12:00:00Z") };
  const world: SettingWorld = {
    env,
    now: () => clock.now,
    readFile: async (path) => {
      const text = files[path];
      return text === undefined
        ? await Promise.reject(Object.assign(new Error("no"), { code: "ENOENT" }))
        : Promise.resolve(text);
    },
    readGiven: async ({ text }) =>
      Promise.resolve(files[text.replace(/^@/, "")] ?? env[text.replace(/^env:/, "")] ?? text),
    learnSecret: (secret) => void (told.secrets.includes(secret) || told.secrets.push(secret)),
    redact: (text) =>
      told.secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), text),
    warn: (message) => void told.warnings.push(message),
    forward: (text) => (told.said += text),
    endGroup: (pid) => {
      told.ended.push(pid);
      process.kill(-pid, "SIGKILL");
    },
  };
  return { world, told, clock };
}
