// Decodes requests of WriteRaw by Parca's own messages: parca_messages.mjs FILE... prints a list of lists of series, each
// with its labels and its raw profiles in base64. Run in a folder with the package @parca/client.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";

// The package leaves out the ending of its own files.
register(
  "data:text/javascript," +
    encodeURIComponent(`export async function resolve(name, context, next) {
      try { return await next(name, context); } catch (error) {
        if (!name.startsWith(".")) throw error;
        return next(name + ".js", context);
      }
    }`),
);
const file = "node_modules/@parca/client/dist/parca/profilestore/v1alpha1/profilestore.js";
const { WriteRawRequest } = await import(pathToFileURL(`${process.cwd()}/${file}`).href);
const requests = process.argv.slice(2).map((path) => WriteRawRequest.fromBinary(readFileSync(path)));
console.log(
  JSON.stringify(
    requests.map((request) =>
      request.series.map((series) => ({
        labels: series.labels.labels.map(({ name, value }) => [name, value]),
        profiles: series.samples.map((sample) => Buffer.from(sample.rawProfile).toString("base64")),
      })),
    ),
  ),
);
