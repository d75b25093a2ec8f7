// What answers of a run's model come from: pictures that `coterie model explain --run` has left in the run's folder, and their figures.
import { get, Json } from "./api";
import { Said, Table, useAsked } from "./parts";
import { number, shown } from "./text";

const words_of = (one: Json) => `example ${one.example} of ${shown(one.data)}: ${one.label === undefined ? "" : `class ${one.label}, `}taken for ${one.predicted}`;
const area = (of?: Json) => of ? `${number(of.attribution)} (by chance ${number(of.chance)})` : "–";

export function Explanations({ path, digest }: { path: string; digest?: string }) {
  const { value, error } = useAsked(() => get(`${path}/explanations`), `${path}/explanations`);
  if (!value) return <Said error={error} waits />;
  const all = value.explanations as Json[], is_of_another = (one: Json) => digest !== undefined && one.model_digest !== digest;
  const left_out = value.left_out > 0 && <p>Explanations that are not shown: {number(value.left_out)}. They are damaged, have no picture, or are too many.</p>;
  if (all.length === 0) return <><p>There are no pictures yet: <code>coterie model explain DIR/model.cotf --data DATA --run DIR</code> leaves some in the run's folder DIR.</p>{left_out}</>;
  return <><p>On the left of each picture is the example, on the right what speaks for the explained output (red) and against it (blue).</p>
    <ul class="explanations">{all.map((one) => <li><figure>
      <img src={`/admin/v1/${path}/explanations/${encodeURIComponent(one.name)}`} width={one.width} height={one.height} loading="lazy"
        alt={`${words_of(one)}; what speaks for output ${one.output} and against it, by ${one.method}`} />
      <figcaption><strong>Output {one.output}, {one.method}</strong> {words_of(one)}{is_of_another(one) && <em> This is of another model than the run has now.</em>}</figcaption></figure></li>)}</ul>
    {left_out}
    <Table name="Explanations" head={["data", "example", "class", "taken for", "explained output", "its score", "method", "deletion", "insertion"]} rows={all.map((one) =>
      [one.data, String(one.example), one.label === undefined ? "–" : String(one.label), String(one.predicted), String(one.output), number(one.score), one.method, area(one.deletion), area(one.insertion)])} />
    <p><small>Deletion: the area under the output as values go, the strongest first; less than by chance is good. Insertion: as they come; more is good. <code>--check</code> computes both.</small></p></>;
}
