// The pages that are a question and a table. What a caller's roles do not let them see, the server says.
import { Alarms } from "./alarms";
import { get, list } from "./api";
import { digest, Facts, Said, Table, useAsked } from "./parts";
import { number, shown, time } from "./text";

const kRefreshMs = 5000;
const yes = (value: unknown) => value ? "yes" : "no";
// `leader`: the name of the node that leads; null: none does; undefined: a server of before does not tell.
function leader_text(leader: string | null | undefined, is_this: boolean): string {
  if (leader === undefined) return is_this ? "this server" : "another server";
  return leader === null ? "none at the moment" : is_this ? `${leader}, this server` : leader;
}
const job_link = (id: string, text = id) => <a href={`#/jobs/${encodeURIComponent(id)}`}>{shown(text)}</a>;

export function Overview() {
  const { value, error } = useAsked(async () => ({ server: await get("server"), fleet: await get("nodes"), jobs: await list("jobs", "jobs") }), "overview", kRefreshMs);
  if (!value) return <Said error={error} waits />;
  const { server, fleet: { nodes, leader }, jobs } = value;
  const count = (state: string) => jobs.filter((job) => job.state === state).length;
  const waiting = Object.values(server.devices_waiting as Record<string, number>).reduce((a, b) => a + b, 0);
  return <><h1>Overview</h1><Said error={error} />
    <Facts of={[["version", server.version], ["ready", yes(server.ready)], ["leader", leader_text(leader, server.leads)], ["nodes heard of", number(nodes.length)], ["started", time(server.started)],
      ["devices enrolled", number(server.devices)], ["devices waiting", number(waiting)],
      ...["running", "paused", "completed", "failed", "cancelled"].map((state) => [`jobs ${state}`, String(count(state))] as [string, string])]} />
    <Alarms server={server} />
    <Table name="Rounds now" head={["job", "round", "attempt", "state", "drawn", "accepted"]} rows={server.jobs.map((j: any) =>
      [job_link(j.job), number(j.round), number(j.attempt), j.state ?? "between rounds", number(j.selected), number(j.accepted)])} />
    <Table name="Nodes" head={["node", "leads", "started", "heard s ago", "serves devices", "draining", "waiting", "load"]} rows={nodes.map((n: any) =>
      [n.node, yes(n.leads), time(n.started), number(n.seconds_since_heard, 1), yes(n.serves_devices), yes(n.draining), number(n.devices_waiting), number(n.load?.highest, 3)])} />
    {server.store && <Table name="Store" head={["kind", "rows", "bytes"]} rows={Object.entries(server.store as object).map(([kind, use]: [string, any]) => [kind, number(use.rows), number(use.bytes)])} />}
  </>;
}

export function Jobs() {
  const { value, error } = useAsked(() => list("jobs", "jobs"), "jobs", kRefreshMs);
  if (!value) return <Said error={error} waits />;
  return <><h1>Jobs</h1><Said error={error} /><Table name="All jobs" head={["name", "id", "state", "rounds", "population", "level", "created", "reason"]}
    rows={[...value].reverse().map((j) => [job_link(j.id, j.spec.name), j.id, j.state, `${j.rounds_done}/${j.spec.rounds?.count ?? 10}`, j.spec.population ?? "default",
      j.spec.privacy?.level ?? "active", time(j.created), j.reason ?? ""])} /></>;
}

export function Devices() {
  const { value, error } = useAsked(async () => ({ total: (await get("devices?limit=1")).total, devices: await list("devices", "devices", 1000) }), "devices");
  if (!value) return <Said error={error} waits />;
  return <><h1>Devices</h1><Facts of={[["enrolled", number(value.total)], ["shown", number(value.devices.length)]]} />
    <Table name="Devices" head={["id", "population", "key", "SDK", "enrolled", "revoked"]} rows={value.devices.map((d) =>
      [d.id, d.population, d.key_algorithm, d.sdk_version, time(d.enrolled), time(d.revoked)])} /></>;
}

export function Privacy({ officer }: { officer: boolean }) {
  const { value, error } = useAsked(async () => ({ budgets: await list("privacy-budgets", "privacy_budgets"),
    ledger: officer ? await list("ledger", "records") : [], head: officer ? (await get("ledger?limit=1")).head : null }), "privacy");
  if (!value) return <Said error={error} waits />;
  return <><h1>Privacy</h1>
    <Table name="Budgets of populations" head={["population", "epsilon spent", "budget", "delta", "accountant", "releases", "jobs"]} rows={value.budgets.map((b) =>
      [b.population, b.epsilon === null ? "unbounded" : number(b.epsilon), b.epsilon_budget === null ? "none" : number(b.epsilon_budget), String(b.delta), b.accountant, number(b.releases), number(b.jobs)])} />
    {officer ? <><p>The ledger has {number(value.head?.seq)} records; its head is <code class="long">{value.head?.digest ?? "–"}</code>. This page does not verify the chain of digests: <code>coterie privacy verify</code> does.</p>
      <Table name="Ledger" head={["seq", "time", "job", "round", "attempt", "kind", "mechanism", "variance", "digest"]} rows={value.ledger.map((r) =>
        [String(r.seq), time(r.time), job_link(r.job), String(r.round), String(r.attempt), r.kind, r.mechanism, number(r.variance), digest(r.digest)])} /></> :
      <p>The ledger is for a privacy_officer.</p>}</>;
}

export function Tokens({ security, shut_out }: { security: boolean; shut_out: boolean }) {
  const { value, error } = useAsked(async () => ({ admin: security ? await list("tokens", "tokens") : null,
    enrollment: shut_out ? await list("enrollment-tokens", "tokens") : null }), "tokens");
  if (!value) return <Said error={error} waits />;
  return <><h1>Tokens</h1>
    {value.admin && <Table name="Admin tokens" head={["id", "label", "roles", "tenant", "made by", "created", "expires"]} rows={value.admin.map((t) =>
      [t.id, t.label, t.roles.join(", "), t.tenant, t.created_by, time(t.created), time(t.expires)])} />}
    {value.enrollment && <Table name="Enrollment tokens" head={["id", "population", "label", "uses left", "created", "expires"]} rows={value.enrollment.map((t) =>
      [t.id, t.population, t.label, number(t.uses_left), time(t.created), time(t.expires)])} />}
    {!value.admin && !value.enrollment && <p>Tokens are for an operator or a security_admin.</p>}</>;
}
