"""Threat model: what an attacker may change, by how much, and measured how. The only home of eps and norm."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, Protocol

import jax.numpy as jnp
import numpy as np
import tyro

from wocar.bounds import Ball
from wocar.bounds.ball import Norm
from wocar.networks.normaliser import Normaliser, affine
from wocar.types import Array, EnvSpec, Limits, UserError

Attacked = Literal["observation", "action"]
Units = Literal["normalised", "raw"]

BRIGHTEST = 255.0
"""Of a pixel, in raw units."""


class Observer(Protocol):
    """An agent, as far as a threat is concerned."""

    @property
    def spec(self) -> EnvSpec: ...

    @property
    def normaliser(self) -> Normaliser: ...


@dataclass(frozen=True)
class Threat:
    eps: float
    """Radius of the ball in which observations may be moved."""
    norm: Norm = "linf"
    on: Annotated[Attacked, tyro.conf.arg(name="threat")] = "observation"
    """What the attacker moves: observations; or actions, by up to eps, or to any discrete one with probability eps."""
    units: Units = "normalised"
    """What eps is measured in: observations after the agent's normaliser, or as the environment gives them."""
    radii: tuple[float, ...] | None = None
    """For each dimension of the observation a factor of eps; 0 where the attacker cannot move it."""

    OPTION: ClassVar[str] = "--"
    """How the options that set these fields begin."""

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "eps", float(self.eps))
        if self.radii is not None:
            object.__setattr__(self, "radii", tuple(map(float, self.radii)))

    def _check(self) -> None:
        """A UserError where a setting cannot be meant."""
        if not _is_radius(self.eps):
            raise UserError(f"{self.OPTION}eps must be a number from 0 up, not {self.eps}")
        if self.norm not in ("linf", "l2"):
            raise UserError(f"unknown norm {self.norm!r}; norms: linf, l2")
        if self.on not in ("observation", "action"):
            raise UserError(f"unknown threat {self.on!r}; threats: observation, action")
        if self.units not in ("normalised", "raw"):
            raise UserError(f"unknown units {self.units!r}; units: normalised, raw")
        if self.radii is not None and not all(map(_is_radius, self.radii)):
            raise UserError(f"{self.OPTION}radii must be numbers from 0 up, not {self.radii}")
        if self.on == "action" and (self.norm, self.units, self.radii) != ("linf", "normalised", None):
            raise UserError("attacks on actions know the norm linf, one radius and the units of the actions only")

    def at(self, eps: float) -> "Threat":
        """The same threat with another radius."""
        return dataclasses.replace(self, eps=eps)

    def ball(self, limits: Limits = None, eps: float | Array | None = None) -> Ball:
        """The ball in training, where pixels have `limits` and other raw observations are not normalised.

        `eps` replaces the threat's own: a scheduled radius.
        """
        return self._ball(limits, eps, np.asarray(BRIGHTEST if limits else 1.0))

    def ball_for(self, agent: Observer, eps: float | Array | None = None) -> Ball:
        """The ball around what the agent sees: its normaliser gives the limits, and the scale of raw units.

        In raw units the attacker comes before the normaliser, which then clips what it is given.
        """
        self.check_dimensions(agent.spec)
        limits, clip = agent.normaliser.limits, getattr(agent.normaliser, "clip", math.inf)
        if self.units == "raw" and limits is None and math.isfinite(clip):
            limits = -clip, clip
        return self._ball(limits, eps, affine(agent.normaliser)[1], agent.spec.obs_shape)

    def _ball(
        self, limits: Limits, eps: float | Array | None, unit: np.ndarray, shape: tuple[int, ...] = (-1,)
    ) -> Ball:
        """`unit`: what the normaliser divides by."""
        radius, scale = self.eps if eps is None else eps, None
        if self.radii is not None:
            scale = np.reshape(self.radii, shape)
        if self.units == "raw" and unit.ndim == 0:
            radius = radius / float(unit)
        elif self.units == "raw":
            scale = (1.0 if scale is None else scale) / unit
        return Ball.within(limits, radius, self.norm, None if scale is None else jnp.asarray(scale, jnp.float32))

    def check_dimensions(self, spec: EnvSpec) -> None:
        """A UserError where the radii are not those of this observation."""
        size = math.prod(spec.obs_shape)
        if self.radii is not None and len(self.radii) != size:
            raise UserError(f"{self.OPTION}radii must be {size} numbers for {spec.id}, not {len(self.radii)}")

    def seen_by(self, agent: Observer) -> "Threat":
        """This threat in normalised units, by an agent's normaliser as it is; its clip is left out."""
        self.check_dimensions(agent.spec)
        unit = affine(agent.normaliser)[1]
        if self.units == "normalised":
            return self
        if unit.ndim == 0:
            return dataclasses.replace(self, eps=self.eps / float(unit), units="normalised")
        radii = np.ones(unit.size) if self.radii is None else np.asarray(self.radii)
        return dataclasses.replace(self, units="normalised", radii=tuple(radii / unit.reshape(-1)))

    def check_training(self, spec: EnvSpec, normalises: bool) -> None:
        """A UserError where training cannot follow this threat; `normalises`: by statistics that still move."""
        self.check_dimensions(spec)
        image = len(spec.obs_shape) == 3
        if self.radii is not None and image:
            raise UserError(f"{self.OPTION}radii is for observations that are vectors; {spec.id} shows images")
        if self.units == "raw" and normalises and not image:
            raise UserError(f"{self.OPTION}units raw needs observations that training does not normalise: "
                            "add --no-normalise-obs")  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return data | {"radii": None if self.radii is None else list(self.radii)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Threat":
        """What `to_json` wrote; fields that are missing have their defaults."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(data, dict) or "eps" not in data or not data.keys() <= names:
            raise UserError(f"{data!r} is not a threat: it has the fields {', '.join(sorted(names))}")
        return cls(**data)


def asked_threats(threat: Threat, eps: float | Sequence[float] | None = None, **changes: Any) -> tuple[Threat, ...]:
    """The threat with what is not None changed, once for each radius."""
    given = {name: value for name, value in changes.items() if value is not None}
    if "radii" in given:
        given["radii"] = tuple(map(float, given["radii"]))
    if eps is None and given.get("units", threat.units) != threat.units:
        raise UserError("--units needs --eps: the radius is known in other units only")
    changed = dataclasses.replace(threat, **given)
    several: Any = [threat.eps] if eps is None else [eps] if isinstance(eps, Real) else eps
    try:
        return tuple(changed.at(float(radius)) for radius in several)
    except (TypeError, ValueError):
        raise UserError(f"eps must be a number or several, not {eps!r}") from None


def meta_threat(meta: dict[str, Any]) -> Threat | None:
    """The threat in an agent's meta; older agents have their eps only, in l_inf."""
    if isinstance(meta.get("threat"), dict):
        return Threat.from_json(meta["threat"])
    return Threat(meta["eps"], meta.get("norm", "linf")) if meta.get("eps") else None


def _is_radius(x: Any) -> bool:
    return isinstance(x, Real) and 0 <= float(x) < math.inf
