import { constants, fstatSync, openSync, writeFile, writeSync } from "node:fs";
import { Socket } from "node:net";
import { orAborted, pause } from "./signals.ts";

/**
 * Writes all bytes, or rejects with the system's error (`code` kept: EPIPE, ENOSPC, EIO …). It continues after short writes and waits
 * for full pipes. Aborting has an effect only during such a wait: the call rejects with the signal's reason, and some of the bytes may
 * have been written. One call at a time.
 */
export interface WriteAll {
  (bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** A call ends with a sync, which takes as long for much as for little. */
  readonly syncs?: boolean;
}

/**
 * Chooses how to write to a descriptor of this process, by its type. With `sync`, a write to a regular file resolves only after an
 * fsync. A write that blocks must never run in the thread pool: exiting joins the threads of the pool, so a reader that has stopped
 * would keep the process alive, whatever the signal.
 */
export function openWriteAll(fd: number, options: { sync: boolean }): WriteAll {
  const stat = fstatSync(fd);
  if (stat.isFile() && options.sync)
    return Object.assign(async (bytes: Uint8Array) => await writeToFile(fd, bytes), {
      syncs: true,
    });
  if (stat.isFIFO() || stat.isCharacterDevice()) {
    const own = reopenNonBlocking(fd);
    if (own !== null) return (bytes, signal) => writeWhenReady(own, bytes, signal);
  }
  if (stat.isFIFO() || stat.isSocket()) return socketWriter(fd);
  return (bytes, signal) => writeWhenReady(fd, bytes, signal);
}

/**
 * Opens another file description of the same pipe or terminal, so that O_NONBLOCK does not affect the processes that share the first.
 * Returns null if that fails: no /proc, a pipe of another user, no reader.
 */
function reopenNonBlocking(fd: number): number | null {
  try {
    return openSync(
      `/proc/self/fd/${fd}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    return null;
  }
}

/** Retries after 1 to 32 ms while the descriptor is not ready: the runtime has no event for a terminal that can be written to again. */
async function writeWhenReady(fd: number, bytes: Uint8Array, signal?: AbortSignal): Promise<void> {
  let wait = 1;
  for (let offset = 0; offset < bytes.length;) {
    const written = writeSome(fd, bytes, offset);
    offset += written;
    if (written === 0) await pause(wait, signal);
    wait = written === 0 ? Math.min(wait * 2, 32) : 1;
  }
}

/** Returns the number of bytes written, 0 if it would block. */
function writeSome(fd: number, bytes: Uint8Array, offset: number): number {
  try {
    return writeSync(fd, bytes, offset);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0;
    throw error;
  }
}

/** Writes to a socket, or a pipe that could not be reopened. The runtime restores the descriptor's flags when the process exits. */
function socketWriter(fd: number): WriteAll {
  let socket: Socket | undefined;
  return async (bytes, signal) => {
    if (socket === undefined) {
      socket = new Socket({ fd, readable: false, writable: true });
      // Each write reports its own error; without a listener, the event would end the process.
      socket.on("error", () => {});
    }
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const mustWait = !socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    await orAborted(written, mustWait ? signal : undefined);
  };
}

/** Writes in the thread pool, so that a slow disk does not delay signals, and syncs. */
const writeToFile = (fd: number, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    writeFile(fd, bytes, { flush: true }, (error) =>
      error && !lacksFsync(error) ? reject(error) : resolve(),
    );
  });

/** Whether the file system does not support fsync, so that there is nothing to wait for. */
const lacksFsync = ({ syscall, code = "" }: NodeJS.ErrnoException): boolean =>
  syscall === "fsync" && ["EINVAL", "ENOTSUP", "ENOSYS"].includes(code);
