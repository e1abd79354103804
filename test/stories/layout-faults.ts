/** An expression for a page: says of each text that overlaps another, is cut off or makes something scroll sideways which. */
export const layoutFaults = `(() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  const short = (text) => text.trim().slice(0, 40);
  if (document.documentElement.scrollWidth > width) faults.push("the page scrolls sideways");
  for (const each of document.querySelectorAll("main *:not(input)"))
    if (each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible")
      faults.push("cut: " + short(each.textContent));
  const boxes = [];
  const range = document.createRange();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const { currentNode: node } = texts;
    if (node.data.trim() === "" || !node.parentElement.checkVisibility() || node.parentElement.closest(".skip, thead, script, title, desc")) continue;
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) boxes.push({ node, text: node.data, left, right, top, bottom });
  }
  for (const cell of document.querySelectorAll("td[data-label]")) {
    const { position, left, top, width, height } = getComputedStyle(cell, "::before");
    if (!cell.checkVisibility() || position !== "absolute") continue;
    const place = cell.getBoundingClientRect();
    const [x, y] = [place.left + parseFloat(left), place.top + parseFloat(top)];
    boxes.push({ node: cell, text: cell.dataset.label, left: x, right: x + parseFloat(width), top: y, bottom: y + parseFloat(height) });
  }
  for (const { left, right, text } of boxes) if (left < -1 || right > width + 1) faults.push("outside: " + short(text));
  boxes.sort((one, other) => one.top - other.top);
  for (const [index, one] of boxes.entries())
    for (let next = index + 1; next < boxes.length && boxes[next].top < one.bottom - 3; next += 1) {
      const other = boxes[next];
      const shared = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      if (one.node !== other.node && shared > 1 && Math.min(one.bottom, other.bottom) - other.top > 3)
        faults.push("overlap: " + short(one.text) + " / " + short(other.text));
    }
  return faults;
})()`;
