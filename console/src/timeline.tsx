// A job's last attempts as bars of their phases.
import { useRef } from "preact/hooks";
import { Drawing, Table, useWidth } from "./parts";
import { Attempt, Phase, seconds_of } from "./phases";
import { number } from "./text";

const kNames: [Phase["name"], string][] = [["selecting", "0"], ["collecting", "1"], ["closing", "2"], ["finalizing", "3"], ["whole", "5"]];
const kRow = 22, kLeft = 64, kRight = 70;
const fill = (name: Phase["name"]) => ({ fill: `var(--line-${kNames.find(([one]) => one === name)![1]})` });
const words = (of: Attempt) => `round ${of.round} attempt ${of.attempt} ${of.state} after ${number(of.seconds, 1)} s`;

export function Timeline({ attempts }: { attempts: Attempt[] }) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const longest = Math.max(1e-3, ...attempts.map((one) => one.seconds));
  const scale = (width - kLeft - kRight) / longest;
  const names = kNames.filter(([name]) => attempts.some((one) => one.phases.some((phase) => phase.name === name)));
  return <><Drawing name="Phases of the last attempts" says={attempts.slice(0, 5).map(words).join("; ")}
    head={["round", "attempt", "state", ...kNames.map(([name]) => `${name} s`), "reason"]}
    rows={attempts.map((one) => [one.round, one.attempt, one.state, ...kNames.map(([name]) => seconds_of(one, name)), one.reason])}>
    <p class="key">{names.map(([name]) => <span><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" style={fill(name)} /></svg> {name === "whole" ? "the whole attempt" : name}</span>)}</p>
    <div ref={place}><svg width={width} height={attempts.length * kRow + 4} class="drawn" aria-hidden="true">
      {attempts.map((one, row) => { let x = kLeft; return <g>
        <text x={kLeft - 8} y={row * kRow + 15} text-anchor="end">{one.round}.{one.attempt}</text>
        {one.phases.map((phase) => { const from = x; x += phase.seconds * scale;
          return <rect x={from} y={row * kRow + 3} width={Math.max(1, x - from)} height={kRow - 6} style={fill(phase.name)}><title>{phase.name} {number(phase.seconds, 2)} s</title></rect>; })}
        {one.state === "failed" && <path class="failed" d={`M${x + 3} ${row * kRow + 6}l9 9m0 -9l-9 9`} />}
        <text x={x + (one.state === "failed" ? 16 : 6)} y={row * kRow + 15}>{number(one.seconds, 1)} s</text></g>; })}
    </svg></div></Drawing>
    <Table name="Attempts" head={["round", "attempt", "state", "selecting s", "collecting s", "closing s", "finalizing s", "deadline moved", "not accepted", "reason"]}
      rows={attempts.map((one) => [String(one.round), String(one.attempt), one.state, ...kNames.slice(0, 4).map(([name]) => number(seconds_of(one, name), 2)),
        number(one.extended), one.accepted === null ? "–" : number(one.drawn - one.accepted), one.reason])} /></>;
}
