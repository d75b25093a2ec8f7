// One job as it goes: its rounds, and what the server tells of it meanwhile.
import { useMemo } from "preact/hooks";
import { Json, Session } from "./api";
import { FairnessOfRounds, FairnessOfVersions, useLooks } from "./fairness_figure";
import { Forecast } from "./forecast_figure";
import { useAttempt, useCodes, useEnrolled, useJob } from "./job_asked";
import { useEvents } from "./job_events";
import { all_curves, Asked } from "./job_rounds";
import { lineage } from "./lineage";
import { RollBack, Versions } from "./models";
import { attempts, kAttemptsShown, Told } from "./phases";
import { Act, Facts, Said, Save, Table } from "./parts";
import { RoundCharts } from "./round_charts";
import { Round } from "./round_figure";
import { number, percent, shown, time } from "./text";
import { Timeline } from "./timeline";
import { UpdateNorms } from "./update_norms";
import { kHitErrorsMin, newest_hits } from "./watch_hits";

const kNoRounds: Json[] = [];
// `chosen`: the attempt that the address names; empty: the newest.
export function Job({ id, chosen, session }: { id: string; chosen: string; session: Session }) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const may = (...roles: string[]) => roles.some((role) => session.roles.includes(role));
  const asked = useJob(path), round = useAttempt(path, asked.value?.rounds ?? kNoRounds, chosen);
  const codes = useCodes(path, round, asked.value?.rounds);
  const enrolled = useEnrolled(asked.value && (asked.value.job.spec.population ?? "default"), may("operator", "security_admin"));
  const { now, link, told } = useEvents(id, asked.soon);
  // An update is accepted many times a second, and none of these show that.
  const figures = useMemo(() => asked.value && <Figures path={path} of={asked.value} round={round} told={told} sees_results={may("ml_engineer")} />, [asked.value, round, told]);
  const tables = useMemo(() => asked.value && <Tables of={asked.value} whole={asked.whole} session={session} then={asked.refresh} />, [asked.value, session]);
  if (!asked.value) return <Said error={asked.error} waits />;
  const { job, rounds } = asked.value;
  const privacy = job.privacy;
  return <>
    <h1>{shown(job.spec.name)}</h1><Said error={asked.error} />
    <Facts of={[["job", id], ["state", job.state + (job.reason ? `: ${job.reason}` : "")], ["population", job.spec.population ?? "default"],
      ["rounds", `${job.rounds_done} of ${job.spec.rounds?.count ?? 10}`], ["created", time(job.created)], ["privacy level", job.spec.privacy?.level ?? "active"],
      ["released model", job.released ? `version ${job.released.version}` : "none"],
      ...(privacy ? [["epsilon", `${privacy.epsilon === null ? "unbounded" : number(privacy.epsilon)} of ${number(privacy.epsilon_budget)} at delta ${privacy.delta}`]] as [string, string][] : [])]} />
    {privacy && privacy.epsilon !== null && <p><label>epsilon spent <meter min={0} max={privacy.epsilon_budget} value={privacy.epsilon} /></label></p>}
    <p class="bar">
      {job.state === "running" && may("operator", "ml_engineer", "privacy_officer") ? <Act text="Pause" path={`${path}:pause`} then={asked.refresh} /> :
        job.state === "paused" && may("operator", "ml_engineer") && <Act text="Resume" path={`${path}:resume`} then={asked.refresh} />}
      {["running", "paused"].includes(job.state) && may("operator", "ml_engineer", "privacy_officer") &&
        <Act text="Cancel" path={`${path}:cancel`} sure="End this job for good?" then={asked.refresh} />}
      <a href={`#/compare/${encodeURIComponent(id)}`}>Compare</a>
    </p>
    <p role="status" class="now">{link}{now.round !== undefined && `: round ${now.round}, attempt ${now.attempt}, ${shown(now.state ?? "")}, ${number(now.accepted)} accepted of ${number(now.selected)} drawn`}
      {now.waiting !== undefined && `; ${number(now.waiting)} devices wait`}</p>
    {round && <Round job={id} rounds={rounds} chosen={chosen} round={round.number === now.round && round.attempt === now.attempt ? { ...round, ...now, round: round.round } : round} waiting={now.waiting} codes={codes} enrolled={enrolled} />}
    {figures}{tables}
  </>;
}

function Figures({ path, of: { job, curves, rounds, models, is_whole }, round, told, sees_results }: { path: string; of: Asked; round?: Json; told: Told[]; sees_results: boolean }) {
  const evaluates = job.spec.analytics?.kind === "evaluation", all = () => all_curves(path);
  const looks = useLooks(job.id, { models, is_whole }, sees_results && !job.spec.analytics);
  return <>
    <RoundCharts curves={curves} all={all} judged={looks.value} />
    {sees_results && evaluates && <FairnessOfRounds job={job} />}
    <FairnessOfVersions asked={looks} />
    {!sees_results && evaluates && <p>What the job has found is for an ml_engineer.</p>}
    <Watched rounds={rounds} />
    {!job.spec.analytics && rounds.length > 0 && <UpdateNorms job={job} curves={curves} all={all} rounds={rounds} round={round} />}
    {rounds.length > 0 && <Timeline attempts={attempts(rounds.slice(0, kAttemptsShown), told, Date.now())} />}
    <Forecast job={job} />
  </>;
}

function Watched({ rounds }: { rounds: Json[] }) {
  const found = newest_hits(rounds);
  if (!found) return null;
  const { error } = found;
  const shown = (share: number) => percent(Math.min(1, Math.max(0, share))) + (error > 0 ? ` ± ${percent(error)}` : "");  // what noise makes of a share may be none
  return <>
    <Table name="Watchpoint hits by layer" head={["layer", ...found.checks]}
      rows={found.layers.map((layer) => [layer.name, ...layer.shares.map((share) => share === null ? "" : shown(share))])} />
    <p><small>Of round {found.round}, by the weight of the devices; those with {shown(found.looked)} of it looked at a step.{error > 0 && ` Noise hides what is on less than ${percent(Math.min(1, kHitErrorsMin * error))}.`}</small></p>
  </>;
}

function Tables({ of, whole, session, then }: { of: Asked; whole: () => Promise<Asked>; session: Session; then: () => void }) {
  const { job, is_whole } = of;
  const round_rows = ({ rounds }: Asked) => rounds.map((r) => [String(r.number), String(r.attempt), r.state, number(r.selected), number(r.accepted), number(r.goal_count),
    number(r.seconds, 2), number(r.model?.evaluation_loss), percent(r.model?.evaluation_accuracy), time(r.opened), r.reason ?? "",
    ["done", "failed"].includes(r.state) ? <Save text="Save" label={`Save the trace of round ${r.number}, attempt ${r.attempt}`} path={`jobs/${encodeURIComponent(job.id)}/trace?round=${r.number}`} name={`${job.id}-round-${r.number}.json`} /> : ""]);
  const versions = ({ models, rounds }: Asked) => lineage([job], [models], [rounds]);
  return <>
    <Table name="Rounds" head={["round", "attempt", "state", "drawn", "accepted", "goal", "seconds", "loss", "accuracy", "opened", "reason", "trace"]}
      rows={round_rows(of)} whole={is_whole ? undefined : async () => round_rows(await whole())} />
    <p class="bar"><RollBack job={job} session={session} then={then} /> <a href={`#/models/${encodeURIComponent(job.id)}`}>Models alone</a></p>
    <Versions versions={versions(of)} whole={is_whole ? undefined : async () => versions(await whole())} session={session} then={then} />
  </>;
}
