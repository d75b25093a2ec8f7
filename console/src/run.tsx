// Runs of a folder, without a server: what demo, simulate and sweep have written so far. Names and numbers are a stranger's texts.
import { get, Json, list } from "./api";
import { RoundCharts } from "./job";
import { model_address } from "./models";
import { Facts, Said, Table, useAsked } from "./parts";
import { leaves } from "./runs";
import { number, percent, shown, time } from "./text";

const kRefreshMs = 5000, kRoundsMax = 20_000;
const link = (job: Json) => <a href={`#/jobs/${encodeURIComponent(job.id)}`}>{shown(job.spec.name)}</a>;
const rounds_of = (job: Json) => typeof job.spec.rounds?.count === "number" ? `${job.rounds_done} of ${job.spec.rounds.count}` : String(job.rounds_done);
const result = (job: Json) => typeof job.results?.r2 === "number" ? `R2 ${number(job.results.r2)}` : percent(job.results?.accuracy);
const kTold = ["waiting", "unfinished", "damaged"];  // whose reason stands above the figures, too

export function Runs({ folder }: { folder: string }) {
  const { value, error } = useAsked(() => get("jobs"), "runs", kRefreshMs);
  if (!value) return <><h1>Runs</h1><Said error={error} waits /></>;
  const jobs = value.jobs as Json[];
  const count = (state: string) => String(jobs.filter((job) => job.state === state).length);
  return <><h1>Runs</h1><Said error={error ?? value.problem} />
    <Facts of={[["folder", folder], ["runs", number(jobs.length)], ...["completed", "unfinished", "waiting", "damaged"].map((state) => [state, count(state)] as [string, string])]} />
    {value.left_out > 0 && <p>{number(value.left_out)} more are not shown: name a folder with fewer.</p>}
    <Table name="Runs in the folder" head={["run", "state", "rounds", "accuracy", "loss", "changed", "reason"]} rows={jobs.map((job) =>
      [link(job), job.state, rounds_of(job), result(job), number(job.results?.loss), time(job.created), job.reason ?? ""])} /></>;
}

export function Run({ id }: { id: string }) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const { value, error } = useAsked(async () => ({ job: await get(path), rounds: await list(`${path}/rounds`, "rounds", kRoundsMax, "before") }), `run ${id}`, kRefreshMs);
  if (!value) return <><h1>Run</h1><Said error={error} waits /></>;
  const { job, rounds } = value;
  const said = (of: Json) => [...leaves(of)].map(([name, what]) => [name, what === null ? "–" : String(what)]);
  return <><h1>{shown(job.spec.name)}</h1><Said error={error ?? (kTold.includes(job.state) ? job.reason : undefined)} />
    <Facts of={[["folder", job.folder || "."], ["state", job.state], ["rounds", rounds_of(job)], ["changed", time(job.created)], ["result", result(job)]]} />
    <p class="bar"><a href={`#/compare/${encodeURIComponent(id)}`}>Compare</a>{job.model && <a href={model_address(id, job.model.version)}>Model</a>}{job.state === "completed" && job.reason && <span>{shown(job.reason)}</span>}</p>
    <RoundCharts rounds={rounds} />
    <Table name="Settings" head={["setting", "value"]} rows={said(job.spec).filter(([name]) => name !== "name")} />
    <Table name="Results" head={["result", "value"]} rows={said(job.results)} />
    <Table name="Rounds" head={["round", "attempts", "drawn", "accepted", "loss", "accuracy", "R2", "seconds", "training s"]} rows={rounds.map((r) =>
      [String(r.number), number(r.attempt), number(r.selected), number(r.accepted), number(r.model?.evaluation_loss), percent(r.model?.evaluation_accuracy), number(r.model?.evaluation_r2),
        number(r.seconds, 2), number(r.train_seconds, 2)])} /></>;
}
