// `coterie console` over a folder of runs, in a browser: whole runs, halves, a damaged one, a sweep, names of strangers, and links that lead out.
// Usage: run_test.mjs CHROMIUM FOLDER_OF_PROGRAMS FOLDER; packages and screenshots go into FOLDER. 77: skipped.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { browser_of, examine_page, kLooks, page_of, set_look } from "./browser.mjs";
import { blocks_of_a_version, real_version } from "./model_page.mjs";

const [chromium, ...paths] = process.argv.slice(2);
const [programs, folder] = paths.map((path) => resolve(path));
const { axe, launch } = browser_of(chromium, folder);

// As demo and simulate leave them.
const work = mkdtempSync(join(tmpdir(), "console-runs-")), runs = join(work, "runs");
const write = (file, text) => { mkdirSync(dirname(join(work, file)), { recursive: true }); writeFileSync(join(work, file), text); };
const summary = (more) => JSON.stringify({ schema: "coterie.demo.v1", rounds: 3, devices: 20, strategy: "fedavg", learning_rate: 0.1, security: "masked", seed: 7, accuracy: 0.9, loss: 0.3, ...more });
const kHead = "round,attempts,selected,accepted,examples,train_loss,train_accuracy,evaluation_loss,evaluation_accuracy,seconds,train_seconds\n";
const line = (round, worse = 0) => `${round},1,10,9,180,${2 / round},${0.3 * round},${1.5 / round + worse},${0.25 * round},0.5,0.1\n`;
const kName = "<img src=x onerror=alert(1)>\u202e", kNameShown = "<img src=x onerror=alert(1)>\\u{202e}", kSecret = "nobody-may-read-this";
write("runs/demo-1/summary.json", summary());
write("runs/demo-1/metrics.csv", kHead + line(1) + line(2) + line(3));
write(`runs/${kName}/summary.json`, summary({ learning_rate: 0.2, strategy: "<b>" }));
write(`runs/${kName}/metrics.csv`, kHead + line(1) + line(2));
// More rounds than a chart has pixels, with a peak of one round.
const kRounds = 1500, kPeak = 77;
write("runs/long/summary.json", summary({ rounds: kRounds, learning_rate: 0.8 }));
write("runs/long/metrics.csv", kHead + Array.from({ length: kRounds }, (_, i) => line(i + 1, i + 1 === 700 ? kPeak : 0)).join(""));
write("runs/half/metrics.csv", kHead + line(1) + "2,1,1");
write("runs/broken/summary.json", "{");
write("runs/sweep/sweep.json", JSON.stringify({ schema: "coterie.sweep.v1", variants: ["learning_rate=0.1"], seeds: [1, 2], request_digest: "d" }));
write("runs/sweep/01/seed-1/summary.json", summary({ seed: 1 }));
write("runs/sweep/01/seed-1/metrics.csv", kHead + line(1));
execFileSync(join(programs, "coterie"), ["model", "new", "lenet5", "--input", "28x28x1", "--seed", "7", "-o", join(runs, "demo-1/model.cotf")], { stdio: "pipe" });
// What answers of that model come from, of two images in an IDX file (of the second with figures of --check), and a stranger's drawing beside.
const kSide = 28, idx = (type, ...counts) => Buffer.from([0, 0, 8, type, ...counts.flatMap((count) => [0, 0, 0, count])]);
write("images/train-images-idx3-ubyte", Buffer.concat([idx(3, 2, kSide, kSide), Buffer.from(Array.from({ length: 2 * kSide * kSide }, (_, i) => i * 7 % 256))]));
write("images/train-labels-idx1-ubyte", Buffer.concat([idx(1, 2), Buffer.from([4, 9])]));
execFileSync(join(programs, "coterie"), ["model", "explain", join(runs, "demo-1/model.cotf"), "--data", `mnist:${join(work, "images")}`, "--method", "gradient", "--limit", "2", "--class", "3", "--run", join(runs, "demo-1")], { stdio: "pipe" });
const kTaken = [0, 1].map((i) => JSON.parse(readFileSync(join(runs, `demo-1/explanations/gradient-${i}-3.json`), "utf8")).predicted);
const kept = "runs/demo-1/explanations/gradient-1-3.json";
write(kept, JSON.stringify({ ...JSON.parse(readFileSync(join(work, kept), "utf8")), deletion: { attribution: 0.125, chance: 0.25 }, insertion: { attribution: 0.75, chance: 0.5 }, data: kName }));
write("runs/demo-1/explanations/zz.json", readFileSync(join(work, kept)));
write("runs/demo-1/explanations/zz.png", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
for (const seed of [1, 2, 3]) {
  write(`runs/alike-${seed}/summary.json`, summary({ seed, learning_rate: 0.4 }));
  write(`runs/alike-${seed}/metrics.csv`, kHead + line(1, seed) + line(2, seed));
}
write("elsewhere/summary.json", summary({ strategy: kSecret }));
symlinkSync(join(work, "elsewhere"), join(runs, "linked"));
symlinkSync(join(work, "elsewhere/summary.json"), join(runs, "half/summary.json"));

const server = spawn(join(programs, "coterie"), ["console", "--run", runs], { stdio: ["ignore", "pipe", "inherit"] });
let browser;
try {
  const url = await new Promise((up, down) => {
    createInterface({ input: server.stdout }).once("line", up);
    server.once("exit", (code) => down(new Error(`coterie console ended with ${code}`)));
  });
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  assert.ok(!(await (await fetch(`${url}admin/v1/jobs`)).text()).includes(kSecret));
  assert.equal((await fetch(`${url}admin/v1/jobs`, { method: "POST" })).status, 405);

  browser = await launch();
  const { page, wrongs } = await page_of(browser);
  page.on("dialog", (dialog) => wrongs.push(`a dialog: ${dialog.message()}`));
  const texts = (selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
  const headed = (title) => page.waitForFunction((text) => document.querySelector("main h1")?.textContent === text, {}, title);
  const cells = (table, column) => texts(`[aria-label="${table}"] tbody td:nth-child(${column})`);
  const rows = (count) => page.waitForFunction((want) => document.querySelectorAll("[aria-label='Runs in the folder'] tbody tr").length === want, {}, count);
  let count = 10;
  for (const one of kLooks) {
    const look = await set_look(page, one);
    const examine = (name) => examine_page(page, { name: `${look}-${name}`, folder, axe, wrongs });
    await page.goto(`${url}#/`);
    await headed("Runs");
    await rows(count);
    assert.deepEqual(await texts("nav a"), ["Runs", "Compare"]);
    assert.deepEqual(await texts("header button"), []); // nobody signs in, and nobody out
    const states = Object.fromEntries((await cells("Runs in the folder", 1)).map((name, i) => [name, i]));
    const state = await cells("Runs in the folder", 2);
    assert.deepEqual([kNameShown, "broken", "demo-1", "half", "learning_rate=0.1, seed 1", "learning_rate=0.1, seed 2"].map((name) => state[states[name]]),
      ["completed", "damaged", "completed", "unfinished", "completed", "waiting"]);
    await examine("runs");
    const links = Object.fromEntries(await page.$$eval("td a", (found) => found.map((link) => [link.textContent, link.href])));
    await page.goto(links[kNameShown]);
    await headed(kNameShown);
    await page.waitForFunction(() => document.querySelectorAll("figure canvas").length === 4);
    assert.deepEqual(await cells("Rounds", 1), ["2", "1"]);
    assert.ok((await cells("Settings", 2)).includes("<b>"));
    await examine("run");
    // The page has a chart's points and the newest rounds, until somebody asks for all; a chart that is saved has all.
    const asked_while = async (what) => {
      const asked = [];
      const hear = (answer) => /\/(rounds|curves)$/.test(new URL(answer.url()).pathname) && asked.push(answer.text().then((text) => [answer.url().replace(/.*\//, ""), text.length]));
      page.on("response", hear);
      await what();
      page.off("response", hear);
      return (await Promise.all(asked)).sort();
    };
    const saved_lines = async (label) => (await page.evaluate((selector) => new Promise((saved) => {
      const make = URL.createObjectURL;
      URL.createObjectURL = (blob) => { URL.createObjectURL = make; blob.text().then(saved); return "data:,"; };
      document.querySelector(selector).click();
    }), `[aria-label='CSV of ${label}']`)).trim().split("\r\n");
    const asked = await asked_while(async () => {
      await page.goto(links.long);
      await headed("long");
      await page.waitForSelector(`[aria-label^='Loss: ${kRounds} rounds; last held out 0.001,'] canvas`);
    });
    assert.deepEqual(asked.map(([one]) => one), ["curves?points=600", "rounds?limit=100"]);
    const has_rows = (count) => page.waitForFunction((want) => document.querySelectorAll("[aria-label=Rounds] tbody tr").length === want, {}, count);
    await has_rows(100); // the first frame has those in sight
    const lines = await saved_lines("Loss");
    assert.equal(lines.length, 1 + kRounds);
    assert.equal(lines[700], `"700","${1.5 / 700 + kPeak}","${2 / 700}"`);
    await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent.startsWith("Show all")).click());
    await has_rows(kRounds);
    await page.goto(links.half);
    await headed("half");
    assert.match((await texts("[role=alert]"))[0], /its last line is not whole; there is no summary.json/);
    assert.deepEqual(await cells("Rounds", 1), ["1"]);
    await examine("run-half-written");
    await page.goto(`${url}#/compare/${[links["demo-1"], links[kNameShown]].map((link) => link.split("/").at(-1)).join(",")}`);
    await page.waitForSelector("[aria-label=Results] tbody tr:nth-child(2)");
    assert.deepEqual(await cells("Settings that differ", 1), ["learning_rate", "strategy"]);
    assert.deepEqual(await texts("label.alike"), []); // no two have the same settings
    await examine("runs-compared");
    // Of a long run it has a chart's points, too: what its rounds had together is of all of them, and so is what is saved.
    const compared = await asked_while(async () => {
      await page.goto(`${url}#/compare/${[links.long, links["demo-1"]].map((link) => link.split("/").at(-1)).join(",")}`);
      await page.waitForSelector(`[aria-label^='Loss by round: ${kRounds} rounds'] canvas`);
    });
    assert.deepEqual(compared.map(([one]) => one), [...Array(2).fill("curves?points=600"), ...Array(2).fill("rounds?state=failed&limit=1000")]);
    console.log(`${look}: ${compared.reduce((sum, [, bytes]) => sum + bytes, 0)} bytes of rounds and curves to compare runs of ${kRounds} and 3 rounds`);
    assert.deepEqual(await texts("[aria-label=Results] tr:first-child td:nth-child(n + 7):nth-child(-n + 9)"), ["1,500", "0", "13,500"]);
    const saved = await saved_lines("Loss by round");
    assert.deepEqual([saved.length, saved[700]], [1 + kRounds, `"700","${1.5 / 700 + kPeak}",""`]);
    // What the run left is looked at as a version of a server's job is.
    await page.goto(links["demo-1"]);
    await headed("demo-1");
    const model = await page.waitForSelector("a[href*='#/models/']");
    await model.click();
    await headed("demo-1, version 3");
    await real_version(page, { ops: ["conv1", "relu1", "max_pool2d1", "conv2", "relu2", "max_pool2d2", "flatten1", "dense1", "relu3", "dense2", "relu4", "dense3"],
      parameters: ["conv1", "conv2", "dense1", "dense2", "dense3"].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]) });
    await page.waitForFunction(() => { const all = [...document.querySelectorAll(".explanations img")]; all.forEach((one) => { one.loading = "eager"; }); return all.length === 2 && all.every((one) => one.complete && one.naturalWidth === 456); });
    assert.deepEqual(await page.$$eval(".explanations img", (found) => found.map((one) => one.alt.replace(/mnist:.*:/, "images:"))),
      [`example 0 of images: class 4, taken for ${kTaken[0]}; what speaks for output 3 and against it, by gradient`, `example 1 of ${kNameShown}: class 9, taken for ${kTaken[1]}; what speaks for output 3 and against it, by gradient`]);
    assert.deepEqual([await cells("Explanations", 8), await cells("Explanations", 9)], [["–", "0.125 (by chance 0.25)"], ["–", "0.75 (by chance 0.5)"]]);
    assert.ok((await texts("main p")).some((text) => text.startsWith("Explanations that are not shown: 1.")));
    await examine("run-model");
    await blocks_of_a_version(browser, page.url(), { viewport: page.viewport(), scheme: one[1], folder, axe, name: `${look}-model-blocks` });
    await page.goto(`${url}#/compare/${Object.keys(links).filter((name) => /^alike/.test(name)).map((name) => links[name].split("/").at(-1)).join(",")}`);
    await page.waitForSelector("[aria-label=Results] tbody tr:nth-child(3)");
    await (await page.waitForSelector("label.alike input")).focus();
    await page.keyboard.press("Space");
    await page.waitForFunction(() => location.hash.endsWith("/alike"));
    await page.reload();
    await page.waitForFunction(() => document.querySelector("[aria-label^='Loss by round:']")?.ariaLabel.includes("mean of 3"));
    assert.deepEqual(await texts("[aria-label^='Loss by round:'] .u-series:not(.edge) .u-label"), ["round", "alike-1, mean of 3"]);
    await examine("runs-as-a-band");
    // What is written while the page is open comes by itself.
    await page.goto(`${url}#/`);
    await rows(count);
    write(`runs/later-${look}/metrics.csv`, kHead);
    await rows(++count);
  }
  assert.deepEqual(wrongs, []);
  console.log(`The screenshots are in ${folder}`);
} finally {
  await browser?.close();
  server.removeAllListeners("exit");
  const code = server.exitCode ?? await new Promise((ended) => { server.once("exit", ended); server.kill("SIGINT"); });
  rmSync(work, { recursive: true, force: true });
  assert.equal(code, 130);
}
