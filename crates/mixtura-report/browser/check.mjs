// Opens a report in headless Chromium and interacts with it like a reader: hover, zoom, hide, choose, on a
// desktop and on a phone. Usage: node check.mjs CHROMIUM PAGE.html [FOLDER for screenshots]

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, file, folder] = process.argv.slice(2);
const SCREENS = [
  { name: "desktop", width: 1400, height: 1280, mobile: false, dark: false },
  { name: "phone", width: 390, height: 844, mobile: true, dark: true },
];
// All figures of a page are counted, but only this many are tried.
const MOST_USED = 6;

let nChecks = 0;
function check(holds, what) {
  nChecks += 1;
  if (!holds) throw new Error(what);
}

/** The browser, spoken to through a pipe (Chrome DevTools Protocol). */
class Browser {
  constructor(program) {
    const flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "about:blank"];
    this.process = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = [];
    this.last = 0;
    let rest = "";
    this.process.stdio[4].on("data", data => {
      rest += data;
      for (let end = rest.indexOf("\0"); end >= 0; end = rest.indexOf("\0")) {
        this.receive(JSON.parse(rest.slice(0, end)));
        rest = rest.slice(end + 1);
      }
    });
    this.process.on("exit", code => {
      for (const { reject } of this.waiting.values()) reject(new Error(`the browser ended with ${code}`));
    });
  }

  receive(message) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return this.listeners.forEach(listen => listen(message));
    this.waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.last;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  close() {
    this.process.kill();
  }
}

/** A page on a screen. */
class Tab {
  static async open(browser, address, screen) {
    const tab = new Tab();
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    tab.send = (method, params) => browser.send(method, params, sessionId);
    tab.complaints = [];
    const loaded = new Promise(resolve => browser.listeners.push(message => {
      if (message.sessionId !== sessionId) return;
      const { method, params } = message;
      if (method === "Page.loadEventFired") resolve();
      if (method === "Runtime.exceptionThrown") tab.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) tab.complaints.push(JSON.stringify(params.args));
      if (method === "Log.entryAdded" && params.entry.level === "error") tab.complaints.push(params.entry.text);
      if (method === "Network.requestWillBeSent" && !/^(file|data|about):/.test(params.request.url)) tab.complaints.push(`requests ${params.request.url}`);
    }));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await tab.send(`${domain}.enable`);
    const { width, height, mobile, dark } = screen;
    await tab.send("Emulation.setDeviceMetricsOverride", { width, height, mobile, deviceScaleFactor: 1 });
    await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await tab.send("Page.navigate", { url: address });
    await loaded;
    return tab;
  }

  async ask(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression: `(() => { ${expression} })()`, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async mouse(type, x, y, buttons = 0) {
    const button = type === "mouseMoved" && !buttons ? "none" : "left";
    await this.send("Input.dispatchMouseEvent", { type, x, y, button, buttons, clickCount: type === "mouseMoved" ? 0 : 1 });
  }

  async screenshot(name) {
    if (!folder) return;
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(path.join(folder, `${name}.png`), Buffer.from(data, "base64"));
  }
}

/** Every figure has its series, its legend and its numbers along the axes. */
async function figuresAreDrawn(tab) {
  const figures = await tab.ask(`return [...document.querySelectorAll("figure[data-name]")].map(figure => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    return { id: figure.id, expected: data.series.length, isEqual: data.equal, isRead: data.series.some(series => series.marks.length > 0), hidden: figure.closest("[hidden]") !== null,
      drawn: data.series.filter((_, number) => [...figure.querySelectorAll(\`.marks > g[data-series="\${number}"] path, .notes > g[data-series="\${number}"] > *\`)].some(mark => mark.localName === "text" || mark.getAttribute("d").length > 3)).length,
      buttons: figure.querySelectorAll(".legend-bar button[data-series]").length,
      ticks: figure.querySelectorAll(".tick").length };
  });`);
  check(figures.length > 0, "the page has no figures");
  for (const { id, expected, drawn, buttons, ticks } of figures) {
    check(drawn === expected && buttons === expected, `${id}: ${drawn} series and ${buttons} buttons instead of ${expected}`);
    check(ticks >= 4, `${id}: only ${ticks} numbers along its axes`);
  }
  return figures;
}

/** Nothing is wider than the page, and letters are large enough; tables need not be scrolled. */
async function pageFits(tab, screen) {
  const { width, least, wide, scrolled } = await tab.ask(`
    const shown = [...document.querySelectorAll("body *")].filter(node => node.getClientRects().length && !node.closest("clipPath, .marks, .notes"));
    const sizes = shown.filter(node => node.matches("figure .tick")).map(text => text.getBoundingClientRect().height);
    const isWide = node => { const { left, right } = node.getBoundingClientRect(); return left < -1 || right > innerWidth + 1; };
    return { width: document.documentElement.scrollWidth, least: Math.min(...sizes),
      wide: shown.filter(isWide).map(node => \`\${node.localName}.\${node.getAttribute("class")} "\${node.textContent.slice(0, 40)}"\`),
      scrolled: [...document.querySelectorAll(".table")].filter(table => table.scrollWidth > table.clientWidth + 1).map(table => table.textContent.slice(0, 60)) };`);
  check(width <= screen.width, `${screen.name}: the page is ${width} pixels wide`);
  check(wide.length === 0, `${screen.name}: wider than the page: ${wide.slice(0, 3).join("; ")}`);
  check(scrolled.length === 0, `${screen.name}: tables have to be scrolled: ${scrolled.join("; ")}`);
  check(least >= 10, `${screen.name}: letters of ${least} pixels`);
}

/** The lengths of a unit on the axes of a figure, from its marks and from its numbers. */
async function unitsOf(tab, id) {
  return tab.ask(`
    const figure = document.querySelector("#${id}"), data = JSON.parse(figure.querySelector("script").textContent), { drawn } = data;
    const [a, , , d] = figure.querySelector(".marks").getAttribute("transform").match(/-?[\\d.e-]+/g).map(Number);
    const ticks = [...figure.querySelectorAll(".tick")].map(text => ({ anchor: text.getAttribute("text-anchor"), value: Number(text.textContent.replaceAll("−", "-")),
      x: Number(text.getAttribute("x")), y: Number(text.getAttribute("y")) }));
    const unit = (anchor, axis) => { const own = ticks.filter(tick => tick.anchor === anchor), first = own[0], last = own.at(-1); return Math.abs((last[axis] - first[axis]) / (last.value - first.value)); };
    return { marks: [a * drawn.width / (drawn.x[1] - drawn.x[0]), d * drawn.height / (drawn.y[1] - drawn.y[0])], ticks: [unit("middle", "x"), unit("end", "y")] };`);
}

/** A unit has the same length on both axes, before and after looking closer. */
async function unitsAreEqual(tab, id) {
  const same = async when => {
    for (const [what, [x, y]] of Object.entries(await unitsOf(tab, id))) {
      check(Math.abs(x / y - 1) < 1e-3, `${id}: ${when}, a unit of the ${what} is ${x} pixels across and ${y} along`);
    }
  };
  await same("whole");
  const box = await tab.ask(`const svg = document.querySelector("#${id} .plot > svg"); svg.scrollIntoView({ block: "center" });
    const { left, top, width, height } = svg.getBoundingClientRect(); return { left, top, width, height };`);
  const at = (x, y) => [box.left + x * box.width, box.top + y * box.height];
  await tab.mouse("mousePressed", ...at(0.3, 0.3), 1);
  await tab.mouse("mouseMoved", ...at(0.8, 0.4), 1);
  await tab.mouse("mouseReleased", ...at(0.8, 0.4));
  check(await tab.ask(`return !document.querySelector("#${id} .reset").hidden;`), `${id}: dragging does not look closer`);
  await same("closer");
  await tab.ask(`document.querySelector("#${id} .reset").click();`);
}

/** A group's selector switches all its choices at once. */
async function groupsSwitch(tab) {
  const groups = await tab.ask(`return [...document.querySelectorAll(".groups .group")].map(group => {
    const select = group.querySelector("select"), choices = [...document.querySelectorAll(".choice[data-group]")].filter(choice => choice.dataset.group === group.dataset.group);
    const faults = [];
    for (const number of [...[...select.options].keys()].reverse()) {
      select.value = String(number);
      select.dispatchEvent(new Event("change"));
      choices.forEach((choice, i) => [...choice.querySelectorAll(":scope > .option")].forEach((option, other) => { if (option.hidden !== (other !== number)) faults.push([number, i, other]); }));
    }
    return { name: group.dataset.group, n: choices.length, faults, shown: group.getClientRects().length > 0, inside: choices.filter(choice => choice.querySelector(":scope > label")).length };
  });`);
  const named = await tab.ask(`return new Set([...document.querySelectorAll(".choice[data-group]")].map(choice => choice.dataset.group)).size;`);
  check(groups.length === named, `${groups.length} selectors for ${named} groups`);
  for (const { name, n, faults, shown, inside } of groups) {
    check(n > 0 && shown && inside === 0 && faults.length === 0, `group ${name}: ${n} choices, faults ${JSON.stringify(faults)}`);
  }
}

/** Hovering shows values; dragging looks closer; a button shows everything again. */
async function figureAnswers(tab, id) {
  const box = await tab.ask(`const svg = document.querySelector("#${id} .plot > svg"); svg.scrollIntoView({ block: "center" });
    const { left, top, width, height } = svg.getBoundingClientRect(); return { left, top, width, height };`);
  const at = (x, y) => [box.left + x * box.width, box.top + y * box.height];
  const state = () => tab.ask(`const figure = document.querySelector("#${id}"); return {
    tip: figure.querySelector(".tip").hidden ? "" : figure.querySelector(".tip").textContent,
    ticks: [...figure.querySelectorAll(".tick")].map(tick => tick.textContent).join(" "),
    transform: figure.querySelector(".marks").getAttribute("transform"), reset: !figure.querySelector(".reset").hidden };`);
  const before = await state();
  await tab.mouse("mouseMoved", ...at(0.6, 0.4));
  const hovered = await state();
  check(/\d/.test(hovered.tip), `${id}: no values under the pointer`);
  const levels = await tab.ask(`const { series } = JSON.parse(document.querySelector("#${id} script").textContent);
    return series.slice(0, 14).flatMap(series => series.notes).filter(note => note.level !== undefined).map(note => note.text);`);
  check(levels.every(level => hovered.tip.includes(level.replaceAll(/([Α-ω])_([Α-ω])/gu, "$1$2"))), `${id}: no level under the pointer`);
  await tab.mouse("mousePressed", ...at(0.4, 0.2), 1);
  await tab.mouse("mouseMoved", ...at(0.6, 0.5), 1);
  await tab.mouse("mouseReleased", ...at(0.6, 0.5));
  const zoomed = await state();
  check(zoomed.reset && zoomed.ticks !== before.ticks && zoomed.transform !== before.transform, `${id}: dragging does not look closer`);
  await tab.ask(`document.querySelector("#${id} .reset").click();`);
  const after = await state();
  check(!after.reset && after.ticks === before.ticks && after.transform === before.transform, `${id}: not everything is shown again`);
  await tab.mouse("mouseMoved", 1, 1);
}

/** A legend's button hides its series and shows it again. */
async function legendHides(tab, id) {
  const shown = `return [...document.querySelectorAll("#${id} .marks > g")].filter(group => getComputedStyle(group).display !== "none").length;`;
  const press = `document.querySelector("#${id} .legend-bar button[data-series]").click();`;
  const all = await tab.ask(shown);
  await tab.ask(press);
  check(await tab.ask(shown) === all - 1, `${id}: the legend hides nothing`);
  await tab.ask(press);
  check(await tab.ask(shown) === all, `${id}: the legend does not show again`);
}

/** Each option of each choice with its own selector shows its own figures, and only those. */
async function choicesChoose(tab) {
  const n = await tab.ask(`return document.querySelectorAll(".choice:not([data-group])").length;`);
  for (let choice = 0; choice < n; choice++) {
    const faults = await tab.ask(`
      const choice = document.querySelectorAll(".choice:not([data-group])")[${choice}];
      const select = choice.querySelector(":scope > label > select"), options = [...choice.querySelectorAll(":scope > .option")];
      const faults = [];
      for (const number of [...options.keys()].reverse()) {
        select.value = String(number);
        select.dispatchEvent(new Event("change"));
        options.forEach((option, other) => { if (option.hidden !== (other !== number)) faults.push([number, other]); });
      }
      return { faults, n: options.length, named: select.options.length };`);
    check(faults.faults.length === 0 && faults.n === faults.named, `choice ${choice}: shows the wrong option`);
  }
}

async function onScreen(browser, screen) {
  const tab = await Tab.open(browser, pathToFileURL(path.resolve(file)).href, screen);
  const figures = await figuresAreDrawn(tab);
  await pageFits(tab, screen);
  await tab.screenshot(`${screen.name}-top`);
  for (const { id } of figures.filter(figure => !figure.hidden && figure.isRead).slice(0, MOST_USED)) {
    await figureAnswers(tab, id);
    await legendHides(tab, id);
  }
  for (const { id } of figures.filter(figure => !figure.hidden && figure.isEqual).slice(0, MOST_USED)) await unitsAreEqual(tab, id);
  await groupsSwitch(tab);
  await choicesChoose(tab);
  const headings = await tab.ask(`return document.querySelectorAll("section").length;`);
  for (let section = 0; section < headings; section++) {
    await tab.ask(`document.querySelectorAll("section")[${section}].scrollIntoView();`);
    await tab.screenshot(`${screen.name}-section-${section + 1}`);
  }
  check(tab.complaints.length === 0, `${screen.name}: console messages: ${tab.complaints.join("; ")}`);
  return figures.length;
}

const browser = new Browser(chromium);
const deadline = setTimeout(() => { console.error("error: the browser took more than 120 s"); browser.close(); process.exit(1); }, 120_000);
try {
  for (const screen of SCREENS) {
    const nFigures = await onScreen(browser, screen);
    console.log(`${screen.name}, ${screen.width}×${screen.height}: ${nFigures} figures`);
  }
  console.log(`${path.basename(file)}: ${nChecks} checks passed`);
} catch (error) {
  console.error(`error: ${path.basename(file)}: ${error.message}`);
  process.exitCode = 1;
} finally {
  clearTimeout(deadline);
  browser.close();
}
