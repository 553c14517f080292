"""Every exercise of the book has a solution, and the solutions' numbers are computed.

In a solution's Python each expression that stands alone is followed by its answer as a comment.
Every decimal number in the solution's words is given in the exercise or stands in its code.
"""

import ast
import re
from typing import NamedTuple

import pytest
from conftest import ROOT

from voiceprivacy.parameters import declared_parameters, read_notebook

PAGES = sorted((ROOT / "book").glob("exercises_*.md"))
PYTHON = re.compile(r"```python\n(.*?)```", re.S)

COMMAND = r"voiceprivacy run (\w+)((?: -p \w+ (?:'[^']*'|[^\s`]+))*)"


class Exercise(NamedTuple):
    title: str
    task: str
    solution: str


def exercises(page):
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, rest = section.partition("\n")
        task, _, solution = rest.partition("\n:::{dropdown} Solution\n")
        yield Exercise(f"{page.stem}: {title}", task, solution)


ALL = [one for page in PAGES for one in exercises(page)]
COMPUTED = [one for one in ALL if PYTHON.search(one.solution)]


def stated_and_computed(code):
    """The answer beside each expression of a block, and what the expression gives."""
    lines, scope = code.splitlines(), {}
    for statement in ast.parse(code).body:
        source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if isinstance(statement, ast.Expr):
            yield source.partition("  # ")[2], eval(source, scope)
        else:
            exec(source, scope)


def decimals(text):
    return {number.lstrip("0") for number in re.findall(r"(?<![\d.])\d*\.\d+", text)}


def by_title(one):
    return one.title


def test_there_are_exercises_in_every_part():
    assert len(PAGES) == 5
    assert len(ALL) >= 24
    assert len(COMPUTED) >= 20
    assert min(len(list(exercises(page))) for page in PAGES) >= 4


@pytest.mark.parametrize("exercise", ALL, ids=by_title)
def test_it_has_a_solution_an_answer_and_a_learning_point(exercise):
    end = r"\n\*\*Answer\.\*\* .*\n\n\*Learning point\.\* .*\n:::\s*\Z"
    assert re.search(end, exercise.solution, re.S)
    assert exercise.solution.count("**Answer.**") == 1


@pytest.mark.parametrize("exercise", COMPUTED, ids=by_title)
def test_its_code_gives_the_stated_answer(exercise):
    for code in PYTHON.findall(exercise.solution):
        pairs = list(stated_and_computed(code))
        assert pairs
        for stated, computed in pairs:
            assert computed == ast.literal_eval(stated)


@pytest.mark.parametrize("exercise", ALL, ids=by_title)
def test_its_words_have_no_number_but_given_and_computed_ones(exercise):
    known = decimals(exercise.task + "".join(PYTHON.findall(exercise.solution)))
    assert decimals(PYTHON.sub("", exercise.solution)) <= known


@pytest.mark.parametrize("exercise", ALL, ids=by_title)
def test_its_commands_name_notebooks_and_their_parameters(exercise):
    commands = re.findall(COMMAND, exercise.task)
    for name, given in commands:
        declared = declared_parameters(read_notebook(ROOT / "notebooks" / f"{name}.ipynb"))
        assert set(re.findall(r"-p (\w+)", given)) <= set(declared)
