// The stepper's pictures of blocks of values, on canvas. Nothing here knows about steps.
const tlPictures = (() => {
  const TYPES = { u1: Uint8Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
  // Cividis at nine points, dark to light: readable with any colour vision and in print.
  const RAMP = [[0, 32, 77], [0, 52, 110], [57, 72, 107], [87, 93, 109], [112, 113, 115], [138, 134, 120], [166, 157, 117], [197, 181, 103], [255, 233, 69]];

  // A block as Python's values.encode() made it: { size, kept, shape, at(i), flat }, decoded once.
  const decode = (packed) => {
    if ("py" in packed) return { size: 1, kept: 1, shape: [], text: packed.text, flat: [] };
    const size = packed.shape.reduce((a, b) => a * b, 1);
    const kept = packed.kept ?? size;
    let flat;
    if (packed.as === "range") {
      flat = new Float64Array(kept);
      for (let i = 0; i < kept; i++) flat[i] = packed.data[0] + i * packed.data[1];
    } else if (packed.as === "text") flat = packed.data;
    else {
      const raw = atob(packed.data);
      const bytes = new Uint8Array(raw.length);
      for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
      if (packed.as === "bits") {
        flat = new Uint8Array(kept);
        for (let i = 0; i < kept; i++) flat[i] = (bytes[i >> 3] >> (i & 7)) & 1;
      } else flat = new TYPES[packed.as](bytes.buffer);
    }
    if (packed.repeat) flat = flat.constructor.from({ length: kept }, () => flat[0]);
    return { size, kept, shape: packed.shape, flat, np: packed.np, low: packed.low, high: packed.high };
  };

  // The exact value of lane i, as text.
  const exact = (block, i, dtype) => {
    if (block.text !== undefined) return /^b?float/.test(dtype) && /\d/.test(block.text) ? tl.number(Number(block.text), dtype) : block.text;
    if (i >= block.kept) return "not kept";
    const v = block.flat[i];
    if (dtype === "int1" || block.np === "bool") return v ? "True" : "False";
    return block.np.startsWith("float") ? tl.number(v, block.np) : String(v);
  };

  const rowsOf = (shape) => (shape.length < 2 ? 1 : shape.slice(0, -1).reduce((a, b) => a * b, 1));
  const colsOf = (shape) => (shape.length ? shape[shape.length - 1] : 1);

  // The lane of a block of `shape` that broadcasting pairs with lane i of a block of shape `from`; -1 if none.
  const paired = (i, from, shape) => {
    if (shape.length !== from.length) return -1;
    let lane = 0, rest = i;
    const index = [];
    for (let d = from.length - 1; d >= 0; d--) { index[d] = rest % from[d]; rest = Math.floor(rest / from[d]); }
    for (let d = 0; d < shape.length; d++) {
      if (shape[d] !== from[d] && shape[d] !== 1) return -1;
      lane = lane * shape[d] + (shape[d] === 1 ? 0 : index[d]);
    }
    return lane;
  };
  const laneName = (i, shape) => {
    if (shape.length < 2) return String(i);
    const index = [];
    for (let d = shape.length - 1; d >= 0; d--) { index[d] = i % shape[d]; i = Math.floor(i / shape[d]); }
    return index.join(", ");
  };

  // Size of a block's picture in px, no wider than `width`.
  const extent = (shape, width) => {
    const rows = rowsOf(shape), cols = colsOf(shape);
    if (rows === 1) return { rows, cols, w: Math.min(width, cols * 28), h: 17 };
    const h = Math.min(64, rows * 9);
    return { rows, cols, h, w: Math.min(width, Math.max(28, cols * Math.max(2, Math.min(14, (2 * h) / rows)))) };
  };

  // A canvas of w × h px, sharp on any screen, cleared.
  const fit = (canvas, w, h) => {
    const scale = window.devicePixelRatio || 1;
    const W = Math.round(w * scale), H = Math.round(h * scale);
    if (canvas.width !== W) canvas.width = W;
    if (canvas.height !== H) canvas.height = H;
    canvas.style.width = `${w}px`;
    canvas.style.height = `${h}px`;
    const ctx = canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, w, h);
    return ctx;
  };

  // Colours of the theme and of one program; patterns are made for this screen's pixels.
  const palette = (root, program) => {
    const css = getComputedStyle(root);
    const of = (name) => css.getPropertyValue(name).trim();
    const scale = window.devicePixelRatio || 1;
    const tile = (size, paint) => {
      const c = document.createElement("canvas");
      c.width = c.height = Math.round(size * scale);
      const ctx = c.getContext("2d");
      ctx.scale(c.width / size, c.height / size);
      paint(ctx, size);
      const made = ctx.createPattern(c, "repeat");
      made.setTransform(new DOMMatrix().scale(size / c.width));
      return made;
    };
    const bg = of("--tl-bg"), color = tl.programColor(program), ink = tl.programInk(program);
    const hatch = (stroke, width) => tile(6, (ctx, s) => {
      ctx.fillStyle = bg;
      ctx.fillRect(0, 0, s, s);
      ctx.strokeStyle = stroke;
      ctx.lineWidth = width;
      ctx.beginPath();
      for (const d of [-s, 0, s]) { ctx.moveTo(d - 1, s + 1); ctx.lineTo(d + s + 1, -1); }
      ctx.stroke();
    });
    const round = Math.floor(program / tl.COLORS.length) % 4;
    const on = round === 0 ? color : tile(6, (ctx, s) => {
      ctx.fillStyle = color;
      ctx.fillRect(0, 0, s, s);
      ctx.strokeStyle = ctx.fillStyle = ink;
      ctx.globalAlpha = 0.45;
      ctx.lineWidth = 1;
      ctx.beginPath();
      if (round === 1) { ctx.arc(3, 3, 1.1, 0, 7); ctx.fill(); return; }
      ctx.moveTo(0, 3); ctx.lineTo(s, 3);
      if (round === 3) { ctx.moveTo(3, 0); ctx.lineTo(3, s); }
      ctx.stroke();
    });
    return {
      bg, color, on, masked: hatch(of("--tl-line-2"), 1.3), past: hatch(of("--tl-line"), 1), ink: of("--tl-ink"), quiet: of("--tl-ink-2"), line: of("--tl-line"),
      edge: of("--tl-line-2"), cell: of("--tl-cell"), error: of("--tl-error"), errorBg: of("--tl-error-bg"),
      bar: of("--tl-bar"), font: of("--tl-font"), mono: of("--tl-mono"),
    };
  };

  const cross = (ctx, x, y, w, h, pal) => {
    ctx.fillStyle = pal.errorBg;
    ctx.fillRect(x, y, w, h);
    ctx.strokeStyle = pal.error;
    ctx.lineWidth = 1;
    if (w >= 3) ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    ctx.beginPath();
    if (w >= 4) { ctx.moveTo(x + 1, y + 1); ctx.lineTo(x + w - 1, y + h - 1); ctx.moveTo(x + w - 1, y + 1); ctx.lineTo(x + 1, y + h - 1); }
    else { ctx.moveTo(x + w / 2, y); ctx.lineTo(x + w / 2, y + h); }
    ctx.stroke();
  };

  // One row of lanes that are on or off: filled or hatched.
  const flags = (ctx, block, w, h, pal) => {
    const n = block.kept, cw = w / block.size, gap = cw >= 5 ? 1 : 0;
    ctx.fillStyle = pal.masked;
    ctx.fillRect(0, 0, cw * n, h);
    if (cw >= 1) {
      for (let i = 0; i < n; i++) {
        if (gap) { ctx.fillStyle = pal.bg; ctx.fillRect((i + 1) * cw - gap, 0, gap, h); }
        if (block.flat[i]) { ctx.fillStyle = pal.on; ctx.fillRect(i * cw, 0, cw - gap, h); }
      }
    } else {
      ctx.fillStyle = pal.color;
      for (let x = 0; x < w; x++) {
        const from = Math.floor(x / cw), to = Math.min(n, Math.max(from + 1, Math.floor((x + 1) / cw)));
        let on = 0;
        for (let i = from; i < to; i++) on += block.flat[i] ? 1 : 0;
        if (!on) continue;
        ctx.globalAlpha = on / (to - from);
        ctx.fillRect(x, 0, 1, h);
      }
      ctx.globalAlpha = 1;
    }
    ctx.strokeStyle = pal.edge;
    ctx.lineWidth = 1;
    ctx.strokeRect(0.5, 0.5, w - 1, h - 1);
  };

  // One row of numbers: a bar a lane, from zero where zero is near. Pointers to no element of their argument are hatched.
  const bars = (ctx, block, w, h, pal, reach) => {
    const n = block.kept, cw = w / block.size, gap = cw >= 3 ? 1 : 0;
    let low = block.low ?? 0, high = block.high ?? 0;
    if (reach) { low = 0; high = Math.max(1, reach - 1); }
    else if (low > 0 && low <= 0.6 * high) low = 0;
    else if (high < 0 && high >= 0.6 * low) high = 0;
    const pedestal = low !== 0 && high !== 0 && low * high > 0 ? 0.15 : 0;
    const top = (v) => h - 1 - (high > low ? pedestal + (1 - pedestal) * ((v - low) / (high - low)) : 0.5) * (h - 2);
    const zero = low <= 0 && high >= 0 && high > low ? top(0) : h - 1;
    ctx.fillStyle = pal.cell;
    ctx.fillRect(0, 0, w, h);
    ctx.fillStyle = pal.bar;
    const one = (x, width, a, b) => {
      const y0 = Math.min(a, b, zero), y1 = Math.max(a, b, zero);
      ctx.fillRect(x, Math.min(y0, h - 1.5), width, Math.max(1, y1 - y0));
    };
    if (cw >= 1) {
      for (let i = 0; i < n; i++) {
        const v = Number(block.flat[i]);
        if (reach && (v < 0 || v >= reach)) { ctx.fillStyle = pal.past; ctx.fillRect(i * cw, 0, cw - gap, h); ctx.fillStyle = pal.bar; }
        else if (Number.isFinite(v)) one(i * cw, cw - gap, top(v), top(v));
        else if (Number.isNaN(v)) { cross(ctx, i * cw, 0, cw - gap, h, pal); ctx.fillStyle = pal.bar; }
        else {
          ctx.fillStyle = pal.quiet;
          ctx.fillRect(i * cw, v > 0 ? 0 : h - 3, cw - gap, 3);
          ctx.fillStyle = pal.bar;
        }
      }
    } else {
      for (let x = 0; x < w; x++) {
        const from = Math.floor(x / cw), to = Math.min(n, Math.max(from + 1, Math.floor((x + 1) / cw)));
        let a = Infinity, b = -Infinity;
        for (let i = from; i < to; i++) { const v = Number(block.flat[i]); if (v < a) a = v; if (v > b) b = v; }
        if (a <= b && Number.isFinite(a) && Number.isFinite(b)) one(x, 1, top(a), top(b));
      }
    }
  };

  // Rows × columns as coloured cells: numbers on the ramp, flags filled or not.
  const heat = (ctx, block, box, pal, flag, reach) => {
    const { rows, cols, w, h } = box;
    const image = new ImageData(cols, rows), px = image.data;
    let low = block.low ?? 0, high = block.high ?? 0;
    if (reach) { low = 0; high = Math.max(1, reach - 1); }
    const scale = high > low ? 1 / (high - low) : 0;
    const on = rgb(pal.color), off = rgb(pal.cell), bad = rgb(pal.error), edge = rgb(pal.edge);
    for (let i = 0; i < block.kept; i++) {
      const v = Number(block.flat[i]);
      let c;
      if (flag) c = v ? on : off;
      else if (reach && (v < 0 || v >= reach)) continue;  // stays clear, for the hatching below
      else if (Number.isNaN(v)) c = bad;
      else if (!Number.isFinite(v)) c = edge;
      else c = ramp(scale ? (v - low) * scale : 0.5);
      px[4 * i] = c[0]; px[4 * i + 1] = c[1]; px[4 * i + 2] = c[2]; px[4 * i + 3] = 255;
    }
    const small = document.createElement("canvas");
    small.width = cols;
    small.height = rows;
    small.getContext("2d").putImageData(image, 0, 0);
    if (reach) {
      ctx.fillStyle = pal.past;
      ctx.fillRect(0, 0, w, h);
    }
    ctx.imageSmoothingEnabled = w < cols || h < rows;
    ctx.imageSmoothingQuality = "high";
    ctx.drawImage(small, 0, 0, w, h);
    const cw = w / cols, ch = h / rows;
    if (cw >= 5 && ch >= 5) {
      ctx.fillStyle = pal.bg;
      for (let c = 1; c < cols; c++) ctx.fillRect(c * cw - 0.5, 0, 1, h);
      for (let r = 1; r < rows; r++) ctx.fillRect(0, r * ch - 0.5, w, 1);
    }
    if (flag && cw >= 4 && ch >= 4) {
      ctx.fillStyle = pal.masked;
      const gap = cw >= 5 && ch >= 5 ? 0.5 : 0;
      for (let i = 0; i < block.kept; i++) {
        if (!block.flat[i]) ctx.fillRect((i % cols) * cw + gap, Math.floor(i / cols) * ch + gap, cw - 2 * gap, ch - 2 * gap);
      }
    }
    ctx.strokeStyle = pal.edge;
    ctx.lineWidth = 1;
    ctx.strokeRect(0.5, 0.5, w - 1, h - 1);
  };
  const ramp = (t) => {
    const x = Math.max(0, Math.min(1, t)) * (RAMP.length - 1), k = Math.min(RAMP.length - 2, Math.floor(x)), f = x - k;
    return RAMP[k].map((a, c) => a + f * (RAMP[k + 1][c] - a));
  };
  const known = new Map();
  const rgb = (color) => {
    if (!known.has(color)) {
      const ctx = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
      ctx.fillStyle = color;
      ctx.fillRect(0, 0, 1, 1);
      known.set(color, [...ctx.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };

  // A block's picture; `lane` is ringed. kind: "flags" | "numbers"; reach: extent of the argument that pointers point into.
  const draw = (canvas, block, width, pal, { kind, reach, lane = -1 }) => {
    const box = extent(block.shape, width);
    const ctx = fit(canvas, box.w, box.h);
    if (box.rows > 1) heat(ctx, block, box, pal, kind === "flags", reach);
    else if (kind === "flags") flags(ctx, block, box.w, box.h, pal);
    else bars(ctx, block, box.w, box.h, pal, reach);
    if (lane >= 0) {
      const cw = box.w / box.cols, ch = box.h / box.rows;
      const w = Math.max(cw, 4), h = Math.max(ch, 4);
      const x = Math.max(1, Math.min(box.w - w - 1, ((lane % box.cols) + 0.5) * cw - w / 2));
      const y = Math.max(1, Math.min(box.h - h - 1, (Math.floor(lane / box.cols) + 0.5) * ch - h / 2));
      ctx.strokeStyle = pal.bg;
      ctx.lineWidth = 4;
      ctx.strokeRect(x, box.rows > 1 ? y : 1, w, box.rows > 1 ? h : box.h - 2);
      ctx.strokeStyle = pal.ink;
      ctx.lineWidth = 2;
      ctx.strokeRect(x, box.rows > 1 ? y : 1, w, box.rows > 1 ? h : box.h - 2);
    }
    return box;
  };
  const laneAt = (box, x, y) => {
    const c = Math.max(0, Math.min(box.cols - 1, Math.floor((x / box.w) * box.cols)));
    const r = Math.max(0, Math.min(box.rows - 1, Math.floor((y / box.h) * box.rows)));
    return r * box.cols + c;
  };

  return { decode, exact, paired, laneName, extent, fit, palette, cross, draw, laneAt };
})();
