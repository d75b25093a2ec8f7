// A walk over a page by the keyboard alone: from its beginning, control by control in their order, to its end.
import assert from "node:assert/strict";

// In the page: what a key reaches in `main`, with what the outline and the shadow of each are at rest, and what takes a click and is not among them.
function controls() {
  const main = document.querySelector("main"), known = (window.walked = []), lost = [];
  const takes_click = (one) => !!one.l?.clickfalse; // as the renderer keeps its listeners
  if (!takes_click(document.querySelector(".skip"))) lost.push("the renderer keeps its listeners otherwise: what takes a click is not seen");
  for (const one of main.querySelectorAll("*")) {
    if (one.disabled || !one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    if (one.tabIndex >= 0) known.push({ one, rest: style.outline + style.boxShadow });
    else if (takes_click(one) && !one.closest("[aria-hidden=true]")) lost.push(one.outerHTML.slice(0, 80));
    if (one.tabIndex > 0) lost.push(`out of its order: ${one.outerHTML.slice(0, 80)}`);
  }
  return { count: known.length, lost };
}

// In the page: what is wrong with where the focus is, which should be at the control `at`; empty: nothing. A table that was never on the screen is laid out
// in the frame after (content-visibility), so that what is wrong is looked at again then.
async function wrong_with(at) {
  const wrong_now = () => {
    const { one, rest } = window.walked[at], has = document.activeElement, named = (it) => it.outerHTML.slice(0, 120);
    if (has !== one) return `${named(one)}: the focus is at ${named(has)}`;
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    if (style.outline + style.boxShadow === rest || parseFloat(style.outlineWidth) < 2) return `${named(one)}: its focus cannot be seen`;
    const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)], [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
    const seen = document.elementFromPoint(left + Math.min(8, (right - left) / 2), (top + bottom) / 2);
    return seen && (one.contains(seen) || seen.contains(one) && !seen.matches("main, body, html")) ? "" : `${named(one)}: hidden by ${seen ? named(seen) : "the screen's edge"}`;
  };
  if (!wrong_now()) return "";
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return wrong_now();
}

async function back_by_tab(page) {
  await page.keyboard.down("Shift");
  await page.keyboard.press("Tab");
  await page.keyboard.up("Shift");
}

// The link at the page's beginning leads past its head; Tab goes on from there through each control, and then out. Shift+Tab leads the same way back.
export async function walk(page, { both_ways = false } = {}) {
  await page.focus("nav a");
  await back_by_tab(page);
  const skip = await page.evaluate(() => [document.activeElement.className, getComputedStyle(document.activeElement).outlineStyle, document.activeElement.getBoundingClientRect().left >= 0]);
  assert.deepEqual(skip, ["skip", "solid", true]);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  const { count, lost } = await page.evaluate(controls);
  assert.deepEqual(lost, []);
  const go = async (step, places) => {
    for (const at of places) {
      await step();
      assert.equal(await page.evaluate(wrong_with, at), "");
    }
  };
  const places = [...Array(count).keys()];
  await go(() => page.keyboard.press("Tab"), places);
  await page.keyboard.press("Tab");
  const is_out = () => page.evaluate(() => !document.querySelector("main").contains(document.activeElement));
  assert.ok(await is_out(), "no way out of the page by Tab");
  if (both_ways) await go(async () => { do await back_by_tab(page); while (await is_out()); }, places.reverse());
}
