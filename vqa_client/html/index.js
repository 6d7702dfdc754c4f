// The index of runs: columns sort, words filter, ticked runs are compared; without this script it is a plain table.
const table = document.querySelector("table.runs"), rows = [...table.tBodies[0].rows], find = document.getElementById("find");
const sortKey = (row, at) => row.cells[at].dataset.sort ?? row.cells[at].textContent.trim();

function sortBy(at, head) {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  rows.sort((a, b) => sortKey(a, at).localeCompare(sortKey(b, at), "en", { numeric: true }) * (down ? -1 : 1));
  table.tBodies[0].append(...rows);
}

[...table.tHead.rows[0].cells].forEach((head, at) => head.querySelector("button")?.addEventListener("click", () => sortBy(at, head)));
find.hidden = false;

// Ticked runs are compared with the first of them.
const boxes = rows.map((row) => row.querySelector("input")), link = document.getElementById("compare");
link.hidden = false;
function tick() {
  const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
  link.textContent = ticked.length < 2 ? "Tick two runs or more to compare them" : `Compare ${ticked.length} runs`;
  if (ticked.length < 2) link.removeAttribute("href"); else link.href = `compare/${ticked.join("-")}`;
}
for (const box of boxes) { box.hidden = false; box.addEventListener("change", tick); }
tick();
find.addEventListener("input", () => {
  const wanted = find.value.toLowerCase().split(/\s+/);
  for (const row of rows) row.hidden = !wanted.every((one) => row.textContent.toLowerCase().includes(one));
});
