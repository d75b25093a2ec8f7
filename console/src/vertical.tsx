// Vertical jobs: those of the coordinator that this server is an operator of. Sizes, times and rows of leakage; no party's data comes here.
import { useRef } from "preact/hooks";
import { get, Json, list, Session } from "./api";
import { size } from "./models";
import { Act, Drawing, Facts, Said, Table, useAsked, useWidth } from "./parts";
import { number, shown, time } from "./text";
import { Bar, bars, done_of, stage_now } from "./vertical_stages";

const kRefreshMs = 5000;
const yes = (value: unknown) => value ? "yes" : "no";
const path_of = (id: string) => `vertical-jobs/${encodeURIComponent(id)}`;
const state_of = (job: Json) => job.reason ? `${job.state}: ${job.reason}` : String(job.state);
const approved_by = (job: Json) => job.parties.filter((one: Json) => one.approved).map((one: Json) => one.name).join(", ") || "nobody";

export function VerticalJobs() {
  const { value, error } = useAsked(async () => ({ has: (await get("vertical-jobs?limit=1")).coordinator, jobs: await list("vertical-jobs", "vertical_jobs") }), "vertical", kRefreshMs);
  if (!value) return <><h1>Vertical jobs</h1><Said error={error} waits /></>;
  const jobs = [...value.jobs].sort((a, b) => String(b.changed).localeCompare(String(a.changed)));
  return <><h1>Vertical jobs</h1><Said error={error} />
    {!value.has ? <p>This server is the operator of no coordinator that is yours to see. <code>vertical</code> in its configuration names one.</p> :
      <Table name="Jobs of the coordinator" head={["job", "kind", "state", "label party", "feature party", "approved by", "stage", "changed"]} rows={jobs.map((job) =>
        [<a href={`#/vertical/${encodeURIComponent(job.id)}`}>{shown(job.id)}</a>, job.manifest_kind ?? "–", state_of(job), job.parties[0].name, job.parties.slice(1).map((one: Json) => one.name).join(", "), approved_by(job), stage_now(job.stages), time(job.changed)])} />}</>;
}

export function VerticalJob({ id, session }: { id: string; session: Session }) {
  const path = path_of(id);
  const may = (...roles: string[]) => roles.some((role) => session.roles.includes(role));
  const { value: job, error, refresh } = useAsked(() => get(path), `vertical ${id}`, kRefreshMs);
  if (!job) return <><h1>Vertical job</h1><Said error={error} waits /></>;
  const is_open = !["done", "failed", "cancelled"].includes(job.state);
  const stops = may("operator", "ml_engineer", "privacy_officer");
  const of = bars(job.stages);
  return <><h1>Vertical job</h1><Said error={error} />
    <Facts of={[["job", id], ["state", state_of(job)], ["kind", job.manifest_kind ?? "–"], ["submitted by", `${job.submitted_by} party`], ["approved by", approved_by(job)],
      ["changed", time(job.changed)], ["paused by an operator", yes(job.paused_by_operator)], ["manifest (SHA-256)", job.manifest]]} />
    <p class="bar">
      {is_open && job.state !== "created" && !job.paused_by_operator && stops ? <Act text="Pause" path={`${path}:pause`} then={refresh} /> :
        is_open && job.paused_by_operator && may("operator", "ml_engineer") && <Act text="Resume" path={`${path}:resume`} then={refresh} />}
      {is_open && stops && <Act text="Cancel" path={`${path}:cancel`} sure="End this job for all parties, for good?" then={refresh} />}
      <span>Parties approve by their own keys: <code>coterie vertical approve</code>. Nobody can here.</span>
    </p>
    <Table name="Parties" head={["role", "name", "approved", "paused", "done", "carried from it"]} rows={job.parties.map((one: Json) =>
      [one.role, one.name, yes(one.approved), yes(one.paused), yes(one.done), size(one.relayed_bytes)])} />
    {of.length > 0 && <Stages of={of} />}
    <Table name="Stages by party" head={["stage", "party", "begun", "last heard of", "done", "left about s", "sent"]} rows={job.stages.map((one: Json) =>
      [one.stage, one.role, time(one.begun), time(one.heard), done_of(one), number(one.seconds_left, 0), size(one.sent_bytes)])} />
    <Table name="Who learns what" head={["row", "stage", "the label party learns", "the feature party learns", "the coordinator"]} rows={job.leakage.map((row: Json) =>
      [row.id, row.stage, <Words of={row.label_party_learns} />, <Words of={row.feature_party_learns} />, <Words of={row.coordinator ?? "sizes and times of what it carries"} />])} />
  </>;
}

// A sentence in a cell: read whole, so that it may have several lines.
function Words({ of }: { of: string }) { return <span class="words">{shown(of)}</span>; }

const kRow = 22, kLeft = 150, kRight = 120;
const words = (bar: Bar) => `${bar.stage} of the ${bar.role} party ${bar.done} after ${number(bar.to - bar.from, 1)} s${bar.left ? `, about ${number(bar.left, 0)} s left` : ""}`;

function Stages({ of }: { of: Bar[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const scale = (width - kLeft - kRight) / Math.max(1e-3, ...of.map((bar) => bar.to + bar.left));
  const fill = (bar: Bar) => ({ fill: `var(--line-${bar.role === "label" ? 0 : 1})` });
  return <Drawing name="Stages" says={of.map(words).join("; ")} head={["stage", "party", "begun s", "last heard of s", "left s", "done", "bytes sent"]}
    rows={of.map((bar) => [bar.stage, bar.role, bar.from, bar.to, bar.left, bar.done, bar.bytes])}>
    <p class="key">{["label", "feature"].map((role, i) => <span><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" style={{ fill: `var(--line-${i})` }} /></svg> {role} party</span>)}
      {of.some((bar) => bar.left > 0) && <span>outlined: what may be left, as long as units take what they took</span>}</p>
    <div ref={place}><svg width={width} height={of.length * kRow + 4} class="drawn" aria-hidden="true">{of.map((bar, row) => { const x = kLeft + bar.from * scale, w = Math.max(1, (bar.to - bar.from) * scale); return <g>
      <text x={kLeft - 8} y={row * kRow + 15} text-anchor="end">{bar.stage}, {bar.role}</text>
      <rect x={x} y={row * kRow + 3} width={w} height={kRow - 6} style={fill(bar)} />
      {bar.left > 0 && <rect x={x + w} y={row * kRow + 4} width={bar.left * scale} height={kRow - 8} style={{ ...fill(bar), fillOpacity: 0, stroke: fill(bar).fill }} />}
      <text x={x + w + bar.left * scale + 6} y={row * kRow + 15}>{number(bar.to - bar.from, 1)} s, {size(bar.bytes)}</text></g>; })}</svg></div></Drawing>;
}
