// What the console's figures are made of: lines, runs compared. Usage: node figures_test.mjs SOURCES PACKAGES
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, packages] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
const load = async (name) => {
  const built = esbuild.buildSync({ entryPoints: [join(sources, "src", name)], bundle: true, write: false, format: "esm", nodePaths: [join(packages, "node_modules")] });
  return import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));
};

// ---- Lines
const { aligned, thinned, with_edges } = await load("series.ts");
assert.deepEqual(aligned([{ name: "a", xs: [1, 3], ys: [10, 30] }, { name: "b", xs: [2, 3], ys: [20, null] }]),
  { xs: [1, 2, 3], lines: [["a", [10, null, 30]], ["b", [null, 20, null]]] });
const rounds = Array.from({ length: 5000 }, (_, i) => i + 1);
const peaks = rounds.map((x) => x === 1234 ? 99 : x === 4321 ? -99 : Math.sin(x));
const holes = rounds.map((x) => x < 4000 ? null : x);
const thin = thinned(rounds, [["peaks", peaks], ["holes", holes]], 1000);
assert.equal(thin.xs.length, 1000);
assert.deepEqual([thin.xs[0], thin.xs.at(-1)], [1, 5000]);
assert.deepEqual(thin.xs, [...thin.xs].sort((a, b) => a - b));
for (const [at, value] of [[1234, 99], [4321, -99]]) { // a peak is there, within a stretch of its round
  const found = thin.lines[0][1].indexOf(value);
  assert.ok(found >= 0 && Math.abs(thin.xs[found] - at) < 10, `${value} at ${thin.xs[found]}`);
}
assert.equal(thin.lines[1][1][0], null);
assert.deepEqual(thin.lines[1][1].slice(-2), [4991, 5000]);
assert.deepEqual(thinned([1, 2], [["a", [1, 2]]], 2), { xs: [1, 2], lines: [["a", [1, 2]]] }); // few are left alone
const band = { low: [0, null], high: [2, null] };
assert.deepEqual(aligned([{ name: "a", xs: [1, 3], ys: [1, 5], spread: band }, { name: "b", xs: [2], ys: [7] }]).lines,
  [["a", [1, null, 5], { low: [0, null, null], high: [2, null, null] }], ["b", [null, 7, null]]]);
assert.deepEqual(with_edges([["a", [1, 5]], ["b", [3, 4], band]]),
  { all: [["a", [1, 5]], ["b", [3, 4]], ["b, high", [2, null]], ["b, low", [0, null]]], bands: [{ upper: 2, lower: 3, of: 1 }] });

// ---- Canaries
const { changed, job_of } = await load("canary_events.ts");
const canaries = [{ id: "c1", job: "j", version: 3, state: "running", heard: 2, percent: 5 }];
const event = (of) => JSON.stringify({ job: "j", canary: "c1", model_version: 3, state: "rolled_back", heard: 9, ...of });
assert.deepEqual(changed(canaries, ["j"], event({})), [{ id: "c1", job: "j", version: 3, state: "rolled_back", heard: 9, percent: 5 }]);
assert.deepEqual(changed(canaries, ["j"], event({ canary: "c2" })).map((one) => [one.id, one.version, one.heard]), [["c2", 3, 9], ["c1", 3, 2]]);
assert.deepEqual([job_of(event({})), job_of("null"), job_of("{")], ["j", "", ""]);
for (const data of ["", "null", "[]", "{", event({ job: "other" }), event({ canary: 1 })]) assert.equal(changed(canaries, ["j"], data), canaries);

// ---- Stages of vertical jobs
const { bars, stage_now } = await load("vertical_stages.ts");
const stage = (name, role, begun, heard, more) => ({ stage: name, role, begun: `2026-01-01T00:00:${begun}Z`, heard: `2026-01-01T00:00:${heard}Z`, over: false, sent_bytes: 9, ...more });
const both = [stage("matching", "label", "05", "07.5", { over: true }), stage("training", "feature", "08", "18", { units: 2, units_all: 4, seconds_left: 10 })];
assert.deepEqual(bars(both), [{ stage: "matching", role: "label", from: 0, to: 2.5, left: 0, done: "all", is_over: true, bytes: 9 },
  { stage: "training", role: "feature", from: 3, to: 13, left: 10, done: "2 of 4", is_over: false, bytes: 9 }]);
assert.deepEqual([stage_now(both), stage_now(both.slice(0, 1)), stage_now([stage("matching", "label", "05", "05")]), stage_now([])], ["training: 2 of 4", "matching: all", "matching: begun", "none"]);
assert.deepEqual(bars([stage("matching", "label", "09", "05"), stage("training", "label", "xx", "05")]), []); // times that are none draw nothing

// ---- Hits of watched trainings
const { kWholeTraining, newest_hits } = await load("watch_hits.ts");
const seen = (number, hits) => ({ number, state: "done", model: { watch: { looked: 0.5, hits } } });
const watched = [{ number: 4, state: "collecting" },
  seen(3, [{ check: "dead_relu", layer: "conv1", share: 0.25 }, { check: "dead_relu", layer: "conv2..dense1", share: 1 }, { check: "label_drift", share: 0.5 }]),
  seen(2, [{ check: "dead_relu", layer: "conv1", share: 0.75 }]), { number: 1, state: "done", model: {} }];
assert.deepEqual(newest_hits(watched), { round: 3, looked: 0.5, error: 0, checks: ["dead_relu", "label_drift"], layers: [
  { name: "conv1", shares: [0.25, null] }, { name: "conv2..dense1", shares: [1, null] }, { name: kWholeTraining, shares: [null, 0.5] }] });
assert.deepEqual(newest_hits([seen(1, [])]), { round: 1, looked: 0.5, error: 0, checks: [], layers: [] });
// Of a job with noise: what noise makes is no hit, and a share has its error.
const of_noise = { number: 5, state: "done", model: { watch: { looked: 1.1, error: 0.1, hits: [{ check: "dead_relu", layer: "conv1", share: 0.3 }, { check: "dead_relu", layer: "conv2", share: 0.31 }, { check: "label_drift", share: -0.9 }] } } };
assert.deepEqual(newest_hits([of_noise]), { round: 5, looked: 1.1, error: 0.1, checks: ["dead_relu"], layers: [{ name: "conv2", shares: [0.31] }] });
assert.equal(newest_hits([watched[0], watched[3]]), undefined);

// ---- Curves, and rounds that were done since
const { curves_of, extended, kAppendedMax, round_charts } = await load("curves.ts");
const told_curves = curves_of({ rounds: 900, exact: false, round: [1, 450, 451, 900], columns: { accepted: [7, 3, 3, 9], "watch.label_drift": [0, 0, 0, 0] } });
const after = extended(told_curves, [{ number: 903, state: "collecting", accepted: 1 }, { number: 902, state: "failed" }, { number: 902, state: "done", accepted: 5, seconds: 2, model: { evaluation_loss: 0.5 } },
  { number: 901, state: "done", accepted: 6, model: { watch: watched[1].model.watch } }, { number: 900, state: "done", accepted: 9 }]);
assert.deepEqual(after, { total: 902, appended: 2, xs: [1, 450, 451, 900, 901, 902], columns: { accepted: [7, 3, 3, 9, 6, 5], seconds: [null, null, null, null, null, 2],
  evaluation_loss: [null, null, null, null, null, 0.5], "watch.dead_relu": [null, null, null, null, 1, null], "watch.label_drift": [0, 0, 0, 0, 0.5, null] } });
assert.deepEqual(extended({ total: 1, appended: 0, xs: [1], columns: {} }, [{ number: 2, state: "done", model: { update_norms: { p10: 1, p50: 2, p90: 3 } } }]).columns,
  { update_norm_p10: [null, 1], update_norm_p50: [null, 2], update_norm_p90: [null, 3] });
assert.deepEqual(extended({ total: 1, appended: 0, xs: [1], columns: {} }, [{ number: 2, state: "done", model: { update_cosines: { updates: 3, undirected: 0, p10: -0.5, p50: 0.5, p90: 1 } } }]).columns,
  { update_cosine_p10: [null, -0.5], update_cosine_p50: [null, 0.5], update_cosine_p90: [null, 1] });
assert.deepEqual(extended({ total: 1, appended: 0, xs: [1], columns: {} }, [{ number: 2, state: "done", model: { update_cosines: { updates: 3, undirected: 3 } } }]).columns, {}); // nobody has one
assert.deepEqual(extended({ total: 4, appended: 0, xs: [4], columns: {} }, [of_noise]).columns, { "watch.dead_relu": [null, 0.31], "watch.label_drift": [null, 0] });
assert.equal(extended(after, [{ number: 902, state: "done" }]), after); // the same object: nothing is drawn anew
assert.equal(extended(after, [{ number: 904, state: "done", accepted: 1 }]), null); // round 903 is not among them
assert.equal(extended({ ...after, appended: kAppendedMax }, [{ number: 903, state: "done" }]), null); // so many: they are thinned anew
assert.deepEqual(extended(curves_of({ rounds: 0, round: [], columns: {} }), [{ number: 1, state: "done", accepted: 4 }]).columns, { accepted: [4] });
const charts = round_charts(after, [{ looks: [{ x: 500, model: { loss: { value: 0.25, low: null, high: null } } }] }]);
assert.deepEqual(charts.slice(0, 4).map(({ name, lines }) => [name, lines.map(([line]) => line)]), [["Loss", ["held out", "on devices", "evaluated on devices"]], ["Accuracy", ["held out", "on devices"]],
  ["Updates accepted", ["accepted"]], ["Seconds", ["round", "training"]]]);
assert.deepEqual([charts[4].lines.map(([line]) => line).sort(), charts[0].xs, charts[0].lines[2][1]], [["dead_relu", "label_drift"], [1, 450, 451, 500, 900, 901, 902], [null, null, null, 0.25, null, null, null]]);
assert.equal(round_charts(told_curves).length, 4); // hits of which there are none are not drawn
assert.deepEqual(round_charts(curves_of({ rounds: 0, round: [], columns: {} })), []);
const with_heads = extended(curves_of({ rounds: 1, round: [1], columns: { evaluation_loss: [3], "evaluation_loss.a.b": [1], "evaluation_loss.age": [2], "evaluation_mae.age": [4] } }),
  [{ number: 2, state: "done", model: { evaluation_loss: 2, evaluation_heads: [{ output: "a.b", loss: 0.5, accuracy: 0.75 }, { output: "age", loss: 1.5, mae: null }, { output: "none" }] } }]);
assert.deepEqual(with_heads.columns, { evaluation_loss: [3, 2], "evaluation_loss.a.b": [1, 0.5], "evaluation_loss.age": [2, 1.5], "evaluation_mae.age": [4, null], "evaluation_accuracy.a.b": [null, 0.75] });
assert.deepEqual(round_charts(with_heads).slice(1, 6).map(({ name, lines }) => [name, lines]).filter(([name]) => name.endsWith("by head")), [["Loss by head", [["a.b", [1, 0.5]], ["age", [2, 1.5]]]],
  ["Accuracy by head", [["a.b", [null, 0.75]]]], ["Mean absolute error by head", [["age", [4, null]]]]]);

// ---- Runs
const { address, differing, is_thinned, kResults, kRunsMax, leaves, values_of, view_of } = await load("runs.ts");
assert.deepEqual([...leaves({ a: { b: 1, c: [1, 2] }, d: "x" })], [["a.b", 1], ["a.c", "[1,2]"], ["d", "x"]]);
const curves = (columns, total = Object.values(columns)[0]?.length ?? 0) => curves_of({ rounds: total, round: (Object.values(columns)[0] ?? []).map((_, i) => i + 1), columns });
const no_rounds = { curves: curves({}), sums: {}, failed: [] };
const job = (name, rate, more = {}) => ({ job: { spec: { name, training: { optimizer: { learning_rate: rate } }, ...more } }, ...no_rounds });
assert.deepEqual(differing([job("a", 0.1), job("b", 0.2, { weight: 2 })]), [["training.optimizer.learning_rate", [0.1, 0.2]], ["weight", [null, 2]]]);
assert.deepEqual(differing([job("a", 0.1)]), []);
// Points of more rounds: sums are of all of them.
const run = { job: { spec: {}, privacy: { epsilon: 2.5 } }, failed: [{ state: "failed", seconds: 5, accepted: 0 }], sums: { accepted: 170, seconds: 300 },
  curves: curves({ accepted: [8, 9], seconds: [10, 20], train_loss: [0.9, 1.1], train_accuracy: [0.1, 0.2], evaluation_accuracy: [0.75, 0.5] }, 20) };
assert.deepEqual(Object.fromEntries(kResults.map(([name, read]) => [name, read(run)])), { "best loss": 0.9, "last loss": 1.1, "best accuracy": 0.75,
  "last accuracy": 0.5, "rounds done": 20, "failed attempts": 1, updates: 170, epsilon: 2.5, seconds: 305 });
assert.deepEqual(kResults.filter(([, read]) => read({ ...run, sums: undefined }) === null).map(([name]) => name), ["updates", "seconds"]); // of a server of before
assert.deepEqual([is_thinned(run), is_thinned({ ...run, curves: curves({ accepted: [8, 9] }) })], [true, false]);
assert.deepEqual(values_of(run, "accuracy"), [0.75, 0.5]);
assert.deepEqual(kResults.slice(0, 4).map(([, read]) => read({ job: { spec: {} }, ...no_rounds })), [null, null, null, null]); // unknown is not zero
const view = { jobs: ["a,b/c", "%\u202e"], setting: "training.loss", result: "best loss", picked: "%\u202e", are_alike_one: true };
const plain = { ...view, setting: "", result: "", picked: "", are_alike_one: false };
for (const one of [view, plain, { ...plain, picked: "a,b/c" }, { ...plain, are_alike_one: true }])
  assert.deepEqual(view_of(address(one).replace("#/compare/", "").split("/")), one);
assert.deepEqual([address({ ...plain, jobs: ["a"] }), address({ ...plain, jobs: [] })], ["#/compare/a", "#/compare/"]);
assert.deepEqual(view_of(["a,a,,%E0%A4%A"]), { ...plain, jobs: ["a"] });
assert.equal(view_of([Array.from({ length: 50 }, (_, i) => i).join(",")]).jobs.length, kRunsMax);

// ---- Runs with equal settings, and axes
const { alike, bands, spread } = await load("bands.ts");
const seeded = (seed, rate, losses) => ({ job: { id: `${seed}-${rate}`, spec: { name: `run ${seed}`, seed, learning_rate: rate } }, ...no_rounds, curves: curves({ train_loss: losses }) });
const sweep = [seeded(1, 0.1, [3, 1]), seeded(1, 0.2, [9]), seeded(2, 0.1, [5, 2]), seeded(3, 0.1, [7])];
assert.deepEqual(alike(sweep), [{ name: "learning_rate 0.1, mean of 3", runs: [0, 2, 3] }]); // a run alone is in no group
assert.deepEqual(alike(sweep.slice(0, 2)), []);
assert.equal(alike([sweep[0], sweep[2]])[0].name, "run 1, mean of 2"); // nothing tells groups apart where there is one
assert.deepEqual(bands(sweep, alike(sweep), "loss"), { xs: [1, 2], lines: [["learning_rate 0.1, mean of 3", [5, 1.5], { low: [3, 1.5 - Math.SQRT1_2], high: [7, 1.5 + Math.SQRT1_2] }]] });
assert.deepEqual([spread([]), spread([4])], [{ mean: null, low: null, high: null }, { mean: 4, low: null, high: null }]); // one value has no spread
const { axes_of, axis, kAxesMax } = await load("parallel.ts");
const { axes, left_out } = axes_of(sweep);
assert.deepEqual([axes.map((one) => one.name), left_out], [["learning_rate", "seed", "best loss", "last loss", "rounds done", "failed attempts", "updates", "seconds"], 0]);
assert.deepEqual(axes[2], { name: "best loss", is_result: true, values: [1, 9, 2, 7], places: [0, 1, 0.125, 0.75], marks: [{ at: 0, value: 1 }, { at: 1, value: 9 }] });
assert.deepEqual(axis("w", false, ["fedavg", null, true]), { name: "w", is_result: false, values: ["fedavg", null, true], places: [0, null, 1],
  marks: [{ at: 0, value: "fedavg" }, { at: 1, value: "true" }] });
assert.deepEqual([axis("same", true, [2, 2]).places, axis("none", true, [null]).marks], [[0.5, 0.5], []]);
const many = [1, 2].map((x) => ({ job: { spec: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`s${i}`, x])) }, ...no_rounds }));
assert.deepEqual([axes_of(many).axes.length, axes_of(many).left_out], [kAxesMax, 40 - (kAxesMax - 4)]);

// ---- Fairness by group
const { by_harm, gap_of, group_lines, kGroupsDrawn, of_columns, versions_looked_at } = await load("fairness.ts");
const scored = (name, accuracy, reach) => ({ name, accuracy: accuracy === null ? null : { value: accuracy, low: reach === null ? null : accuracy - reach, high: reach === null ? null : accuracy + reach } });
const look_at = (x, ...groups) => ({ x, model: { ...scored("", 0.5, 0.25), groups } });
const first_look = look_at(1, scored("a", 0.75, 0.125), scored("b", 0.25, 0.125), scored("c", null), scored("d", 0.5, null));
assert.deepEqual(by_harm(first_look, "accuracy").map((group) => group.name), ["b", "d", "a"]); // who has no examples is not the worst
assert.deepEqual(gap_of(first_look, "accuracy"), { worst: "b", best: "a", gap: 0.5, is_apart: true });
assert.equal(gap_of(look_at(1, scored("a", 0.75, 0.25), scored("b", 0.25, 0.25)), "accuracy").is_apart, false); // they meet in one point
assert.equal(gap_of(look_at(1, scored("a", 0.75, 0.125), scored("b", 0.25, null)), "accuracy").is_apart, null);
assert.deepEqual([gap_of(look_at(1, scored("a", 0.75, 0.125)), "accuracy"), gap_of(first_look, "loss")], [null, null]);
const losses = { x: 1, model: { groups: [{ name: "a", loss: { value: 3, low: 2.5, high: 3.5 } }, { name: "b", loss: { value: 1, low: 0.5, high: 1.5 } }] } };
assert.deepEqual(gap_of(losses, "loss"), { worst: "a", best: "b", gap: 2, is_apart: true }); // the other way round
const by_look = group_lines([look_at(1, scored("a", 0.5, 0.25)), look_at(3, scored("a", 0.75, null), scored("b", 0.25, 0.25))], "accuracy");
assert.deepEqual(by_look, { xs: [1, 3], lines: [["all examples", [0.5, 0.5], { low: [0.25, 0.25], high: [0.75, 0.75] }], ["b", [null, 0.25], { low: [null, 0], high: [null, 0.5] }],
  ["a", [0.5, 0.75], { low: [0.25, null], high: [0.75, null] }]] });
assert.equal(group_lines([look_at(1, ...Array.from({ length: 20 }, (_, i) => scored(String(i), i / 20, 0)))], "accuracy").lines.length, kGroupsDrawn);
assert.deepEqual([versions_looked_at(0, 5), versions_looked_at(3, 5), versions_looked_at(100, 5)], [[], [1, 2, 3], [1, 26, 51, 75, 100]]);
const judged = (column, model, devices, ...groups) => ({ column, models: [{ model, devices, groups: groups.map((name) => ({ name })) }] });
const looked = of_columns([judged("age", "m2", 5, "old"), judged("age", "m1", 5, "old"), judged("age", "m2", 9, "old"), judged("age", "m3", 0, "old"), judged("age", "m1", 5, "old", "young"), judged("sex", "other", 5)],
  new Map([["m1", 1], ["m2", 2], ["m3", 3]]));
assert.deepEqual(looked.map(({ column, looks }) => [column, looks.map(({ x, model }) => [x, model.devices])]), [["age", [[1, 5], [2, 9]]], ["age", [[1, 5]]]]);
const { judged_line } = await load("fairness.ts");
const two_columns = [{ looks: [look_at(1), { x: 3, model: scored("", 0.75, null) }] }, { looks: [{ x: 3, model: scored("", 0.25, 0.125) }] }];
assert.deepEqual(judged_line(two_columns, [1, 2, 3, undefined], "accuracy"), ["evaluated on devices", [0.5, null, 0.75, null], { low: [0.25, null, null, null], high: [0.75, null, null, null] }]);
assert.deepEqual([judged_line(two_columns, [2], "accuracy"), judged_line([], [1], "accuracy"), judged_line(two_columns, [1], "loss")], [null, null, null]);

// ---- Refusals
const { refusals } = await load("refusals.ts");
assert.deepEqual(refusals({ refusals: { plans: { b: 1, a: 1 }, requests: { queue_delay: 2, device_rate: 5 }, held: {}, of_a_later_version: { x: 1 } } }).map((one) => [one.what, one.reason, one.times]),
  [["a request", "device_rate", 5], ["a request", "queue_delay", 2], ["a plan, by the device", "a", 1], ["a plan, by the device", "b", 1]]);
assert.deepEqual(refusals({}), []); // the caller is not told

// ---- Norms and cosines of updates
const { clip_line, kNormLines, why_no_norms } = await load("norms.ts"), { kCosineLines, without_cosine } = await load("cosines.ts");
const { bars_of, lines_of, round_with } = await load("distribution.ts");
const at_level = (privacy, more) => ({ spec: { privacy, ...more } });
assert.deepEqual(clip_line(at_level({ adaptive_clip: { quantile: 0.75 } }), { xs: [1, 2], columns: { clip_norm: [4, 2] } }),
  { xs: [1, 2], lines: [["a share of 0.75", [4, 2]]] });
assert.equal(clip_line(at_level({}), { xs: [1], columns: {} }), null);
assert.match(why_no_norms({ spec: {} }), /level active the server sees sums.*norms or cosines.*adaptive_clip/); // active is the default
assert.match(why_no_norms(at_level({ level: "masked" }, { aggregation: { rule: "median" } })), /nobody knows how norms or cosines/); // of cohorts
assert.match(why_no_norms(at_level({ level: "none", noise_multiplier: 1, adaptive_clip: {} }), true), /histogram of norms or cosines without noise would show one.*quantile of their norms, with noise/);
assert.match(why_no_norms(at_level({ level: "none" }), true), /counts the norm of each update.*Cosines are of jobs whose aggregation.rule compares single updates/);
assert.match(why_no_norms(at_level({ level: "none" }, { aggregation: { rule: "mean" } })), /No round here has a histogram.*Cosines are of jobs whose/);
assert.match(why_no_norms(at_level({ level: "none" }, { aggregation: { rule: "median" } }), true), /counts the norm of each update.*The cosine of each update is with the step that median made/);
const measured = (number, more) => ({ number, state: "done", model: { update_norms: { updates: 4, edges: [2, 2.83, 4, null], counts: [3, 0, 1], p10: 2.1, p50: 2.4, p90: 4, ...more } } });
assert.deepEqual(bars_of(measured(1).model.update_norms), [[2, 2.83, 3], [2.83, 4, 0], [4, null, 1]]);
const with_norms = [{ number: 3, state: "collecting" }, measured(2), measured(1)];
assert.deepEqual([undefined, with_norms[0], with_norms[2], { number: 9 }].map((round) => round_with("update_norms", with_norms, round).number), [2, 2, 1, 2]);
assert.equal(round_with("update_norms", [{ number: 1, model: {} }]), undefined);
assert.equal(round_with("update_cosines", with_norms, with_norms[1]), undefined);
assert.equal(lines_of({ xs: [1], columns: { accepted: [3] } }, kNormLines), null);
assert.deepEqual(lines_of({ xs: [1, 2], columns: { update_norm_p50: [null, 2.4] } }, kNormLines).lines, [["a tenth within", [null, null]], ["half within", [null, 2.4]], ["nine tenths within", [null, null]]]);
assert.deepEqual(lines_of({ xs: [1], columns: { update_cosine_p90: [-0.5] } }, kCosineLines).lines, [["a tenth below", [null]], ["half below", [null]], ["nine tenths below", [-0.5]]]);
assert.deepEqual([0, 1, 2].map((undirected) => without_cosine({ undirected })), ["", " 1 without a cosine, as it is zero or the step is.", " 2 without a cosine, as they are zero or the step is."]);

// ---- Lineage of models
const { lineage, origin, uses } = await load("lineage.ts");
const first = { id: "a" }, second = { id: "b" };
const versions = lineage([first, second],
  [[{ version: 0, digest: "u", created: "1" }, { version: 1, digest: "m", created: "2" }], [{ version: 0, digest: "m", created: "3" }, { version: 1, digest: "n", created: "4" }]],
  [[{ number: 1, attempt: 2, model: { version: 1 } }, { number: 2, attempt: 1 }], []]);
assert.deepEqual(versions.map(({ job, model, round, from }) => [job.id, model.version, round?.attempt, from?.job.id, from?.version]),
  [["b", 1, undefined, undefined, undefined], ["b", 0, undefined, "a", 1], ["a", 1, 2, undefined, undefined], ["a", 0, undefined, undefined, undefined]]);
const began = { id: "c", spec: { name: "later", model: "m" }, created: "9" };
assert.deepEqual(uses({ id: "a", spec: { model: "m" }, released: { version: 1, time: "5" } }, { version: 1, digest: "m" }, [{ id: "a", spec: { model: "m" } }, began], [
  { version: 1, state: "running", percent: 5, created: "6" }, { version: 2, state: "ended", percent: 5, created: "7" }]), [
  { what: "released to applications", which: "version 1", since: "5" }, { what: "canary, running", which: "5 % of the devices", since: "6" },
  { what: "a job began from it", which: "later", since: "9", to: "#/jobs/c" }]);
assert.deepEqual(origin({ digest: "m" }, [first, second], [[{ version: 0, digest: "m" }], [{ version: 3, digest: "m" }]]), { job: second, version: 3 });
assert.equal(origin({ digest: "x" }, [first], [[{ version: 1, digest: "m" }]]), undefined);

// ---- Graphs of models
const { are_drawn, boxes_of, kArrowsMax, kBoxesMax, openable, path_of_op, shape_text, toggled } = await load("model_boxes.ts");
assert.deepEqual([[-1, 8, 8, 4], [-6, 2], [], null].map(shape_text), ["batch×8×8×4", "6·batch×2", "scalar", ""]);
const op = (name, block, reads, more = {}) => ({ name, kind: "relu", ...(block !== undefined && { block }), reads, outputs: [[-1, 4]], parameters: [], values: 0, ...more });
const from_op = (at, output = 0) => ({ op: at, output });
const graph = { inputs: [{ name: "input", shape: [-1, 2], type: "float32" }], output: from_op(4), values: 7, ops_left_out: 0,
  blocks: [{ name: "body", first: 1, ops: 3, values: 7 }, { name: "a", first: 1, ops: 2, values: 7, parent: 0 }],
  ops: [op("stem", undefined, [{ input: 0 }]), op("a.one", 1, [from_op(0)], { values: 7, kind: "dense" }), op("a.two", 1, [from_op(1), from_op(0)]), op("b", 0, [from_op(2)]), op("head", undefined, [from_op(3), from_op(3)])] };
const drawn = (open) => { const { boxes, arrows, open: frames } = boxes_of(graph, new Set(open)); return [boxes.map((box) => box.id).join(" "), arrows.map(({ from, to }) => `${from}>${to}`).join(" "), frames.join()]; };
assert.deepEqual(drawn([]), ["input-0 op-0 block-0 op-4 output", "input-0>op-0 op-0>block-0 block-0>op-4 op-4>output", ""]);
assert.deepEqual(drawn([0]), ["input-0 op-0 block-1 op-3 op-4 output", "input-0>op-0 op-0>block-1 block-1>op-3 op-3>op-4 op-4>output", "0"]);
assert.deepEqual(drawn([0, 1])[0], "input-0 op-0 op-1 op-2 op-3 op-4 output");
assert.deepEqual(drawn([1]), drawn([])); // what is in a closed block is not seen
assert.equal(boxes_of(graph, new Set()).boxes[2].note, "3 ops, 7 parameters");
assert.deepEqual(boxes_of(graph, new Set()).arrows[0].shapes, ["batch×2"]);
assert.equal(path_of_op(graph, graph.ops[1]), "body > a");
assert.deepEqual([...toggled(graph, new Set([0, 1]), 0)], []); // those in it close, too
const broad = { ...graph, blocks: [{ name: "all", first: 0, ops: kBoxesMax, values: 0 }], output: from_op(0), ops: Array.from({ length: kBoxesMax }, (_, i) => op(`o${i}`, 0, [])) };
assert.equal(toggled(broad, new Set(), 0), undefined);
const dense = (count, block) => ({ ...broad, blocks: [{ ...broad.blocks[0], ops: count }], ops: Array.from({ length: count }, (_, i) => op(`o${i}`, block, Array.from({ length: i }, (_, j) => from_op(j)))) });
for (const [count, is_little] of [[32, true], [33, false]]) { // each op reads all before it: count * (count - 1) / 2 arrows, and one to the output
  assert.equal(count * (count - 1) / 2 + 1 <= kArrowsMax, is_little);
  assert.equal(are_drawn(boxes_of(dense(count), new Set())), is_little);
  assert.deepEqual([toggled(dense(count, 0), new Set(), 0) !== undefined, openable(dense(count, 0), [0]).length], [is_little, is_little ? 1 : 0]);
}
assert.deepEqual([openable(broad, [0]), openable(graph, [0, 1, 2])], [[], [0, 1]]); // as an address names them
assert.deepEqual(boxes_of({ ...graph, output: from_op(9), ops_left_out: 5 }, new Set()).boxes.at(-1).id, "op-4"); // the last op is left out
const { layout_of } = await load("model_layout.ts");
const laid = layout_of(boxes_of(graph, new Set([0, 1])), { parent_of: (block) => graph.blocks[block].parent, name_of: (block) => graph.blocks[block].name, shown: (text) => text });
const inside = (one, other) => one.x >= other.x && one.y >= other.y && one.x + one.width <= other.x + other.width && one.y + one.height <= other.y + other.height;
assert.ok(inside(laid.frames[1], laid.frames[0]));
const [outer, inner] = laid.frames.map((frame) => frame.head); // both blocks begin with the same op
assert.ok(inner.x >= outer.x + outer.width || inner.y >= outer.y + outer.height);
for (const place of laid.boxes) {
  if (place.box.around !== undefined) assert.ok(inside(place, laid.frames[place.box.around]), place.box.id);
  assert.ok(inside(place, { x: 0, y: 0, width: laid.width, height: laid.height }), place.box.id);
}
const tops = Object.fromEntries(laid.boxes.map((place) => [place.box.id, place.y]));
for (const { arrow } of laid.arrows) assert.ok(tops[arrow.from] < tops[arrow.to], `${arrow.from} to ${arrow.to} leads down`);

// ---- Phases of attempts
const { attempts, funnel, joined, seconds_of, told_of } = await load("phases.ts");
const at = (s) => new Date(Date.UTC(2026, 0, 1) + s * 1000).toISOString();
const told = [["round_opened", 0], ["round_collecting", 4], ["round_extended", 9], ["round_frozen", 15], ["round_finalizing", 16], ["round_finalizing", 18], ["round_done", 21]]
  .map(([kind, s]) => told_of(kind, { time: at(s), round: 2, attempt: 1 }));
const attempt = { number: 2, attempt: 1, state: "done", opened: at(0), closed: at(21), selected: 13, accepted: 10, goal_count: 10 };
const [whole, known] = attempts([attempt, attempt], [], 0).concat(attempts([attempt], told, 0)).slice(1);
assert.deepEqual(whole.phases, [{ name: "whole", seconds: 21 }]); // no event tells of it
assert.deepEqual(known.phases.map((phase) => [phase.name, phase.seconds]), [["selecting", 4], ["collecting", 11], ["closing", 1], ["finalizing", 2], ["finalizing", 3]]);
assert.deepEqual([seconds_of(known, "finalizing"), seconds_of(known, "whole"), known.extended, known.seconds], [5, null, 1, 21]);
const [under_way] = attempts([{ ...attempt, state: "collecting", closed: undefined }], told.slice(0, 2), Date.parse(at(30)));
assert.deepEqual(under_way.phases.map((phase) => phase.seconds), [4, 26]);
assert.equal(attempts([attempt], told.slice(2), 0)[0].phases[0].name, "whole"); // its beginning is not told
assert.equal(told_of("round_done", { time: "never", round: 1, attempt: 1 }), null);
assert.equal(told_of("job_failed", { time: at(0), round: 1, attempt: 1 }), null);
assert.equal(joined(told, told).length, told.length);
assert.deepEqual(funnel(attempt, 40).map(([step, count]) => [step, count]), [["waiting", null], ["drawn", 13], ["accepted", 10], ["goal", 10]]); // nobody has kept who waited
assert.deepEqual(funnel({ ...attempt, state: "collecting", accepted: 3 }, 40)[0], ["waiting", 40, "of the population, now"]);
// As the server tells them, each device at one code.
const codes = [{ code: "not_drawn", devices: 5, meaning: "waited, and others were drawn" }, { code: "plan_refused", reason: "charging", devices: 2, meaning: "refused the plan" },
  { code: "counted", devices: 10, meaning: "are counted" }];
assert.deepEqual(funnel(attempt, 40, codes), [["asked", 17, ""], ["waiting", 17, ""], ["drawn", 12, "without 5 not_drawn"], ["downloaded", 12, ""], ["trained", 10, "without 2 plan_refused/charging"],
  ["accepted", 10, ""], ["goal", 10, "reached"]]);
assert.equal(funnel(attempt, 40, codes.slice(0, 2)).at(-1)[2], "not reached");
for (const of of [[], codes]) {
  assert.deepEqual(funnel(attempt, 40, of, 90)[0], ["eligible", 90, "enrolled, now"]);
  assert.deepEqual(funnel(attempt, 40, of, null)[0], ["eligible", null, "for an operator or a security_admin"]);
}
assert.ok(!funnel({ ...attempt, state: "failed", accepted: 0 }, 40).some(([step]) => step === "accepted"));

// ---- Devices of a round
const { attempt_named, cursor_behind, missing_of, steps_of } = await load("round_devices.ts");
const one_of_each = ["waiting", "not_drawn", "no_place", "resting", "unsupported", "other_round", "desk_full", "gone", "stopping", "unremembered", "ticket", "joined", "downloaded", "plan_refused", "uploading",
  "update_refused", "late", "counted", "of_a_later_version"].map((code) => ({ code, devices: 1 }));
assert.deepEqual(steps_of(one_of_each).map((step) => [step.name, step.devices, step.lost.length]), [["asked", 19, 0], ["waiting", 13, 6], ["drawn", 8, 5], ["downloaded", 6, 2], ["trained", 4, 2], ["accepted", 1, 3]]);
assert.equal(missing_of(one_of_each).length, 18);
assert.deepEqual(steps_of([]).map((step) => step.devices), [0, 0, 0, 0, 0, 0]);
const some_rounds = [{ number: 7, attempt: 2 }, { number: 7, attempt: 1 }, { number: 6, attempt: 1 }];
assert.deepEqual(["", undefined, "7", "7.1", "6", "6.9", "x", "99"].map((name) => some_rounds.indexOf(attempt_named(some_rounds, name))), [0, 0, 0, 1, 2, 0, 0, 0]);
assert.equal(attempt_named([], "7"), undefined);
assert.deepEqual(["", "7", "7.2", "x", "7.", "1e3", "7.2.1", "9".repeat(30)].map(cursor_behind), ["", "8.0", "7.3", "", "", "", "", ""]); // a server is asked for no other
const { device_times, kUnended, straggling } = await load("round_trace.ts");
const slice = (pid, tid, cat, name, ts, dur) => ({ ph: "X", pid, tid, cat, name, ts, dur });
const thread = (pid, tid, name) => ({ ph: "M", name: "thread_name", pid, tid, args: { name } });
const file = { traceEvents: [{ ph: "M", name: "process_name", pid: 1, args: { name: "round 2, attempt 1" } }, { ph: "M", name: "process_name", pid: 2, args: { name: "round 2, attempt 2" } },
  slice(2, 1, "phase", "round", 5e6, 9e6), thread(2, 10000, "device 1 of 9"), thread(2, 10001, "device 2 of 9"), thread(2, 100, "store"), thread(1, 10000, "device 1 of 3"),
  slice(2, 10000, "device", "downloads and trains", 6e6, 1e6), slice(2, 10000, "device", "uploads", 7e6, 5e5), slice(2, 10001, "device", `downloads and trains${kUnended}`, 6e6, 8e6),
  slice(2, 100, "store", "move round", 5e6, 1), slice(1, 10000, "device", "uploads", 0, 9e9), { ph: "X", pid: 2, tid: 10001, cat: "device", name: "uploads", ts: "x" }] };
assert.deepEqual(device_times(file, 2, 2), [{ name: "device 2 of 9", steps: [{ name: `downloads and trains${kUnended}`, from: 1, seconds: 8 }], ended: 9 },
  { name: "device 1 of 9", steps: [{ name: "downloads and trains", from: 1, seconds: 1 }, { name: "uploads", from: 2, seconds: 0.5 }], ended: 2.5 }]);
for (const other of [device_times(file, 3, 1), device_times({}, 2, 2), device_times({ traceEvents: 1 }, 2, 2)]) assert.deepEqual(other, []);
assert.deepEqual([straggling(device_times(file, 2, 2)), straggling([9, 4, 3, 1].map((ended) => ({ ended })))], [null, { slowest: 9, middle: 3 }]);

// ---- Forecast of epsilon. The values are those of tests/unit/secure/dp, which the server's accountant meets.
const { delta_of, epsilon_of, forecast, mu_of, upper_tail } = await load("forecast.ts");
const is_near = (found, wanted, relative) => assert.ok(Math.abs(found - wanted) <= relative * Math.abs(wanted), `${found}, not ${wanted}`);
for (const [mu, epsilon, delta] of [[1, 1, 0.12693673750664392], [0.5, 0.5, 0.05244032328766951], [1.25, 3, 0.012979294297252128]]) {
  is_near(delta_of(mu, epsilon), delta, 1e-12);
  is_near(epsilon_of(mu, delta), epsilon, 1e-9);
  is_near(mu_of(epsilon, delta), mu, 1e-9);
}
for (const [rho, delta, exact] of [[0.81, 1e-10, 8.548917], [0.5, 1e-6, 4.886554], [1, 1e-6, 7.286081], [0.1, 1e-10, 2.752971], [2.63, 1e-10, 16.741981]])
  is_near(epsilon_of(Math.sqrt(2 * rho), delta), exact, 1e-6);
for (const t of [2.4999999, 2.5000001]) is_near(upper_tail(t), 0.006209665325776132, 1e-6); // both ways of it meet
const noisy = (epsilon, releases, budget, more = {}) => ({ rounds_done: releases, spec: { rounds: { count: 100 } },
  privacy: { epsilon, delta: 1e-6, epsilon_budget: budget, releases, accountant: "exact", ...more } });
const eight = forecast(noisy(epsilon_of(0.5 * Math.sqrt(8), 1e-6), 8, epsilon_of(0.5 * Math.sqrt(20), 1e-6) * 1.001));
assert.deepEqual([eight.last, eight.points.length], [20, 21]);
for (const k of [1, 8, 20]) is_near(eight.points[k - 1].epsilon, epsilon_of(0.5 * Math.sqrt(k), 1e-6), 1e-9);
assert.equal(forecast(noisy(2, 10, 2)).last, 10);
assert.equal(forecast(noisy(0.001, 10, 1e6)).points.at(-1).release, 100); // what the job plans fits
const long = forecast({ ...noisy(1, 2000, 1.2), spec: { rounds: { count: 9000 } } });
assert.ok(long.points.length < 310 && long.points.some((one) => one.release === long.last && one.epsilon <= 1.2), `${long.points.length} points`);
assert.match(forecast(noisy(null, 10, 5)), /not bounded/);
assert.match(forecast(noisy(0, 0, 5)), /Nothing is released/);
assert.match(forecast({ spec: { privacy: { mechanism: "tree" } }, privacy: {} }), /tree/);

// ---- A job's rounds, asked for again
const { asked_of, kFirst, kNothing, kRoundsMax, renewed, whole_of, with_made } = await load("job_rounds.ts");
const numbered = (from, to) => Array.from({ length: from - to + 1 }, (_, i) => ({ number: from - i, attempt: 1 }));
assert.deepEqual(renewed(numbered(900, 1), numbered(901, 882), 20, 2000), numbered(901, 1));
assert.deepEqual(renewed(numbered(900, 801), numbered(901, 882), 20, 100), numbered(901, 802)); // the newest so many
assert.equal(renewed(numbered(900, 1), numbered(2000, 1981), 20, 2000), null); // more has happened than a page has
assert.deepEqual(renewed(numbered(3, 1), numbered(4, 1), 20, 2000), numbered(4, 1));
const marked = (released, ...of) => of.map((version) => ({ version, released: version === released }));
const making = (...of) => of.map((version) => ({ number: version, attempt: 1, state: "done", model: { version } }));
assert.deepEqual(with_made(marked(1, 0, 1), [{ number: 3, state: "collecting" }, ...making(2, 1)], { released: { version: 2 } }), marked(2, 0, 1, 2)); // promoted since
assert.deepEqual(with_made(marked(1, 0, 1), [], {}), marked(null, 0, 1)); // rolled back since
let newest = 1000, gone = 0, asked_for = [];  // a server whose job has that many rounds, and no more the first `gone`
globalThis.fetch = async (path) => {
  const { pathname, searchParams } = new URL(path, "https://x"), limit = Number(searchParams.get("limit"));
  asked_for.push(path.replace("/admin/v1/", ""));
  if (pathname.endsWith("/curves")) return Response.json({ rounds: newest, round: [1, newest], columns: { accepted: [1, newest] } });
  if (pathname.endsWith("/models")) {
    const after = Number(searchParams.get("after") ?? -1), models = marked(null, ...Array.from({ length: newest + 1 }, (_, i) => i)).filter(({ version }) => version > after).slice(0, limit);
    return Response.json({ models, ...(models.at(-1)?.version < newest ? { next_after: models.at(-1).version } : {}) });
  }
  if (!pathname.endsWith("/rounds")) return Response.json({});
  const from = parseInt(searchParams.get("before") ?? newest + 1, 10) - 1, rounds = making(...Array.from({ length: Math.min(limit, from - gone) }, (_, i) => from - i)).map((round) => ({ ...round, accepted: 7 }));
  return Response.json({ rounds, ...(rounds.length === limit ? { next_before: `${rounds.at(-1).number}.1` } : {}) });
};
const opened = await asked_of("jobs/j", kNothing);
assert.deepEqual(asked_for, ["jobs/j", `jobs/j/rounds?limit=${kFirst}`, "jobs/j/curves?points=600"]); // three questions, however many rounds there are
assert.deepEqual([opened.rounds.length, opened.is_whole, opened.curves.total, opened.models.map(({ version }) => version)], [kFirst, false, 1000, Array.from({ length: kFirst }, (_, i) => 1001 - kFirst + i)]);
[newest, asked_for] = [1002, []];
const later = await asked_of("jobs/j", opened);
assert.deepEqual(asked_for, ["jobs/j", "jobs/j/rounds?limit=20"]); // two behind an event: the rounds that are new extend the curves
assert.deepEqual([later.rounds.length, later.models.length, later.curves.xs, later.curves.columns.accepted, later.models.at(-1).version], [kFirst, kFirst, [1, 1000, 1001, 1002], [1, 1000, 7, 7], 1002]);
newest = 2000; // more has happened than a page has
assert.deepEqual((await asked_of("jobs/j", later)).curves.total, 2000);
const all_of_it = await whole_of("jobs/j");
assert.deepEqual([all_of_it.rounds.length, all_of_it.models.length, all_of_it.is_whole], [2000, 2001, true]);
newest = 2001;
assert.deepEqual((await asked_of("jobs/j", all_of_it)).rounds.length, 2001); // and stays whole
newest = 3;
const few = await asked_of("jobs/j", kNothing);
assert.deepEqual([few.is_whole, few.models.map(({ version }) => version), kRoundsMax], [true, [0, 1, 2, 3], 20_000]); // and the one that the job began from
gone = 2;
assert.deepEqual((await asked_of("jobs/j", kNothing)).models.map(({ version }) => version), [0, 1, 2, 3]); // also those of rounds that are gone

// ---- What a page hears of a job's past
const { replay } = await load("event_replay.ts");
const log_of = (events_a_round) => { // 5,000 events, each round's first opens it
  const asked = [];
  globalThis.fetch = async (_, { headers }) => {
    const from = Number(headers["Last-Event-ID"].split("-")[1]);
    asked.push(from);
    const told = Array.from({ length: 5000 - from }, (_, i) => from + 1 + i).map((seq) => `event: ${seq % events_a_round === 0 ? "round_opened" : "updates_accepted"}
data: {"time":"2026-01-01T00:00:00.000Z","round":${Math.floor(seq / events_a_round)},"attempt":1}\n\n`);
    return new Response(told.join("") + "event: round\ndata: {}\n\n");
  };
  return asked;
};
const short_rounds = log_of(10), heard = await replay("events", "aa-5000", 20, new AbortController().signal);
assert.deepEqual([short_rounds, heard.length], [[4750], 25]); // the newest are enough
const long_rounds = log_of(250), all_heard = await replay("events", "aa-5000", 20, new AbortController().signal);
assert.deepEqual([long_rounds, all_heard.length], [[4750, 4000, 0], 20]); // they are not

// ---- When a page asks again
const { is_news, kInARow, kMovedMs, kRestMs, RefreshPace } = await load("refresh_pace.ts");
assert.deepEqual(["round_done", "job_failed", "opened", "round_frozen"].map(is_news), [true, true, false, false]);
const pace = new RefreshPace();
assert.equal(pace.happened(1000, false), kMovedMs); // it only moves a round on
assert.equal(pace.happened(1001, false), null); // it is asked anyhow
assert.equal(pace.happened(1100, true), 0); // news do not wait for it
pace.begin(1100);
assert.equal(pace.left(1000 + kMovedMs), null); // the wait that began first is over for nothing
assert.equal(pace.happened(1110, true), null); // not while a question is out,
assert.equal(pace.end(1130), 0); // but behind it
for (let i = 1; i < kInARow; i++) pace.begin(1130 + i);
assert.equal(pace.end(1140), null); // nothing has happened since
assert.equal(pace.happened(1150, true), kInARow * kRestMs - 50); // a row is over, the first of which was asked at 1100
assert.equal(pace.left(1160), kInARow * kRestMs - 60); // too early
pace.begin(1100 + kInARow * kRestMs);
assert.equal(pace.happened(1101 + kInARow * kRestMs, true), null);
assert.equal(pace.end(1000 + 9 * kRestMs), 0); // a slow answer is no reason to wait for longer, and is not thrown away
const paced = new RefreshPace(), asked_at = [];
for (let now = 0; now < 10_000; now++) { // news without end
  paced.happened(now, true);
  if (paced.left(now) !== 0) continue;
  asked_at.push(now);
  paced.begin(now);
  paced.end(now);
}
for (let i = kInARow; i < asked_at.length; i++) assert.ok(asked_at[i] - asked_at[i - kInARow] >= kInARow * kRestMs);
assert.ok(asked_at.length >= 10_000 / kRestMs);
// Three rounds a second, each of which moves on between: its end finds a question of the row left. A page that saw none end still asks.
const brisk = new RefreshPace(), waits = [];
for (let now = 0; now < 10_000; now++) {
  if (now % 333 === 0) waits.push(brisk.happened(now, true));
  if (now % 333 === 2 || now % 333 === 200) brisk.happened(now, false);
  if (brisk.left(now) !== 0) continue;
  brisk.begin(now);
  brisk.end(now);
}
assert.deepEqual(waits, waits.map(() => 0));

// ---- Populations
const { populations } = await load("populations.ts");
const job_in = (id, population, state) => ({ id, state, spec: { name: id, ...(population && { population }) } });
const named = (of) => of.map(({ name, waiting, enrolled, jobs, budget }) => [name, waiting, enrolled, jobs.map((one) => one.id).join(), budget?.epsilon ?? null]);
const some = [job_in("a", "phones", "running"), job_in("b", undefined, "completed"), job_in("c", "phones", "failed")];
assert.deepEqual(named(populations(some, { phones: 3 }, [{ population: "cars", epsilon: 2 }], [{ population: "phones" }, { population: "phones", revoked: "2026" }, { population: "tvs" }])),
  [["cars", 0, 0, "", 2], ["default", 0, 0, "b", null], ["phones", 3, 1, "a,c", null], ["tvs", 0, 1, "", null]]);
assert.deepEqual(named(populations([], { __proto__: { x: 1 }, phones: 1 }, [], null)), [["phones", 1, null, "", null]]);
