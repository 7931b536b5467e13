"use strict";
// Round numbers between two positions on an axis, as in ticks.rs.
function ticks(axis, from, to, n) {
  if (!axis.whole) return axis.log ? logarithmic(from, to, n) : even(from, to, n);
  return axis.log ? wholeLogarithmic(from, to, n) : whole(from, to, n);
}

// Round numbers of the second axis, at their positions on the first.
function secondTicks(axis, from, to, n) {
  if (!axis.second) return [];
  const { factor } = axis.second;
  if (!axis.log) return even(from * factor, to * factor, n).map(tick => ({ ...tick, place: tick.place / factor }));
  const shift = Math.log10(factor);
  return logarithmic(from + shift, to + shift, n).map(tick => ({ ...tick, place: tick.place - shift }));
}

// Whole numbers, with one at the beginning of the axis, if that is whole.
function whole(from, to, n) {
  const rounded = Math.max(1, roundStep((to - from) / n));
  const step = rounded === 2 ? 5 : rounded;
  const first = Math.abs(Math.round(from) - from) < 1e-9 * (to - from) ? [Math.round(from)] : [];
  const found = [...first];
  for (let i = Math.ceil(from / step); i <= Math.floor(to / step); i++) {
    if (first.length === 0 || i * step - first[0] >= 0.5 * step) found.push(i * step);
  }
  return found.map(place => ({ place, label: String(place).replaceAll("-", "−") }));
}

function wholeLogarithmic(from, to, n) {
  const isWhole = place => 10 ** place >= 0.5 && Math.abs(10 ** place - Math.round(10 ** place)) < 1e-9 * 10 ** place;
  const found = logarithmic(from, to, n).filter(tick => isWhole(tick.place));
  if (!isWhole(from)) return found;
  return [{ place: from, label: String(Math.round(10 ** from)) }, ...found.filter(tick => tick.place - from > 0.3 * (to - from) / n)];
}

function logarithmic(from, to, n) {
  const mantissas = to - from <= 2.5 && 3 * (to - from) <= 1.5 * n ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((to - from) / n));
  const found = [];
  for (let exponent = Math.floor(from); exponent <= Math.ceil(to); exponent++) {
    if (((exponent % every) + every) % every !== 0) continue;
    for (const mantissa of mantissas) {
      const at = Math.log10(mantissa) + exponent;
      const label = Math.abs(exponent) <= 4 ? (mantissa * 10 ** exponent).toFixed(Math.max(0, -exponent)) : `${mantissa}e${exponent}`;
      if (at >= from && at <= to) found.push({ place: at, label: label.replaceAll("-", "−") });
    }
  }
  if (found.length >= 2) return found;
  return even(10 ** from, 10 ** to, n).filter(tick => tick.place > 0).map(tick => ({ place: Math.log10(tick.place), label: tick.label }));
}

function even(from, to, n) {
  const step = roundStep((to - from) / Math.max(1, n));
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

// 1, 2 or 5 times a power of ten, not below a number.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find(factor => rough / power <= factor * (1 + 1e-9));
}
