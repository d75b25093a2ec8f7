// For the browser test: a job that evaluates a model on six real devices, in two rounds and by groups with names of strangers, and a job whose
// first version that model is.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const kGroups = ["<b>south", "north", "west"]; // as an encoding orders them
const kPopulation = "judges", kDevices = 6;

// `data`: the data directory of a server that runs. Resolves, with the jobs' ids, when the evaluation is over.
export async function evaluate({ coterie, data, folder }) {
  mkdirSync(folder, { recursive: true });
  const at = (name) => join(folder, name);
  const run = (...args) => execFileSync(coterie, args, { cwd: folder, stdio: "pipe" }).toString().trim();
  const admin = (...args) => run("--data-dir", data, ...args);
  const rows = Array.from({ length: 240 }, (_, i) => {
    const x = ((i * 7) % 19) / 9 - 1;
    return `${kGroups[i % 3]},${x.toFixed(3)},${(x > 0) === (i % 5 > 0 || i % 3 === 1) ? "yes" : "no"}`;
  });
  writeFileSync(at("table.csv"), ["kind,x,answer", ...rows].join("\n") + "\n");
  run("data", "make", "csv:table.csv?target=answer&numbers=raw", "--devices", String(kDevices), "--held-out", "0.1", "-o", "shards", "--quiet");
  run("model", "new", "logistic", "--input", "4", "--classes", "2", "--seed", "1", "-o", "model.cotf");
  const create = (name, job) => {
    writeFileSync(at(`${name}.json`), JSON.stringify({ name, ...job }));
    return JSON.parse(admin("job", "create", `${name}.json`, "--model", "model.cotf", "-o", "json")).id;
  };
  const trained = create("judged", { population: "nobody", rounds: { goal_count: 3 }, privacy: { level: "none" } });
  const judge = create("judge", { population: kPopulation, privacy: { level: "none" }, rounds: { count: 2, goal_count: 3, goal_count_min: 3, over_selection: 1 },
    analytics: { kind: "evaluation", input_values: 4, classes: ["no", "yes"], feature: 0, categories: kGroups, column: "kind" } });
  const token = admin("token", "create", "--uses", String(kDevices), "--population", kPopulation, "-o", "json");
  const { device_url } = JSON.parse(readFileSync(join(data, "endpoints.json"), "utf8"));
  await Promise.all(Array.from({ length: kDevices }, (_, i) => new Promise((done, failed) =>
    spawn(coterie, ["device", "run", "--server", device_url, "--ca", join(data, "tls/ca.pem"), "--token", JSON.parse(token).token, "--state-dir", at(`device-${i}`), "--data", join("shards", `device-0${i + 1}.cotf`),
      "--rounds", "1", "--security-level-min", "none", "--cohort-min", "2", "--accept-analytics"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
      .once("exit", (code) => code ? failed(new Error(`a device ended with ${code}`)) : done()))));
  return { judge, trained };
}
