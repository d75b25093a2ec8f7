// A coordinator of vertical jobs for the browser test, with a job that is done, one that both parties have approved and one that only the label
// party has. Its authority and all certificates are made here, by openssl. `settings` is what a server's configuration has of it.
import { execFileSync, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { cpSync, mkdirSync, watch, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const run = (program, args, cwd) => execFileSync(program, args, { cwd, stdio: "pipe" });

function certify(folder, names) {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  run("openssl", ["req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2"], folder);
  for (const name of names) {
    writeFileSync(join(folder, "san"), `subjectAltName=DNS:${name}`);
    run("openssl", ["req", ...key, "-keyout", `${name}.key`, "-out", "csr", "-subj", `/CN=${name}`], folder);
    run("openssl", ["x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", `${name}.pem`, "-days", "2", "-extfile", "san"], folder);
  }
}

export async function open_coordinator({ coterie, tables, folder }) {
  mkdirSync(folder, { recursive: true });
  certify(folder, ["meeting", "bank", "insurer", "fl-server"]);
  const tls = (name) => ({ ca: "ca.pem", certificate: `${name}.pem`, key: `${name}.key` });
  const write = (name, json) => writeFileSync(join(folder, name), JSON.stringify(json));
  write("coordinator.json", { listen: "127.0.0.1:0", port_file: "port", jobs: "jobs", tls: tls("meeting"), operators: ["fl-server"] });
  const there = new Promise((come) => { const seen = watch(folder, () => { if (existsSync(join(folder, "port"))) { seen.close(); come(); } }); });
  const coordinator = spawn(coterie, ["vertical", "coordinator", "--config", "coordinator.json"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  await Promise.race([there, new Promise((_, failed) => coordinator.once("exit", (code) => failed(new Error(`the coordinator ended with ${code}`))))]);
  const port = Number(readFileSync(join(folder, "port"), "utf8"));

  for (const role of ["label", "feature"]) cpSync(join(tables, `${role}_party.csv`), join(folder, `${role}.csv`));
  const names = { label: "bank", feature: "insurer" }, jobs = [];
  const ask = (command, role) => run(coterie, ["vertical", command, "--config", `${role}.json`], folder);
  const submit = (id) => {
    jobs.push(id);
    write("manifest.json", { kind: "vertical_linear", job: id, leakage_ack: ["L1", "L11", "L10"], linear: { lambda: 1 }, parties: names,
      matching: { salt: randomBytes(32).toString("hex"), id_type: "patient", bucket_items: 65536, intersection_min: 10 } });
    const approved = createHash("sha256").update(readFileSync(join(folder, "manifest.json"))).digest("hex");
    for (const [role, other] of [["label", "feature"], ["feature", "label"]]) {
      write(`${role}.json`, { role, manifest: "manifest.json", approved, table: `${role}.csv`, out: `${id}-${role}`,
        coordinator: { address: `127.0.0.1:${port}`, name: "meeting" }, tls: { ...tls(names[role]), peer_name: names[other] } });
    }
    ask("submit", "label");
    ask("approve", "label");
  };
  submit("a1".repeat(16));
  ask("approve", "feature");
  await Promise.all(["label", "feature"].map((role) => new Promise((done, failed) =>
    spawn(coterie, ["vertical", "party", "--config", `${role}.json`], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
      .once("exit", (code) => code ? failed(new Error(`the ${role} party ended with ${code}`)) : done()))));
  submit("b2".repeat(16));
  ask("approve", "feature");
  submit("c3".repeat(16));
  const at = (name) => join(folder, name);
  coordinator.removeAllListeners("exit");
  return { jobs, settings: { address: "127.0.0.1", port, name: "meeting", ca_file: at("ca.pem"), certificate_file: at("fl-server.pem"), key_file: at("fl-server.key") },
    close: () => coordinator.kill("SIGTERM") };
}
