// Runs of a folder, without a server: what demo, simulate and sweep have written so far. Names and numbers are a stranger's texts.
import { get, Json, list } from "./api";
import { useRef } from "preact/hooks";
import type { Curves } from "./curves";
import { all_curves, curves_of_path, kFirst, kRoundsMax } from "./job_rounds";
import { model_address } from "./models";
import { Facts, Said, Table, useAsked } from "./parts";
import { RoundCharts } from "./round_charts";
import { leaves } from "./runs";
import { number, percent, shown, time } from "./text";

const kRefreshMs = 5000;
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

type Shown = { job: Json; curves: Curves; rounds: Json[]; is_whole: boolean };  // rounds: newest first, kFirst of them or all
const all_rounds = (path: string) => list(`${path}/rounds`, "rounds", kRoundsMax, "before");

// A run that is over and was not written anew is as it was `before`: what is drawn stays.
async function shown_now(path: string, before?: Shown): Promise<Shown> {
  const job = get(path);
  if (before?.job.state === "completed" && JSON.stringify(await job) === JSON.stringify(before.job)) return before;
  const [curves, rounds] = await Promise.all([curves_of_path(path), before?.is_whole ? all_rounds(path) : get(`${path}/rounds?limit=${kFirst}`).then((page) => page.rounds as Json[])]);
  return { job: await job, curves, rounds, is_whole: before?.is_whole || rounds.length < kFirst };
}

export function Run({ id }: { id: string }) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const known = useRef<Shown>();
  const { value, error, refresh } = useAsked(async () => known.current = await shown_now(path, known.current), `run ${id}`, kRefreshMs);
  if (!value) return <><h1>Run</h1><Said error={error} waits /></>;
  const { job, curves, rounds, is_whole } = value;
  const round_rows = (all: Json[]) => all.map((r) => [String(r.number), number(r.attempt), number(r.selected), number(r.accepted), number(r.model?.evaluation_loss), percent(r.model?.evaluation_accuracy),
    number(r.model?.evaluation_r2), number(r.seconds, 2), number(r.train_seconds, 2)]);
  const whole = async () => {
    known.current = { ...known.current!, rounds: await all_rounds(path), is_whole: true };
    refresh();
    return round_rows(known.current.rounds);
  };
  const said = (of: Json) => [...leaves(of)].map(([name, what]) => [name, what === null ? "–" : String(what)]);
  return <><h1>{shown(job.spec.name)}</h1><Said error={error ?? (kTold.includes(job.state) ? job.reason : undefined)} />
    <Facts of={[["folder", job.folder || "."], ["state", job.state], ["rounds", rounds_of(job)], ["changed", time(job.created)], ["result", result(job)]]} />
    <p class="bar"><a href={`#/compare/${encodeURIComponent(id)}`}>Compare</a>{job.model && <a href={model_address(id, job.model.version)}>Model</a>}{job.state === "completed" && job.reason && <span>{shown(job.reason)}</span>}</p>
    <RoundCharts curves={curves} all={() => all_curves(path)} />
    <Table name="Settings" head={["setting", "value"]} rows={said(job.spec).filter(([name]) => name !== "name")} />
    <Table name="Results" head={["result", "value"]} rows={said(job.results)} />
    <Table name="Rounds" head={["round", "attempts", "drawn", "accepted", "loss", "accuracy", "R2", "seconds", "training s"]} rows={round_rows(rounds)} whole={is_whole ? undefined : whole} /></>;
}
