// What somebody should look at, and what was refused: of the server that answers.
import type { Json } from "./api";
import { Table } from "./parts";
import { refusals } from "./refusals";
import { number, shown, time } from "./text";

// Neither is told to callers of one tenant.
export function Alarms({ server }: { server: Json }) {
  if (!server.alarms) return <p>Alarms and refusals are of all tenants at once: the server tells them to callers of all tenants.</p>;
  const alarms = server.alarms as Json[];
  return <>
    <section><div class="bar"><h2>Alarms</h2></div>
      {alarms.length === 0 ? <p class="now holds">There are none. The server looks every 15 seconds, since {time(server.started)}.</p> :
        alarms.map((alarm) => <div class="now broken"><h3>{shown(alarm.summary)}{alarm.of && `: ${shown(alarm.of)}`}</h3>
          <p>{shown(alarm.action)} <small><span class="long">{shown(alarm.guide)}</span></small></p>
          <p><small><strong>{alarm.severity === "page" ? "felt now" : "will get worse"}</strong>, since {time(alarm.since)}, {shown(alarm.name)}</small></p></div>)}</section>
    {alarms.length > 0 && <Table name="Alarms as a table" head={["name", "severity", "of", "since", "summary", "action", "guide"]}
      rows={alarms.map((one) => [one.name, one.severity, one.of ?? "", time(one.since), one.summary, one.action, one.guide])} />}
    <Table name="Refused since the server started" head={["what", "reason", "times"]} rows={refusals(server).map((one) => [one.what, one.reason, number(one.times)])} />
  </>;
}
