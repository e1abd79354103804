import type { SettingIo } from "../../src/settings/sources.ts";

/** Files, variables and time as they are given, with a record of secrets, warnings and output. */
export function fakeIo({
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
  const readFile = async (path: string): Promise<string> => {
    const text = files[path];
    return text === undefined
      ? await Promise.reject(Object.assign(new Error("no"), { code: "ENOENT" }))
      : Promise.resolve(text);
  };
  const io: SettingIo = {
    host: {
      env,
      now: () => clock.now,
      readFile: async (path) => Buffer.from(await readFile(path)),
      endGroup: (pid) => {
        told.ended.push(pid);
        process.kill(-pid, "SIGKILL");
      },
      stderr: { writeColored: (text) => (told.said += text) },
    },
    sources: {
      env,
      readFile,
      readStdin: async () => await Promise.reject(new Error("nothing is read from stdin")),
      readPieces: () => {
        throw new Error("nothing is read in pieces");
      },
      warn: (message) => void told.warnings.push(message),
    },
    redactor: {
      add: (secret) => void (told.secrets.includes(secret) || told.secrets.push(secret)),
      redact: (text) =>
        told.secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), text),
    },
  };
  return { io, told, clock };
}
