// What the console takes in Chromium, of a real server: the first page of a job of many rounds, the way from an event to the page, and
// scrolling. Each line that it prints is a JSON object, a row of `./bench console`.
//
// There is one clock: the server stamps its events with the machine's, and a page stamps what it shows with Date.now() of the same machine,
// behind the frame that shows it. So what an event takes begins as the server logs it, before any stream is woken.
//
// Usage: console_page.mjs CHROMIUM FOLDER_OF_PROGRAMS FOLDER [LOADS [ROUNDS [EVENTS]]]. FOLDER keeps packages, and the server whose job has ROUNDS rounds
// or more: they are trained once. 77: skipped.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { browser_of, page_of, skip } from "../console/browser.mjs";
import { start_server } from "../console/server.mjs";

const kRoundsMax = 100_000, kRunRounds = 500, kRunDevices = 10_000, kScrollMs = 12_000; // a run's page asks every 5 s
const [chromium, ...rest] = process.argv.slice(2);
const [programs, folder] = rest.slice(0, 2).map((path) => resolve(path));
const [loads = 15, rounds = 1000, events = 15] = rest.slice(2).map(Number);
const { launch } = browser_of(chromium, folder);
const demo = join(folder, "demo"), data = join(demo, "server"), runs = join(folder, "runs"), coterie = join(programs, "coterie");
const row = (what, values) => console.log(JSON.stringify({ bench: "console", what, ...values }));
const median = (values) => { const sorted = [...values].sort((a, b) => a - b); return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null; };
const rounded = (value) => value === null ? null : Math.round(value * 10) / 10;

// CPU ms that a process has used: utime and stime of proc(5), in ticks of 10 ms.
const cpu_ms = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).reduce((sum, ticks) => sum + 10 * Number(ticks), 0);

// CPU ms that the browser's processes have used that are there: a page's own, and the one that paints.
async function browser_cpu_ms(browser) {
  const session = await browser.target().createCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return 1000 * processInfo.reduce((sum, one) => sum + one.cpuTime, 0);
}

// A device, its data, a model and a server's directory, as `coterie demo` leaves them.
function make_demo() {
  if (existsSync(join(demo, "summary.json"))) return;
  rmSync(demo, { recursive: true, force: true });
  execFileSync(coterie, ["demo", "--devices", "2", "--fraction", "1", "--rounds", "1", "--model", "logistic", "--security", "none", "--keep", "--quiet", "--out", demo], { stdio: "pipe" });
}

// A job that has `rounds` rounds at the least and goes on: one device trains it, for `train(count)` rounds more.
async function job_of(server) {
  const admin = (...words) => JSON.parse(execFileSync(coterie, ["--data-dir", data, "job", ...words, "-o", "json"], { encoding: "utf8" }));
  const file = join(folder, "job.json"), device = join(demo, "devices/01");
  writeFileSync(file, JSON.stringify({ name: "measured", training: { loss: "softmax_cross_entropy", optimizer: { kind: "sgd", learning_rate: 0.1 } },
    rounds: { count: kRoundsMax, goal_count: 1, pool_min: 1 }, privacy: { level: "none" } }));
  const job = admin("list").jobs.find((one) => one.spec.name === "measured") ??
    admin("create", file, "--model", join(demo, "model.cotf"), "--evaluation", join(demo, "held-out.cotf"));
  const train = (count) => new Promise((done, failed) => spawn(coterie, ["device", "run", "--server", server.device_url, "--ca", server.ca_file, "--state-dir", join(device, "state"),
    "--data", join(device, "data.cotf"), "--security-level-min", "none", "--rounds", String(count)], { stdio: "ignore" })
    .once("exit", (code) => code === 0 ? done() : failed(new Error(`a device ended with ${code}`))));
  if (job.rounds_done < rounds) await train(rounds - job.rounds_done);
  return { id: job.id, done: Math.max(rounds, job.rounds_done), train };
}

// In the page, before its own program. `measured`: how long tasks took, when the server logged an event of a round, when it came and when it was
// first shown, and when all of the page was there.
function watch(round) {
  const told = window.measured = { tasks: [], logged: {}, came: {}, shown: {}, whole: 0 };
  new PerformanceObserver((list) => told.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask", buffered: true });
  window.EventSource = class extends EventSource {
    constructor(...of) {
      super(...of);
      for (const [kind, name] of [["updates_accepted", "accepted"], ["round_done", "done"]]) this.addEventListener(kind, (event) => {
        const { round, time } = JSON.parse(event.data);
        told.logged[`${name} ${round}`] ??= Date.parse(time);
        told.came[`${name} ${round}`] ??= Date.now();
      });
    }
  };
  const behind_the_frame = (then) => requestAnimationFrame(() => setTimeout(then));
  const once = (what) => {
    if (what in told.shown) return;
    told.shown[what] = 0;
    behind_the_frame(() => { told.shown[what] = Date.now(); });
  };
  new MutationObserver(() => {
    const newest = [...document.querySelectorAll("[aria-label=Rounds] tbody tr:nth-child(-n+2)")].map((row) => [...row.children].map((cell) => cell.textContent));
    for (const [number, , state] of newest) if (state === "done") once(`done ${number}`);  // the next may be under way already
    const now = /round (\d+), attempt \d+, \S+, (\d+) accepted/.exec(document.querySelector(".now")?.textContent ?? "");
    if (now && Number(now[2]) > 0) once(`accepted ${now[1]}`);
    if (told.whole || !(Number(newest[0]?.[0]) >= round) || document.querySelectorAll("figure canvas").length < 4) return;
    told.whole = -1;
    behind_the_frame(() => { told.whole = performance.now(); });
  }).observe(document, { subtree: true, childList: true, characterData: true });
}
const until_whole = (page) => page.waitForFunction(() => window.measured?.whole > 0);

async function loading(browser, server, job) {
  const seen = [];
  for (let i = 0; i <= loads; i++) {
    const { page } = await page_of(browser);
    await page.evaluateOnNewDocument(watch, job.done);
    const server_before = cpu_ms(server.pid), browser_before = await browser_cpu_ms(browser);
    await page.goto(job.address);
    await until_whole(page);
    const browser_cpu = await browser_cpu_ms(browser) - browser_before;
    const one = await page.evaluate(() => {
      const asked = performance.getEntriesByType("resource"), first = performance.getEntriesByName("first-contentful-paint")[0];
      return { first: first.startTime, whole: measured.whole, asked: asked.length, kb: asked.reduce((sum, one) => sum + one.encodedBodySize, 0) / 1000,
        bundle_kb: asked.filter((one) => /console\.(js|css)$/.test(one.name)).reduce((sum, one) => sum + one.encodedBodySize, 0) / 1000, task: Math.max(0, ...measured.tasks) };
    });
    seen.push({ ...one, browser: browser_cpu, server: cpu_ms(server.pid) - server_before });
    await page.close();
  }
  const of = (name) => rounded(median(seen.slice(1).map((one) => one[name]))); // the first fills caches
  row("page", { rounds: job.done, loads, first_paint_ms: of("first"), whole_ms: of("whole"), requests: of("asked"), kb: of("kb"), bundle_kb: of("bundle_kb"), browser_cpu_ms: of("browser"),
    longest_task_ms: of("task"), server_cpu_ms: rounded(seen.slice(1).reduce((sum, one) => sum + one.server, 0) / loads) });
}

// `rest_ms`: between a round that was seen and the next one. A page asks three times in 750 ms at most (console/src/refresh_pace.ts), so that rounds that
// follow each other at once, four a second here, are measured with what they wait for.
async function following(browser, server, job, what, rest_ms) {
  const { page } = await page_of(browser);
  await page.evaluateOnNewDocument(watch, job.done);
  await page.goto(job.address);
  await until_whole(page);
  await page.waitForFunction(() => document.querySelector(".now")?.textContent.startsWith("live"));
  const server_before = cpu_ms(server.pid), first = job.done + 1;
  for (let round = first; round < first + events; round++) {
    await new Promise((rested) => setTimeout(rested, rest_ms));
    await job.train(1);
    await page.waitForFunction((number) => measured.shown[`done ${number}`] > 0, {}, round);
  }
  job.done += events;
  const server_cpu_ms = rounded((cpu_ms(server.pid) - server_before) / events);
  const { logged, came, shown, tasks } = await page.evaluate(() => measured);
  const of = (kind) => {
    const names = Object.keys(logged).filter((name) => name.startsWith(kind) && shown[name] > 0);
    const ms = names.map((name) => shown[name] - logged[name]);
    return { count: ms.length, median_ms: median(ms), worst_ms: Math.max(...ms), on_the_way_ms: median(names.map((name) => came[name] - logged[name])) };
  };
  row(what, { rounds: job.done, accepted: of("accepted"), done: of("done"), server_cpu_ms, longest_task_ms: rounded(Math.max(0, ...tasks)) });
  await page.close();
}

// A run of many devices in a folder, as `coterie simulate` leaves one: its page, whole, is scrolled while it asks again.
async function scrolling(browser) {
  const run = join(runs, "large");
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, "summary.json"), JSON.stringify({ schema: "coterie.demo.v1", rounds: kRunRounds, devices: kRunDevices, strategy: "fedavg", learning_rate: 0.1, security: "masked", seed: 7, accuracy: 0.9, loss: 0.3 }));
  const lines = Array.from({ length: kRunRounds }, (_, i) => `${i + 1},1,${kRunDevices},${kRunDevices - i % 97},${18 * kRunDevices},${2 / (i + 1)},${1 - 1 / (i + 2)},${1.5 / (i + 1)},${1 - 1 / (i + 3)},0.5,0.1\n`);
  writeFileSync(join(run, "metrics.csv"), "round,attempts,selected,accepted,examples,train_loss,train_accuracy,evaluation_loss,evaluation_accuracy,seconds,train_seconds\n" + lines.join(""));
  const server = spawn(coterie, ["console", "--run", runs], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const url = await new Promise((up) => createInterface({ input: server.stdout }).once("line", up));
    const { page } = await page_of(browser);
    await page.evaluateOnNewDocument(watch, kRunRounds);
    await page.goto(`${url}#/`);
    const link = await page.waitForSelector("td a");
    await link.click();
    await until_whole(page);
    await page.evaluate(() => [...document.querySelectorAll("button")].find((one) => one.textContent.startsWith("Show all")).click());
    await page.waitForFunction((count) => document.querySelectorAll("[aria-label=Rounds] tbody tr").length === count, {}, kRunRounds);
    const { gaps, tasks } = await page.evaluate(async (ms) => {
      for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);  // in which the rows that came are laid out
      const begun = performance.now(), tasks = [];
      new PerformanceObserver((list) => tasks.push(...list.getEntries().filter((entry) => entry.startTime >= begun).map((entry) => entry.duration))).observe({ type: "longtask" });
      const gaps = [], end = performance.now() + ms;
      for (let before = performance.now(), step = 40; before < end;) {
        scrollBy(0, step);
        if (scrollY === 0 || scrollY + innerHeight >= document.documentElement.scrollHeight - 1) step = -step;
        await new Promise(requestAnimationFrame);
        gaps.push(performance.now() - before);
        before = performance.now();
      }
      return { gaps, tasks };
    }, kScrollMs);
    gaps.sort((a, b) => a - b);
    row("scroll", { rounds: kRunRounds, devices: kRunDevices, seconds: kScrollMs / 1000, frames: gaps.length, frame_ms: rounded(median(gaps)), frame_p99_ms: rounded(gaps[Math.floor(gaps.length * 0.99)]),
      tasks_over_50_ms: tasks.length, longest_task_ms: rounded(Math.max(0, ...tasks)) });
  } finally { server.kill("SIGINT"); }
}

async function measure(browser, server) {
  const { page } = await page_of(browser);
  await page.goto(`${server.admin_url}/`);
  if (await page.$("#app") === null) return "this fl_server was built without its console";
  const job = await job_of(server);
  job.address = `${server.admin_url}/#/jobs/${job.id}`;
  await page.waitForSelector("#token");
  await page.type("#token", server.token);
  await page.click("form button");
  await page.waitForSelector("nav");
  await loading(browser, server, job);
  await following(browser, server, job, "event", 1000);
  await following(browser, server, job, "burst", 0);
  await scrolling(browser);
  return "";
}

let server, browser, missing;
try {
  make_demo();
  server = await start_server(programs, data);
  browser = await launch();
  missing = await measure(browser, server);
} finally {
  await browser?.close();
  await server?.stop();
}
if (missing) skip(missing);
