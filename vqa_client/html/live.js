// A served page follows its run: it polls the log's state, and shows the new page when that has changed.
const LEAST_WAIT_MS = 2000;
let stateOfLog = null;

async function follow(address) {
  for (;;) {
    let waitMs = LEAST_WAIT_MS;
    try {
      const reply = await fetch(address, { cache: "no-store" });
      const now = await reply.text();
      const writing = document.activeElement?.closest(".note");
      if (reply.ok && stateOfLog !== null && now !== stateOfLog && !writing) {
        const began = performance.now();
        if (await showNewPage()) stateOfLog = now;
        waitMs = Math.max(waitMs, 4 * (performance.now() - began));
      } else if (reply.ok) stateOfLog ??= now;
    } catch { waitMs = 5 * LEAST_WAIT_MS; }
    await new Promise((done) => setTimeout(done, waitMs));
  }
}

async function showNewPage() {
  const reply = await fetch(location.pathname, { cache: "no-store" });
  if (!reply.ok) return false;
  const next = new DOMParser().parseFromString(await reply.text(), "text/html");
  const open = [...$("summary").querySelectorAll("details[open] > summary")].map((one) => one.textContent);
  $("summary").replaceChildren(...next.getElementById("summary").childNodes);
  for (const one of $("summary").querySelectorAll("details > summary")) one.parentElement.open = open.includes(one.textContent);
  readData(next.getElementById("data").textContent);
  haystacks = new Map();
  const top = $("list").scrollTop, reading = $("detail").scrollTop;
  buildFilters();
  showState();
  filter();
  current = wantedPlace();
  $("list").scrollTop = top;
  drawRows();
  showDetail(matching[current]);
  $("detail").scrollTop = reading;
  return true;
}
