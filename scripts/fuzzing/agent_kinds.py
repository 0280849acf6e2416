"""Kinds of files that are or become agents."""

import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from fuzzing.corpus import ROOT, Corpus, module_of_tests, void


def add_agents(corpus: Corpus) -> None:
    import jax

    from wocar.agent import Agent, load_agent
    from wocar.networks import GaussianPolicy, RunningNormaliser, ValueCritic
    from wocar.training.run_folder import load_config
    from wocar.types import ActionSpace, EnvSpec

    np = sys.modules["numpy"]
    spec = EnvSpec("Toy-v0", (3,), ActionSpace(2, -np.ones(2, np.float32), np.ones(2, np.float32)), 100)
    key, home = jax.random.key(0), corpus.folder / "agent"
    critics = {"value": ValueCritic.create(3, key, (4,))}
    meta = {"method": "ppo", "seed": 0, "steps": 64, "eps": 0.1, "threat": {"eps": 0.1, "norm": "linf"}}
    agent = Agent(spec, RunningNormaliser.create((3,)), GaussianPolicy.create(3, 2, key, (4,)), critics, meta)
    agent.save(home)

    def load(_: Path) -> None:
        from wocar.api import default_threat

        loaded = load_agent(home)
        loaded.predict(np.zeros(loaded.spec.obs_shape))
        default_threat(loaded)

    weights, text = ((home / name).read_bytes() for name in ("agent.safetensors", "agent.json"))

    def load_weights(path: Path) -> None:
        """With a checksum that fits, as a stranger would write it."""
        import hashlib

        (home / "agent.json").write_bytes(text)
        about = json.loads(text) | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        (home / "agent.json").write_text(json.dumps(about))
        try:
            load(path)
        finally:
            (home / "agent.json").write_bytes(text)

    def load_text(path: Path) -> None:
        (home / "agent.safetensors").write_bytes(weights)
        load(path)

    corpus.add("agent.json", "agent/agent.json", text, load_text)
    corpus.add("agent.safetensors", "agent/agent.safetensors", weights, load_weights)
    run = corpus.folder / "run"
    run.mkdir()
    from wocar.methods.presets import default_config
    from wocar.training.run_config import to_json

    config = {"config": to_json(default_config("wocar-ppo", "Hopper-v4", None)), "command": "wocar train"}
    corpus.add("run.json", "run/run.json", json.dumps(config).encode(), lambda _: load_config(run).check())


def add_foreign(corpus: Corpus) -> None:
    from wocar import interop

    np, forge = sys.modules["numpy"], module_of_tests("interop/conftest.py")
    data = ROOT / "tests" / "interop" / "data"

    def load(path: Path) -> None:
        interop.load_all(path, "Toy-v0")

    for name in ("ppo-Toy-v0.zip", "dqn-Toy-v0.zip", "recurrent-Toy-v0.zip"):
        corpus.add(f"sb3 {name.split('-')[0]}", name, (data / name).read_bytes(), load)
    pickled = (data / "ppo-Toy-v0_vecnormalize.pkl").read_bytes()
    corpus.add(
        "vecnormalize.pkl",
        "statistics.pkl",
        pickled,
        lambda path: void(interop.load_all(data / "ppo-Toy-v0.zip", "Toy-v0", path)),
    )
    tree = forge.model_tree(np.random.default_rng(0), (11, 3))
    corpus.add("model, zip", "zip.model", forge.torch_zip(tree), load)
    corpus.add("model, stream", "stream.model", forge.torch_stream(tree), load)
    _add_checkpoints(corpus, forge)
    armed = forge.torch_zip({**tree, "x": forge.Call("posix", "system", ("touch ran",))})
    corpus.add("model, armed", "armed.model", armed, load)


def _add_checkpoints(corpus: Corpus, forge: Any) -> None:
    """CleanRL's, and ONNX files as far as they become networks: others are run, which is not reading."""
    import jax

    from wocar import interop
    from wocar.agent import Agent
    from wocar.interop.onnx_graph import read_graph
    from wocar.interop.onnx_reader import NotSequentialError, white_box
    from wocar.interop.onnx_writer import onnx_file
    from wocar.interop.restricted import one_line_refusal
    from wocar.networks import GreedyPolicy, RunningNormaliser, mlp
    from wocar.types import ActionSpace, EnvSpec

    np, spec = sys.modules["numpy"], EnvSpec("Toy-v0", (4,), ActionSpace(3))
    sizes = {"network.0": (8, 4), "network.2": (8, 8), "network.4": (3, 8)}
    weights = {f"{name}.weight": np.ones(size, "f4") for name, size in sizes.items()}
    weights |= {f"{name}.bias": np.ones(size[0], "f4") for name, size in sizes.items()}

    def load(path: Path) -> None:
        interop.load_all(path, "Toy-v0", None, lambda id: spec)

    def network(path: Path) -> None:
        with contextlib.suppress(NotSequentialError):
            with one_line_refusal("x"):
                graph = read_graph(path.read_bytes())
            white_box(graph, "x", spec, {})

    for kind in ("zip", "stream"):
        corpus.add(f"cleanrl, {kind}", f"{kind}.pt", getattr(forge, f"torch_{kind}")(weights), load)
    if importlib.util.find_spec("onnx"):
        statistics = RunningNormaliser(np.ones(4), np.ones(4), 9.0)
        agent = Agent(spec, statistics, GreedyPolicy(mlp([4, 8, 3], jax.random.key(0))))
        corpus.add("onnx", "x.onnx", onnx_file(agent), network)
