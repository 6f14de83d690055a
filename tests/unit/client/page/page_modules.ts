// What the tests of this folder see of the page.
export * as counts from "../../../../client/web/page/counts";
export * as data from "../../../../client/web/page/data";
export * as engine from "../../../../client/web/page/engine";
export * as format from "../../../../client/web/page/format";
