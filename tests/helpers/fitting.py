"""What does not fit a screen."""

# What can be operated and is not wholly on the screen, and whose text is cut off; regions that scroll may hold it.
CUT_OFF = """() => {
  const width = document.documentElement.clientWidth;
  const held = ".scroller, .kernels, .skip, .visually-hidden, .cm-editor, .save-forms";
  const seen = (one) => one.checkVisibility({ checkVisibilityCSS: true, contentVisibilityAuto: true });
  const operated = [...document.querySelectorAll("a, button, input, select, textarea, summary, label, [role=slider]")]
    .filter((one) => seen(one) && !one.closest(held));
  const beyond = operated.filter((one) => {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && (box.left < -1 || box.right > width + 1);
  });
  const clipped = operated.filter((one) =>
    getComputedStyle(one).display !== "inline" && one.scrollWidth > one.clientWidth + 1);
  return [...beyond, ...clipped].map((one) => one.outerHTML.slice(0, 200));
}"""
