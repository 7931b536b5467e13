"use strict";
// Lets readers hover, zoom, hide series and choose between views. The figures are visible without it.

const SVG = "http://www.w3.org/2000/svg";
const NARROW = 560;

for (const choice of document.querySelectorAll(".choice")) {
  const select = choice.querySelector(":scope > label > select");
  const options = [...choice.querySelectorAll(":scope > .option")];
  select.addEventListener("change", () => {
    options.forEach((option, number) => { option.hidden = number !== Number(select.value); });
    options[Number(select.value)].querySelectorAll("figure").forEach(figure => figure.refresh());
  });
}

for (const figure of document.querySelectorAll("figure[data-name]")) enliven(figure);

function enliven(figure) {
  const plot = figure.querySelector(".plot");
  const svg = plot.querySelector("svg");
  const tip = plot.querySelector(".tip");
  const reset = figure.querySelector(".reset");
  const axes = svg.querySelector(".axes");
  const marks = svg.querySelector(".marks");
  const clip = svg.querySelector("clipPath rect");
  const groups = [...marks.children];
  const data = JSON.parse(figure.querySelector("script").textContent);
  const drawn = data.frame;
  const whole = { x: [data.x.from, data.x.to], y: [data.y.from, data.y.to] };
  const guide = add(svg, "path", { class: "guide", visibility: "hidden" });
  const selection = add(svg, "rect", { class: "selection", visibility: "hidden" });
  let view = whole;
  let frame = drawn;
  let pressed = null;

  const place = (axis, value) => value === null ? NaN : axis.log ? Math.log10(value) : value;
  const value = (axis, at) => axis.log ? 10 ** at : at;
  const toX = at => frame.left + (at - view.x[0]) / (view.x[1] - view.x[0]) * frame.width;
  const toY = at => frame.top + (view.y[1] - at) / (view.y[1] - view.y[0]) * frame.height;
  const fromX = x => view.x[0] + (x - frame.left) / frame.width * (view.x[1] - view.x[0]);
  const fromY = y => view.y[1] - (y - frame.top) / frame.height * (view.y[1] - view.y[0]);

  // Text keeps its size on a phone: only the drawing area shrinks.
  function refresh() {
    const width = Math.round(plot.clientWidth);
    if (width === 0) return;
    const height = width < NARROW ? 290 : Math.min(400, Math.round(0.53 * width));
    const left = width < NARROW ? 70 : 84;
    frame = { left, top: 14, width: width - left - 14, height: height - 14 - 54 };
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    set(clip, { x: frame.left, y: frame.top, width: frame.width, height: frame.height });
    const stretchX = (whole.x[1] - whole.x[0]) / (view.x[1] - view.x[0]) * frame.width / drawn.width;
    const stretchY = (whole.y[1] - whole.y[0]) / (view.y[1] - view.y[0]) * frame.height / drawn.height;
    const shiftX = toX(whole.x[0]) - stretchX * drawn.left;
    const shiftY = toY(whole.y[1]) - stretchY * drawn.top;
    marks.setAttribute("transform", `matrix(${stretchX} 0 0 ${stretchY} ${shiftX} ${shiftY})`);
    drawAxes();
    reset.hidden = view === whole;
  }

  function drawAxes() {
    axes.replaceChildren();
    const bottom = frame.top + frame.height;
    for (const tick of ticks(data.x.log, ...view.x, frame.width / 76)) {
      const x = toX(tick.place);
      add(axes, "path", { class: "grid", d: `M${x} ${frame.top}V${bottom}` });
      add(axes, "text", { class: "tick", "text-anchor": "middle", x, y: bottom + 18 }, tick.label);
    }
    for (const tick of ticks(data.y.log, ...view.y, frame.height / 48)) {
      const y = toY(tick.place);
      add(axes, "path", { class: "grid", d: `M${frame.left} ${y}h${frame.width}` });
      add(axes, "text", { class: "tick", "text-anchor": "end", x: frame.left - 8, y: y + 4 }, tick.label);
    }
    add(axes, "path", { class: "axis", d: `M${frame.left} ${frame.top}V${bottom}h${frame.width}` });
    add(axes, "text", { class: "label", "text-anchor": "middle", x: frame.left + frame.width / 2, y: bottom + 42 }, data.x.label);
    const middle = `translate(14 ${frame.top + frame.height / 2}) rotate(-90)`;
    add(axes, "text", { class: "label", "text-anchor": "middle", transform: middle }, data.y.label);
  }

  function at(event) {
    const box = svg.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }
  const inside = ({ x, y }) => x >= frame.left && x <= frame.left + frame.width && y >= frame.top && y <= frame.top + frame.height;
  const clamp = ({ x, y }) => ({
    x: Math.min(Math.max(x, frame.left), frame.left + frame.width),
    y: Math.min(Math.max(y, frame.top), frame.top + frame.height),
  });

  function hover(point) {
    const shown = data.series.map((series, number) => ({ ...series, number })).filter(series => !groups[series.number].hasAttribute("hidden"));
    let nearest = null;
    for (const mark of shown.flatMap(series => series.marks)) {
      for (const x of mark.x) {
        const distance = Math.abs(toX(place(data.x, x)) - point.x);
        if (nearest === null || distance < nearest.distance) nearest = { x, distance };
      }
    }
    if (nearest === null) return leave();
    const x = toX(place(data.x, nearest.x));
    set(guide, { d: `M${x} ${frame.top}v${frame.height}`, visibility: "visible" });
    tip.replaceChildren(element("b", `${data.x.label} ${written(nearest.x)}`));
    const lines = shown.flatMap(series => {
      const parts = series.marks.map(mark => {
        const i = mark.x.indexOf(nearest.x);
        if (i < 0) return null;
        if (mark.y) return mark.y[i] === null ? null : `${mark.label} ${written(mark.y[i])}`;
        return mark.low[i] === null ? null : `${mark.label} ${written(mark.low[i])} … ${written(mark.high[i])}`;
      }).filter(part => part !== null);
      return parts.length ? [{ series, text: parts.reverse().join(", ") }] : [];
    });
    for (const { series, text } of lines.slice(0, 14)) {
      const line = document.createElement("div");
      const dot = document.createElement("i");
      const path = groups[series.number].querySelector("path");
      const style = getComputedStyle(groups[series.number].querySelector(".line") || path);
      dot.style.background = style.stroke;
      line.append(dot, data.series.length > 1 ? `${series.name}: ${text}` : text);
      tip.append(line);
    }
    tip.hidden = false;
    const left = x + 14 + tip.offsetWidth > plot.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${Math.max(0, Math.min(point.y - 20, plot.clientHeight - tip.offsetHeight))}px`;
  }

  function leave() {
    tip.hidden = true;
    guide.setAttribute("visibility", "hidden");
  }

  svg.addEventListener("pointerdown", event => {
    const point = at(event);
    if (!inside(point)) return;
    pressed = point;
    svg.setPointerCapture(event.pointerId);
    if (event.pointerType !== "mouse") hover(point);
  });
  svg.addEventListener("pointermove", event => {
    const point = at(event);
    if (pressed === null) {
      if (inside(point)) hover(point); else leave();
      return;
    }
    const { x, y, width, height } = area(pressed, clamp(point), event.pointerType);
    set(selection, { x, y, width, height, visibility: "visible" });
  });
  svg.addEventListener("pointerup", event => {
    if (pressed === null) return;
    const { x, y, width, height } = area(pressed, clamp(at(event)), event.pointerType);
    pressed = null;
    selection.setAttribute("visibility", "hidden");
    if (width < 8 || height < 8) return;
    leave();
    view = { x: [fromX(x), fromX(x + width)], y: [fromY(y + height), fromY(y)] };
    refresh();
  });
  svg.addEventListener("pointercancel", () => { pressed = null; selection.setAttribute("visibility", "hidden"); });
  svg.addEventListener("pointerleave", () => { if (pressed === null) leave(); });
  const showAll = () => { view = whole; refresh(); };
  svg.addEventListener("dblclick", showAll);
  reset.addEventListener("click", showAll);

  // Touch selects a horizontal range only, because vertical movement scrolls the page.
  function area(from, to, pointer) {
    const [top, bottom] = pointer === "mouse" ? [Math.min(from.y, to.y), Math.max(from.y, to.y)] : [frame.top, frame.top + frame.height];
    return { x: Math.min(from.x, to.x), y: top, width: Math.abs(from.x - to.x), height: bottom - top };
  }

  const buttons = [...figure.querySelectorAll(".legend-bar button[data-series]")];
  const show = (number, is) => {
    groups[number].toggleAttribute("hidden", !is);
    buttons[number].setAttribute("aria-pressed", String(is));
  };
  buttons.forEach((button, number) => {
    button.title = "click to hide or show; double-click to show only this series";
    button.addEventListener("click", () => show(number, button.getAttribute("aria-pressed") === "false"));
    button.addEventListener("dblclick", () => buttons.forEach((_, other) => show(other, other === number)));
  });
  if (buttons.length > 3) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", "series shown");
    ["all", ...data.series.map(series => `only ${series.name}`)].forEach((name, number) => select.append(new Option(name, number - 1)));
    select.addEventListener("change", () => buttons.forEach((_, number) => show(number, select.value === "-1" || Number(select.value) === number)));
    figure.querySelector(".legend-bar").prepend(select);
  }

  figure.refresh = refresh;
  refresh();
  new ResizeObserver(refresh).observe(plot);
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function add(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  set(node, attributes);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function element(name, text) {
  const node = document.createElement(name);
  node.textContent = text;
  return node;
}

function written(value) {
  const size = Math.abs(value);
  const text = Number.isInteger(value) && size < 1e9 ? String(value) : size !== 0 && (size < 1e-3 || size >= 1e7) ? value.toExponential(3) : String(Number(value.toPrecision(7)));
  return text.replaceAll("-", "−");
}

// Round numbers between two positions on an axis, as in ticks.rs.
function ticks(log, from, to, n) {
  if (!log) return even(from, to, n);
  const mantissas = to - from <= 2.5 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((to - from) / n));
  const found = [];
  for (let exponent = Math.floor(from); exponent <= Math.ceil(to); exponent++) {
    if (((exponent % every) + every) % every !== 0) continue;
    for (const mantissa of mantissas) {
      const at = Math.log10(mantissa) + exponent;
      const label = Math.abs(exponent) <= 3 ? (mantissa * 10 ** exponent).toFixed(Math.max(0, -exponent)) : `${mantissa}e${exponent}`;
      if (at >= from && at <= to) found.push({ place: at, label: label.replaceAll("-", "−") });
    }
  }
  if (found.length >= 2) return found;
  return even(10 ** from, 10 ** to, n).filter(tick => tick.place > 0).map(tick => ({ place: Math.log10(tick.place), label: tick.label }));
}

function even(from, to, n) {
  const rough = (to - from) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => rough / power <= factor * (1 + 1e-9));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const largest = Math.max(Math.abs(from), Math.abs(to));
  const digits = Math.max(0, Math.min(15, Math.floor(Math.log10(largest)) - Math.floor(Math.log10(step) + 1e-9)));
  const found = [];
  for (let i = Math.ceil(from / step); i <= Math.floor(to / step); i++) {
    const at = i * step;
    const label = at === 0 ? (decimals > 6 ? "0" : at.toFixed(Math.min(decimals, 6))) : decimals > 6 || largest >= 1e6 ? at.toExponential(digits) : at.toFixed(decimals);
    found.push({ place: at, label: label.replace("e+", "e").replaceAll("-", "−") });
  }
  return found;
}
