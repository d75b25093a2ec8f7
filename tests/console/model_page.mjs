// The page of a version: what a test of it looks at, before a real server and with a graph of several blocks in the place of what that says.
import assert from "node:assert/strict";
import { examine_page, page_of } from "./browser.mjs";

const kHostile = "<img src=x onerror=alert(1)>\u202e and on for longer than a box";
const op = (name, block, reads, values = 0) => ({ name, kind: values ? "dense" : "relu", ...(block !== undefined && { block }), reads: reads.map((at) => at < 0 ? { input: 0 } : { op: at, output: 0 }),
  outputs: [[-1, 4]], parameters: values ? [{ name: `${name}.w`, shape: [4, 4], values }] : [], values });
// Two blocks, of which the first has one in it; an arrow leads past it.
const kGraph = { name: "named", inputs: [{ name: "image", shape: [-1, 4], type: "float32" }], output: { op: 5, output: 0 }, values: 32, ops_left_out: 0,
  ops: [op("stem", undefined, [-1]), op(kHostile, 1, [0], 16), op("body.a.two", 1, [1]), op("body.b", 0, [2, 0]), op("tail.one", 2, [3], 16), op("tail.two", 2, [4])],
  blocks: [{ name: "body", first: 1, ops: 3, values: 16 }, { name: "a", first: 1, ops: 2, values: 16, parent: 0 }, { name: "tail", first: 4, ops: 2, values: 16 }] };
const histogram = (name, more) => ({ name, role: "parameter", shape: [4, 4], frozen: false, values: 16, read: 16, zeros: 1, non_finite: 0, min: -1, max: 3, mean: 0.5, deviation: 1,
  bins: Array.from({ length: 32 }, (_, i) => i % 2), ...more });
const kParameters = { parameters: [histogram(kHostile), histogram("large", { values: 9e6, read: 4194304, role: "state" }), histogram("broken", { non_finite: 16, min: undefined, max: undefined, mean: undefined, deviation: undefined, bins: undefined })] };

const text = (page, selector) => page.$$eval(selector, (found) => found.map((one) => one.textContent));
const switches = (page) => page.$$eval(".block", (found) => found.map((one) => `${one.getAttribute("aria-label").split(/[:,]/)[0]} ${one.getAttribute("aria-expanded")}`));

// A version as the server has it: `ops` and `parameters` are the names of the model's.
export async function real_version(page, { ops, parameters }) {
  await page.waitForSelector("[aria-label=Ops] tbody tr");
  await page.waitForFunction((count) => document.querySelectorAll(".histogram").length === count, {}, parameters.length);
  assert.deepEqual(await text(page, "[aria-label=Ops] td:first-child"), ops);
  assert.deepEqual(await text(page, "[aria-label=Parameters] td:first-child"), parameters);
  assert.equal((await page.$$(".picture g.op")).length, ops.length + 2); // with the input and the output
  assert.equal((await page.$$(".picture path.arrow")).length, ops.length + 1);
  assert.equal((await text(page, "[aria-label=Lineage] li small")).length, 4);
}

// Blocks open and close by mouse and keyboard, who has opened one stays on it, and the address has those that are open.
export async function blocks_of_a_version(browser, address, { viewport, scheme, folder, axe, name }) {
  const { page, wrongs } = await page_of(browser);
  page.on("dialog", (dialog) => wrongs.push(`a dialog: ${dialog.message()}`));
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.evaluateOnNewDocument((graph, parameters) => {
    const real = window.fetch;
    window.fetch = (path, ...rest) => {
      const told = String(path).endsWith("/graph") ? graph : String(path).includes("/parameters?") ? parameters : undefined;
      return told ? Promise.resolve(new Response(JSON.stringify(told))) : real(path, ...rest);
    };
    window.saved = [];
    URL.createObjectURL = (blob) => { blob.text().then((csv) => window.saved.push(csv)); return "data:,"; };
  }, kGraph, kParameters);
  await page.goto(address);
  await page.waitForSelector(".block");
  assert.deepEqual(await switches(page), ["body 3 ops false", "tail 2 ops false"]);
  assert.deepEqual(await text(page, ".picture .op text:first-of-type"), ["image", "stem", "output"]);
  await examine_page(page, { name: `${name}-closed`, folder, axe, wrongs });
  const press = async (label, key) => {
    await page.evaluate((begin) => [...document.querySelectorAll(".block")].find((one) => one.getAttribute("aria-label").startsWith(begin)).focus(), label);
    await page.keyboard.press(key);
  };
  const has_open = (blocks) => page.waitForFunction((end) => location.hash.endsWith(end) && document.querySelectorAll(".block[aria-expanded=true]").length === (end ? end.split(",").length : 0), {}, blocks);
  await press("body", "Enter");
  await has_open("/0");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "body: block body, 3 ops, 16 parameters");
  await press("a ", "Space");
  await has_open("/0,1");
  await page.evaluate(() => [...document.querySelectorAll(".block")].find((one) => one.getAttribute("aria-label").startsWith("tail")).dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await has_open("/0,1,2");
  assert.equal((await page.$$(".picture .op")).length, 8);
  assert.equal((await page.$$(".picture .frame")).length, 3);
  assert.ok((await text(page, ".picture .op text:first-of-type")).includes("<img src=x onerror=alert(1)>\\…"));
  assert.ok((await text(page, "[aria-label=Ops] td:first-child")).includes(kHostile.replace("\u202e", "\\u{202e}")));
  await examine_page(page, { name: `${name}-open`, folder, axe, wrongs });
  await page.reload();
  await has_open("/0,1,2"); // the address is a link to the same view
  await press("body", "Enter");
  await has_open("/2"); // with what is in it
  // Figures say their numbers, and save them.
  const said = await page.$$eval(".histogram [role=img]", (found) => found.map((one) => one.getAttribute("aria-label")));
  assert.match(said[0], /^<img src=x onerror=alert\(1\)>\\u\{202e\}.*from -1 to 3, mean 0.5, deviation 1; 0 values not finite$/);
  assert.match(said[2], /no value is finite; 16 values not finite$/);
  assert.match((await text(page, ".histogram small"))[1], /of 4,194,304 values/);
  await page.evaluate(() => document.querySelector(".histogram button").click());
  await page.waitForFunction(() => window.saved.length === 1);
  const csv = await page.evaluate(() => window.saved[0].split("\r\n"));
  assert.deepEqual([csv[0], csv[1], csv[32], csv.length], ['"from","to","values"', '"-1","-0.875","0"', '"2.875","3","1"', 34]);
  assert.deepEqual(wrongs, []);
  await page.close();
}
