"""Recordings: frames with the perturbation drawn beside them, as GIF or MP4 that carry their own description."""

import io
import json
import shutil
import struct
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from wocar.report.kinds import ClipData
from wocar.schema import fault
from wocar.types import UserError

FPS = 25
COLOURS = 96
"""Of a GIF's palette."""
WIDTH, HEIGHT = 220, 240
"""Of the panel beside the frame."""
INK, PAPER, FAINT = (24, 28, 34), (250, 250, 248), (196, 200, 206)
UP, DOWN = (192, 74, 0), (0, 100, 168)


MOST_PIXELS = 4_000_000
"""Of a frame that is read."""
UNREADABLE = (
    *(OSError, ValueError, SyntaxError, TypeError, EOFError, IndexError, KeyError, MemoryError, RecursionError),
    *(struct.error, zlib.error, Image.DecompressionBombError),
)
"""What damaged pictures make the library raise."""


class Clip(NamedTuple):
    file: Path
    about: dict[str, Any]
    """The description stored in a recording: env, method, attack, eps, seed, return, command."""
    size: int

    @property
    def env(self) -> str:
        return str(self.about.get("env", ""))


def read_clip(file: Path) -> Clip:
    about: dict[str, Any] = {}
    if file.suffix in (".gif", ".png"):
        try:
            with Image.open(file, formats=("GIF", "PNG")) as image:
                about = json.loads(image.info.get("comment", b"{}"))
        except UNREADABLE:
            about = {}
    return Clip(file, {} if fault(about, ClipData) else about, file.stat().st_size)


def still(file: Path) -> bytes | None:
    """The first frame of a GIF as PNG; None where it is damaged or of absurd size."""
    out = io.BytesIO()
    try:
        with Image.open(file, formats=("GIF",)) as image:
            if image.width * image.height > MOST_PIXELS:
                return None
            image.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(out, "PNG", optimize=True)
    except UNREADABLE:
        return None
    return out.getvalue()


def bars(perturbation: np.ndarray, height: int, lines: Sequence[str]) -> np.ndarray:
    """A panel: lines of text, then for each dimension a bar from -1 to 1, z~ - z in units of eps."""
    image = Image.new("RGB", (WIDTH, height), PAPER)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
    small = ImageFont.load_default(11)
    for i, line in enumerate(lines):
        draw.text((10, 8 + 17 * i), line, INK, font)
    top = 8 + 17 * len(lines) + 20
    low, high, middle = 24, WIDTH - 12, (24 + WIDTH - 12) / 2
    draw.text((middle, top - 9), "perturbation / eps, by dimension", INK, small, anchor="mm")
    for x in (low, middle, high):
        draw.line((x, top, x, height - 18), FAINT)
    for x, label in ((low, "-1"), (middle, "0"), (high, "1")):
        draw.text((x, height - 9), label, INK, small, anchor="mm")
    step = (height - 18 - top) / max(len(perturbation), 1)
    for k, value in enumerate(np.clip(perturbation, -1, 1)):
        y, end = top + k * step, middle + float(value) * (high - middle)
        box = (min(middle, end), y + 0.15 * step, max(middle, end), max(y + 0.85 * step, y + 0.15 * step + 1))
        draw.rectangle(box, UP if value > 0 else DOWN)
    return np.asarray(image)


def pixels(clean: np.ndarray, shown: np.ndarray, eps: float, lines: Sequence[str]) -> np.ndarray:
    """Clean observation, shown observation, and their difference scaled so that ±eps is white or black."""
    size = HEIGHT
    difference = (shown - clean) / max(2 * eps, 1e-9) + 0.5
    parts = [
        Image.fromarray(_grey(x)).resize((size, size), Image.Resampling.NEAREST) for x in (clean, shown, difference)
    ]
    canvas = Image.new("RGB", (3 * size + 16, size + 22 + 17 * len(lines)), PAPER)
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(13)
    top = 8 + 17 * len(lines)
    for i, line in enumerate(lines):
        draw.text((8, 4 + 17 * i), line, INK, font)
    for i, (part, label) in enumerate(zip(parts, ("clean", "shown", "difference, magnified"), strict=True)):
        canvas.paste(part, (i * (size + 8), top))
        draw.text((i * (size + 8) + 4, top + size), label, INK, ImageFont.load_default(11))
    return np.asarray(canvas)


def side_by_side(frame: np.ndarray, panel: np.ndarray) -> np.ndarray:
    return np.concatenate([frame, panel], axis=1)


def picture_of(frame: np.ndarray | None, z: np.ndarray) -> np.ndarray:
    """The rendered frame; without one, the newest channel of an observation of pixels."""
    return _grey(z[-1] if z.ndim == 3 else z)[..., None].repeat(3, -1) if frame is None else frame


def write_pair(out: Path, pictures: Sequence[np.ndarray], captions: Sequence[str], about: dict[str, Any]) -> None:
    """Two pictures side by side with captions below, as a PNG that carries `about`."""
    size = HEIGHT + 60
    canvas = Image.new("RGB", (2 * size + 8, size + 24), PAPER)
    draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(13)
    for i, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        canvas.paste(Image.fromarray(picture).resize((size, size)), (i * (size + 8), 0))
        draw.text((i * (size + 8) + 4, size + 4), caption, INK, font)
    note = PngImagePlugin.PngInfo()
    note.add_text("comment", json.dumps(about))
    partial = out.with_name(f".{out.name}.partial")
    canvas.save(partial, "PNG", pnginfo=note)
    partial.replace(out)


def check_target(out: Path, kinds: tuple[str, ...] = (".gif", ".mp4")) -> None:
    """A UserError, before any work is done, where the clip could not be written."""
    if out.suffix not in kinds:
        raise UserError(f"--out must end in {' or '.join(kinds)}, not {out.name!r}")
    if not out.parent.is_dir():
        raise UserError(f"cannot write {out}: its folder does not exist")
    if out.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise UserError("mp4 needs ffmpeg, which is not installed here; choose a name that ends in .gif")


def write_clip(out: Path, frames: Sequence[np.ndarray], about: dict[str, Any], fps: int = FPS) -> None:
    """The frames as GIF or, by ffmpeg, as MP4; a GIF carries `about` in its comment."""
    partial = out.with_name(f".{out.name}.partial{out.suffix}")
    if out.suffix == ".gif":
        _write_gif(partial, frames, about, fps)
    else:
        _write_mp4(partial, frames, about, fps)
    partial.replace(out)


def _write_gif(out: Path, frames: Sequence[np.ndarray], about: dict[str, Any], fps: int) -> None:
    some = [frames[i] for i in np.linspace(0, len(frames) - 1, 4).astype(int)]
    palette = Image.fromarray(np.concatenate(some)).quantize(COLOURS)
    images = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    comment = json.dumps(about).encode()
    images[0].save(
        out, save_all=True, append_images=images[1:], duration=1000 // fps, loop=0, optimize=False, comment=comment
    )


def _write_mp4(out: Path, frames: Sequence[np.ndarray], about: dict[str, Any], fps: int) -> None:
    height, width, _ = frames[0].shape
    size = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(fps), "-i", "-"]
    even = ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    command = [
        "ffmpeg",
        "-y",
        "-loglevel",
        "error",
        *size,
        *even,
        "-metadata",
        f"comment={json.dumps(about)}",
        str(out),
    ]
    done = subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), capture_output=True)
    if done.returncode:
        out.unlink(missing_ok=True)
        raise UserError(f"ffmpeg could not write {out}: {done.stderr.decode(errors='replace').strip()[:200]}")


def _grey(x: np.ndarray) -> np.ndarray:
    return (np.clip(x, 0, 1) * 255).round().astype(np.uint8)
