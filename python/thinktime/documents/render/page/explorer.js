
// Moves numbers and figures with the controls, among combinations that were computed when the page was made.
function explore() {
  const data = JSON.parse(document.getElementById("varied").textContent);
  const form = document.getElementById("controls");
  const shared = document.getElementById("shared");
  const answer = document.querySelector(".answer");
  const beware = document.getElementById("beware");
  const inputs = new Map(data.controls.map(({ name }) => [name, document.getElementById(`control-${name}`)]));
  const options = new Map(data.controls.map((control) => [control.name, control.options]));
  const option = (name) => options.get(name)[Number(inputs.get(name).value)];
  const at = ({ by, values }, others = {}) => values[by.reduce(
    (index, name) => index * options.get(name).length + (others[name] ?? Number(inputs.get(name).value)), 0)];
  const rows = ({ fields, ...varied }) =>
    at(varied).map((row) => Object.fromEntries(fields.map((field, place) => [field, row[place]])));

  function address() {
    const pairs = data.controls.map(({ name }) => `${name}=${encodeURIComponent(option(name)[1])}`);
    return `#plan?${pairs.join("&")}`;
  }

  function items(varied) {
    return at(varied).map((text) => {
      const line = document.createElement("li");
      line.className = "follows";
      line.textContent = data.texts[text];
      return line;
    });
  }

  // The rows of a data table: one for each option of a control.
  function list(table, columns, along) {
    const body = document.querySelector(`#table-${table} tbody`);
    body.replaceChildren(...options.get(along).map(([text], place) => {
      const row = document.createElement("tr");
      const cells = columns.map((name) => data.texts[at(data.readings[name], { [along]: place })]);
      for (const [column, cell] of [text, ...cells].entries()) {
        const made = document.createElement(column ? "td" : "th");
        if (!column) made.scope = "row";
        made.textContent = cell;
        row.append(made);
      }
      return row;
    }));
  }

  let waiting;
  function show() {
    for (const [name, input] of inputs) {
      document.getElementById(`value-${name}`).textContent = option(name)[0];
      input.setAttribute("aria-valuetext", option(name)[0]);
    }
    answer.querySelectorAll(".follows").forEach((line) => line.remove());
    answer.prepend(...items(data.lines));
    beware.querySelector("ul").replaceChildren(...items(data.caveats));
    beware.hidden = !at(data.caveats).length;
    for (const [name, varied] of Object.entries(data.readings)) {
      document.getElementById(`reading-${name}`).textContent = data.texts[at(varied)];
    }
    for (const [name, { data: sets, ends, words, table }] of Object.entries(data.figures)) {
      document.getElementById(`figure-${name}-words`).textContent = data.texts[at(words)];
      list(...table);
      redraw(name, {
        data: Object.fromEntries(Object.entries(sets).map(([set, varied]) => [set, rows(varied)])),
        ends: Object.fromEntries(Object.entries(ends).map(([end, varied]) => [end, at(varied)])),
      });
    }
    const chosen = data.controls.map(({ name }) => option(name)[2]).filter(Boolean);
    document.getElementById("command").textContent = chosen.reduce(
      (command, argument) => (argument.startsWith(",") ? command + argument : `${command} ${argument}`), data.command);
    shared.href = address();
  }

  function settle() {
    // A screen reader says the answer once the sliders rest, and browsers limit how often an address may change.
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const said = [...answer.querySelectorAll(".follows")].map((line) => line.textContent);
      const read = [...document.querySelectorAll(".readings div")].map(
        (one) => `${one.querySelector("dt").textContent}: ${one.querySelector("dd").textContent}`);
      document.getElementById("said").textContent = [said[0], ...read].join(" ");
      try { history.replaceState(null, "", address()); } catch { /* the link has the address */ }
    }, 400);
  }

  function read() {
    if (!location.hash.startsWith("#plan?")) return;
    for (const [name, key] of new URLSearchParams(location.hash.slice(6))) {
      const place = options.get(name)?.findIndex((one) => one[1] === key) ?? -1;
      if (place >= 0) inputs.get(name).value = place;
    }
  }

  form.addEventListener("input", () => { show(); settle(); });
  form.addEventListener("reset", () => setTimeout(() => { show(); settle(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", () => { read(); show(); });
  form.hidden = false;
  read();
  show();
}

explore();
