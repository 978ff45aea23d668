// Curves, drawn by plotly, which is loaded when it is first needed.

let loading;

function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/plotly.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("plotly could not be loaded"));
    document.head.append(script);
  });
  return loading;
}

const COLOURS = ["#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999"];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function traces(curves) {
  const ours = new Set(["guarantee", "lower_bound"]);
  let other = 0;
  const inOrder = [...curves].sort((a, b) => ours.has(b.bound) - ours.has(a.bound)); // the band lies between two neighbours
  return inOrder.map((c) => {
    const own = ours.has(c.bound);
    const line = own ? { color: colour("--key"), width: 2.5, dash: c.kind === "lower" ? "dash" : "solid" }
      : { color: COLOURS[other++ % COLOURS.length], width: 1.6, dash: c.kind === "lower" ? "dash" : "solid" };
    const band = c.bound === "lower_bound" ? { fill: "tonexty" } : {};
    const name = own ? (c.kind === "lower" ? "attack (lower bound)" : "guarantee") : c.label + (c.kind === "lower" ? " (lower)" : "");
    return { x: c.x, y: c.y, name, line, mode: "lines", hovertemplate: "%{y:.4g}", ...band };
  });
}

// Within a few decades 1, 2 and 5 have their ticks, beyond only powers of ten do.
function ticks(values) {
  const [first, last] = [Math.min(...values), Math.max(...values)].map(Math.log10);
  const low = Math.floor(first), high = Math.ceil(last);
  if (!(high - low <= 4)) return { dtick: Math.ceil((high - low) / 10), exponentformat: "power" };
  const parts = last - first <= 2.4 ? [1, 2, 5] : [1];
  const tickvals = Array.from({ length: high - low + 1 }, (_, i) => parts.map((part) => Number(`${part}e${low + i}`))).flat();
  return { tickvals, ticktext: tickvals.map((x) => (x >= 1e4 || x < 1e-3 ? x.toExponential().replace("e+", "e") : x.toLocaleString("en", { maximumFractionDigits: 4 }))) };
}

export async function draw(place, answer, { logX = true } = {}) {
  const Plotly = await plotly();
  const ink = colour("--ink"), grid = colour("--line");
  const axis = (title, log, values) => ({ title: { text: title }, type: log ? "log" : "linear", gridcolor: grid,
    zeroline: false, automargin: true, ...(log && values.length ? ticks(values) : {}) });
  const all = (name) => answer.curves.flatMap((c) => c[name]).filter((value) => value > 0);
  await Plotly.react(place, traces(answer.curves), {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 13 },
    margin: { l: 60, r: 15, t: 10, b: 50 }, hovermode: "x unified",
    hoverlabel: { bgcolor: colour("--paper"), font: { color: ink } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
    xaxis: axis(answer.against === "users" ? "number of users" : answer.against, logX, all("x")),
    yaxis: axis(answer.quantity, true, all("y")),
  }, { displaylogo: false, responsive: true, displayModeBar: false });
}

export async function svg(place) {
  const Plotly = await plotly();
  const address = await Plotly.toImage(place, { format: "svg", width: 900, height: 560 });
  return decodeURIComponent(address.slice(address.indexOf(",") + 1));
}
