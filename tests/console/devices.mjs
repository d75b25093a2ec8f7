// Real devices, each a process of `coterie device run`.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

// Devices that enrol in `population` at the server that runs on the data directory `data`, and take part in `rounds` rounds each. Device i has
// the rows of shards/device-0i.cotf in `folder`, where it keeps its state, too. Resolves when all have ended.
export async function run_devices({ coterie, data, folder, population, devices, rounds, more = [] }) {
  const token = execFileSync(coterie, ["--data-dir", data, "token", "create", "--uses", String(devices), "--population", population, "-o", "json"], { stdio: "pipe" }).toString();
  const { device_url } = JSON.parse(readFileSync(join(data, "endpoints.json"), "utf8"));
  await Promise.all(Array.from({ length: devices }, (_, i) => new Promise((done, failed) =>
    spawn(coterie, ["device", "run", "--server", device_url, "--ca", join(data, "tls/ca.pem"), "--token", JSON.parse(token).token, "--state-dir", `${population}-${i}`, "--data", join("shards", `device-0${i + 1}.cotf`),
      "--rounds", String(rounds), "--security-level-min", "none", "--cohort-min", "2", ...more], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
      .once("exit", (code) => code ? failed(new Error(`a device of ${population} ended with ${code}`)) : done()))));
}
