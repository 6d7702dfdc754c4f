// One drawn reply at a time: a key labels it, and the next one without a label appears.
const BUTTONS = [...document.querySelectorAll("[data-label]")];
const LABELS = { x: "" };
for (const { dataset } of BUTTONS) {
  if (!/^\d/.test(dataset.label)) LABELS[dataset.label[0]] = dataset.label;
  if (dataset.key) LABELS[dataset.key] = dataset.label;
}
let at = 0, labels = [], sending = Promise.resolve(), waiting = 0, problem = "";

function item(row) {
  const part = (name, title) => (value(row, name) ? [element("h3", {}, title), foreign(value(row, name), "", name)] : []);
  return [
    element("h2", { className: "aside" }, shown(`${at + 1} of ${labels.length} · ${[value(row, "id"), value(row, "variant")].filter(Boolean).join(" · ")}`)),
    element("div", {}, ...part("question", "Question"), ...part("choices", "Choices"), ...part("reference", "Reference"), ...part("rubric", "Rubric"), ...part("reply", "Reply")),
    element("div", { className: "shown" }, ...pictures(row)),
  ];
}

function draw() {
  $("item").replaceChildren(...item(data.rows[at]));
  for (const button of BUTTONS) button.setAttribute("aria-pressed", String(button.dataset.label === labels[at]));
  say();
}

function say() {
  const done = labels.filter(Boolean).length, left = labels.length - done;
  const kept = problem ? `Not saved: ${problem}` : waiting ? "saving …" : done ? "saved" : "";
  $("count").textContent = [`${number(done)} of ${number(labels.length)} labelled`, left ? "" : "all done: thank you", kept].filter(Boolean).join(" · ");
  $("count").classList.toggle("notice", Boolean(problem));
}

function go(to) {
  at = Math.max(0, Math.min(to, labels.length - 1));
  draw();
  scrollTo(0, 0);
}

function nextOpen() {
  const after = [...labels.keys()].map((step) => (at + 1 + step) % labels.length);
  const open = after.find((one) => !labels[one]);
  if (open === undefined) draw(); else go(open);
}

// Labels are sent one after the other; one that can't be saved is undone, and its reply is shown again.
function put(label) {
  const row = at, before = labels[row];
  labels[row] = label;
  waiting++;
  problem = "";
  if (label) nextOpen(); else draw();
  sending = sending.then(async () => {
    try {
      const headers = { "Content-Type": "application/json" };
      const reply = await fetch("label", { method: "POST", keepalive: true, headers, body: JSON.stringify({ row, label }) });
      if (!reply.ok) throw new Error((await reply.text()).trim());
    } catch (error) {
      problem = `${error.message} (is vqa-client label still running?)`;
      labels[row] = before;
      go(row);
    }
    waiting--;
    say();
  });
}

const MOVES = { j: () => go(at + 1), k: () => go(at - 1), ArrowDown: () => go(at + 1), ArrowUp: () => go(at - 1), n: nextOpen, o: () => $("item").querySelector(".pictures a")?.click() };

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || $("lightbox").open) return;
  const act = Object.hasOwn(LABELS, event.key) ? () => put(LABELS[event.key]) : MOVES[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
for (const button of BUTTONS) button.addEventListener("click", () => put(button.dataset.label));
for (const [id, act] of [["before", MOVES.k], ["after", MOVES.j], ["open", nextOpen]]) $(id).addEventListener("click", act);
$("lightbox").addEventListener("keydown", onImageKey);
for (const [id, by] of [["image-before", -1], ["image-after", 1]]) $(id).addEventListener("click", () => openImage(opened, openedAt + by));
addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });

data = JSON.parse($("data").textContent);
column = Object.fromEntries(data.columns.map((name, place) => [name, place]));
labels = data.labels;
at = Math.max(0, labels.findIndex((one) => !one));
draw();
