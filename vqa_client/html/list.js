// The list draws only the visible rows.
const ROW_PIXELS = 54, BEYOND = 8;
let current = -1;

function excerpt(row) {
  const prompt = (text(row, "prompt") ?? "").slice(templateLength).trimStart().slice(0, 240).replace(/\s+/g, " ");
  return prompt || `question ${value(row, "id")}`;
}

function subtitle(row) {
  const references = votes(texts(row, "references").map((one) => one.slice(0, 60)), " / ").slice(0, 300);
  const answers = runsOf(row).map((one) => (one ? (text(one, "answer") ?? words(text(one, "status"))).slice(0, 80) : "–")).join(" | ");
  const variant = severalVariants ? text(row, "variant") : "";
  const note = [...(noteOf(row)?.note ? ["✎"] : []), ...tagsOf(row)].join(" ");
  return [note, references ? `${answers} → ${references}` : answers, variant, value(row, "id")].filter(Boolean).join("  ·  ");
}

const sign = (kind) => element("span", { className: `is-${kind}`, role: "img", "aria-label": OUTCOME_WORDS[kind] }, SIGNS[kind]);

function rowElement(row, at) {
  const made = element(
    "div", { className: "row", role: "option", id: `row-${at}` },
    element("span", { className: "mark-sign" }, ...runsOf(row).map((one) => sign(outcome(one)))),
    element("span", { className: "text", dir: "auto" }, shown(excerpt(row))),
    element("span", { className: "under" }, shown(subtitle(row).replace(/\s+/g, " "))),
  );
  made.setAttribute("aria-selected", String(at === current));
  made.setAttribute("aria-setsize", matching.length);
  made.setAttribute("aria-posinset", at + 1);
  made.style.top = `${at * ROW_PIXELS}px`;
  made.addEventListener("click", () => choose(at));
  return made;
}

function drawRows() {
  const list = $("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW_PIXELS) - BEYOND);
  const last = Math.min(matching.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW_PIXELS) + BEYOND);
  const made = [];
  for (let at = first; at < last; at++) made.push(rowElement(matching[at], at));
  $("rows").style.height = `${matching.length * ROW_PIXELS}px`;
  $("rows").replaceChildren(...made);
  if (current >= 0) list.setAttribute("aria-activedescendant", `row-${current}`);
  else list.removeAttribute("aria-activedescendant");
}

function scrollToRow(at) {
  const list = $("list"), top = at * ROW_PIXELS;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_PIXELS > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW_PIXELS - list.clientHeight;
}

function choose(at, { keep = false } = {}) {
  current = matching.length ? Math.max(0, Math.min(at, matching.length - 1)) : -1;
  if (current >= 0) {
    scrollToRow(current);
    state.set("q", value(matching[current], "id"));
    const variant = text(matching[current], "variant");
    if (variant) state.set("v", variant); else state.delete("v");
    if (!keep) remember();
  }
  drawRows();
  showDetail(matching[current]);
}

function wantedPlace() {
  const id = state.get("q"), variant = state.get("v");
  if (id === null) return 0;
  const exact = matching.findIndex((row) => value(row, "id") === id && (variant === null || text(row, "variant") === variant));
  return Math.max(0, exact);
}

function applyState() {
  showState();
  filter();
  $("list").scrollTop = 0;
  choose(wantedPlace(), { keep: true });
}
