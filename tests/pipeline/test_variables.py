"""Variables are looked over many at a time: each text is judged as if it were alone."""

import random

import numpy as np
import pyarrow as pa
import pytest

from conjoin.pipeline.correlate.fold.variables import leave_out_bad_variables, problem_of_variables

TEXTS = [
    None,
    "",
    " ",
    "{}",
    '{"a":1}',
    "{}{}",
    '{"a":1} {}',
    "{}\n{}",
    "[]",
    "{",
    '{"a":',
    '{"a":{}',
    "}",
    '{"b":"}"}',
    " {}",
]


def judged(texts: list[str | None]) -> list[bool]:
    fine = np.ones(len(texts), dtype=bool)
    leave_out_bad_variables(pa.array(texts, pa.string()), np.ones(len(texts), dtype=bool), fine)
    return fine.tolist()


def test_an_empty_text_does_not_make_up_for_one_that_is_two_objects() -> None:
    assert judged(["{}", "", "{}{}", "{}"]) == [True, False, False, True]


@pytest.mark.parametrize("seed", range(50))
def test_texts_are_judged_together_as_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    texts = chance.choices(TEXTS, weights=[1, 1, 1, *[20] * 2, *[1] * (len(TEXTS) - 5)], k=chance.randint(1, 60))
    alone = [text is None or problem_of_variables(text) is None for text in texts]
    assert judged(texts) == alone, texts
