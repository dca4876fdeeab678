// A picture made in Python: the width that fits, with its text as alternative, and the notes below as text.
export default tl.view({
  name: "chart",
  mount(ui) {
    const image = tl.html("img", { class: "tl-chart-image" });
    ui.picture.append(image);
    let shown = null;
    const fill = () => {
      ui.say(ui.data.says);
      image.alt = ui.data.alt;
      ui.notes.replaceChildren(...ui.data.notes.map((note) => tl.html("p", { class: "tl-note" }, ...tl.rich(note))));
      shown = null;
    };
    fill();
    return {
      draw(width) {
        const [wide, narrow] = ui.data.pictures;
        const fit = width >= (wide.width + narrow.width) / 2 ? wide : narrow;
        if (fit === shown) return;
        shown = fit;
        image.width = fit.width;
        image.style.aspectRatio = `${fit.width} / ${fit.height}`;
        image.src = `data:image/png;base64,${fit.png}`;
      },
      update: fill,
    };
  },
});
