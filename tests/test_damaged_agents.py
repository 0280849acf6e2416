"""Agents whose files are damaged: one line that says so, and nothing believed unchecked."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from tests.test_agent import OBS, make_agent, other_agent
from wocar.agent import load_agent
from wocar.files import checksum
from wocar.types import UserError


def edit(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A damage that changes the JSON data in place."""

    def damage(folder: Path) -> None:
        data = json.loads((folder / "agent.json").read_text())
        change(data)
        (folder / "agent.json").write_text(json.dumps(data))

    return damage


def arrays(change: Callable[[bytes], bytes], believe: bool = False) -> Callable[[Path], None]:
    """A damage of the arrays' file; `believe` also forges the checksum."""

    def damage(folder: Path) -> None:
        path = folder / "agent.safetensors"
        path.write_bytes(change(path.read_bytes()))
        if believe:
            edit(lambda d: d.update(sha256=checksum(path.read_bytes())))(folder)

    return damage


def text(words: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / "agent.json").write_bytes(words)


DAMAGES = {
    "no folder": (shutil.rmtree, "no agent in"),
    "no agent.json": (lambda f: (f / "agent.json").unlink(), "no agent in"),
    "no arrays": (lambda f: (f / "agent.safetensors").unlink(), "cannot read .*No such file"),
    "json is a folder": (lambda f: ((f / "agent.json").unlink(), (f / "agent.json").mkdir()), "no agent in"),
    "empty json": (text(b""), "not JSON"),
    "binary json": (text(b"\xff\x00\x12"), "not JSON"),
    "deep json": (text(b"[" * 100_000), "nested more than 64 deep"),
    "half a json": (lambda f: text((f / "agent.json").read_bytes()[:300])(f), "not JSON"),
    "a list": (text(b"[]"), "not a wocar agent"),
    "another program's json": (text(b'{"format": "onnx"}'), "not a wocar agent"),
    "nothing but the format": (text(b'{"format": "wocar-agent", "version": 1}'), "damaged"),
    "newer version": (edit(lambda d: d.update(version=2)), "format 2, .*reads 1.*update"),
    "truncated arrays": (arrays(lambda b: b[:-8]), "checksum"),
    "one byte more": (arrays(lambda b: b + b"\0"), "checksum"),
    "one bit changed": (arrays(lambda b: b[:-1] + bytes([b[-1] ^ 1])), "checksum"),
    "not safetensors": (arrays(lambda b: b"PK\3\4 a zip", believe=True), "agent.safetensors is damaged"),
    "other arrays": (arrays(lambda b: save({"x": np.zeros(3)}), believe=True), "lacks .*another kind of network"),
    "no normaliser": (edit(lambda d: d.pop("normaliser")), "damaged"),
    "other width": (edit(lambda d: d["policy"]["layers"][0].update(out=9)), "shape"),
    "negative width": (edit(lambda d: d["policy"]["layers"][0].update(out=-8)), "shape"),
    "a terabyte": (edit(lambda d: d["policy"]["layers"][0].update(out=10**11)), "shape"),
    "beyond integers": (edit(lambda d: d["policy"]["layers"][0].update(out=10**30)), "shape"),
    "unknown layer": (edit(lambda d: d["policy"]["layers"][1].update(kind="exec")), "unknown layer"),
    "layers in no order": (edit(lambda d: d["policy"]["layers"].reverse()), "shape"),
    "no layers": (edit(lambda d: d["policy"].update(layers=[])), "damaged"),
    "unknown policy": (edit(lambda d: d["policy"].update(kind="gaussiam")), "damaged"),
    "another policy": (edit(lambda d: d["policy"].update(kind="categorical")), "damaged"),
    "unknown critic": (edit(lambda d: d["critics"]["value"].update(kind="art")), "damaged"),
    "another critic": (edit(lambda d: d["critics"]["q"].update(kind="value")), "damaged"),
    "other actions": (edit(lambda d: d["env"]["actions"].update(size=3)), "shape"),
    "a million actions": (edit(lambda d: d["env"]["actions"].update(size=10**15)), "shape"),
    "other range": (edit(lambda d: d["env"]["actions"].update(low=[0.0])), "damaged"),
    "half a range": (edit(lambda d: d["env"]["actions"].update(low=None)), "damaged"),
    "other observations": (edit(lambda d: d["env"].update(obs_shape=[5])), "damaged"),
    "observations of text": (edit(lambda d: d["env"].update(obs_shape="4")), "damaged"),
    "environment without name": (edit(lambda d: d["env"].update(id=None)), "damaged"),
    "meta of text": (edit(lambda d: d.update(meta="ppo")), "damaged"),
    "other normaliser": (edit(lambda d: d["normaliser"].update(kind="frozen")), "damaged"),
    "clip of text": (edit(lambda d: d["normaliser"].update(clip="ten")), "damaged"),
    "clip of nothing": (edit(lambda d: d["normaliser"].update(clip=float("nan"))), "damaged"),
}


DAMAGES_BY_KIND = {
    "recurrent gaussian": {
        "cell of another width": edit(lambda d: d["policy"]["layers"]["lstm"].update(hidden=9)),
        "no cell": edit(lambda d: d["policy"]["layers"].pop("lstm")),
        "no memory": edit(lambda d: d["policy"].update(kind="gaussian")),
        "layers in the place of a cell": edit(lambda d: d["policy"].update(layers=[{"kind": "tanh"}])),
        "discrete": edit(lambda d: d["env"]["actions"].update(low=None, high=None)),
        "running": edit(lambda d: d["normaliser"].update(kind="running")),
        "more numbers": edit(lambda d: d["normaliser"].update(count=3.0)),
        "critic without memory": edit(lambda d: d["critics"]["value"].update(kind="value")),
    },
    "pixels": {
        "kernel of nothing": edit(lambda d: d["policy"]["layers"][0].update(kernel=[0, 0])),
        "kernel of text": edit(lambda d: d["policy"]["layers"][0].update(kernel="4x4")),
        "longer stride": edit(lambda d: d["policy"]["layers"][0].update(stride=[3, 3])),
        "one side": edit(lambda d: d["policy"]["layers"][0].update(padding=[1])),
        "vectors": edit(lambda d: d["env"].update(obs_shape=[200])),
        "darkness": edit(lambda d: d["normaliser"].update(brightest=0)),
    },
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in DAMAGES_BY_KIND.items() for name in names])
def test_damage_of_a_cell_or_convolution_is_told_in_one_line(kind: str, name: str, tmp_path: Path) -> None:
    other_agent(kind).save(tmp_path / "a")
    DAMAGES_BY_KIND[kind][name](tmp_path / "a")
    with pytest.raises(UserError, match=r"damaged|shape|lacks") as error:
        load_agent(tmp_path / "a")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    make_agent().save(tmp_path / "a")
    damage, words = DAMAGES[name]
    damage(tmp_path / "a")
    with pytest.raises(UserError) as error:
        load_agent(tmp_path / "a")
    assert re.search(words, str(error.value)), error.value
    assert "\n" not in str(error.value)
    assert str(tmp_path / "a") in str(error.value)
    assert len(str(error.value)) < len(str(tmp_path)) + 300


@given(data=st.data())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_flipped_bytes_give_a_user_error_or_an_agent_that_acts(data: st.DataObject, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    if not folder.exists():
        make_agent().save(folder)
        shutil.copytree(folder, tmp_path / "whole")
    file = data.draw(st.sampled_from(["agent.json"] * 4 + ["agent.safetensors"]))
    shutil.copytree(tmp_path / "whole", folder, dirs_exist_ok=True)
    content = bytearray((folder / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from([content[at] ^ 1, content[at] ^ 64, *b'09-e"[]{},']))
    (folder / file).write_bytes(content)
    try:
        agent = load_agent(folder)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert agent.predict(OBS)[0].shape == (6, 2)
        assert file == "agent.json" or content == (tmp_path / "whole" / file).read_bytes()
