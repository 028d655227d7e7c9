// Calls tools of a page through Playwright: node playwright.mjs MODULES BROWSER
// URL CALLS, the calls as JSON: [{"tool", "input"}]. Prints the names of the
// tools and the outputs as JSON.
import { createRequire } from "node:module";

const [modules, executablePath, url, calls] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/`)("playwright-core");
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--enable-features=WebMCP"],
});
const page = await browser.newPage();
await page.goto(url);
await page.evaluate(() => window.remit.ready);
const tools = await page.webmcp.tools();
const outputs = [];
for (const { tool, input } of JSON.parse(calls)) {
  outputs.push(await page.webmcp.callTool(tool, input));
}
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), outputs }));
await browser.close();
