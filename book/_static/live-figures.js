/* Draws the live figures of a page over their still pictures, from the book's own copy of Vega.
 *
 * What a reader chose stands in the page's address, as #figure.parameter=value&..., so that it can be
 * shared; only values that the select or slider offers are taken from there.
 */
(() => {
  const figures = [];

  const stored = () => new URLSearchParams(location.hash.slice(1));

  /* The value that a text of the address stands for, or undefined. */
  function offered(bind, text) {
    if (bind.input === "select") return bind.options.find((option) => String(option) === text);
    const number = text ? Number(text) : NaN;
    return number >= bind.min && number <= bind.max ? number : undefined;
  }

  /* Set a figure's controls by the address; true if the address names one of them. */
  async function restore({ name, view, controls }) {
    const state = stored();
    for (const { name: control, bind, value } of controls) {
      const found = offered(bind, state.get(`${name}.${control}`));
      view.signal(control, found === undefined ? value : found);
    }
    await view.runAsync();
    return controls.some((control) => state.has(`${name}.${control.name}`));
  }

  function save() {
    const state = new URLSearchParams();
    for (const { name, view, controls } of figures)
      for (const { name: control, value } of controls)
        if (view.signal(control) !== value) state.set(`${name}.${control}`, view.signal(control));
    const hash = String(state) && `#${state}`;
    history.replaceState(null, "", location.pathname + location.search + hash);
  }

  let waiting;
  const saveSoon = () => {
    clearTimeout(waiting); // browsers refuse a new address at every step of a drag
    waiting = setTimeout(save, 150);
  };

  async function draw(element) {
    const live = document.createElement("div");
    const spec = JSON.parse(element.querySelector("script").textContent);
    const actions = { export: true, source: false, compiled: false, editor: false };
    const { view, vgSpec } = await vegaEmbed(live, spec, { renderer: "svg", actions });
    const controls = vgSpec.signals.filter((signal) => signal.bind);
    const figure = { name: element.dataset.name, view, controls };
    const named = await restore(figure);
    element.querySelector("img").replaceWith(live);
    if (named) element.scrollIntoView({ block: "center" });
    for (const { name } of controls) view.addSignalListener(name, saveSoon);
    figures.push(figure);
  }

  for (const element of document.querySelectorAll(".live-figure")) draw(element);
  window.addEventListener("hashchange", () => figures.forEach(restore));
})();
