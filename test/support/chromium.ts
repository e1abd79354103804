import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Where this machine has a Chromium; a test that needs one is skipped where there is none. */
export const chromiumPath: string | undefined = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find(existsSync);

/** Without a window, an account or anything that it would fetch on its own, in a new empty folder of user data. */
export async function startChromium(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  const quiet = [
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  const args = ["--headless", "--no-sandbox", "--disable-gpu", ...quiet];
  return await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args,
  });
}
