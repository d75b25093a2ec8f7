// Texts of strangers, as the console shows and saves them. Usage: node text_test.mjs SOURCES PACKAGES
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [sources, packages] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(packages, "package.json"))("esbuild");
const built = esbuild.buildSync({ entryPoints: [join(sources, "src", "text.ts")], bundle: true, write: false, format: "esm" });
const saved = [];
globalThis.Blob = class { constructor(parts) { saved.push(parts.join("")); } };
globalThis.document = { createElement: () => ({ click() {} }) };
URL.createObjectURL = () => "blob:1";
URL.revokeObjectURL = () => {};
const { shown, number, percent, save_csv } = await import("data:text/javascript," + encodeURIComponent(built.outputFiles[0].text));

assert.equal(shown("<b onclick=x>"), "<b onclick=x>"); // Preact sets it as text
assert.equal(shown("a\u001b[31mb"), "a\\u{1b}[31mb");
assert.equal(shown("a\u202eb\u2066c\u200fd"), "a\\u{202e}b\\u{2066}c\\u{200f}d");
assert.equal(shown("zero\u200bwidth\ufeff"), "zero\\u{200b}width\\u{feff}");
assert.equal(shown(undefined), "");
assert.equal(shown("Zürich 東京"), "Zürich 東京");
assert.equal(number(null), "–"); // what the server does not say is not a zero
assert.equal(percent(0.975), "97.5 %");
assert.deepEqual([number(12345.67891), number(12345.67891, 1), number(12345.67891), number(7, 0)], ["12,345.6789", "12,345.7", "12,345.6789", "7"]);

save_csv("x", ["name", "loss"], [["=HYPERLINK(1)", -0.5], ['a "b",\nc', null]]);
assert.equal(saved[0], '"name","loss"\r\n"\'=HYPERLINK(1)","-0.5"\r\n"a ""b"",\\u{a}c",""\r\n');
