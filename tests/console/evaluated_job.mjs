// For the browser test: a job that evaluates a model on six real devices, in two rounds and by groups with names of strangers; a job whose
// first version that model is; and a job that a robust rule has trained on three of these devices, so that its updates are measured.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run_devices } from "./devices.mjs";

export const kGroups = ["<b>south", "north", "west"]; // as an encoding orders them
const kDevices = 6;

// `data`: the data directory of a server that runs. Resolves, with the jobs' ids, when evaluation and training are over.
export async function evaluate({ coterie, data, folder }) {
  mkdirSync(folder, { recursive: true });
  const at = (name) => join(folder, name);
  const run = (...args) => execFileSync(coterie, args, { cwd: folder, stdio: "pipe" }).toString().trim();
  const rows = Array.from({ length: 240 }, (_, i) => {
    const x = ((i * 7) % 19) / 9 - 1;
    return `${kGroups[i % 3]},${x.toFixed(3)},${(x > 0) === (i % 5 > 0 || i % 3 === 1) ? "yes" : "no"}`;
  });
  writeFileSync(at("table.csv"), ["kind,x,answer", ...rows].join("\n") + "\n");
  run("data", "make", "csv:table.csv?target=answer&numbers=raw", "--devices", String(kDevices), "--held-out", "0.1", "-o", "shards", "--quiet");
  run("model", "new", "logistic", "--input", "4", "--classes", "2", "--seed", "1", "-o", "model.cotf");
  const create = (name, job) => {
    writeFileSync(at(`${name}.json`), JSON.stringify({ name, ...job }));
    return JSON.parse(run("--data-dir", data, "job", "create", `${name}.json`, "--model", "model.cotf", "-o", "json")).id;
  };
  const rounds = { count: 2, goal_count: 3, goal_count_min: 3, over_selection: 1 }, privacy = { level: "none" };
  const trained = create("judged", { population: "nobody", rounds: { goal_count: 3 }, privacy });
  const measured = create("measured", { population: "measured", privacy, rounds, aggregation: { rule: "median" } });
  const judge = create("judge", { population: "judges", privacy, rounds,
    analytics: { kind: "evaluation", input_values: 4, classes: ["no", "yes"], feature: 0, categories: kGroups, column: "kind" } });
  const both = { coterie, data, folder };
  await run_devices({ ...both, population: "judges", devices: kDevices, rounds: 1, more: ["--accept-analytics"] });
  await run_devices({ ...both, population: "measured", devices: rounds.goal_count, rounds: rounds.count });
  return { judge, trained, measured };
}
