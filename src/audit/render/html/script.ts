/** The script of the page: shows the filter, and hides what does not match. It reads attributes, and writes `hidden` and one text. */
export const script = `"use strict";
{
  const one = (id) => document.getElementById(id);
  const [filter, find, from, to, shown, none] = ["filter", "find", "from", "to", "shown", "none"].map(one);
  const boxes = [...document.querySelectorAll("input[name=verdict]")];
  const rows = [...document.querySelectorAll("tr[data-find]")];
  const all = [...rows, ...document.querySelectorAll("article[data-find]")];
  // What is typed into a field of date and time is meant in UTC, like all times of the page.
  const moment = (field, otherwise) => (field.value === "" ? otherwise : Date.parse(field.value + "Z"));
  const apply = () => {
    const words = find.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const [first, last] = [moment(from, -Infinity), moment(to, Infinity)];
    const anyTime = first === -Infinity && last === Infinity;
    const matches = ({ dataset }) => {
      const at = Date.parse(dataset.at);
      return verdicts.has(dataset.verdict) && words.every((word) => dataset.find.includes(word)) && (anyTime || (at >= first && at <= last));
    };
    for (const each of all) each.hidden = !matches(each);
    const count = rows.filter((row) => !row.hidden).length;
    shown.textContent = count + " of " + rows.length + (rows.length === 1 ? " vault" : " vaults") + " shown";
    none.hidden = count > 0;
  };
  const reset = () => {
    for (const field of [find, from, to]) field.value = "";
    for (const box of boxes) box.checked = true;
    apply();
    find.focus();
  };
  if (rows.length > 0) {
    filter.hidden = false;
    filter.addEventListener("input", apply);
    one("reset").addEventListener("click", reset);
    // What the browser kept of an earlier visit.
    apply();
  }
}
`;
