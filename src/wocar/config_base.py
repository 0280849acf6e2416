"""Base classes of configurations: the kind they are stored under, ranges of their numbers, what they build."""

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

from wocar.threat import Threat
from wocar.types import EnvSpec, UserError

T = TypeVar("T")


class Range(NamedTuple):
    low: float
    high: float
    rule: str
    """Completes "--option must ..."."""

    def of(self, names: str) -> dict[str, "Range"]:
        """This range for each of some fields, separated by spaces."""
        return dict.fromkeys(names.split(), self)


COUNT = Range(1, sys.maxsize, "be positive")
POSITIVE = Range(sys.float_info.min, sys.float_info.max, "be positive")
NOT_NEGATIVE = Range(0, sys.float_info.max, "be a number from 0 up")
SHARE = Range(0, 1, "lie between 0 and 1")
SEED = Range(0, 2**31 - 1, "lie between 0 and 2147483647")

THREAT_SETTINGS = [field.name for field in dataclasses.fields(Threat) if field.name != "on"]
"""What of a threat is set by a name of its own; what it is on, by the name of the field that holds it."""

KINDS: dict[str, type["ConfigBase"]] = {}
"""Kind, as `run.json` names it, to the class."""


@dataclass(frozen=True)
class ConfigBase:
    """A part of a run's configuration; its subclasses are frozen dataclasses, each with a kind of its own."""

    kind: ClassVar[str] = ""
    ranges: ClassVar[Mapping[str, Range]] = {}
    """Of this class's own fields; those of its bases hold too."""

    def __init_subclass__(cls, kind: str | None = None) -> None:
        place = f"{cls.__module__}.{cls.__qualname__}"
        cls.kind = place if kind is None else kind
        known = KINDS.setdefault(cls.kind, cls)
        if (taken := f"{known.__module__}.{known.__qualname__}") != place:
            raise ValueError(f"the kind {cls.kind!r} of {place} is that of {taken}")
        KINDS[cls.kind] = cls

    @property
    def threats(self) -> list[Threat]:
        """What this part trains against."""
        return [value for value in vars(self).values() if isinstance(value, Threat)]

    def check(self, run: Any) -> None:
        """A UserError where the settings do not fit together, or not the rest of the RunConfig."""


class AlgorithmConfig(ConfigBase):
    """Settings of a base algorithm."""

    n_envs: int
    n_steps: int
    gamma: float
    hidden: tuple[int, ...]
    normalise_obs: bool
    normalise_reward: bool = False
    reward_cap: float | None = None
    reward_slope: float = 0.0
    minibatches: int = 1

    @property
    def block(self) -> int:
        """Steps of an environment that no minibatch tears apart."""
        return 1

    def build(self, objective: Any) -> Any:
        """The algorithm with this objective; None: its own loss alone."""
        raise NotImplementedError


class ObjectiveConfig(ConfigBase):
    """Settings of what is added to a base algorithm."""

    hunt_begin: float = 1.0
    hunt_long: bool = False

    def build(self, spec: EnvSpec, algorithm: AlgorithmConfig) -> Any:
        """The objective for an environment and a base algorithm."""
        raise NotImplementedError


@overload
def configured(config: type[T], /, **settings: Any) -> T: ...


@overload
def configured(config: T, /, **settings: Any) -> T: ...


def configured(config: Any, /, **settings: Any) -> Any:
    """A config from settings by the names that they have on the command line: of a class, or changed in an instance.

    Settings of a threat go into the field that holds it, which is called `threat`, or `X_threat` where they are X_eps,
    X_norm and so on. A threat may also be given whole, as such or as its JSON.
    """
    cls = config if isinstance(config, type) else type(config)
    values = {} if isinstance(config, type) else dict(vars(config))
    for field in dataclasses.fields(cls):
        if _holds_threat(field):
            values |= _routed(field, values.get(field.name, field.default), settings)
    return cls(**(values | settings))


def flat_settings(config: Any) -> dict[str, Any]:
    """The settings from which `configured` makes this config."""
    flat: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if not isinstance(value, Threat):
            flat[field.name] = value
            continue
        data = value.to_json()
        flat |= {field.name: data.pop("on")} | {_prefix(field) + name: item for name, item in data.items()}
    return flat


def setting_names(config: type) -> set[str]:
    """The settings that `configured` takes for a class."""
    fields = dataclasses.fields(config)
    inner = {_prefix(field) + name for field in fields if _holds_threat(field) for name in THREAT_SETTINGS}
    return {field.name for field in fields} | inner


def _routed(field: dataclasses.Field, start: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """The field's threat after the settings that concern it, which are taken out."""
    kind: type[Threat] = type(field.default) if isinstance(field.default, Threat) else Threat
    names = [name for name in THREAT_SETTINGS if _prefix(field) + name in settings]
    own = {name: settings.pop(_prefix(field) + name) for name in names}
    given = settings.pop(field.name, None)
    if isinstance(given, str):
        own["on"] = given
    elif given is not None:
        start = given if isinstance(given, Threat) else kind.from_json(given)
    base = vars(start) if isinstance(start, Threat) else {}
    return {field.name: kind(**(base | own))} if base or own else {}


def _holds_threat(field: dataclasses.Field) -> bool:
    return field.name.endswith("threat")


def _prefix(field: dataclasses.Field) -> str:
    return field.name.removesuffix("threat")


def check_ranges(config: Any) -> None:
    """A UserError for the first number outside its range."""
    ranges: dict[str, Range] = {}
    for base in reversed(type(config).__mro__):
        ranges |= vars(base).get("ranges", {})
    for name, value in flat_settings(config).items():
        if name in ranges and value is not None and not ranges[name].low <= value <= ranges[name].high:
            raise UserError(f"--{name.replace('_', '-')} must {ranges[name].rule}, not {value}")
