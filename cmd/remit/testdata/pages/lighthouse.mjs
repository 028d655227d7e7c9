// Runs Lighthouse's agentic-browsing audits: node lighthouse.mjs MODULES CHROMIUM
// URLS, the addresses as a JSON list. Prints, as JSON, for each address what
// each audit of the category gave: {"url", "audits": {id: {mode, score, items, error}}}.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, executablePath, urls] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(createRequire(`${modules}/`).resolve(path)).href);
const { default: lighthouse } = await load("lighthouse");
const { default: config } = await load("lighthouse/core/config/agentic-browsing-config.js");
const { default: puppeteer } = await load("puppeteer-core");

const browser = await puppeteer.launch({
  executablePath, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update", "--disable-sync", "--enable-features=WebMCP"],
});
const reports = [];
for (const url of JSON.parse(urls)) {
  const page = await browser.newPage(); // in front, so that it paints
  const { lhr } = await lighthouse(url, {
    onlyCategories: ["agentic-browsing"], throttlingMethod: "simulate", formFactor: "desktop", screenEmulation: { disabled: true },
    disableFullPageScreenshot: true, logLevel: "error", pauseAfterFcpMs: 0, pauseAfterLoadMs: 0, networkQuietThresholdMs: 200, cpuQuietThresholdMs: 200,
  }, config, page);
  await page.close();
  const audits = {};
  for (const { id } of lhr.categories["agentic-browsing"].auditRefs) {
    const { scoreDisplayMode: mode, score, details, errorMessage, explanation } = lhr.audits[id];
    audits[id] = { mode, score, items: details?.items?.length ?? 0, error: errorMessage ?? explanation ?? "" };
  }
  reports.push({ url, audits });
}
console.log(JSON.stringify(reports));
await browser.close();
