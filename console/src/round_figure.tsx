// One attempt at a round: its devices step by step, who is missing and why, and what some of them took their time with.
import { useMemo, useRef } from "preact/hooks";
import { get, Json, Refused } from "./api";
import { Drawing, Said, Table, useAsked, useWidth } from "./parts";
import { funnel } from "./phases";
import { missing_of } from "./round_devices";
import { device_times, DeviceTimes, kDeviceSteps, kUnended, straggling } from "./round_trace";
import { number, shown } from "./text";

const kChoices = 200;
const name_of = (round: Json) => `${round.number}.${round.attempt}`;

// `chosen`: what the address names, or empty: the newest, as it goes.
// `enrolled`: as funnel() has it.
export function Round({ job, rounds, round, chosen, waiting, codes, enrolled }: { job: string; rounds: Json[]; round: Json; chosen: string; waiting?: number; codes: Json[]; enrolled?: number | null }) {
  const is_over = ["done", "failed"].includes(round.state);
  const name = name_of(round);
  // An update is accepted many times a second, and none changes this.
  const choices = useMemo(() => {
    const newest = rounds.slice(0, kChoices), is_among = newest.some((one) => name_of(one) === name);
    return (is_among ? newest : [...newest, round]).map((one) => <option value={name_of(one)} selected={!!chosen && name_of(one) === name}>{one.number}, attempt {one.attempt}, {one.state}</option>);
  }, [rounds, chosen, name]);
  const go = (name: string) => { location.hash = `#/jobs/${encodeURIComponent(job)}${name && "/" + name}`; };
  return <section><div class="bar"><h2>Round</h2><label>Round and attempt <select value={chosen && name} onChange={(event) => go((event.target as HTMLSelectElement).value)}>
      <option value="" selected={!chosen}>the newest, as it goes</option>
      {choices}</select></label></div>
    <Funnel round={round} waiting={waiting} codes={codes} enrolled={enrolled} />
    {codes.length > 0 && <Table name="Who is missing and why" head={["code", "reason", "devices", "they"]} rows={missing_of(codes).map((one) => [one.code, one.reason, number(one.devices), one.meaning])} />}
    {chosen && is_over ? <Trace job={job} round={round} /> : <p><small>Choose a round that is over to see what its devices took their time with.</small></p>}</section>;
}

function Funnel({ round, waiting, codes, enrolled }: { round: Json; waiting?: number; codes: Json[]; enrolled?: number | null }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const steps = funnel(round, waiting, codes, enrolled), most = Math.max(1, ...steps.map(([, count]) => count ?? 0));
  const name = `Devices of round ${round.number}, attempt ${round.attempt}`;
  return <Drawing name={name} says={steps.map(([step, count, why]) => `${step} ${count ?? "unknown"}${why && `, ${why}`}`).join("; ") + (round.reason ? `; ${round.reason}` : "")}
    head={["step", "devices", "note"]} rows={steps}>
    <div ref={place}><svg width={width} height={steps.length * 40} class="drawn" aria-hidden="true">
      {steps.map(([step, count, why], row) => <g><text x="0" y={row * 40 + 14}>{step}{count !== null && " " + number(count)}{why && ` – ${shown(why)}`}</text>
        {count !== null && <rect x="0" y={row * 40 + 20} width={Math.max(1, count / most * width)} height="12" style={{ fill: `var(--line-${step === "goal" ? 5 : 0})` }} />}</g>)}
    </svg></div>
    {enrolled !== undefined && <p><small>Eligible are devices that are enrolled in the population and not revoked. Which of them meet the job's conditions each knows itself: the server hears of it as plan_refused.</small></p>}
    {round.reason && <p class="long">{shown(round.reason)}</p>}</Drawing>;
}

// The server may not have it any more, and of a fleet another node may.
function Trace({ job, round }: { job: string; round: Json }) {
  const asked = useAsked(async () => {
    try {
      return device_times(await get(`jobs/${encodeURIComponent(job)}/trace?round=${round.number}`), round.number, round.attempt);
    } catch (error) {
      if (error instanceof Refused) return error.message;
      throw error;
    }
  }, `trace ${job} ${name_of(round)} ${round.state}`);
  if (asked.value === undefined) return <Said error={asked.error} />;
  if (typeof asked.value === "string") return <p>No trace of it: {shown(asked.value)}</p>;
  return asked.value.length === 0 ? <p>Its trace has no device.</p> : <Devices devices={asked.value} />;
}

const kRow = 22, kLeft = 112, kRight = 70;
const colour = (name: string) => ({ fill: `var(--line-${name.endsWith(kUnended) ? 4 : Math.max(0, kDeviceSteps.indexOf(name))})` });

function Devices({ devices }: { devices: DeviceTimes[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const scale = (width - kLeft - kRight) / Math.max(1e-3, devices[0].ended), slow = straggling(devices);
  const names = [...new Set(devices.flatMap((device) => device.steps.map((step) => step.name)))];
  const seconds = (device: DeviceTimes, name: string) => device.steps.find((step) => step.name === name)?.seconds ?? null;
  return <Drawing name="Times of a sample of its devices, the slowest first" says={devices.map((device) => `${device.name} ${number(device.ended, 2)} s`).join("; ")}
    head={["device", ...names.map((name) => `${name} s`), "after s"]} rows={devices.map((device) => [device.name, ...names.map((name) => seconds(device, name)), device.ended])}>
    <p class="key">{names.map((name) => <span><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" style={colour(name)} /></svg> {shown(name)}</span>)}</p>
    <div ref={place}><svg width={width} height={devices.length * kRow + 4} class="drawn" aria-hidden="true">
      {devices.map((device, row) => <g><text x={kLeft - 8} y={row * kRow + 15} text-anchor="end">{shown(device.name)}</text>
        {device.steps.map((step) => <rect x={kLeft + step.from * scale} y={row * kRow + 3} width={Math.max(1, step.seconds * scale)} height={kRow - 6} style={colour(step.name)}><title>{shown(step.name)} {number(step.seconds, 3)} s</title></rect>)}
        <text x={kLeft + device.ended * scale + 6} y={row * kRow + 15}>{number(device.ended, 2)} s</text></g>)}
    </svg></div>
    {slow && <p>Seconds since the attempt began. The slowest came after {number(slow.slowest, 2)} s, the middle one after {number(slow.middle, 2)} s. A device is a number of this attempt and no other.</p>}</Drawing>;
}
