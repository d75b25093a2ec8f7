// What the tests of pages in Chromium have in common: their packages, a page whose wrongs are collected, and what a page has to be.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const kWaitMs = 60_000; // for what a page shows; a build with sanitizers on a busy machine is slow
const here = dirname(fileURLToPath(import.meta.url));
export const skip = (why) => { console.log(`SKIPPED: ${why}`); process.exit(77); };

// puppeteer-core and axe-core as the lock file has them, installed into `folder` once. Ends the process with 77 where they cannot be had.
function packages(folder) {
  mkdirSync(folder, { recursive: true });
  const lock = join(here, "package-lock.json"), lock_there = join(folder, "package-lock.json");
  const is_installed = existsSync(join(folder, "node_modules/.package-lock.json")) && existsSync(lock_there) &&
                       readFileSync(lock, "utf8") === readFileSync(lock_there, "utf8");
  if (!is_installed) {
    for (const file of ["package.json", "package-lock.json"]) cpSync(join(here, file), join(folder, file));
    try {
      execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder, stdio: "pipe", timeout: 240_000 });
    } catch (error) { skip(`npm ci failed: ${error.message}`); }
  }
  const from_folder = createRequire(join(folder, "package.json"));
  return { puppeteer: from_folder("puppeteer-core"), axe: readFileSync(from_folder.resolve("axe-core/axe.min.js"), "utf8") };
}

// How to open a browser, with its packages in `folder`, where screenshots go, too.
export function browser_of(chromium, folder) {
  if (!existsSync(chromium)) skip("chromium is not installed");
  const { puppeteer, axe } = packages(folder);
  // What a page saves is read as the page makes it: nothing goes into the home folder of whoever runs this.
  const launch = (args = []) => puppeteer.launch({ executablePath: chromium, acceptInsecureCerts: true, protocolTimeout: 3 * kWaitMs, downloadBehavior: { policy: "deny" },
    args: ["--disable-dev-shm-usage", ...args, ...(process.getuid() === 0 ? ["--no-sandbox"] : [])] });
  return { axe, launch };
}

// A page of `browser`. `wrongs`: errors of its console, of its program, and breaches of its policy; `is_expected` says which texts are none.
export async function page_of(browser, is_expected = () => false) {
  const page = await browser.newPage();
  page.setDefaultTimeout(kWaitMs);
  const wrongs = [];
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type()) && !is_expected(message.text())) wrongs.push(message.text());
  });
  page.on("pageerror", (error) => wrongs.push(error.message));
  await page.evaluateOnNewDocument(() => document.addEventListener("securitypolicyviolation",
    (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  return { page, wrongs };
}

// The rules of axe that a page breaks, each with a place. axe is brought once a document.
export async function broken_rules(page, axe) {
  if (!await page.evaluate(() => "axe" in window)) await page.evaluate(axe);
  return page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }).then((told) => told.violations.map((v) => `${v.id} ${v.nodes[0].target}`)));
}

// Looks at a page as it is: a screenshot, no sideways scroll, no rule of axe broken, nothing wrong so far.
export async function examine_page(page, { name, folder, axe, wrongs }) {
  await page.waitForFunction(() => !document.body.innerText.includes("Asking the server")); // what is looked at is there
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the screen`);
  assert.deepEqual(await broken_rules(page, axe), [], name);
  assert.deepEqual(wrongs, [], name);
}

export const kLooks = [[1280, "light"], [360, "light"], [2560, "dark"]];
export async function set_look(page, [width, scheme]) {
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  return `${width}-${scheme}`;
}
