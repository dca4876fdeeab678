// What an order map is painted with.
//
//   tl.pidMapBox(order, orders, tile, width, tall) -> { w, h, cw, ch, rows, columns }  the map's size within width × tall; rows
//                                                    and columns also count those outside that are drawn
//   tl.pidMapLooks(root)                          -> the colours of the theme, as numbers and as CSS
//   tl.paintPidMap(ctx, order, box, x, y, looks, t, span)  the tiles: launched, of the wave, to come; numbers and path where they fit
//   tl.paintPanels(ctx, lit, x, y, w, h, looks, down)      a strip of panels, those lit that are touched
Object.assign(tl, (() => {
  const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  const WAVE = "#CC79A7", OUT = 3, MOST = 4096, MARKED = 3000; // MOST: pixels a side of a picture; MARKED: tiles marked one by one
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const ramp = RAMP.map(rgb);
  const mix = (a, b, f) => a.map((v, i) => v + (b[i] - v) * f);
  const packed = ([r, g, b]) => (255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);

  const pidMapLooks = (root) => {
    const style = getComputedStyle(root), parse = (css) => (css.match(/[\d.]+/g) || [255, 255, 255]).slice(0, 3).map(Number);
    const bg = parse(style.backgroundColor), ink = parse(style.color), error = style.getPropertyValue("--tl-error").trim();
    const shades = (light) => Array.from({ length: 256 }, (_, i) => {
      const at = (i / 255) * (ramp.length - 1), k = Math.min(ramp.length - 2, Math.floor(at));
      return packed(mix(bg, mix(ramp[k], ramp[k + 1], at - k), light));
    });
    return { done: shades(0.85), later: shades(0.22), wave: packed(rgb(WAVE)), none: packed(mix(bg, ink, 0.08)), wrong: packed(error.startsWith("#") ? rgb(error) : parse(error)), css: { wave: WAVE, bg: `rgb(${bg})`, ink: `rgb(${ink})`, idle: `rgb(${mix(bg, ink, 0.12).map(Math.round)})`, error } };
  };

  const pidMapBox = (order, orders, tile, width, tall) => {
    let rows = order.m, columns = order.n;
    for (const o of orders) { // maps of one matrix get one scale, with room for what lies outside in any of them
      if (o.m !== order.m || o.n !== order.n) continue;
      for (const p of o.outside) {
        if (o.rows[p] < 0 || o.columns[p] < 0) continue;
        rows = Math.max(rows, Math.min(o.rows[p] + 1, o.m + OUT));
        columns = Math.max(columns, Math.min(o.columns[p] + 1, o.n + OUT));
      }
    }
    const shape = tile ? (tile[0] * rows) / (tile[1] * columns) : rows / columns;
    const ratio = Math.min(2, Math.max(0.25, shape));
    let w = width, h = width * ratio;
    if (h > tall) [w, h] = [tall / ratio, tall];
    const whole = (size, n) => (size / n >= 6 ? Math.floor(size / n) : size / n);
    const cw = whole(w, columns), ch = whole(h, rows);
    return { cw, ch, rows, columns, w: cw * order.n, h: ch * order.m };
  };

  // Whether what is wrong is marked tile by tile; of more, those without a program are filled.
  const oneByOne = (order) => order.never.length + order.twice.length <= MARKED;

  const paintTiles = (ctx, order, box, x, y, looks, t, [first]) => {
    const { m, n, rank, programs } = order, high = Math.min(m, MOST), wide = Math.min(n, MOST);
    const image = new ImageData(wide, high), pixels = new Uint32Array(image.data.buffer);
    const scale = 255 / Math.max(1, programs - 1), none = oneByOne(order) ? looks.none : looks.wrong;
    for (let i = 0, at = 0; i < high; i++) {
      const row = Math.floor((i * m) / high) * n;
      for (let j = 0; j < wide; j++, at++) {
        const p = rank[row + Math.floor((j * n) / wide)];
        pixels[at] = p < 0 ? none : p >= t ? looks.later[Math.round(p * scale)] : p >= first ? looks.wave : looks.done[Math.round(p * scale)];
      }
    }
    const small = new OffscreenCanvas(wide, high);
    small.getContext("2d").putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = box.cw < 1 || box.ch < 1;
    ctx.drawImage(small, x, y, box.w, box.h);
  };

  // The outline of the wave, so that it is not told by colour alone.
  const paintOutline = (ctx, order, box, x, y, looks, t, [first]) => {
    const { m, n, rank } = order, { cw, ch } = box;
    const within = (i, j) => i >= 0 && i < m && j >= 0 && j < n && rank[i * n + j] >= first && rank[i * n + j] < t;
    ctx.beginPath();
    for (let p = first; p < Math.min(t, order.programs); p++) {
      if (!order.inside(p)) continue;
      const i = order.rows[p], j = order.columns[p], px = x + j * cw, py = y + i * ch;
      if (!within(i - 1, j)) { ctx.moveTo(px, py); ctx.lineTo(px + cw, py); }
      if (!within(i + 1, j)) { ctx.moveTo(px, py + ch); ctx.lineTo(px + cw, py + ch); }
      if (!within(i, j - 1)) { ctx.moveTo(px, py); ctx.lineTo(px, py + ch); }
      if (!within(i, j + 1)) { ctx.moveTo(px + cw, py); ctx.lineTo(px + cw, py + ch); }
    }
    ctx.strokeStyle = looks.css.ink;
    ctx.lineWidth = cw >= 6 ? 2 : 1;
    ctx.stroke();
  };

  const paintLines = (ctx, order, box, x, y, looks) => {
    ctx.beginPath();
    for (let j = 0; j <= order.n; j++) { ctx.moveTo(x + j * box.cw, y); ctx.lineTo(x + j * box.cw, y + box.h); }
    for (let i = 0; i <= order.m; i++) { ctx.moveTo(x, y + i * box.ch); ctx.lineTo(x + box.w, y + i * box.ch); }
    ctx.strokeStyle = looks.css.bg;
    ctx.lineWidth = 1;
    ctx.stroke();
  };

  const paintPath = (ctx, order, box, x, y, looks, t) => {
    ctx.beginPath();
    let pen = false;
    for (let p = 0; p < Math.min(t, order.programs); p++) {
      if (!order.inside(p)) { pen = false; continue; }
      const px = x + (order.columns[p] + 0.5) * box.cw, py = y + (order.rows[p] + 0.5) * box.ch;
      if (pen) ctx.lineTo(px, py);
      else ctx.moveTo(px, py);
      pen = true;
    }
    ctx.strokeStyle = looks.css.ink;
    ctx.globalAlpha = 0.55;
    ctx.lineWidth = 1.2;
    ctx.stroke();
    ctx.globalAlpha = 1;
  };

  const write = (ctx, text, x, y, looks, color) => {
    ctx.lineWidth = 3;
    ctx.strokeStyle = looks.css.bg;
    ctx.strokeText(text, x, y);
    ctx.fillStyle = color;
    ctx.fillText(text, x, y);
  };
  const numbers = (ctx, box) => {
    const size = Math.min(12, Math.floor(Math.min(box.ch - 4, (box.cw - 2) / 1.9)));
    ctx.font = `${size}px "DejaVu Sans Mono", ui-monospace, monospace`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    return size >= 8;
  };

  // What is wrong with an order: tiles without a program, with several, and programs that lie outside.
  const paintFaults = (ctx, order, box, x, y, looks) => {
    const { cw, ch } = box, { error } = looks.css;
    const at = (tile) => [x + (tile % order.n) * cw, y + Math.floor(tile / order.n) * ch];
    const square = (px, py) => {
      ctx.strokeRect(px + 1, py + 1, Math.max(1, cw - 2), Math.max(1, ch - 2));
      return [px + cw / 2, py + ch / 2];
    };
    const fits = numbers(ctx, box);
    ctx.lineWidth = cw >= 6 ? 2 : 1;
    ctx.strokeStyle = error;
    for (const tile of oneByOne(order) ? order.never : []) {
      const [px, py] = at(tile);
      ctx.beginPath();
      ctx.moveTo(px + 1, py + 1);
      ctx.lineTo(px + cw - 1, py + ch - 1);
      ctx.moveTo(px + cw - 1, py + 1);
      ctx.lineTo(px + 1, py + ch - 1);
      ctx.stroke();
      square(px, py);
    }
    const visits = fits && order.twice.length ? new Uint32Array(order.m * order.n) : null;
    for (let p = 0; visits && p < order.programs; p++) if (order.inside(p)) visits[order.rows[p] * order.n + order.columns[p]] += 1;
    for (const tile of oneByOne(order) ? order.twice : []) {
      const [cx, cy] = square(...at(tile));
      if (visits) write(ctx, `${visits[tile]}×`, cx, cy, looks, error);
      ctx.lineWidth = 2;
      ctx.strokeStyle = error;
    }
    ctx.setLineDash([3, 2]);
    for (const p of order.outside.slice(0, MARKED)) {
      const i = order.rows[p], j = order.columns[p];
      if (i < 0 || j < 0 || i >= box.rows || j >= box.columns) continue;
      ctx.lineWidth = 1.5;
      ctx.strokeStyle = error;
      const [cx, cy] = square(x + j * cw, y + i * ch);
      if (fits) write(ctx, String(p), cx, cy, looks, error);
    }
    ctx.setLineDash([]);
  };

  const paintPidMap = (ctx, order, box, x, y, looks, t, span) => {
    paintTiles(ctx, order, box, x, y, looks, t, span);
    const least = Math.min(box.cw, box.ch);
    if (least >= 5) paintLines(ctx, order, box, x, y, looks);
    if (least >= 8) paintPath(ctx, order, box, x, y, looks, t);
    paintOutline(ctx, order, box, x, y, looks, t, span);
    if (numbers(ctx, box) && least >= 15) {
      for (let p = 0; p < order.programs; p++) {
        if (!order.inside(p) || order.rank[order.rows[p] * order.n + order.columns[p]] !== p) continue;
        write(ctx, String(p), x + (order.columns[p] + 0.5) * box.cw, y + (order.rows[p] + 0.5) * box.ch, looks, looks.css.ink);
      }
    }
    paintFaults(ctx, order, box, x, y, looks);
  };

  const paintPanels = (ctx, lit, x, y, w, h, looks, down) => {
    const each = (down ? h : w) / lit.length, gap = each >= 5 ? 1 : 0;
    ctx.fillStyle = looks.css.idle;
    ctx.fillRect(x, y, w, h);
    ctx.fillStyle = looks.css.wave;
    for (let i = 0; i < lit.length; i++) {
      if (!lit[i]) continue;
      if (down) ctx.fillRect(x, y + i * each, w, Math.max(0.7, each - gap));
      else ctx.fillRect(x + i * each, y, Math.max(0.7, each - gap), h);
    }
    ctx.strokeStyle = looks.css.ink;
    ctx.lineWidth = 0.6;
    ctx.strokeRect(x, y, w, h);
  };

  return { pidMapBox, pidMapLooks, paintPidMap, paintPanels };
})());
