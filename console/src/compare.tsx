// Runs of several jobs beside each other. The address says which, so that a view is a link.
import { useMemo } from "preact/hooks";
import { get, list, Refused } from "./api";
import { Alike, alike, bands } from "./bands";
import { Chart, chart_rows } from "./chart";
import { curves_of } from "./curves";
import { all_curves, curves_question, kRoundsMax } from "./job_rounds";
import { Parallel } from "./parallel_figure";
import { Said, Table, useAsked } from "./parts";
import { address, differing, is_held_out, is_thinned, kResults, kRunsMax, leaves, Run, values_of, View, view_of } from "./runs";
import { Scatter } from "./scatter";
import { aligned } from "./series";
import { number, shown, time } from "./text";
import { useTyped } from "./typed";

const kChoicesShown = 50, kNoGroups: Alike[] = [];
const go = (view: View) => { location.hash = address(view); };

// The same in each place of the page; two jobs of one name are told apart by their ids.
const names_of = (runs: Run[]) => runs.map(({ job }) =>
  runs.some((other) => other.job.id !== job.id && other.job.spec.name === job.spec.name) ? `${job.spec.name} ${String(job.id).slice(-6)}` : String(job.spec.name));

function Choice({ view }: { view: View }) {
  const { value, error } = useAsked(() => list("jobs", "jobs"), "jobs");
  const [wanted, want] = useTyped("jobs to compare");
  if (!value) return <Said error={error} waits />;
  const is_chosen = (id: string) => view.jobs.includes(id);
  const found = [...value].reverse().filter((job) => is_chosen(job.id) || `${job.spec.name} ${job.id} ${job.spec.population ?? "default"}`.toLowerCase().includes(wanted.toLowerCase()));
  const choose = (id: string) => go({ ...view, jobs: is_chosen(id) ? view.jobs.filter((one) => one !== id) : [...view.jobs, id] });
  return <fieldset class="choice"><legend>Jobs: {view.jobs.length} of {kRunsMax} at most</legend>
    <label>Name, id or population <input type="search" value={wanted} onInput={(event) => want((event.target as HTMLInputElement).value)} /></label>
    <div class="wide few" tabIndex={0} role="region" aria-label="Jobs to choose from">
      {found.slice(0, kChoicesShown).map((job) => <label class="one"><input type="checkbox" checked={is_chosen(job.id)}
        disabled={!is_chosen(job.id) && view.jobs.length >= kRunsMax} onChange={() => choose(job.id)} />
        <span>{shown(job.spec.name)}</span> <small>{shown(job.state)}, {time(job.created)}, <span class="long">{shown(job.id)}</span></small></label>)}
      {found.length === 0 && <p>No job has that in its name.</p>}</div>
    {found.length > kChoicesShown && <p>{found.length - kChoicesShown} more: say more of the name.</p>}</fieldset>;
}

const path_of = (id: string) => `jobs/${encodeURIComponent(id)}`;

// Null: there is no such job, which a link of some time ago may still name.
async function run_of(id: string): Promise<Run | null> {
  const path = path_of(id);
  try {
    const [job, told, failed] = await Promise.all([get(path), get(curves_question(path)), list(`${path}/rounds?state=failed`, "rounds", kRoundsMax, "before")]);
    return { job, curves: curves_of(told), sums: told.sums, failed };
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

// The same runs with every round, of those at `places` that are thinned.
const whole_of = (runs: Run[], places: number[]) => Promise.all(runs.map(async (run, i) => places.includes(i) && is_thinned(run) ? { ...run, curves: await all_curves(path_of(run.job.id)) } : run));

export function Compare({ parts }: { parts: string[] }) {
  const view = view_of(parts);
  const asked = useAsked(() => Promise.all(view.jobs.map(run_of)), view.jobs.join(","));
  const runs = useMemo(() => asked.value?.filter((run): run is Run => run !== null), [asked.value]);
  const known = view.jobs.filter((id) => runs?.some((run) => run.job.id === id));
  return <><h1>Runs compared</h1><Choice view={view} />
    {view.jobs.length === 0 ? <p>Choose jobs, and their runs stand here beside each other. The page's address is a link to what it shows.</p> :
      <><Said error={asked.error} waits={!runs} />
        {runs && known.length < view.jobs.length && <p role="alert" class="error">The server has {view.jobs.length - known.length} of these jobs no more. <a href={address({ ...view, jobs: known })}>Go on without</a></p>}
        {runs && runs.length > 0 && <Runs runs={runs} view={view} />}</>}</>;
}

// `groups` are drawn as one line each, all other runs by themselves.
function overlaid(runs: Run[], groups: Alike[], what: "loss" | "accuracy") {
  const names = names_of(runs), grouped = new Set(groups.flatMap((group) => group.runs)), means = bands(runs, groups, what);
  return aligned([...means.lines.map(([label, ys, spread]) => ({ name: label, xs: means.xs, ys, spread })),
    ...runs.map((run, i) => ({ name: names[i] + (is_held_out(run, what) ? "" : " (on devices)"), xs: run.curves.xs, ys: values_of(run, what) })).filter((_, i) => !grouped.has(i))]);
}
function Overlay({ runs, groups, what, name }: { runs: Run[]; groups: Alike[]; what: "loss" | "accuracy"; name: string }) {
  const { xs, lines } = useMemo(() => overlaid(runs, groups, what), [runs, groups, what]);
  const whole = async () => chart_rows(overlaid(await whole_of(runs, runs.map((_, i) => i)), groups, what));
  return xs.length > 0 ? <Chart name={name} xs={xs} lines={lines} height={300} count={Math.max(...runs.map((run) => run.curves.total))} whole={whole} /> : null;
}

function Runs({ runs, view }: { runs: Run[]; view: View }) {
  const names = names_of(runs), differ = differing(runs), groups = useMemo(() => alike(runs), [runs]);
  // A mean by round needs each round: until the server has told them the runs are drawn as they are.
  const grouped = groups.flatMap((group) => group.runs);
  const whole = useAsked(async () => view.are_alike_one ? whole_of(runs, grouped) : runs, `${view.are_alike_one} ${runs.map(({ job }) => job.id)}`);
  const are_drawn = view.are_alike_one && whole.value !== undefined, drawn = are_drawn ? { runs: whole.value!, groups } : { runs, groups: kNoGroups };
  const links = runs.map(({ job }, i) => <a href={`#/jobs/${encodeURIComponent(job.id)}`}>{shown(names[i])}</a>);
  // Any setting may be the axis; those in which the runs differ come first.
  const settings = [...differ.map(([path]) => path), ...[...new Set(runs.flatMap(({ job }) => [...leaves(job.spec).keys()]))].filter((path) => path !== "name" && !differ.some(([one]) => one === path)).sort()];
  const setting = settings.includes(view.setting) ? view.setting : settings[0];
  const [result, result_of] = kResults.find(([name]) => name === view.result) ?? kResults[2];
  const pick = (label: string, options: string[], value: string, then: (value: string) => void) => <label>{label} <select value={value}
    onChange={(event) => then((event.target as HTMLSelectElement).value)}>{options.map((one) => <option value={one} selected={one === value}>{shown(one)}</option>)}</select></label>;
  return <>
    {groups.length > 0 && <p><label class="alike"><input type="checkbox" checked={view.are_alike_one} onChange={() => go({ ...view, are_alike_one: !view.are_alike_one })} /> Draw runs with the same settings, but for seeds,
      as their mean with a band of one standard deviation to each side</label></p>}
    <div class="charts"><Overlay {...drawn} what="loss" name="Loss by round" /><Overlay {...drawn} what="accuracy" name="Accuracy by round" /></div><Said error={whole.error} />
    {runs.length > 1 && <Parallel runs={runs} names={names} picked={view.picked} pick={(picked) => go({ ...view, picked })} />}
    <Table name="Results" head={["job", "state", ...kResults.map(([name]) => name)]}
      rows={runs.map((run, i) => [links[i], run.job.state, ...kResults.map(([, read]) => number(read(run)))])} />
    <Table name="Settings that differ" head={["setting", ...names]} rows={differ.map(([path, values]) =>
      [path, ...values.map((value) => value === null ? "not said" : String(value))])} />
    <section><div class="bar"><h2>A setting against a result</h2>
      {pick("Setting", settings, setting, (value) => go({ ...view, setting: value, result }))}
      {pick("Result", kResults.map(([name]) => name), result, (value) => go({ ...view, setting, result: value }))}</div>
      <Scatter name={`${setting} against ${result}`} x_name={setting} y_name={result}
        points={runs.map((run, i) => ({ name: names[i], x: leaves(run.job.spec).get(setting) ?? null, y: result_of(run) }))} /></section>
  </>;
}
