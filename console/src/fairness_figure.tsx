// How well models do for each group of examples: of a job that evaluates, and of versions that such jobs have looked at.
import { useRef } from "preact/hooks";
import { get, Json, list, Refused } from "./api";
import { Chart } from "./chart";
import { by_harm, gap_of, group_lines, interval, Look, Measure, of_columns, versions_looked_at } from "./fairness";
import { Intervals } from "./intervals";
import { Facts, Said, Table, useAsked } from "./parts";
import { number, percent, shown } from "./text";

const kLooksMax = 12, kVersionsMax = 20_000, kLookAgainMs = 30_000;
const kMeasures: Measure[] = ["accuracy", "loss"];
const title = (what: Measure) => what === "accuracy" ? "Accuracy" : "Loss";

// What a job has found, at a version of its table if one is said; null: it is not there, or not any more.
async function result_of(id: string, version?: number): Promise<Json | null> {
  try {
    return await get(`jobs/${encodeURIComponent(id)}/result${version === undefined ? "" : `?version=${version}`}`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

// Of a job that evaluates: by the rounds that are counted. What is known stays while more is asked for.
export function FairnessOfRounds({ job }: { job: Json }) {
  const asked = useAsked(async () => {
    const found = await Promise.all(versions_looked_at(job.rounds_done, kLooksMax).map((version) => result_of(job.id, version)));
    return found.filter((one): one is Json => one !== null);
  }, `fairness ${job.id} ${job.rounds_done}`);
  const known = useRef<Json[]>();
  const results = known.current = asked.value ?? known.current;
  if (!results) return <Said error={asked.error} waits />;
  const looks = results.map((result): Look => ({ x: result.rounds, model: result.models.at(-1) }));
  return <><Said error={asked.error} />{looks.length > 0 && <Groups looks={looks} x_name="round" column={results.at(-1)!.column} />}</>;
}

// What jobs that evaluate on devices have found of a job's versions, by what their groups are; `known` has the newest of these. All
// are asked for where a job evaluates what is none of them. It is asked for by the clock and not by the version: that takes a list of all jobs, and a version may come many times a
// second.
export function useLooks(job_id: string, known: { models: Json[]; is_whole: boolean }, may_ask: boolean) {
  const newest = useRef(known), all = useRef<Json[]>([]);
  newest.current = known;
  return useAsked(async () => {
    const evaluations = !may_ask ? [] : (await list("jobs", "jobs")).filter((job) => job.spec.analytics?.kind === "evaluation");
    const by_digest = (models: Json[]) => new Map(models.map((model) => [model.digest as string, model.version as number]));
    const judges_of = (versions: Map<string, number>) => evaluations.filter(({ spec: { analytics } }) => [analytics.model, analytics.before].some((digest) => versions.has(digest)));
    let versions = by_digest(newest.current.models);
    if (!newest.current.is_whole && judges_of(versions).length < evaluations.length) {
      const behind = await list(`jobs/${encodeURIComponent(job_id)}/models`, "models", kVersionsMax, "after", all.current.at(-1)?.version);
      versions = by_digest(all.current = [...all.current, ...behind]);
    }
    const judges = judges_of(versions);
    const found = await Promise.all(judges.slice(-kLooksMax).map((job) => result_of(job.id)));
    return of_columns(found.filter((one): one is Json => one !== null), versions);
  }, `fairness ${job_id} ${may_ask}`, may_ask ? kLookAgainMs : 0);
}

// Of a job that trains: by its versions.
export const FairnessOfVersions = ({ asked }: { asked: ReturnType<typeof useLooks> }) => !asked.value ? <Said error={asked.error} /> :
  <>{asked.value.map(({ column, looks }) => <Groups looks={looks} x_name="version" column={column} />)}</>;

function Groups({ looks, x_name, column }: { looks: Look[]; x_name: string; column: string }) {
  const newest = looks.at(-1)!, groups = newest.model.groups as Json[];
  const drawn = kMeasures.filter((what) => by_harm(newest, what).length > 0);
  const range = (of: Json, what: Measure) => { const told = interval(of, what); return told === null ? "–" : told[1] === null ? "none" : what === "accuracy" ? `${percent(told[1])} to ${percent(told[2])}` : `${number(told[1])} to ${number(told[2])}`; };
  const row = (name: string, of: Json) => [name, number(of.devices), number(of.examples), percent(of.accuracy?.value), range(of, "accuracy"), number(of.loss?.value), range(of, "loss")];
  return <section><div class="bar"><h2>Fairness by {shown(column || "group")}, {x_name} {newest.x}</h2></div>
    {drawn.length === 0 ? <p>{groups.length === 0 ? "The job names no groups: feature and categories of its analytics do." : "No group has examples yet."}</p> : <>
      <Facts of={drawn.flatMap((what): [string, string][] => {
        const gap = gap_of(newest, what);
        return gap === null ? [] : [[`worst ${what}`, gap.worst], [`best ${what}`, gap.best], [`gap of ${what}`, what === "accuracy" ? `${number(100 * gap.gap, 1)} points` : number(gap.gap)],
          [`intervals of worst and best ${what}`, gap.is_apart === null ? "not known: too few devices" : gap.is_apart ? "apart" : "overlap: chance may be all of it"]];
      })} />
      <div class="charts">{drawn.map((what) => <Intervals name={`${title(what)} by group, worst first`} group_name={column || "group"} rows={by_harm(newest, what).map((group) => {
        const [value, low, high] = interval(group, what)!; return { name: group.name, value, low, high }; })} />)}
        {looks.length > 1 && drawn.map((what) => { const { xs, lines } = group_lines(looks, what); return <Chart name={`${title(what)} by ${x_name}, all and the worst groups`} x_name={x_name} xs={xs} lines={lines} />; })}</div>
      <p><small>Devices are the draws: intervals hold in 95 of 100 cases for devices that could have been asked. There is none with fewer than three devices.</small></p></>}
    <Table name="Groups" head={[column || "group", "devices", "examples", "accuracy", "its interval", "loss", "its interval"]}
      rows={[row("all examples", newest.model), ...groups.map((group) => row(group.name, group))]} /></section>;
}
