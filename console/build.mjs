// Writes the console as a C++ source. Usage: node build.mjs FOLDER_WITH_NODE_MODULES OUTPUT. The same sources and packages give the
// same bytes, wherever they lie. It fails if all of it is over kBytesMax.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const kBytesMax = 120_000; // gzip, page and all
const [packages, output] = process.argv.slice(2).map((path) => resolve(path));
const source = join(dirname(fileURLToPath(import.meta.url)), "src");
const esbuild = createRequire(join(packages, "package.json"))("esbuild");

// The licences of what is bundled want to go with it. Not all packages have theirs in the files that are.
function notices() {
  const lock = JSON.parse(readFileSync(join(source, "../package-lock.json"), "utf8"));
  const bundled = Object.entries(lock.packages).filter(([place, { dev }]) => place && !dev).map(([place]) => place).sort();
  return bundled.map((place) => `/*! ${place.replace("node_modules/", "")}\n${readFileSync(join(packages, place, "LICENSE"), "utf8").trim()} */`).join("\n");
}

const built = esbuild.buildSync({
  absWorkingDir: source, entryPoints: ["main.tsx", "console.css"], outdir: "out", bundle: true, minify: true, write: false,
  format: "iife", target: "es2020", jsx: "automatic", jsxImportSource: "preact", nodePaths: [join(packages, "node_modules")],
  legalComments: "inline", charset: "utf8", metafile: false, banner: { js: notices() },
});
const file = (end) => gzipSync(built.outputFiles.find((f) => f.path.endsWith(end)).contents, { level: 9 });
const parts = { page: readFileSync(join(source, "index.html")), script: file(".js"), style: file(".css") };
const bytes = gzipSync(parts.page).length + parts.script.length + parts.style.length;
if (bytes > kBytesMax) throw new Error(`the console has ${bytes} bytes, at most ${kBytesMax}`);

const array = (name, data) => `constexpr uint8_t ${name}[] = {${data.join(",")}};\n`;
writeFileSync(output, `// Made by console/build.mjs.
#include "fl_server/console/console_bundle.h"

namespace coterie {
namespace {

${Object.entries(parts).map(([name, data]) => array(name, data)).join("")}
}  // namespace

ConsoleBundle console_bundle() { return {page, script, style}; }

}  // namespace coterie
`);
console.log(`The console has ${bytes} bytes (gzip)`);
