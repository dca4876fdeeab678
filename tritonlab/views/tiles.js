// The tile picture: which of its pictures is shown, strips and matrices (tiles_view.js) or a matmul (tiles_product_view.js).
// The record stays in the browser.
export default tl.view({
  name: "tiles",
  mount(ui) {
    let part = null, product = null;
    // What stays when the picture changes: the choice of a program, and of the picture.
    const shared = { program: null, byHand: false, picture: null, turn };
    let wanted = null;
    const open = () => {
      part?.destroy();
      for (const box of [ui.picture, ui.notes, ui.controls, ui.footer]) box.replaceChildren();
      product = shared.picture === "product";
      part = (product ? tl.productMount : tl.tilesMount)(ui, shared);
    };
    function turn(picture) {
      wanted = shared.picture = picture;
      if (product || picture === "product") open();
      else part.turn();
      ui.redraw();
      const chosen = ui.controls.querySelector(`input[value="${picture}"]`);
      if (chosen && document.activeElement !== chosen) chosen.focus({ preventScroll: true });
    }
    const update = (data) => {
      const matrices = data.args.some((a) => tl.isMatrix(a));
      const possible = wanted === "product" ? data.product : wanted === "matrix" ? matrices : wanted;
      shared.picture = possible ? wanted : data.picture;
      if (product || shared.picture === "product") {
        if (product && shared.picture === "product") part.update(data);
        else open();
      } else part.update(data);
    };
    shared.picture = ui.data.picture;
    open();
    return { draw: (width) => part.draw(width), update, destroy: () => part.destroy() };
  },
});
