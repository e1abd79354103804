import { existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { vaultUuid } from "../audit/support.ts";
import {
  everything,
  hostile,
  many,
  one,
  printed,
  type Replayed,
  timeline,
} from "../support/audit-reports.ts";
import { tempDir } from "../support/cleanup.ts";

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Where this machine has a Chromium; the tests are skipped where there is none. */
const executablePath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find(existsSync);

/** An expression for a page: names each text that is outside of it or overlaps another one. */
const layoutFaults = `(() => {
  const faults = [], boxes = [];
  const width = document.documentElement.clientWidth;
  const short = (text) => text.trim().slice(0, 40);
  if (document.documentElement.scrollWidth > width) faults.push("the page scrolls sideways");
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const { currentNode: node } = texts;
    if (node.data.trim() === "" || !node.parentElement.checkVisibility() || node.parentElement.closest("script, title")) continue;
    range.selectNodeContents(node);
    const isIn = node.parentElement.closest(".scroll") === null;
    for (const { left, right, top, bottom } of range.getClientRects()) {
      boxes.push({ node, text: node.data, left, right, top, bottom });
      if (isIn && (left < -1 || right > width + 1)) faults.push("outside: " + short(node.data));
    }
  }
  boxes.sort((one, other) => one.top - other.top);
  for (const [index, one] of boxes.entries())
    for (let next = index + 1; next < boxes.length && boxes[next].top < one.bottom - 3; next += 1) {
      const other = boxes[next];
      const shared = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      if (one.node !== other.node && shared > 1 && Math.min(one.bottom, other.bottom) - other.top > 3)
        faults.push("overlap: " + short(one.text) + " / " + short(other.text));
    }
  return faults;
})()`;

describe.skipIf(executablePath === undefined)("the page in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    const { chromium } = await import("playwright-core");
    const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    browser = await chromium.launch({ executablePath: executablePath ?? "", args });
  });
  afterAll(async () => {
    await browser.close();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
  });

  /** Opens the page as a file, and collects its errors and requests. */
  async function open(report: Replayed, options: BrowserContextOptions = {}) {
    const file = join(tempDir("page"), "report.html");
    writeFileSync(file, printed(report).page);
    const page = await (await browser.newContext(options)).newPage();
    const trouble: string[] = [];
    page.on("console", (message) => trouble.push(message.text()));
    page.on("pageerror", (error) => trouble.push(error.message));
    page.on("dialog", (dialog) => trouble.push(dialog.message()));
    page.on("request", (request) => trouble.push(request.url()));
    const url = pathToFileURL(file).href;
    await page.goto(url);
    expect(trouble.splice(0)).toEqual([url]);
    return { page, trouble };
  }

  const axeFaults = async (page: Page): Promise<string[]> => {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<axe.AxeResults>("axe.run()");
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
  };

  const pages = {
    one,
    timeline,
    everything,
    thirty: many(30),
    three_thousand: many(3000),
    hostile: hostile(),
  };

  test.each(Object.entries(pages))(
    "of %s: nothing scrolls sideways, is cut off or overlaps, at five widths, light, dark and on paper",
    async (_name, report) => {
      const { page, trouble } = await open(report);
      for (const width of [320, 480, 768, 1024, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate(layoutFaults), String(width)).toEqual([]);
      }
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      await page.setViewportSize({ width: 690, height: 980 });
      expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(
        "rgb(255, 255, 255)",
      );
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(690);
      expect(trouble).toEqual([]);
    },
  );

  test("this test sees a text that is outside, what the policy stops, and what axe finds", async () => {
    const { page, trouble } = await open(one, { viewport: { width: 480, height: 800 } });
    await page.evaluate(
      `document.querySelector("main").insertAdjacentHTML("beforeend", '<table><td>${"x".repeat(200)}</table><input><img src="http://192.0.2.1/x.png" onerror="window.pwned = 1"><p style="color:red">')`,
    );
    expect(await page.evaluate<string[]>(layoutFaults)).toContain("the page scrolls sideways");
    await expect
      .poll(() => trouble.join("\n"))
      .toMatch(/img-src[^]*style-src|style-src[^]*img-src/);
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    expect((await axeFaults(page)).join("\n")).toMatch(/^label: /m);
  });

  test("hostile values are text and nothing else", async () => {
    const { page } = await open(pages.hostile);
    const found = await page.evaluate<{ tags: string[]; attributes: string[]; links: string[] }>(`({
      tags: [...new Set([...document.querySelectorAll("*")].map((each) => each.localName))],
      attributes: [...new Set([...document.querySelectorAll("*")].flatMap((each) => each.getAttributeNames()))],
      links: [...document.querySelectorAll("[href]")].map((each) => each.getAttribute("href")),
    })`);
    expect(
      found.tags.filter((tag) =>
        /^(?:img|iframe|object|embed|link|form|base|image|use)$/.test(tag),
      ),
    ).toEqual([]);
    expect(found.attributes.filter((name) => /^on|^style$|src|action/.test(name))).toEqual([]);
    expect(found.links.filter((link) => !/^#vault-\d+$/.test(link))).toEqual([]);
    expect(await page.evaluate("[window.pwned, document.scripts.length]")).toEqual([undefined, 0]);
  });

  test("one vault has no table of vaults; of several, links lead to their sections", async () => {
    const { page } = await open(one);
    expect(await page.locator("h1").textContent()).toBe(one.summary.found.text);
    expect(await page.locator("tr a").count()).toBe(0);
    const { page: many } = await open(everything);
    await many.getByRole("link", { name: vaultUuid(1) }).click();
    expect(await many.locator("article:target h2").textContent()).toContain(vaultUuid(1));
  });

  test.each([
    ["light", 1280, everything],
    ["dark", 400, pages.hostile],
  ] as const)("axe finds no fault in %s at %i", async (colorScheme, width, report) => {
    const { page } = await open(report, { colorScheme, viewport: { width, height: 900 } });
    expect(await axeFaults(page)).toEqual([]);
  });
});
