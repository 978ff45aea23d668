// Long curves are asked for in parts, side by side, and drawn as they come; each has its own time.

export const RANGES = { users: [1e3, 1e6], epsilon0: [0.1, 8], delta: [1e-12, 1e-3], rounds: [1, 1e3] };
const PARTS = 4;

// The parts of a range, all steps equal on a logarithmic axis; without a range there is one part.
export function partsOf(range, against, steps) {
  if (!range) return [{ count: String(PARTS * steps + 1) }];
  const [low, high] = range;
  const tidy = ["users", "rounds"].includes(against) ? Math.round : (x) => Number(x.toPrecision(12));
  const ends = Array.from({ length: PARTS + 1 }, (_, i) => tidy(low * (high / low) ** (i / PARTS)));
  return ends.slice(1).map((end, i) => ({ low: String(ends[i]), high: String(end), count: String(steps + 1) }));
}

// Several curves of the same kind as one; neighbours share a point.
export function joined(answers) {
  const curves = answers[0].curves.map((first, k) => {
    const points = new Map();
    for (const { curves: own } of answers) {
      own[k].x.forEach((x, i) => points.set(x, [own[k].y[i], own[k].reasons[i], own[k].rtol_reached[i]]));
    }
    const x = [...points.keys()].sort((a, b) => a - b), column = (j) => x.map((point) => points.get(point)[j]);
    return { ...first, x, y: column(0), reasons: column(1), rtol_reached: column(2) };
  });
  return { ...answers[0], curves };
}
