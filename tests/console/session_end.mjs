// A session that ends while its page is open: the page says so, and who signs in again is where they were, with what they had typed.
import assert from "node:assert/strict";

const kSaid = "Your session has ended. Sign in again, and this page is as it was.";

// The sign-in page as a session's end leaves it, and not a word of what stood there before.
async function has_ended(page, address) {
  await page.waitForFunction(() => document.activeElement?.id === "token");
  assert.deepEqual(await page.$$eval("[role=alert]", (found) => found.map((one) => one.textContent)), [kSaid]);
  assert.deepEqual(await page.$$eval("h1", (found) => found.map((one) => one.textContent)), ["Coterie"]);
  assert.equal(await page.evaluate(() => location.hash), address);
}

// The token of a session is taken back, as it would end by itself: nothing tells the page until it asks. `post`, `del`: requests of somebody else.
export async function token_ends(page, { base, post, del, sign_in, examine }) {
  const token_of = (label) => post("tokens", JSON.stringify({ label, roles: ["security_admin"] }));
  const first = await token_of("first"), second = await token_of("second"), typed = "17:ab";
  const audit = () => page.waitForSelector("form.verify input");
  await page.goto(`${base}/#/audit`);
  await sign_in(first.token);
  await (await audit()).type(typed);
  await del(`tokens/${first.id}`);
  await page.evaluate(() => document.querySelector("nav a[href='#/']").click());
  await has_ended(page, "#/");
  await examine("session-ended");
  await page.goBack(); // nobody is signed in, and the address is still the page's
  await sign_in(second.token);
  assert.equal(await (await audit()).evaluate((field) => field.value), typed);
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await del(`tokens/${second.id}`);
  await page.reload(); // as who comes back to it later does
  await has_ended(page, "#/audit");
}

// A session of a provider ends, and the way back leads through the provider. `end`: ends the session behind the page's back.
export async function provider_session_ends(page, { address, end, job }) {
  const wanted = "[type=search]", typed = "ju";
  await page.goto(`${address}/#/compare`);
  await (await page.waitForSelector(wanted)).type(typed);
  await end();
  const box = await page.waitForSelector(`::-p-xpath(//label[contains(., "${job}")]/input)`);
  await box.focus();
  await page.keyboard.press("Space");
  await has_ended(page, `#/compare/${job}`);
  await page.click("a.button");
  await page.waitForSelector("[aria-label=Results] tbody tr");
  assert.equal(await page.evaluate(() => location.href), `${address}/#/compare/${job}`);
  assert.equal(await (await page.waitForSelector(wanted)).evaluate((field) => field.value), typed);
}
