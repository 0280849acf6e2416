import numpy as np
import pytest

from wocar.schedules import Schedule


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("constant", [2.0, 2.0, 2.0, 2.0]),
        ("linear", [0.0, 0.5, 1.0, 2.0]),
        ("cubic", [0.0, 2 / 64, 0.25, 2.0]),
        ("stage", [0.0, 0.0, 0.0, 2.0]),
        ("smoothed", [0.0, 2 * 0.0625 / 0.8125, 2 * 0.3125 / 0.8125, 2.0]),
        ("exponential", [0.0, 0.5, 1.0, 2.0]),
    ],
)
def test_values_by_hand(kind: str, expected: list[float]) -> None:
    schedule = Schedule(2.0, kind)  # type: ignore[arg-type]
    np.testing.assert_allclose([float(schedule(x)) for x in (0.0, 0.25, 0.5, 1.0)], expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["linear", "cubic", "smoothed", "exponential", "stage"])
def test_grows_from_begin_to_end_and_stays(kind: str) -> None:
    schedule = Schedule(3.0, kind, begin=0.2, end=0.7)  # type: ignore[arg-type]
    values = np.array([float(schedule(x)) for x in np.linspace(0, 1, 101)])
    assert (np.diff(values) >= -1e-6).all()
    assert (values[:20] == 0).all() and np.allclose(values[71:], 3.0)


def test_exponential_is_slow_at_first() -> None:
    schedule = Schedule(1.0, "exponential")
    assert 0 < float(schedule(0.1)) < 1e-4
