// What the server allows, as the API tells it, and who asks. Nothing changes here.
import { get, Json, Session } from "./api";
import { size } from "./models";
import { Facts, Said, Table, useAsked } from "./parts";
import { number, shown, time } from "./text";

const kRefreshMs = 15_000;
const kFullShare = 0.9;  // of a quota, from which it is said

export function Settings({ session }: { session: Session }) {
  const { value, error } = useAsked(() => get("server"), "settings", kRefreshMs);
  if (!value) return <><h1>Settings</h1><Said error={error} waits /></>;
  const quotas = Object.entries(value.quotas ?? {} as Json).flatMap(([tenant, of]) => Object.entries(of as Record<string, { used: number; max: number }>).map(([quota, one]) => ({ tenant, quota, ...one })));
  const amount = (quota: string, count: number) => quota.endsWith("_bytes") ? size(count) : number(count);
  const left = ({ used, max }: { used: number; max: number }) => used >= max ? "none: further ones are refused" : used >= kFullShare * max ? "little" : "enough";
  return <><h1>Settings</h1><Said error={error} />
    <Facts of={[["version", value.version], ["you are", session.who], ["your roles", session.roles.join(", ") || "none"], ["your tenant", session.tenant === "*" ? "all" : session.tenant],
      ["your token ends", session.expires ? time(session.expires) : "never"]]} />
    <Table name="Quotas" head={["tenant", "quota", "used", "at most", "share", "left"]} rows={quotas.map((one) =>
      [one.tenant, one.quota, amount(one.quota, one.used), amount(one.quota, one.max),
        <><meter min={0} max={Math.max(1, one.max)} value={one.used} aria-label={`${shown(one.quota)} of ${shown(one.tenant)}`} /> {number(one.max > 0 ? one.used / one.max * 100 : 100, 1)} %</>, left(one)])} />
    <p>Quotas are of each tenant that you see. Retention, limits of connections and the rest of the configuration file are not told by the API: they stand in that file on the server's machine.</p></>;
}
