// A version's way: the job, the round that made it, the version itself, and where it went.
import type { ComponentChildren } from "preact";
import { get, Json, list, Session } from "./api";
import { kFromJobs, origin, uses } from "./lineage";
import { Said, Table, useAsked } from "./parts";
import { number, percent, shown, time } from "./text";

const job_link = (job: Json, text = job.spec.name) => <a href={`#/jobs/${encodeURIComponent(job.id)}`}>{shown(text)}</a>;

// Versions that another version's file may be: of the newest jobs that the caller sees.
async function models_of(jobs: Json[]): Promise<Json[][]> {
  return Promise.all(jobs.map((job) => list(`jobs/${encodeURIComponent(job.id)}/models`, "models").catch(() => [])));
}

export function Lineage({ job, model, round, session }: { job: Json; model: Json; round?: Json; session: Session }) {
  const asked = useAsked(async () => {
    if (session.runs) return { uses: [], from: undefined };
    const [jobs, { canaries }] = await Promise.all([list("jobs", "jobs"), get(`jobs/${encodeURIComponent(job.id)}/canaries`)]);
    const others = jobs.filter((one) => one.id !== job.id).slice(-kFromJobs);
    return { uses: uses(job, model, jobs, canaries), from: model.version === 0 ? origin(model, others, await models_of(others)) : undefined };
  }, `lineage ${job.id} ${model.version} ${job.released?.version}`);
  const from = asked.value?.from, went = asked.value && ([...new Set(asked.value.uses.map((use) => use.what))].join("; ") || "not released");
  const file = session.runs ? "model.cotf" : `${job.id}-${model.version}.cotf`;
  const steps: [string, ComponentChildren, ComponentChildren][] = [
    [session.runs ? "run" : "job", job_link(job), `${job.rounds_done} rounds done`],
    model.version === 0 && !session.runs ? ["upload", from ? <>version {from.version} of {job_link(from.job)}</> : "a model file", "what the job began from"] :
      ["round", round ? `${round.number}, attempt ${round.attempt}` : "gone", round ? `${number(round.accepted)} updates, accuracy ${percent(round.model?.evaluation_accuracy)}` : "its row was removed"],
    ["model", `version ${model.version}`, <span class="long">{time(model.created)}</span>],
    ["export", session.runs ? file : went ?? "–", "as a file, ONNX or C: below"]];
  const commands: [string, string][] = [
    ...(session.runs ? [] : [["the file", `coterie model download ${job.id} ${model.version} -o ${file}`] as [string, string]]),
    ["ONNX", `coterie model export ${file} --format onnx -o model.onnx`], ["C for a microcontroller", `coterie model export ${file} --c firmware/`], ["a server that answers", `coterie serve ${file}`]];
  return <section><h2 class="part">Where it comes from, and where it goes</h2><Said error={asked.error} />
    <ol class="lineage" aria-label="Lineage">{steps.map(([what, which, note]) => <li><small>{what}</small><strong>{which}</strong><span>{note}</span></li>)}</ol>
    {!session.runs && <Table name="Uses" head={["use", "which", "since"]} rows={(asked.value?.uses ?? []).map((use) => [use.what, use.to ? <a href={use.to}>{shown(use.which)}</a> : use.which, time(use.since)])} />}
    <Table name="Exports" head={["as", "command"]} rows={commands.map(([as, command]) => [as, <code>{command}</code>])} /></section>;
}
