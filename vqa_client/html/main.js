// The start of the page.
const MOST_PRINTED = 500, TYPING_MS = 120;

function readAddress() {
  const given = location.hash.slice(1);
  return given.includes("=") ? new URLSearchParams(given) : null;
}

function onAddress({ first = false } = {}) {
  const given = readAddress();
  if (!given) { if (first) { if (data.sides) state.set("order", "differ"); applyState(); } return; }
  state = given;
  applyState();
  $("questions").scrollIntoView({ behavior: first ? "instant" : "auto" });
}

function printedRow(row) {
  const kinds = runsOf(row).map(outcome), answers = runsOf(row).map((one) => (one ? text(one, "answer") ?? words(text(one, "status")) : "–").slice(0, 200)).join(" | ");
  const references = votes(texts(row, "references").map((one) => one.slice(0, 60)), " / ").slice(0, 200);
  const cells = [value(row, "id"), excerpt(row), answers, references];
  return element("tr", {}, element("td", { className: `is-${kinds[0]}` }, kinds.map((kind) => `${SIGNS[kind]} ${OUTCOME_WORDS[kind]}`).join(", ")), ...cells.map((cell) => element("td", { dir: "auto" }, shown(cell))));
}

let unfolded = [];

// On paper: nothing is folded, the chosen question is printed in full, and all filtered questions as a table.
function onPrint() {
  unfolded = [...$("summary").querySelectorAll("details:not([open])")];
  for (const one of unfolded) one.open = true;
  const body = element("tbody", {}, ...matching.slice(0, MOST_PRINTED).map(printedRow));
  const head = element("tr", {}, ...["", "id", "question", "answer", "reference"].map((name) => element("th", { scope: "col" }, name)));
  const left = matching.length - MOST_PRINTED;
  $("printed").replaceChildren(
    element("table", { className: "figures" }, element("thead", {}, head), body),
    ...(left > 0 ? [element("p", { className: "aside" }, `and ${counted(left)} more, which are not printed`)] : []),
    ...(matching[current] ? [element("section", { className: "sheet" }, ...sheet(matching[current]))] : []),
  );
}

readData($("data").textContent);
$("data").textContent = "";
$("filters").hidden = false;
document.querySelector(".panes").hidden = false;
buildFilters();
buildHelp();
onAddress({ first: true });

let typing = 0;
$("find").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => set("find", $("find").value), TYPING_MS); });
$("filters").addEventListener("submit", (event) => event.preventDefault());
for (const form of Object.keys(FORMS)) $(`download-${form}`).addEventListener("click", () => download(form));
$("clear").addEventListener("click", clearFilters);
$("help-button").addEventListener("click", () => $("help").showModal());
$("lightbox").addEventListener("keydown", onImageKey);
for (const [id, by] of [["image-before", -1], ["image-after", 1]]) $(id).addEventListener("click", () => openImage(opened, openedAt + by));
$("list").addEventListener("scroll", drawRows, { passive: true });
addEventListener("resize", drawRows);
addEventListener("hashchange", () => onAddress());
addEventListener("keydown", onKey);
addEventListener("beforeprint", onPrint);
addEventListener("afterprint", () => {
  $("printed").replaceChildren();
  for (const one of unfolded) one.open = false;
});
if (document.body.dataset.live) {
  readNotes();
  addEventListener("pagehide", () => save(() => {}));
  follow(document.body.dataset.live);
}
