// A real fl_server, and a token for it, for a page in Chromium.
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

// Serves the data directory `data` on 127.0.0.1, at ports that the system gives; `more`: further arguments. It is up when this returns.
export async function start_server(programs, data, more = []) {
  rmSync(join(data, "endpoints.json"), { force: true });
  const server = spawn(join(programs, "fl_server"), [...more, "--data-dir", data, "--device-address", "127.0.0.1", "--device-port", "0", "--admin-port", "0"],
    { stdio: ["ignore", "inherit", "pipe"] });
  const lines = createInterface({ input: server.stderr });
  await new Promise((up, down) => {
    lines.on("line", (line) => line.startsWith("  token") && up());  // the last of what it says first
    server.on("exit", (code) => down(new Error(`fl_server ended with ${code}`)));
  });
  const stop = async () => {
    server.removeAllListeners("exit");
    if (server.exitCode === null) await new Promise((ended) => { server.once("exit", ended); server.kill("SIGTERM"); });
  };
  return { ...JSON.parse(readFileSync(join(data, "endpoints.json"), "utf8")), pid: server.pid, token: readFileSync(join(data, "admin-token"), "utf8").trim(), stop };
}
