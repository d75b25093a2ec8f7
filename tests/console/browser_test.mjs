// The console in a browser, before a real server with a job that is over and one that waits for devices: each page at 360,
// 1280 and 2560 px, light and dark, without an error of the console, a breach of its policy, a sideways scroll, or a rule of axe that is broken.
// Usage: browser_test.mjs CHROMIUM FOLDER_OF_PROGRAMS JOB_JSON FOLDER; packages, server and screenshots go into FOLDER. 77: skipped.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { request } from "node:https";
import { evaluate, kGroups } from "./evaluated_job.mjs";
import { broken_rules, browser_of, examine_page, kLooks, page_of, set_look } from "./browser.mjs";
import { real_version } from "./model_page.mjs";
import { walk } from "./keyboard.mjs";
import { open_provider } from "./oidc_provider.mjs";
import { start_server } from "./server.mjs";
import { provider_session_ends, token_ends } from "./session_end.mjs";
import { open_coordinator } from "./vertical_coordinator.mjs";

// A job's name is a stranger's text: no markup, and its control characters are spelled out.
const kWide = "1280-light", kNarrow = "360-light"; // the looks at which all controls are walked over, and sessions end
const kName = "<b onclick=x>digits</b>\u202e =1", kNameShown = "<b onclick=x>digits</b>\\u{202e} =1";
const [chromium, ...paths] = process.argv.slice(2);
const [programs, job_file, folder] = paths.map((path) => resolve(path));
const { axe, launch } = browser_of(chromium, folder);

// The server that `coterie demo` kept: two rounds of three devices. Its ports are its own; the line about its token says that it is up.
const work = mkdtempSync(join(tmpdir(), "console-test-"));
const demo = join(work, "demo"), data = join(demo, "server"), coterie = join(programs, "coterie");
execFileSync(coterie, ["demo", "--devices", "3", "--rounds", "2", "--security", "none", "--clip", "1", "--noise-multiplier", "1", "--target-epsilon", "1000", "--keep", "--quiet",
  "--out", demo], { stdio: "pipe" });
// People may sign in at a provider, too. The server is https://console.test to the browser, so that the provider is another site.
const kConsole = "https://console.test", kRedirect = `${kConsole}/console/callback`;
const tls = (name) => join(data, "tls", name);
const provider = await open_provider({ key: readFileSync(tls("server-key.pem")), cert: readFileSync(tls("server.pem")), client_id: "console", redirect_uri: kRedirect, signed_out_uri: `${kConsole}/` });
const coordinator = await open_coordinator({ coterie, tables: join(dirname(job_file), "vertical"), folder: join(work, "vertical") });
writeFileSync(join(work, "server.json"), JSON.stringify({ vertical: coordinator.settings, admin: { oidc: { issuer: `${provider.url}/fl`, audience: "coterie", jwks_url: `${provider.url}/keys`, ca_file: tls("ca.pem"),
  role_map: { readers: "viewer" }, sign_in: { name: "Example <SSO>", client_id: "console", authorization_url: `${provider.url}/authorize`, token_url: `${provider.url}/token`, end_session_url: `${provider.url}/logout`, redirect_url: kRedirect } } } }));
const server = await start_server(programs, data, ["--config", join(work, "server.json")]);
let browser;
try {
  const { admin_url: base, token } = server;
  const job = JSON.parse(readFileSync(job_file, "utf8"));
  writeFileSync(join(work, "job.json"), JSON.stringify({ ...job, name: kName }));
  execFileSync(coterie, ["--data-dir", data, "job", "create", join(work, "job.json"), "--model", join(demo, "model.cotf")], { stdio: "pipe" });
  const evaluated = await evaluate({ coterie, data, folder: join(work, "evaluated") });

  browser = await launch([`--host-resolver-rules=MAP console.test:443 127.0.0.1:${new URL(base).port}`]);
  // What the page has asked as its session ends is answered 401, and the browser notes that in its console.
  let is_signed_out = false;
  const { page, wrongs } = await page_of(browser, (text) => is_signed_out && text.includes("401"));
  let look = "";
  // A page is walked over by keyboard once, and a long one with tables both ways.
  const examine = async (name, { walked_before = false, both_ways = false } = {}) => {
    await examine_page(page, { name: `${look}-${name}`, folder, axe, wrongs });
    if (look === kWide && !walked_before) await walk(page, { both_ways });
  };
  const headed = (title) => page.waitForFunction((text) => document.querySelector("main h1")?.textContent === text, {}, title);
  const texts = (selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
  const sign_in = async (what) => { await page.type("#token", what); await page.click("form button"); };
  const sign_out = async () => {
    is_signed_out = true;
    await page.evaluate(() => document.querySelector("header button").click());
    await page.waitForSelector("#token");
  };

  // Enter pauses a job and goes on, and the focus stays on that button; a question that Escape answers has changed nothing, and the focus is where it was.
  const paused_by_keyboard = async () => {
    const has_focus = (text) => page.waitForFunction((name) => document.activeElement.textContent === name && document.activeElement.matches("p.bar button"), {}, text);
    await (await page.$("p.bar button")).focus();
    for (const [key, becomes] of [["Enter", "Resume"], ["Space", "Pause"]]) {
      await page.keyboard.press(key);
      await has_focus(becomes);
    }
    await page.keyboard.press("Tab");
    const asked = new Promise((told) => page.once("dialog", (dialog) => dialog.dismiss().then(() => told(dialog.message()))));
    await page.keyboard.press("Enter");
    assert.equal(await asked, "End this job for good?");
    await has_focus("Cancel");
    assert.deepEqual(await texts("p.bar button"), ["Pause", "Cancel"]);
  };

  // Both jobs, chosen with the keyboard: the address has them, and is a link to the same view.
  const compare = async (base, ids) => {
    await page.goto(`${base}/#/compare`);
    await headed("Runs compared");
    for (const id of ids) {
      const box = await page.waitForSelector(`::-p-xpath(//label[contains(., "${id}")]/input)`);
      await box.focus();
      await page.keyboard.press("Space");
      await page.waitForFunction((text) => location.hash.includes(text), {}, id);
    }
    assert.equal(await page.evaluate(() => location.hash), `#/compare/${ids.join(",")}`);
    await page.reload();
    await page.waitForSelector("[aria-label=Results] tbody tr:nth-child(2)");
    assert.deepEqual(await texts("[aria-label=Results] td:first-child"), ["demo-digits", kNameShown]);
    assert.deepEqual(await texts("[aria-label=Results] td:nth-child(7)"), ["2", "0"]);
    assert.ok((await texts("[aria-label='Settings that differ'] td:first-child")).includes("rounds.count"));
    assert.equal((await page.$$("figure canvas")).length, 2);
    await page.select("section select", "rounds.count");
    await page.waitForFunction(() => decodeURIComponent(location.hash).endsWith("/rounds.count/best accuracy"));
    const points = "[aria-label^='rounds.count against'] circle";
    assert.equal((await page.$$(points)).length, 1); // the other has no accuracy yet
    // A line for each run: that of the one that waits ends where its results do. Picked out with the keyboard, in the address, and put back.
    const drawn = (selector) => page.$$eval(`[aria-label^='Parallel coordinates:'] ${selector}`, (found) => found.map((one) => one.textContent));
    assert.ok((await drawn("text")).includes("best accuracy") && (await drawn("text")).includes("count"));
    const [whole, part] = await page.$$eval("[aria-label^='Parallel coordinates:'] svg > g:not(:has(.axis))", (lines) => lines.map((line) => line.querySelectorAll("circle").length));
    assert.ok(whole > part && part > 1, `${whole} and ${part} points`);
    const button = await page.waitForSelector("[aria-label='Pick a run out'] button:nth-child(2)");
    await button.focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("[aria-label='Pick a run out'] [aria-pressed=true]");
    assert.ok((await page.evaluate(() => location.hash)).endsWith(`/${ids[1]}`));
    assert.ok((await texts(".now")).some((text) => text.startsWith(kNameShown) && text.includes("rounds done 0")));
    assert.equal((await page.$$(".dimmed")).length, 1);
    await examine("compare");
  };

  // A watched job whose updates were measured, as its rounds would say it: the job of this server has noise, which has no norms, and is not watched.
  // Hits as noise leaves them: what is within three of its errors is not shown.
  const watched_job = async (address) => {
    const shown = await browser.newPage();
    await shown.setViewport(page.viewport());
    shown.on("pageerror", (error) => wrongs.push(error.message));
    await shown.evaluateOnNewDocument(() => {
      const real = window.fetch;
      const hits = [{ check: "dead_relu", layer: "conv1<b>", share: 0.25 }, { check: "label_drift", share: 0.5 }, { check: "dead_relu", layer: "conv2", share: 0.14 }, { check: "weight_overflow", layer: "conv2", share: -0.1 }];
      const edges = Array.from({ length: 41 }, (_, i) => (i - 20) / 20), counts = edges.slice(1).map((_, i) => ({ 0: 1, 36: 2, 39: 6 })[i] ?? 0);
      const update_cosines = { updates: 10, undirected: 1, edges, counts, p10: -0.955, p50: 0.9542, p90: 0.9925 };
      const update_norms = { updates: 3, edges: [0.5, 0.7071068, 1, null], counts: [2, 0, 1], p10: 0.5, p50: 0.6, p90: 1 };
      window.fetch = async (path, ...rest) => {
        const answer = await real(path, ...rest);
        if (!/\/(rounds|curves)\?/.test(path)) return answer;
        const page = await answer.json();
        for (const round of Array.isArray(page.rounds) ? page.rounds : []) if (round.model) Object.assign(round.model, { watch: { looked: 0.4, error: 0.05, hits }, update_norms, update_cosines });
        if (page.columns) page.columns.update_norm_p50 = page.round.map(() => update_norms.p50);
        if (page.columns) for (const name of ["p10", "p50", "p90"]) page.columns[`update_cosine_${name}`] = page.round.map((_, i) => update_cosines[name] - i / 10);
        if (page.columns) for (const { check, share } of hits.slice(0, 2)) page.columns[`watch.${check}`] = page.round.map(() => share);
        return new Response(JSON.stringify(page), { status: answer.status, headers: answer.headers });
      };
    });
    await shown.goto(address);
    await shown.waitForSelector("[aria-label='Watchpoint hits by layer'] tbody tr:nth-child(2)");
    const cells = (selector) => shown.$$eval(`[aria-label='Watchpoint hits by layer'] ${selector}`, (found) => found.map((one) => one.textContent));
    assert.deepEqual(await cells("th"), ["layer", "dead_relu", "label_drift"]);
    assert.deepEqual(await cells("td"), ["conv1<b>", "25.0 % ± 5.0 %", "", "the training as a whole", "", "50.0 % ± 5.0 %"]);
    assert.equal((await shown.$$("figure canvas")).length, 8);
    assert.deepEqual(await shown.$$eval("[aria-label^='Norms of the updates of round 2: 3 updates'] rect", (bars) => bars.map((bar) => Number(bar.getAttribute("height")))), [180, 0, 90]);
    const cosines = "[aria-label^='Cosines of the updates of round 2 with its step: 10 updates, a tenth below -0.955, half below 0.954, nine tenths below 0.993. 1 without a cosine']";
    assert.deepEqual(await shown.$$eval(`${cosines} rect`, (bars) => bars.map((bar) => Number(bar.getAttribute("height"))).map((height, i) => [i, height]).filter(([, height]) => height)), [[0, 30], [36, 60], [39, 180]]);
    assert.ok(await shown.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${look} a watched job is wider than the screen`);
    assert.deepEqual(await broken_rules(shown, axe), [], `${look} watched`);
    await shown.screenshot({ path: join(folder, `${look}-watched.png`), fullPage: true });
    await shown.close();
  };

  // A job whose rule kept its updates: what its page draws is what the server has counted.
  const measured_job = async () => {
    await page.goto(`${base}/#/jobs/${evaluated.measured}`);
    await headed("measured");
    const name = "[aria-label^='Cosines of the updates of round 2 with its step: 3 updates, a tenth below ']";
    await page.waitForSelector(`${name} rect`);
    const { rounds: [{ model: { update_cosines: { counts, p50 } } }] } = await ask("GET", `jobs/${evaluated.measured}/rounds?limit=1`);
    assert.equal(counts.reduce((sum, count) => sum + count), 3);
    assert.deepEqual(await page.$$eval(`${name} rect title`, (bars) => bars.map((bar) => Number(bar.textContent.split(": ")[1]))), counts);
    assert.match(await page.$eval(name, (drawing) => drawing.ariaLabel), new RegExp(`half below ${Number(p50.toPrecision(3))},`));
    assert.equal((await page.$$("[aria-label^='Cosine that shares of the updates are below, by round'] canvas")).length, 1);
    assert.ok((await texts("main p")).some((text) => text.includes("The cosine of each update is with the step that median made of all of the round's")));
    await examine("measured", { walked_before: true });
  };

  // A server with alarms, as it would tell of them.
  const alarmed = async () => {
    const wrong = { name: "CoterieSessionsFail", severity: "ticket", of: "<i>too_few\u202e", since: "2026-11-29T14:00:05.120Z", summary: "sessions come to nothing", action: "Lower cohort_min.", guide: "docs/operating/privacy.md#rounds-that-hide-updates" };
    const shown = await browser.newPage();
    await shown.setViewport(page.viewport());
    shown.on("pageerror", (error) => wrongs.push(error.message));
    await shown.evaluateOnNewDocument((more) => {
      const real = window.fetch;
      window.fetch = async (path, ...rest) => {
        const answer = await real(path, ...rest);
        return String(path).endsWith("/server") ? new Response(JSON.stringify({ ...await answer.json(), ...more }), { status: answer.status, headers: answer.headers }) : answer;
      };
    }, { alarms: [{ ...wrong, name: "CoterieStorageFull", severity: "page", of: undefined, summary: "the disk is full" }, wrong], refusals: { checkins: { resting: 1, not_drawn: 7 }, updates: { "<b>": 2 } } });
    await shown.goto(`${base}/#/`);
    await shown.waitForSelector("main .broken");
    const told = (selector) => shown.$$eval(selector, (found) => found.map((one) => one.textContent));
    assert.deepEqual(await told("main .broken h3"), ["the disk is full", "sessions come to nothing: <i>too_few\\u{202e}"]);
    assert.match((await told("main .broken"))[1], /Lower cohort_min\. docs\/operating\/privacy\.md#rounds-that-hide-updates.*will get worse, since 2026-11-29 14:00:05Z/);
    assert.deepEqual(await told("[aria-label='Alarms as a table'] td:nth-child(2)"), ["page", "ticket"]);
    assert.deepEqual(await told("[aria-label='Refused since the server started'] td"), ["a check-in", "not_drawn", "7", "a check-in", "resting", "1", "an update", "<b>", "2"]);
    await examine_page(shown, { name: `${look}-alarmed`, folder, axe, wrongs });
    await shown.close();
  };

  // What devices have found by group: of a job that evaluates by round, of a job that trains by its versions.
  const fairness = async () => {
    const drawn = () => page.$$eval("[aria-label^='Accuracy by group, worst first'] svg > g", (rows) => rows.map((row) => [row.querySelector("title").textContent, row.querySelectorAll("path").length]));
    await page.goto(`${base}/#/jobs/${evaluated.judge}`);
    await page.waitForSelector("[aria-label=Groups] tbody tr:nth-child(5)");
    assert.ok((await texts("h2")).includes("Fairness by kind, round 2"));
    assert.deepEqual(await texts("[aria-label=Groups] td:first-child"), ["all examples", ...kGroups, "other"]);
    assert.deepEqual((await texts("[aria-label=Groups] td:nth-child(2)")), ["6", "6", "6", "6", "0"]);
    const rows = await drawn();
    assert.deepEqual(rows.map(([text]) => kGroups.find((name) => text.startsWith(name))).sort(), [...kGroups].sort());
    assert.deepEqual(rows.map(([, whiskers]) => whiskers), [1, 1, 1]);
    assert.ok((await texts("dt")).includes("gap of accuracy"));
    assert.equal((await page.$$("[aria-label^='Accuracy by round, all and the worst groups'] canvas")).length, 1);
    assert.ok(rows[0][0].startsWith((await page.evaluate(() => [...document.querySelectorAll("dt")].find((one) => one.textContent === "worst accuracy").nextSibling.textContent))));
    await examine("fairness", { walked_before: true });
    // A round is chosen with the keyboard: the address has it, and is a link to its devices, to who is missing, and to their times.
    await (await page.waitForSelector("section select")).focus();
    await page.keyboard.press("ArrowDown"); // the newest by its number
    await page.waitForFunction((id) => location.hash === `#/jobs/${id}/2.1`, {}, evaluated.judge);
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((id) => location.hash === `#/jobs/${id}/1.1`, {}, evaluated.judge);
    await page.reload();
    await page.waitForSelector("[aria-label^='Times of a sample of its devices'] svg g");
    await page.waitForSelector("[aria-label*=': eligible 6, enrolled, now; asked ']");
    assert.match(await page.$eval("[aria-label^='Devices of round 1, attempt 1:']", (drawing) => drawing.ariaLabel), /asked \d.*; waiting \d.*; drawn 3[;,].*downloaded 3; trained 3; accepted 3; goal 3, reached/);
    assert.match(await page.$eval("[aria-label^='Times of a sample']", (drawing) => drawing.ariaLabel), /device [123] of 3 [0-9.]+ s; device [123] of 3/);
    assert.ok((await texts("h2")).includes("Who is missing and why"));
    await examine("round", { both_ways: true });
    await page.goto(`${base}/#/jobs/${evaluated.trained}`);
    await page.waitForSelector("[aria-label=Groups] tbody tr:nth-child(5)");
    assert.ok((await texts("h2")).includes("Fairness by kind, version 0"));
    assert.equal((await drawn()).length, 3);
  };

  // Somebody else asks, with the server's own token or as `who` says.
  const ask = (method, path, body = "", who = { Authorization: `Bearer ${token}` }) => new Promise((done, failed) => {
    const asked = request(`${base}/admin/v1/${path}`, { method, rejectUnauthorized: false, headers: { ...who, "Content-Type": "application/json" } }, (answer) => {
      let text = "";
      answer.on("data", (piece) => { text += piece; });
      answer.on("end", () => answer.statusCode < 300 ? done(text && JSON.parse(text)) : failed(new Error(`${path}: ${answer.statusCode} ${text}`)));
    });
    asked.on("error", failed);
    asked.end(body);
  });
  const post = (path, body) => ask("POST", path, body), del = (path) => ask("DELETE", path);
  // A canary begins and ends while the page of models is open: it is there without a reload.
  const canary = async (job) => {
    await page.waitForFunction(() => [...document.querySelectorAll(".now")].some((one) => one.textContent === "Canaries: live"));
    await post(`jobs/${job}/models/1:promote`);
    await page.waitForFunction(() => document.querySelector("[aria-label=Released] tbody td:nth-child(2)")?.textContent === "1");
    const shows = (state) => page.waitForFunction((text) => document.querySelector("[aria-label=Canaries] tbody tr td:nth-child(5)")?.textContent === text, { polling: "mutation" }, state);
    const { id } = await post(`jobs/${job}/models/2:canary`, JSON.stringify({ percent: 5 }));
    await shows("running");
    assert.equal((await texts("[aria-label=Canaries] td:first-child"))[0], id);
    await examine("canary");
    const began = performance.now();
    await Promise.all([shows("ended"), post(`jobs/${job}/canaries/${id}:end`)]);
    console.log(`${look}: ${(performance.now() - began).toFixed(0)} ms from the request that ends a canary to the page that says so`);
  };

  // All records are checked in the page: they hold, and do not behind one that the server tells otherwise.
  const audit = async () => {
    await page.goto(`${base}/#/audit`);
    await page.reload();
    await headed("Audit");
    // Its records are more than a table has room for: it is moved by arrows once it has the focus.
    await page.focus("[aria-label='What callers did'].wide");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement.scrollTop > 0);
    const verify = () => page.click("form.verify button");
    await verify();
    await page.waitForSelector(".holds");
    assert.match((await texts(".holds"))[0], /^The chain holds. [0-9,]+ records, one behind the other/);
    const [head] = await texts("section code");
    await examine("audit-that-holds", { walked_before: true });
    await page.type("form.verify input", head.replace(/^\d+/, "1"));
    await verify();
    await page.waitForSelector(".broken");
    assert.match((await texts(".broken"))[0], /^The chain is broken: record 1, or one before it, was written anew/);
    await examine("audit-that-is-broken", { walked_before: true });
  };

  // A coordinator's jobs: one is done, one waits for its parties, and one lacks an approval, which no button of the page gives.
  const vertical = async () => {
    const cell = (table, column) => texts(`[aria-label="${table}"] tbody td:nth-child(${column})`);
    const [done, approved, created] = coordinator.jobs;
    const open_job = async (id, state) => {
      await page.goto(`${base}/#/vertical/${id}`);
      await page.waitForFunction((text) => [...document.querySelectorAll("dd")].some((one) => one.textContent === text), {}, state);
    };
    await page.goto(`${base}/#/vertical`);
    await page.waitForSelector("[aria-label='Jobs of the coordinator'] tbody tr:nth-child(3)");
    const states = (await cell("Jobs of the coordinator", 3)).sort();
    assert.deepEqual(states, ["approved", "created", "done"]);
    assert.deepEqual((await cell("Jobs of the coordinator", 7)).sort(), ["none", "none", "prediction: all"]);
    await examine("vertical-jobs");
    await open_job(created, "created");
    assert.deepEqual(await cell("Parties", 3), ["yes", "no"]);
    assert.deepEqual(await texts("p.bar button"), ["Cancel"]);
    await examine("vertical-job-that-lacks-an-approval", { walked_before: true });
    await open_job(done, "done");
    assert.deepEqual(await cell("Parties", 2), ["bank", "insurer"]);
    assert.deepEqual(await cell("Stages by party", 1), ["matching", "matching", "training", "training", "prediction", "prediction"]);
    assert.deepEqual(new Set(await cell("Stages by party", 5)), new Set(["all"]));
    assert.deepEqual(await cell("Who learns what", 1), ["L1", "L11", "L10"]);
    assert.deepEqual(await texts("p.bar button"), []);
    assert.ok((await page.$$("figure svg rect")).length >= 6); // a bar for each stage of each party
    await examine("vertical-job-that-is-done");
    await open_job(approved, "approved");
    const press = (name) => page.evaluate((text) => [...document.querySelectorAll("p.bar button")].find((one) => one.textContent === text).click(), name);
    await press("Pause");
    await page.waitForFunction(() => [...document.querySelectorAll("dd")].some((one) => one.textContent === "paused: operator_paused"));
    assert.deepEqual(await texts("p.bar button"), ["Resume", "Cancel"]);
    await press("Resume");
    await page.waitForFunction(() => [...document.querySelectorAll("dd")].some((one) => one.textContent === "approved"));
  };

  // A viewer, as the provider's readers are, finds nothing to change on any page, and no page asks for what a viewer is refused.
  const nothing_to_change = async (base) => {
    const of_nav = await page.$$eval("nav a", (links) => links.map((link) => link.getAttribute("href").slice(2)));
    assert.deepEqual(of_nav.filter((one) => ["devices", "audit", "tokens"].includes(one)), []); // these are for other roles
    for (const place of [...of_nav, `jobs/${evaluated.trained}`, `jobs/${evaluated.measured}`, `models/${evaluated.measured}`, `models/${evaluated.measured}/1`]) {
      await page.goto(`${base}/#/${place}`);
      await page.waitForSelector("main h1");
      await page.waitForFunction(() => !document.body.innerText.includes("Asking the server"));
      const buttons = new Set(await texts("main button"));
      for (const one of ["Pause", "Resume", "Cancel", "Promote", "Roll back", "End"]) assert.ok(!buttons.has(one), `${place}: ${one}`);
      assert.deepEqual(wrongs, [], place);
    }
    await page.goto(`${base}/#/settings`);
    await headed("Settings");
  };

  // At the provider and back: the page is where it was, the session is the provider's user's, and no script can have a token.
  const sign_in_at_provider = async () => {
    is_signed_out = false;
    await page.goto(`${kConsole}/#/settings`);
    await page.reload();
    await page.waitForSelector("a.button");
    assert.deepEqual(await texts("a.button"), ["Sign in with Example <SSO>"]);
    await examine("sign-in-at-provider", { walked_before: true });
    provider.who.says = "access_denied";
    await page.click("a.button");
    await page.waitForSelector("[role=alert]");
    assert.deepEqual(await texts("[role=alert]"), ["The sign-in was declined at the provider."]);
    await examine("sign-in-declined", { walked_before: true });
    provider.who.says = "";
    await page.click("a.button");
    await headed("Settings");
    assert.equal(await page.evaluate(() => location.href), `${kConsole}/#/settings`);
    await page.waitForFunction(() => [...document.querySelectorAll("dd")].some((one) => one.textContent === "oidc:anna"));
    await page.waitForSelector("header button");
    const kept = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, document.documentElement.outerHTML]));
    for (const secret of provider.secrets) assert.ok(!kept.includes(secret));
    assert.deepEqual((await page.cookies(kConsole)).map((cookie) => [cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite]),
      [["__Host-coterie-session", true, true, "Strict"]]);
    await page.reload();
    await headed("Settings"); // the session outlives a reload
    await examine("signed-in-at-provider", { walked_before: true });
    if (look === kWide) await nothing_to_change(kConsole);
    if (look === kNarrow) {
      is_signed_out = true;
      const [{ name, value }] = await page.cookies(kConsole), Cookie = `${name}=${value}`;
      const { csrf_token } = await ask("GET", "session", "", { Cookie });
      await provider_session_ends(page, { address: kConsole, job: evaluated.judge, end: () => ask("DELETE", "session", "", { Cookie, "Coterie-Csrf": csrf_token }) });
      is_signed_out = false;
    }
    const signed_out = provider.seen.filter((path) => path === "/logout").length;
    await Promise.all([page.waitForNavigation(), sign_out()]);
    await page.waitForSelector("a.button");
    assert.equal(provider.seen.filter((path) => path === "/logout").length, signed_out + 1);
    assert.equal(await page.evaluate(() => location.href), `${kConsole}/`);
  };

  for (const one of kLooks) {
    look = await set_look(page, one);
    await sign_in_at_provider();
    await page.goto(`${base}/`);
    await page.waitForSelector("#token");
    await examine("sign-in", { walked_before: true });
    await sign_in(token);
    await headed("Overview");
    is_signed_out = false;
    assert.deepEqual(await texts("nav a"), ["Overview", "Jobs", "Vertical jobs", "Compare", "Models", "Populations", "Devices", "Privacy", "Audit", "Tokens", "Settings"]);
    assert.deepEqual(await texts("nav [aria-current=page]"), ["Overview"]);
    await page.waitForSelector("main .holds");
    assert.match((await texts("main .holds"))[0], /^There are none\. The server looks every 15 seconds/);
    assert.ok((await texts("h2")).includes("Refused since the server started"));
    const [node, leads] = await texts("[aria-label=Nodes] td");
    assert.deepEqual([leads, (await texts("dd")).includes(`${node}, this server`)], ["yes", true]);
    await examine("overview");
    await alarmed();
    for (const title of ["Models", "Populations", "Devices", "Privacy", "Audit", "Tokens", "Settings", "Jobs"]) {
      await page.goto(`${base}/#/${title.toLowerCase()}`);
      await headed(title);
      await examine(title.toLowerCase());
    }
    await audit();
    await page.goto(`${base}/#/jobs`);
    await headed("Jobs");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 5);
    assert.deepEqual(await texts("tbody td:nth-child(3)"), ["completed", "completed", "running", "running", "completed"]);
    const [, , , waits, over] = await page.$$eval("td a", (links) => links.map((link) => link.href));
    await page.goto(waits);
    await headed(kNameShown);
    await page.waitForFunction(() => document.querySelector(".now")?.textContent.startsWith("live"));
    assert.deepEqual(await texts("p.bar button"), ["Pause", "Cancel"]);
    await paused_by_keyboard();
    await examine("job-that-runs");
    await page.goto(over);
    await headed("demo-digits");
    await page.waitForFunction(() => document.querySelector(".now")?.textContent === "the job is over");
    assert.equal((await page.$$("figure canvas")).length, 5);
    assert.ok((await texts("h2")).includes("Privacy forecast"));
    assert.ok((await texts("main p")).some((text) => text.startsWith("The job has noise so that no single update shows, and a histogram of norms or cosines without noise would show one: there is none.")));
    assert.deepEqual(await texts("[aria-label=Attempts] td:nth-child(3)"), ["done", "done"]);
    assert.ok((await page.$$("figure svg rect")).length >= 2 + 3); // a bar of each attempt, and the last round's funnel
    assert.deepEqual(await texts("[aria-label=Rounds] td:first-child"), ["2", "1"]);
    await examine("job-that-is-over");
    await watched_job(over);
    await measured_job();
    await page.goto(over);
    await page.reload();
    await headed("demo-digits"); // the session outlives a reload
    await page.goto(`${base}/#/models/${over.split("/").at(-1)}`);
    await headed("Models");
    await page.waitForFunction(() => document.querySelectorAll("[aria-label=Models] tbody tr").length === 3);
    assert.deepEqual(await texts("[aria-label=Models] td:nth-child(2)"), ["round 2, attempt 1", "round 1, attempt 1", "the upload"]);
    await examine("models-of-a-job", { walked_before: true });
    await page.goto(`${base}/#/models/${over.split("/").at(-1)}/2`);
    await headed("demo-digits, version 2");
    await real_version(page, { ops: ["conv1", "relu1", "conv2", "relu2", "max_pool2d1", "flatten1", "dense1", "relu3", "dense2"],
      parameters: ["conv1", "conv2", "dense1", "dense2"].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]) });
    await page.waitForSelector("[aria-label=Uses] tbody tr");
    assert.deepEqual(await texts("[aria-label=Lineage] li strong"), ["demo-digits", "2, attempt 1", "version 2", look === "1280-light" ? "a job began from it" : "canary, ended; a job began from it"]);
    await examine("model");
    await page.goto(`${base}/#/models/${over.split("/").at(-1)}`);
    await headed("Models");
    await canary(over.split("/").at(-1));
    await compare(base, [over, waits].map((link) => link.split("/").at(-1)));
    await vertical();
    await fairness();
    await sign_out();
    if (look === kNarrow) await token_ends(page, { base, post, del, sign_in, examine });
  }
  // A token that the server does not know: the browser notes that 401, too.
  await sign_in("no-such-token");
  await page.waitForSelector("[role=alert]");
  assert.deepEqual(await texts("[role=alert]"), ["The server knows no such token, or its time is over."]);
  assert.deepEqual(wrongs, []);
  console.log(`The screenshots are in ${folder}`);
} finally {
  await browser?.close();
  provider.close();
  coordinator.close();
  await server.stop();
  rmSync(work, { recursive: true, force: true });
}
