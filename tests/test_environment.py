"""environment.yml and constraints.txt say what pyproject.toml says."""

import re
import tomllib

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = [
    line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")
]


@pytest.fixture(scope="module")
def environment():
    return yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def test_the_environment_has_a_python_that_the_package_takes(environment):
    # repo2docker reads only python=X.Y, no other form.
    found = [re.fullmatch(r"python=(\d+\.\d+)", str(line)) for line in environment]
    (version,) = [match[1] for match in found if match]
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)


def test_the_environment_leaves_every_package_to_pyproject(environment):
    names = [line for line in environment if isinstance(line, str)]
    assert sorted(line.partition("=")[0] for line in names) == ["pip", "python"]
    ((line,),) = [line["pip"] for line in environment if isinstance(line, dict)]
    extras = re.fullmatch(r"-e \.\[([a-z,]+)\]", line)[1].split(",")
    assert set(extras) <= set(EXTRAS)
    assert not any("torch" in requirement for extra in extras for requirement in EXTRAS[extra])


def test_constraints_are_plain_sorted_pins():
    names = [line.partition("==")[0] for line in PINS]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._]+", line) for line in PINS)
    assert sorted(PINS, key=str.upper) == PINS
    assert len({canonicalize_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    "wanted",
    [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)],
)
def test_every_requirement_has_a_pin_that_it_takes(wanted):
    requirement = Requirement(wanted)
    pins = {canonicalize_name(name): pin for name, pin in (line.split("==") for line in PINS)}
    pin = pins.get(canonicalize_name(requirement.name))
    assert pin, f"constraints.txt has no pin for {wanted}: its head says how to renew it"
    assert requirement.specifier.contains(pin, prereleases=True)
