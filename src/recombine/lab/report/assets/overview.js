// Search, filters and order of the studies on the first page. The choice is kept in the address.
(() => {
  "use strict";

  const FIELDS = ["search", "verdict", "family", "preset", "sort"];
  const field = Object.fromEntries(FIELDS.map((id) => [id, document.getElementById(id)]));
  const families = [...document.querySelectorAll("details.family")];
  const cards = [...document.querySelectorAll(".card")];
  const usual = new Map(families.map((family) => [family, family.open]));
  const fold = document.getElementById("fold");
  const found = document.getElementById("found");
  const texts = new Map(cards.map((card) => [card, card.dataset.text.toLowerCase()]));
  const order = new Map(cards.map((card, i) => [card, i]));
  const lists = new Map(families.map((family) => [family, family.querySelector(".cards")]));

  // The results of a study that have the verdict and the preset that are asked for.
  function shows(sheet) {
    const verdict = field.verdict.value;
    const preset = field.preset.value;
    const judged = sheet.dataset.verdicts.split(" ");
    return (!verdict || judged.includes(verdict)) && (!preset || sheet.dataset.preset === preset);
  }

  function matches(card) {
    const words = field.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((word) => texts.get(card).includes(word))) return false;
    const family = card.closest("details").dataset.family;
    if (field.family.value && family !== field.family.value) return false;
    const sheets = [...card.querySelectorAll(".sheets > li")];
    if (!sheets.length) return ["", "none"].includes(field.verdict.value) && !field.preset.value;
    for (const sheet of sheets) sheet.hidden = !shows(sheet);
    return sheets.some((sheet) => !sheet.hidden);
  }

  function compare(one, other) {
    const by = field.sort.value;
    const a = one.dataset[by];
    const b = other.dataset[by];
    if (by === "name" || by === "date") {
      return by === "name" ? a.localeCompare(b) : b.localeCompare(a);
    }
    return by === "order" ? 0 : b - a;
  }

  function update() {
    const filtered = ["search", "verdict", "family", "preset"].some((id) => field[id].value);
    let count = 0;
    for (const family of families) {
      const own = [...lists.get(family).children];
      own.sort((one, other) => compare(one, other) || order.get(one) - order.get(other));
      lists.get(family).append(...own);
      const kept = own.filter((card) => !(card.hidden = !matches(card)));
      count += kept.length;
      family.hidden = !kept.length;
      family.open = filtered ? kept.length > 0 : usual.get(family);
    }
    found.textContent = filtered ? `${count} of ${cards.length} studies` : "";
    nameFold();
    const chosen = FIELDS.filter((id) => field[id].value && field[id].value !== "order");
    const query = new URLSearchParams(chosen.map((id) => [id, field[id].value])).toString();
    try {
      history.replaceState(null, "", query ? `?${query}` : location.pathname);
    } catch {
      // A page without an address of its own has none to keep the choice in.
    }
  }

  function nameFold() {
    fold.textContent = families.every((f) => f.open || f.hidden) ? "Fold all" : "Unfold all";
  }

  const asked = new URLSearchParams(location.search);
  for (const id of FIELDS) {
    if (asked.has(id)) field[id].value = asked.get(id);
    field[id].addEventListener(id === "search" ? "input" : "change", update);
  }
  fold.addEventListener("click", () => {
    const open = fold.textContent === "Unfold all";
    for (const family of families) {
      family.open = open;
      usual.set(family, open);
    }
    nameFold();
  });
  for (const family of families) {
    // A click, not `toggle`: that also comes from folding and unfolding by filters.
    family.querySelector("summary").addEventListener("click", () => {
      usual.set(family, !family.open);
      setTimeout(nameFold);
    });
  }
  document.querySelector("form.filters").addEventListener("submit", (e) => e.preventDefault());
  if ([...asked.keys()].length) update();
  else nameFold();
})();
