// Versions of models: of all jobs, a page of jobs at a time, or of one.
import { get, Json, list, Session } from "./api";
import { Canaries } from "./canaries";
import { lineage, Version } from "./lineage";
import { Act, digest, Facts, Said, Table, useAsked } from "./parts";
import { number, percent, shown, time } from "./text";

const kJobsShown = 20;  // of each, its rounds and its versions are asked for
const path_of = (id: string) => `jobs/${encodeURIComponent(id)}`;
const job_link = (job: Json) => <a href={`#/jobs/${encodeURIComponent(job.id)}`}>{shown(job.spec.name)}</a>;

export function size(bytes: unknown): string {
  if (typeof bytes !== "number") return "–";
  const step = Math.min(3, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
  return `${number(bytes / 1024 ** step, step ? 1 : 0)} ${["B", "KiB", "MiB", "GiB"][step]}`;
}

export const model_address = (job: string, version: number): string => `#/models/${encodeURIComponent(job)}/${version}`;

// What may be done with a version, by whoever may.
export function Uses({ version: { job, model }, session, then }: { version: Version; session: Session; then: () => void }) {
  const may = session.roles.includes("ml_engineer");
  const path = `${path_of(job.id)}/models/${model.version}`;
  return <>{!model.released && may && <Act text="Promote" path={`${path}:promote`} sure={`Have applications use version ${model.version} of ${shown(job.spec.name)}?`} then={then} />}
    {may && <a href={`/admin/v1/${path}/content`} download={`${job.id}-${model.version}.cotf`} aria-label={`Download version ${model.version}`}>Download</a>}</>;
}

// `whole`: asks for all of them, where there may be more.
export function Versions({ versions, whole, session, then, of_all = false }: { versions: Version[]; whole?: () => Promise<Version[]>; session: Session; then: () => void; of_all?: boolean }) {
  const rows_of = (all: Version[]) => all.map((version) => {
    const { job, model, round, from } = version;
    const made_by = round ? `round ${round.number}, attempt ${round.attempt}` : from ? <>version {from.version} of {job_link(from.job)}</> : model.version === 0 ? "the upload" : "a round that is gone";
    return [...(of_all ? [job_link(job), job.id] : []), <a href={model_address(job.id, model.version)} aria-label={`Version ${model.version} of ${shown(job.spec.name)}`}>{model.version}</a>, made_by, number(round?.accepted), number(model.evaluation_loss), percent(model.evaluation_accuracy),
      model.released ? "released" : "", time(model.created), size(model.bytes), digest(model.digest), <Uses version={version} session={session} then={then} />];
  });
  return <Table name="Models" head={[...(of_all ? ["job", "job's id"] : []), "version", "made by", "updates", "loss", "accuracy", "state", "created", "size", "digest", "use"]}
    rows={rows_of(versions)} whole={whole && (async () => rows_of(await whole()))} />;
}

export function RollBack({ job, session, then }: { job: Json; session: Session; then: () => void }) {
  const may = session.roles.some((role) => ["operator", "ml_engineer"].includes(role));
  return job.released && may ? <Act text="Roll back" path={`${path_of(job.id)}/models:rollback`} sure="Back to the version that was promoted before?" then={then} /> : null;
}

export function Models({ id, skip, session }: { id?: string; skip: number; session: Session }) {
  const asked = useAsked(async () => {
    const all = id ? [await get(path_of(id))] : (await list("jobs", "jobs")).reverse();
    const jobs = all.slice(skip, skip + kJobsShown);
    const models = await Promise.all(jobs.map((job) => list(`${path_of(job.id)}/models`, "models")));
    const rounds = await Promise.all(jobs.map((job) => list(`${path_of(job.id)}/rounds?state=done`, "rounds", 2000, "before")));
    return { total: all.length, jobs, versions: lineage(jobs, models, rounds) };
  }, `models ${id ?? ""} ${skip}`);
  if (!asked.value) return <><h1>Models</h1><Said error={asked.error} waits /></>;
  const { total, jobs, versions } = asked.value;
  const older = skip + kJobsShown < total, newer = skip > 0;
  const released = jobs.map((job) => job.released && versions.find((one) => one.job === job && one.model.version === job.released.version)).filter(Boolean) as Version[];
  return <><h1>Models</h1><Said error={asked.error} />
    <Facts of={id ? [["job", job_link(jobs[0])], ["versions", number(versions.length)]] :
      [["jobs", total ? `${skip + 1} to ${skip + jobs.length} of ${total}` : "none"], ["versions", number(versions.length)]]} />
    {(older || newer) && <p class="bar">{newer && <a href={`#/models/-/${Math.max(0, skip - kJobsShown)}`}>Newer jobs</a>}
      {older && <a href={`#/models/-/${skip + kJobsShown}`}>Older jobs</a>}</p>}
    {id && <p><a href="#/models">All jobs' models</a></p>}
    <Table name="Released" head={["job", "version", "since", "loss", "accuracy", "use"]} rows={released.map(({ job, model }) =>
      [job_link(job), String(model.version), time(job.released.time), number(model.evaluation_loss), percent(model.evaluation_accuracy), <RollBack job={job} session={session} then={asked.refresh} />])} />
    <Canaries jobs={jobs} session={session} released={asked.refresh} />
    <Versions versions={versions} session={session} then={asked.refresh} of_all={!id} /></>;
}
