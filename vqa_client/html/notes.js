// Notes and tags of a reviewer: a served page saves them beside the run; a page from disk has none.
const SAVED_AFTER_MS = 600;
let notes = null, unsaved = new Map(), saving = 0, underway = 0, reportLast = null;

async function readNotes() {
  const reply = await fetch("notes", { cache: "no-store" });
  if (!reply.ok) { $("count").after(element("p", { className: "notice" }, await reply.text())); return; }
  notes = new Map((await reply.json()).map((one) => [`${one.question_id}\u0000${one.variant}`, one]));
  buildFilters();
  applyState();
}

const noteOf = (row) => notes?.get(key(row));
const tagsOf = (row) => noteOf(row)?.tags ?? [];

function noteBox(row) {
  if (!notes) return [];
  const status = element("span", { className: "aside", role: "status" });
  const note = element("textarea", { rows: 2, maxLength: 20000, "aria-label": "Note", placeholder: "Your note  ( m )", value: noteOf(row)?.note ?? "" });
  const tags = element("input", { type: "text", "aria-label": "Tags", placeholder: "Tags, with commas", value: tagsOf(row).join(", "), autocomplete: "off" });
  const report = (problem) => { status.textContent = problem ? `not saved: ${problem}` : "saved"; };
  const change = () => {
    const split = [...new Set(tags.value.split(",").map((one) => one.trim().slice(0, 60)).filter(Boolean))].slice(0, 20);
    const kept = { question_id: value(row, "id"), variant: text(row, "variant"), note: note.value.trim(), tags: split };
    notes.set(key(row), kept);
    unsaved.set(key(row), kept);
    status.textContent = "…";
    clearTimeout(saving);
    saving = setTimeout(() => save(report), SAVED_AFTER_MS);
  };
  for (const one of [note, tags]) {
    one.addEventListener("input", change);
    one.addEventListener("blur", () => { if (unsaved.size) save(report); drawRows(); });
  }
  return [...section("Note"), element("div", { className: "note" }, note, tags, status)];
}

// Send all changes, and report "saved" when all are; a change that can't be saved is sent again with the next one.
async function save(report) {
  reportLast = report;
  for (const place of [...unsaved.keys()]) {
    const kept = unsaved.get(place);
    if (!unsaved.delete(place)) continue; // a later change has sent it meanwhile
    underway += 1;
    try {
      const reply = await fetch("notes", { method: "POST", keepalive: true, headers: { "Content-Type": "application/json" }, body: JSON.stringify(kept) });
      if (!reply.ok) throw new Error((await reply.text()).trim());
    } catch (problem) {
      if (!unsaved.has(place)) unsaved.set(place, kept);
      report(problem.message);
    }
    underway -= 1;
    if (!underway && !unsaved.size) reportLast("");
  }
}

function noteFilters() {
  if (!notes) return;
  const tags = [...new Set([...notes.values()].flatMap((one) => one.tags))].sort();
  $("selects").append(select("any note", "noted", [["yes", "with a note"], ["no", "without a note"]]));
  if (tags.length) $("selects").append(select("any tag", "tag", tags.map((one) => [one, one])));
}
