// Draws the charts to the width of the screen, and switches the theme. The page is complete without it.
const root = document.documentElement;

// The twin of charts.at_width.
const MARGIN = 60;
function fitted(spec, width) {
  const copy = structuredClone(spec);
  if (copy.vconcat) copy.vconcat.forEach((view) => { view.width = Math.max(width - MARGIN, 120); });
  else copy.width = Math.max(width, 160);
  return copy;
}

function theme() {
  const button = document.getElementById("theme");
  const names = ["auto", "light", "dark"];
  const show = (name) => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
  };
  let stored = "auto";
  try { stored = localStorage.getItem("thinktime-theme") || "auto"; } catch { /* a file may have no storage */ }
  let at = Math.max(names.indexOf(stored), 0);
  show(names[at]);
  button.hidden = false;
  button.addEventListener("click", () => {
    at = (at + 1) % names.length;
    show(names[at]);
    try { localStorage.setItem("thinktime-theme", names[at]); } catch { /* then the choice lasts as long as the page */ }
  });
}

// Text that the page carries packed.
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// The specifications, once Vega is there to draw them. The policy of the page allows Vega's script by its hash.
async function vega() {
  const [specs, text] = await Promise.all([unpacked("specs"), unpacked("vega")]);
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = text;
  await new Promise((resolve) => {
    window.addEventListener("vega", resolve, { once: true });
    document.head.append(script);
  });
  return JSON.parse(specs);
}

function charts() {
  if (!document.getElementById("vega") || !window.DecompressionStream) return () => {};
  let loaded;
  const options = {
    actions: false,
    renderer: "svg",
    ast: true, // expressions are interpreted: the policy of this page forbids eval
    defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
    loader: { load: () => Promise.reject(new Error("a report loads nothing")) },
  };
  const drawn = new Map();
  const changes = new Map(); // by figure: data sets and ends of axes in place of those of its specification
  function change(plot) {
    const view = drawn.get(plot)?.view?.view;
    const { data, ends } = changes.get(plot.dataset.figure) ?? {};
    if (!view || !data) return;
    for (const [name, rows] of Object.entries(data)) view.data(name, rows.map((row) => ({ ...row })));
    for (const [name, value] of Object.entries(ends)) view.signal(name, value);
    view.runAsync();
  }
  async function draw(plot) {
    const live = plot.querySelector(".live");
    const width = Math.floor(plot.clientWidth);
    if (!width || drawn.get(plot)?.width === width) return;
    const old = drawn.get(plot);
    drawn.set(plot, { width, view: old?.view });
    loaded ??= vega();
    const specs = await loaded;
    const result = await window.vegaEmbed(live, fitted(specs[plot.dataset.figure], width), options);
    old?.view?.finalize();
    drawn.set(plot, { width, view: result });
    change(plot);
    plot.dataset.live = "yes";
  }
  let waiting;
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target).catch((error) => console.error(error));
  }, { rootMargin: "600px" });
  const plots = [...document.querySelectorAll(".plot")];
  plots.forEach((plot) => seen.observe(plot));
  new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawn.forEach((_, plot) => draw(plot).catch((error) => console.error(error))), 120);
  }).observe(document.querySelector("main"));
  return (figure, changed) => {
    changes.set(figure, changed);
    plots.filter((plot) => plot.dataset.figure === figure).forEach(change);
  };
}

function contents() {
  const links = new Map([...document.querySelectorAll("nav.contents a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  links.forEach((_, name) => { const target = document.getElementById(name); if (target) watch.observe(target); });
}

// Instants in the zone of the reader; the page itself has them in UTC, so that it is the same everywhere.
function instants() {
  const fields = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const local = new Intl.DateTimeFormat("en-GB", { ...fields, hourCycle: "h23", timeZoneName: "short" });
  for (const element of document.querySelectorAll("time")) {
    const part = Object.fromEntries(local.formatToParts(new Date(element.dateTime)).map(({ type, value }) => [type, value]));
    element.title = element.textContent;
    element.textContent =
      `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
  }
}

// What is folded opens where a link leads into it, and on paper.
function folds() {
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.querySelectorAll(":scope > details.folded").forEach((one) => { one.open = true; });
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  open();
  const printed = "details:not(.data), details.more";
  window.addEventListener("beforeprint", () => document.querySelectorAll(printed).forEach((one) => {
    if (!one.open) { one.open = true; one.dataset.printed = "yes"; }
  }));
  window.addEventListener("afterprint", () => document.querySelectorAll("[data-printed]").forEach((one) => {
    one.open = false;
    delete one.dataset.printed;
  }));
}

// Only tables that scroll are stations of the keyboard, and say that they do.
function stations() {
  const tables = document.querySelectorAll(".scroll");
  const seen = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    const aside = target.scrollWidth > target.clientWidth;
    const scrolls = aside || target.scrollHeight > target.clientHeight;
    target.classList.toggle("moves", aside);
    target.style.setProperty("--seen", `${target.clientWidth}px`);
    if (scrolls) target.tabIndex = 0; else target.removeAttribute("tabindex");
  }));
  tables.forEach((table) => seen.observe(table));
}

// Of a long table the first rows are shown; the button shows the others. Without scripts, and on paper, all are there.
function rows() {
  for (const table of document.querySelectorAll("table:has(tr.rest)")) {
    const all = table.tBodies[0].rows.length;
    const first = all - table.querySelectorAll("tr.rest").length;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rows";
    button.setAttribute("aria-controls", table.id);
    const show = (whole) => {
      table.classList.toggle("cut", !whole);
      button.setAttribute("aria-expanded", whole);
      button.textContent = whole ? `Show the first ${first} rows` : `Show all ${all} rows`;
    };
    button.addEventListener("click", () => show(table.classList.contains("cut")));
    table.closest(".scroll").after(button);
    show(false);
  }
}

rows();
theme();
instants();
folds();
stations();
const redraw = charts();
contents();
