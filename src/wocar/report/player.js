for (const box of document.querySelectorAll(".clips")) {
  const player = box.querySelector(".player"), images = [...box.querySelectorAll("img[data-moving]")];
  if (!player || images.length < 2 || !("ImageDecoder" in window)) continue;
  const button = player.querySelector("button"), slider = player.querySelector("input"), told = player.querySelector("output");
  let clips = null, timer = 0, drawn = 0;
  const bytes = (url) => Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (c) => c.charCodeAt(0));
  const open = async (image) => {
    const decoder = new ImageDecoder({data: bytes(image.dataset.moving), type: "image/gif"});
    await decoder.tracks.ready;
    await decoder.completed;
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", image.alt);
    image.after(canvas);
    image.hidden = true;
    image.closest("figure").querySelector(".play").hidden = true;
    return {decoder, canvas, frames: decoder.tracks.selectedTrack.frameCount};
  };
  const draw = async (k) => {
    const decoded = await Promise.all(clips.map((clip) => clip.decoder.decode({frameIndex: Math.min(k, clip.frames - 1)})));
    for (const [i, {image}] of decoded.entries()) {
      const clip = clips[i];
      if (clip.canvas.width !== image.displayWidth) {
        clip.canvas.width = image.displayWidth;
        clip.canvas.height = image.displayHeight;
      }
      clip.canvas.getContext("2d").drawImage(image, 0, 0);
      clip.duration = image.duration;
      clip.canvas.dataset.frame = Math.min(k, clip.frames - 1);
      image.close();
    }
    slider.value = drawn = k;
    const over = clips.filter((clip) => k >= clip.frames - 1).length;
    told.textContent = `frame ${k + 1} of ${Number(slider.max) + 1}` + (over && k < slider.max ? `; ${over} ended` : "");
  };
  let queue = Promise.resolve();
  const show = (k) => queue = queue.then(() => draw(k));
  const ready = async () => {
    if (clips) return;
    clips = await Promise.all(images.map(open));
    slider.max = Math.max(...clips.map((clip) => clip.frames)) - 1;
  };
  const play = (on) => {
    clearTimeout(timer);
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "Pause" : "Play in step";
    const step = async () => {
      const begun = performance.now();
      await show(drawn >= Number(slider.max) ? 0 : drawn + 1);
      const wait = (clips[0].duration || 40000) / 1000 - (performance.now() - begun);
      if (button.getAttribute("aria-pressed") === "true") timer = setTimeout(step, Math.max(wait, 0));
    };
    if (on) step();
  };
  button.addEventListener("click", async () => {
    await ready();
    play(button.getAttribute("aria-pressed") !== "true");
  });
  slider.addEventListener("input", async () => {
    const at = Number(slider.value);
    await ready();
    play(false);
    await show(Math.min(at, slider.max));
  });
  const prepare = async () => {
    await ready();
    await show(0);
    player.hidden = false;
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  };
  const seen = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) {
      seen.disconnect();
      prepare().catch(() => { player.hidden = true; });
    }
  });
  seen.observe(box);
}
