// Populations: who trains what, and what it has cost them in privacy.
import { get, Json, list, Session } from "./api";
import { Facts, Said, Table, useAsked } from "./parts";
import { Population, populations } from "./populations";
import { number, shown } from "./text";

const kRefreshMs = 15_000, kDevicesMax = 10_000;
const count = (of: Population, ...states: string[]) => number(of.jobs.filter((job) => states.includes(job.state)).length);
const epsilon = (value: unknown, none: string) => value === null ? none : number(value);
const link = (job: Json) => <a href={`#/jobs/${encodeURIComponent(job.id)}`}>{shown(job.spec.name)}</a>;

export function Populations({ session }: { session: Session }) {
  const sees_devices = session.roles.some((role) => ["operator", "security_admin"].includes(role));
  // Devices are many requests, and change little: once for each visit.
  const enrolled = useAsked(async () => sees_devices ? list("devices", "devices", kDevicesMax) : null, `enrolled ${sees_devices}`);
  const asked = useAsked(async () => Promise.all([get("server"), list("jobs", "jobs"), list("privacy-budgets", "privacy_budgets")]), "populations", kRefreshMs);
  const error = asked.error ?? enrolled.error;
  if (!asked.value || enrolled.value === undefined) return <><h1>Populations</h1><Said error={error} waits /></>;
  const [server, jobs, budgets] = asked.value, devices = enrolled.value;
  const value = { of: populations(jobs, server.devices_waiting ?? {}, budgets, devices), is_part: devices !== null && devices.length >= kDevicesMax };
  const waiting = value.of.reduce((sum, one) => sum + one.waiting, 0);
  return <><h1>Populations</h1><Said error={error} />
    <Facts of={[["populations", number(value.of.length)], ["devices waiting", number(waiting)]]} />
    <Table name="All populations" head={["population", "enrolled", "waiting", "jobs running", "paused", "over", "epsilon spent", "budget", "delta", "releases", "newest jobs"]} rows={value.of.map((one) =>
      [one.name, one.enrolled === null ? "–" : number(one.enrolled), number(one.waiting), count(one, "running"), count(one, "paused"), count(one, "completed", "failed", "cancelled"),
        one.budget ? epsilon(one.budget.epsilon, "unbounded") : "–", one.budget ? epsilon(one.budget.epsilon_budget, "none") : "–", one.budget ? String(one.budget.delta) : "–", number(one.budget?.releases),
        <>{one.jobs.slice(-3).reverse().map((job, i) => <>{i > 0 && ", "}{link(job)}</>)}</>])} />
    {sees_devices ? <p>Enrolled devices are those that were not revoked when this page was opened{value.is_part ? `, among the first ${number(kDevicesMax)} by id` : ""}.</p> : <p>How many devices are enrolled is for an operator or a security_admin.</p>}</>;
}
