import { createGunzip } from "node:zlib";

/**
 * Decompresses gzip of one or more members, no faster than it is consumed. Truncated or damaged data ends the sequence after what could
 * be decompressed, and `onProblem` is called with the reason.
 */
export async function* gunzip(
  chunks: AsyncIterable<Uint8Array>,
  onProblem: (problem: string) => void,
): AsyncGenerator<Buffer> {
  const unzip = createGunzip({ chunkSize: 16 * 1024 });
  let problem: string | undefined;
  let isTaken = false;
  let wake = (): void => undefined;
  unzip.on("error", (error: NodeJS.ErrnoException) => {
    problem ??=
      error.code === "Z_BUF_ERROR" ? "the gzip data is cut off" : "the gzip data is damaged";
  });
  for (const event of ["readable", "end", "error", "close"]) unzip.on(event, () => wake());
  async function* drain(): AsyncGenerator<Buffer> {
    for (;;) {
      const bytes = unzip.read() as Buffer | null;
      if (bytes !== null) yield bytes;
      else if (isTaken || unzip.readableEnded || problem !== undefined) return;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    }
  }
  try {
    for await (const chunk of chunks) {
      isTaken = false;
      unzip.write(chunk, () => {
        isTaken = true;
        wake();
      });
      yield* drain();
      if (problem !== undefined || unzip.readableEnded) break;
    }
    if (unzip.readableEnded) problem = "something else follows the gzip data";
    if (problem === undefined) {
      // Only after everything is read: an error drops pending output.
      isTaken = false;
      unzip.end();
      yield* drain();
    }
  } finally {
    unzip.destroy();
  }
  if (problem !== undefined) onProblem(problem);
}
