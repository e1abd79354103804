import type { VaultError } from "../../src/errors.ts";
import { helpOf } from "../support/help.ts";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../src/exchange/ports.ts";
import { SqliteState } from "../../src/store/sqlite/store.ts";
import { SqliteWhole } from "../../src/store/sqlite/whole-state.ts";
import { moveState, prepareClaim } from "../../src/store/whole/move.ts";
import { imported, known, patient, service, uuid } from "../contract/store-fixture.ts";
import { lockPath, runChild, temporaryState } from "./temporary-state.ts";
import type { TemporaryState } from "./temporary-state.ts";

describe("a state that cannot be used", () => {
  let state: TemporaryState;
  beforeEach(() => {
    state = temporaryState();
  });

  /** A state with one vault, wholly in the database file and not in the WAL. */
  const settled = async (): Promise<void> => {
    await (await imported(state)).release();
    state.sql("PRAGMA wal_checkpoint(TRUNCATE)");
  };
  const ways = (store: Store) => [
    async () => await store.list(),
    async () => await store.lock(service, uuid, patient(state.clock)),
    async () => await store.reserveSlot("app", 40),
  ];
  /** Expects every operation to fail with a message that has these parts, and to leave the database unchanged. */
  const expectRefused = async (...parts: string[]): Promise<void> => {
    const before = existsSync(state.path) ? readFileSync(state.path) : null;
    for (const way of ways(state.another())) {
      const error: unknown = await way().then(
        () => "it was used",
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({
        name: "VaultError",
        code: "state",
        exitCode: 14,
      });
      expect(helpOf((error as VaultError).facts)).toMatch(/./);
      for (const part of parts) expect((error as Error).message).toContain(part);
    }
    expect(existsSync(state.path) ? readFileSync(state.path) : null).toEqual(before);
  };

  it.each([
    ["random bytes", 0, 8192],
    ["a damaged header", 0, 100],
    ["a damaged schema", 100, 3000],
  ])("%s", async (_, from, to) => {
    await settled();
    const bytes = readFileSync(state.path);
    for (let n = from; n < to; n += 1) bytes[n] = (n * 197 + 31) % 251;
    rewrite(bytes);
    await expectRefused(state.path, "damaged");
  });

  it.each([
    ["cut short", 8000, "damaged"],
    ["cut to its header", 100, "damaged"],
    ["empty", 0, "damaged"],
  ])("a file that is %s", async (_, size, part) => {
    await settled();
    copyFileSync(state.path, `${state.path}.copy`);
    truncateSync(`${state.path}.copy`, size);
    rewrite(readFileSync(`${state.path}.copy`));
    await expectRefused(state.path, part);
  });

  it("a damaged table is noticed before anything is written", async () => {
    await settled();
    const [page] = state.sql("SELECT rootpage AS n FROM sqlite_schema WHERE name = 'vaults'");
    const bytes = readFileSync(state.path);
    bytes.fill(0xab, (Number(page?.["n"]) - 1) * 4096, Number(page?.["n"]) * 4096);
    rewrite(bytes);
    await expect(state.another().list()).rejects.toMatchObject({ code: "state" });
    const read = async (): Promise<unknown> => {
      const session = await state.another().lock(service, uuid, patient(state.clock));
      return await session.read();
    };
    await expect(read()).rejects.toMatchObject({ code: "state" });
  });

  it.each([
    "not JSON",
    "null",
    "[]",
    '{"vault":3,"credentials":[],"exchanges":[],"refusals":[]}',
    '{"vault":{},"credentials":[3],"exchanges":[],"refusals":[]}',
    '{"vault":{},"credentials":[],"exchanges":[],"refusals":[3]}',
    // Counters that are no numbers would exceed no limit.
    '{"vault":{"carried":3},"credentials":[],"exchanges":[],"refusals":[]}',
    '{"vault":{"carried":{"failedAttempts":"2"}},"credentials":[],"exchanges":[],"refusals":[]}',
  ])("a vault whose document is %s is damaged, and the others are not", async (doc) => {
    await settled();
    state.sql(`UPDATE vaults SET doc = '${doc}'`);
    const another = state.another();
    const read = async (): Promise<unknown> => {
      const session = await another.lock(service, uuid, patient(state.clock));
      try {
        return await session.read();
      } finally {
        await session.release();
      }
    };
    for (const use of [async () => await another.list(), read, read])
      await expect(use()).rejects.toMatchObject({
        code: "state",
        message: `the document of vault ${uuid.toLowerCase()} is damaged`,
      });
    const elsewhere = await another.lock(service, uuid.replace(/.$/, "f"), patient(state.clock));
    await elsewhere.release();
  });

  it.each([
    "not JSON",
    "null",
    "{}",
    '{"credentials.sealed":null}',
    '{"credentials.sealed":{"1":3}}',
    '{"credentials.sealed":{"1":"s1:"},"exchanges.token":{"x":3}}',
  ])("a vault whose sealed values are %s is damaged for a whole state, too", async (sealed) => {
    await settled();
    state.sql(`UPDATE vaults SET sealed = '${sealed}'`);
    const whole = new SqliteWhole(new SqliteState(state.options));
    const message = `the document of vault ${uuid.toLowerCase()} is damaged`;
    await expect(whole.inspect()).resolves.toMatchObject({ place: { damage: message } });
    const rekey = whole.rekey(undefined, patient(state.clock));
    await expect(rekey).rejects.toMatchObject({ code: "state", message });
    const session = await state.another().lock(service, uuid, patient(state.clock));
    await expect(session.read()).rejects.toMatchObject({ code: "state", message });
    await session.release();
    const to = new SqliteWhole(new SqliteState(temporaryState().options));
    const move = moveState(whole, to, patient(state.clock));
    const told = expect.stringContaining(message) as string;
    await expect(move).rejects.toMatchObject({ code: "state", message: told });
  });

  it("one to which another was moved still has its vaults: where these were they are not claimed", async () => {
    await settled();
    const there = temporaryState();
    const [from, to] = [state, there].map(
      ({ options }) => new SqliteWhole(new SqliteState(options)),
    ) as [SqliteWhole, SqliteWhole];
    await moveState(from, to, patient(state.clock));
    there.sql("UPDATE vaults SET doc = '{'");
    const claim = prepareClaim(from, async () => await Promise.resolve(to), state.options.warn);
    const told = expect.stringContaining(`was moved to ${to.shown}`) as string;
    await expect(claim).rejects.toMatchObject({ code: "state", message: told });
  });

  it("a full disk: what was durable stays, what failed did not happen", async () => {
    await settled();
    const limited = ["sh", "-c", 'ulimit -f 4000; exec "$@"', "sh"];
    const result = (await runChild("fill", state, 1, limited)) as {
      durable: number;
      error: { code: string; message: string };
    };
    expect(result.error).toMatchObject({ code: "state", exitCode: 14 });
    expect(result.error.message).toContain(state.path);
    expect(result.durable).toBeGreaterThan(2);
    const session = await state.store.lock(service, uuid, patient(state.clock));
    expect((await known(session)).generations.length).toBe(Math.min(result.durable + 1, 7));
    expect((await known(session)).open?.id).toBe(`x${result.durable}`);
    expect((await session.token(`x${result.durable}`)).length).toBeGreaterThan(0);
    await session.release();
  });

  it("a database of another program", async () => {
    mkdirSync(dirname(state.path), { recursive: true, mode: 0o700 });
    const other = new DatabaseSync(state.path);
    other.exec("CREATE TABLE things (name TEXT)");
    other.close();
    await expectRefused(state.path, "not created by this program");
  });

  it("one of a newer version is not touched, its WAL neither", async () => {
    await runChild("import", state);
    // The last connection to close moves the WAL into the file, unless it can only read.
    const holder = new DatabaseSync(state.path, { readOnly: true });
    holder.prepare("SELECT count(*) FROM vaults").get();
    state.sql("PRAGMA user_version = 99");
    holder.close();
    const wal = readFileSync(`${state.path}-wal`);
    await expectRefused(state.path, "newer version", "99");
    expect(readFileSync(`${state.path}-wal`).equals(wal)).toBe(true);
    expect(wal.length).toBeGreaterThan(0);
  });

  it("a state that a newer program migrates while it is open", async () => {
    await settled();
    await state.store.list();
    state.sql("PRAGMA user_version = 99");
    await expect(state.store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
      code: "state",
    });
    state.sql("PRAGMA user_version = 1");
    await (await state.store.lock(service, uuid, patient(state.clock))).release();
  });

  it("a directory that is a file, itself or above", async () => {
    writeFileSync(join(state.root, "deep"), "");
    await expectRefused(join(state.root, "deep"), "not a directory");
    state = temporaryState();
    mkdirSync(dirname(state.directory));
    writeFileSync(state.directory, "");
    await expectRefused(state.directory, "a file is where a directory should be");
  });

  it.skipIf(!existsSync("/proc/self"))("a place that takes no directories", async () => {
    const store = new SqliteState({ ...state.options, directory: "/proc/none/state" });
    expect(await store.list()).toEqual([]);
    await expect(store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
      code: "state",
    });
  });

  it("a database that is a directory, or leads nowhere", async () => {
    mkdirSync(state.path, { recursive: true, mode: 0o700 });
    await expect(state.store.list()).rejects.toMatchObject({ code: "state" });
    state = temporaryState();
    mkdirSync(state.directory, { recursive: true, mode: 0o700 });
    symlinkSync(join(state.root, "nowhere"), state.path);
    await expect(state.store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
      code: "state",
    });
    expect(existsSync(join(state.root, "nowhere"))).toBe(false);
  });

  it("a directory that others can write to; one that they can read is closed to them", async () => {
    await settled();
    chmodSync(state.directory, 0o770);
    await expectRefused(state.directory, "other users can write");
    chmodSync(state.directory, 0o755);
    chmodSync(state.path, 0o644);
    expect((await state.another().list()).length).toBe(1);
    expect(mode(state.directory)).toBe(0o700);
    expect(mode(state.path)).toBe(0o600);
  });

  it("a lock file that is no database", async () => {
    await settled();
    const path = lockPath(join(state.directory, "locks"), uuid);
    writeFileSync(path, "garbage ".repeat(200));
    await expect(state.store.lock(service, uuid, patient(state.clock))).rejects.toMatchObject({
      code: "state",
      message: expect.stringContaining(path) as string,
    });
  });

  const mode = (path: string): number => statSync(path).mode & 0o777;

  /** Replaces the database with other bytes, without a WAL. */
  const rewrite = (bytes: Buffer): void => {
    for (const ending of ["-wal", "-shm"]) rmSync(state.path + ending, { force: true });
    writeFileSync(state.path, bytes, { mode: 0o600 });
  };
});
