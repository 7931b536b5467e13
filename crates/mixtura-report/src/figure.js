// Lets readers hover, zoom and hide series. The figures are visible without it.

const SVG = "http://www.w3.org/2000/svg";
const NARROW = 560;

function enliven(figure) {
  const plot = figure.querySelector(".plot");
  const svg = plot.querySelector("svg");
  const tip = plot.querySelector(".tip");
  const reset = figure.querySelector(".reset");
  const axes = svg.querySelector(".axes");
  const marks = svg.querySelector(".marks");
  const clip = svg.querySelector("clipPath rect");
  const groups = [...marks.children];
  const notes = [...svg.querySelector(".notes").children];
  const data = JSON.parse(figure.querySelector("script").textContent);
  const drawn = data.drawn;
  const whole = { x: [data.x.from, data.x.to], y: [data.y.from, data.y.to] };
  const guide = add(svg, "path", { class: "guide", visibility: "hidden" });
  const selection = add(svg, "rect", { class: "selection", visibility: "hidden" });
  // What was asked for, and what is shown: with equal axes, it is wider in one direction.
  let asked = whole;
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
    const left = width < NARROW ? 44 : 60;
    frame = { left, top: 14, width: width - left - 14, height: width < NARROW ? 222 : Math.min(332, Math.round(0.46 * width)) };
    if (data.equal) frame.height = Math.round(Math.max(frame.height, Math.min(1.1 * frame.width, 560, frame.width * length(asked.y) / length(asked.x))));
    view = asked;
    let sides;
    // The numbers determine the margins, and the margins the numbers; as in layout.rs, margins grow after the first time.
    for (let time = 0; time < 3; time++) {
      if (data.equal) view = equalized(asked, frame);
      sides = { x: side(data.x, view.x, frame.width, true), y: side(data.y, view.y, frame.height, false) };
      const needed = margins(sides);
      for (const name in needed) frame[name] = time === 0 ? needed[name] : Math.max(frame[name], needed[name]);
      frame.width = Math.max(60, width - frame.left - frame.right);
    }
    if (data.equal) view = equalized(asked, frame);
    svg.setAttribute("viewBox", `0 0 ${width} ${frame.top + frame.height + frame.bottom}`);
    set(clip, { x: frame.left, y: frame.top, width: frame.width, height: frame.height });
    const stretchX = length(drawn.x) / length(view.x) * frame.width / drawn.width;
    const stretchY = length(drawn.y) / length(view.y) * frame.height / drawn.height;
    const shiftX = toX(drawn.x[0]) - stretchX * drawn.left;
    const shiftY = toY(drawn.y[1]) - stretchY * drawn.top;
    marks.setAttribute("transform", `matrix(${stretchX} 0 0 ${stretchY} ${shiftX} ${shiftY})`);
    drawAxes(sides, width);
    drawNotes();
    reset.hidden = asked === whole;
  }

  function drawAxes({ x, y }, width) {
    axes.replaceChildren();
    const bottom = frame.top + frame.height, right = frame.left + frame.width;
    const number = (anchor, x, y, text) => add(axes, "text", { class: "tick", "text-anchor": anchor, x, y }, text);
    for (const tick of x.ticks) {
      const at = toX(tick.place);
      add(axes, "path", { class: "grid", d: `M${at} ${frame.top}V${bottom}` });
      number("middle", at, bottom + 18, tick.label);
    }
    for (const tick of y.ticks) {
      const at = toY(tick.place);
      add(axes, "path", { class: "grid", d: `M${frame.left} ${at}H${right}` });
      number("end", frame.left - 8, at + 4, tick.label);
    }
    for (const tick of x.second) {
      const at = toX(tick.place);
      add(axes, "path", { class: "axis", d: `M${at} ${frame.top}v-4` });
      number("middle", at, frame.top - 8, tick.label);
    }
    for (const tick of y.second) {
      const at = toY(tick.place);
      add(axes, "path", { class: "axis", d: `M${right} ${at}h4` });
      number("start", right + 8, at + 4, tick.label);
    }
    const seconds = (x.second.length ? `M${frame.left} ${frame.top}H${right}` : "") + (y.second.length ? `M${right} ${frame.top}V${bottom}` : "");
    add(axes, "path", { class: "axis", d: `M${frame.left} ${frame.top}V${bottom}H${right}${seconds}` });
    const label = (attributes, text) => add(axes, "text", { class: "label", "text-anchor": "middle", ...attributes }, text);
    const middle = frame.left + frame.width / 2, upright = x => ({ transform: `translate(${x} ${frame.top + frame.height / 2}) rotate(-90)` });
    x.label.forEach((line, i) => label({ x: middle, y: bottom + 36 + LINE * i }, line));
    x.secondLabel.forEach((line, i) => label({ x: middle, y: frame.top - 24 - LINE * (x.secondLabel.length - 1 - i) }, line));
    y.label.forEach((line, i) => label(upright(14 + LINE * i), line));
    y.secondLabel.forEach((line, i) => label(upright(width - 6 - LINE * (y.secondLabel.length - 1 - i)), line));
  }

  // Texts and levels keep their size and are where there is room, as in notes.rs.
  function drawNotes() {
    const taken = [], right = frame.left + frame.width;
    const isTaken = a => taken.some(b => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom);
    data.series.forEach((series, number) => {
      notes[number].replaceChildren();
      for (const note of series.notes) {
        const text = (anchor, x, y) => add(notes[number], "text", { class: "note", "text-anchor": anchor, x, y }, note.text);
        if (note.level === undefined) {
          const [x, y] = [toX(place(data.x, note.x)), toY(place(data.y, note.y))];
          if (!Number.isFinite(x + y)) continue;
          const long = 12 * extent(note.text);
          const places = STEPS.map(([i, j]) => {
            const [left, top] = [x + i * (long + 4) - long / 2 - 2, y + j * 12 - 6];
            return { x: x + i * (long + 4), y: y + j * 12, left, top, right: left + long + 4, bottom: top + 11 };
          });
          const found = places.find(place => !isTaken(place)) ?? places[0];
          taken.push(found);
          text("middle", found.x, found.y + 4);
          continue;
        }
        const y = toY(place(data.y, note.level));
        if (!Number.isFinite(y)) continue;
        add(notes[number], "path", { class: "line level", d: `M${frame.left} ${y}H${right}` });
        const long = 12 * extent(note.text);
        const places = [[note.left, y - 5], [note.left, y + 14], [!note.left, y - 5], [!note.left, y + 14]].map(([isLeft, baseline]) => {
          const left = isLeft ? frame.left + 5 : right - 5 - long;
          return { isLeft, baseline, left, right: left + long, top: baseline - 10, bottom: baseline + 3 };
        });
        const isFree = a => a.top >= frame.top && a.bottom <= frame.top + frame.height && !isTaken(a);
        const found = places.find(isFree) ?? places[0];
        taken.push(found);
        text(found.isLeft ? "start" : "end", found.isLeft ? frame.left + 5 : right - 5, found.baseline);
      }
    });
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
    if (nearest === null || nearest.x === null) return leave();
    const x = toX(place(data.x, nearest.x));
    set(guide, { d: `M${x} ${frame.top}v${frame.height}`, visibility: "visible" });
    tip.replaceChildren(element("b", plain(`${data.x.label} ${written(nearest.x)}`)));
    const lines = shown.flatMap(series => {
      const parts = series.marks.map(mark => {
        const i = mark.x.indexOf(nearest.x);
        if (i < 0) return null;
        if (mark.y) return mark.y[i] === null ? null : `${mark.label} ${written(mark.y[i])}`;
        return mark.low[i] === null ? null : `${mark.label} ${written(mark.low[i])} … ${written(mark.high[i])}`;
      }).filter(part => part !== null);
      parts.unshift(...series.notes.filter(note => note.level != null).map(note => `${note.text} ${written(note.level)}`));
      return parts.length ? [{ series, text: parts.reverse().join(", ") }] : [];
    });
    for (const { series, text } of lines.slice(0, 14)) {
      const line = document.createElement("div");
      const dot = document.createElement("i");
      const path = groups[series.number].querySelector(".line, path") ?? notes[series.number].querySelector(".line");
      const style = getComputedStyle(path);
      dot.style.background = style.stroke;
      line.append(dot, plain(data.series.length > 1 ? `${series.name}: ${text}` : text));
      tip.append(line);
    }
    tip.hidden = false;
    const left = x + 14 + tip.offsetWidth > plot.clientWidth ? x - 14 - tip.offsetWidth : x + 14;
    tip.style.left = `${Math.max(0, Math.min(left, plot.clientWidth - tip.offsetWidth))}px`;
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
    asked = { x: [fromX(x), fromX(x + width)], y: [fromY(y + height), fromY(y)] };
    refresh();
  });
  svg.addEventListener("pointercancel", () => { pressed = null; selection.setAttribute("visibility", "hidden"); });
  svg.addEventListener("pointerleave", () => { if (pressed === null) leave(); });
  const showAll = () => { asked = whole; refresh(); };
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
    notes[number].toggleAttribute("hidden", !is);
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

// From where a short text belongs to where it may be instead, in multiples of its width and height, nearest first.
const STEPS = [[0, 0], ...[1, 2, 3].flatMap(ring => [[0, -1], [0, 1], [-1, 0], [1, 0], [-1, -1], [1, -1], [-1, 1], [1, 1]].map(([i, j]) => [ring * i, ring * j]))];

// Distance between the lines of a label, as in layout.rs.
const LINE = 15.6;

const length = ([from, to]) => to - from;

// The view widened around its centre along one axis, so that a unit has the same length on both.
function equalized(view, frame) {
  const unit = Math.min(frame.width / length(view.x), frame.height / length(view.y));
  const widened = ([from, to], pixels) => [from - (pixels / unit - (to - from)) / 2, to + (pixels / unit - (to - from)) / 2];
  return { x: widened(view.x, frame.width), y: widened(view.y, frame.height) };
}

// The numbers of an axis and the lines of its labels.
function side(axis, range, pixels, isHorizontal) {
  const lines = text => balanced(text, pixels / 13);
  const space = (a, b) => (b.place - a.place) / length(range) * pixels / 12 - (extent(a.label) + extent(b.label)) / 2;
  const hasRoom = ticks => !isHorizontal || ticks.every((tick, i) => i === 0 || space(ticks[i - 1], tick) >= 0.8);
  // As many numbers as have room; if that is only one, rather a few more.
  const most = Math.min(9, Math.max(2, Math.floor(pixels / (isHorizontal ? 44 : 40))));
  const counts = [...Array(2 * most + 1).keys()].slice(2).sort((a, b) => a <= most && b <= most ? b - a : a - b);
  const roomy = ticks => {
    const good = counts.find(n => ticks(n).length > 1 && hasRoom(ticks(n)));
    return ticks(good ?? 1);
  };
  return {
    ticks: roomy(n => ticks(axis, ...range, n)), second: roomy(n => secondTicks(axis, ...range, n)),
    label: lines(axis.label), secondLabel: axis.second ? lines(axis.second.label) : [],
  };
}

function margins({ x, y }) {
  const beside = (ticks, label) => ticks.length ? 16 + 12 * Math.max(...ticks.map(tick => extent(tick.label))) + LINE * label.length : 0;
  const half = x.ticks.length ? 6 * extent(x.ticks.at(-1).label) : 0;
  return {
    left: Math.max(beside(y.ticks, y.label), half), right: Math.max(beside(y.second, y.secondLabel), half, 14),
    top: x.second.length ? 24 + LINE * x.secondLabel.length : 14, bottom: 29 + LINE * x.label.length,
  };
}

// The estimated width of a text of size 1, and its lines, as in text.rs.
function extent(text) {
  const letter = c => /[ijl.,:;'|!I]/.test(c) ? 0.3 : /[ ftr()[\]/·-]/.test(c) ? 0.38 : /[mwMW%@—…]/.test(c) ? 0.92 : /[−+=×÷<>≤≥≈]/.test(c) ? 0.7 : c !== c.toLowerCase() ? 0.72 : 0.58;
  return [...text].reduce((sum, c) => sum + letter(c), 0);
}

function wrapped(text, most) {
  const lines = [];
  for (const word of text.split(/\s+/).filter(word => word)) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length && extent(longer) <= most) lines[lines.length - 1] = longer; else lines.push(word);
  }
  return lines;
}

function balanced(text, most) {
  let lines = wrapped(text, most);
  for (let share = 99; share >= 50; share--) {
    const shorter = wrapped(text, most * share / 100);
    if (shorter.length > lines.length) break;
    lines = shorter;
  }
  return lines;
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function add(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  set(node, attributes);
  if (text !== undefined) node.append(...typeset(String(text)));
  parent.append(node);
  return node;
}

// Greek letters with subscripts, as in typeset.rs.
function typeset(text) {
  const found = /^(.*?[Α-ω])_([Α-ω])(.*)$/su.exec(text);
  if (!found) return [text];
  const [, before, below, after] = found;
  const shifted = (attributes, ...parts) => {
    const part = document.createElementNS(SVG, "tspan");
    set(part, attributes);
    part.append(...parts);
    return part;
  };
  return [before, shifted({ dy: ".3em", "font-size": ".75em" }, below), shifted({ dy: "-.225em" }, ...typeset(after))];
}

// The same where nothing can be typeset.
const plain = text => text.replaceAll(/([Α-ω])_([Α-ω])/gu, "$1$2");

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

