// The keyboard: one letter per action; none while a person types.
const toggled = (name, wanted) => set(name, state.get(name) === wanted ? "" : wanted);

const notable = (row) => (data.sides ? differs(row) : outcome(row) !== "right");

function nextNotable(by) {
  for (let at = current + by; at >= 0 && at < matching.length; at += by) {
    if (notable(matching[at])) return choose(at);
  }
}

const KEYS = {
  j: ["next question", () => choose(current + 1)],
  k: ["previous question", () => choose(current - 1)],
  n: ["next that is not right, or that differs", () => nextNotable(1)],
  p: ["previous that is not right, or that differs", () => nextNotable(-1)],
  g: ["first question", () => choose(0)],
  G: ["last question", () => choose(matching.length - 1)],
  "/": ["find text", () => { $("questions").scrollIntoView(); $("find").focus({ preventScroll: true }); $("find").select(); }],
  w: ["only wrong ones, or those that differ, or all", () => toggled("outcome", data.sides ? "differ" : "wrong")],
  r: ["fold or unfold the reasoning", () => { for (const one of $("detail").querySelectorAll(".reasoning")) one.open = !one.open; }],
  i: ["read the images: ← → turn, z fits the width", () => $("detail").querySelector(".pictures a")?.click()],
  m: ["write a note", () => $("detail").querySelector(".note textarea")?.focus()],
  c: ["clear all filters", () => clearFilters()],
  "?": ["these keys", () => $("help").showModal()],
};
const SAME_AS = { ArrowDown: "j", ArrowUp: "k", Home: "g", End: "G" };

function clearFilters() {
  for (const name of [...state.keys()]) if (name !== "q" && name !== "v") state.delete(name);
  applyState();
  remember();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open || $("lightbox").open) return;
  const typing = event.target.closest?.("input:not([type=radio]), select, textarea");
  if (event.key === "Escape" && typing) { event.target.blur(); $("list").focus({ preventScroll: true }); return; }
  if (event.key === "Enter" && event.target === $("find")) { event.preventDefault(); $("list").focus({ preventScroll: true }); return; }
  if (typing || event.target.closest?.("#outcomes, summary") && !(event.key in KEYS)) return;
  const inList = document.activeElement === $("list");
  const act = KEYS[inList ? (SAME_AS[event.key] ?? event.key) : event.key];
  if (!act) return;
  event.preventDefault();
  act[1]();
  if ("jknpgG".includes(SAME_AS[event.key] ?? event.key)) showPanes();
}

function showPanes() {
  const box = $("list").getBoundingClientRect();
  if (box.bottom < 120 || box.top > innerHeight - 120) $("questions").scrollIntoView();
}

function buildHelp() {
  const list = $("help").querySelector("dl");
  for (const [name, [description]] of Object.entries(KEYS)) {
    if (name === "m" && !document.body.dataset.live) continue;
    list.append(element("div", {}, element("dt", {}, description), element("dd", {}, element("kbd", {}, name))));
  }
}
