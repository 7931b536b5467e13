// Shows the chosen options. Choices of a group follow one selector at the top of the page.

for (const figure of document.querySelectorAll("figure[data-name]")) enliven(figure);

function choose(choice, chosen) {
  [...choice.querySelectorAll(":scope > .option")].forEach((option, number) => {
    option.hidden = number !== chosen;
    if (!option.hidden) option.querySelectorAll("figure[data-name]").forEach(figure => figure.refresh());
  });
}

for (const choice of document.querySelectorAll(".choice:not([data-group])")) {
  const select = choice.querySelector(":scope > label > select");
  select.addEventListener("change", () => choose(choice, Number(select.value)));
  // A browser may remember what was chosen before the page was loaded again.
  choose(choice, Number(select.value));
}

const bar = document.querySelector(".groups");
if (bar !== null) {
  bar.hidden = false;
  // Everything else that stays at the top is below the selectors.
  const measure = () => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
  measure();
  new ResizeObserver(measure).observe(bar);
  for (const group of bar.querySelectorAll(".group")) {
    const select = group.querySelector("select");
    const choices = [...document.querySelectorAll(".choice[data-group]")].filter(choice => choice.dataset.group === group.dataset.group);
    const show = () => choices.forEach(choice => choose(choice, Number(select.value)));
    select.addEventListener("change", () => {
      // What is being read stays where it is, although parts above it have a different height now.
      const read = choices.find(choice => choice.getBoundingClientRect().bottom > bar.offsetHeight);
      const before = read?.getBoundingClientRect().top;
      show();
      if (read && before < innerHeight) scrollBy(0, read.getBoundingClientRect().top - before);
    });
    show();
  }
}
