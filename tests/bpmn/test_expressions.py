"""Compiled expressions are remembered up to a size, however many models there were."""

from conjoin.bpmn.expressions import Remembered, compiled


def test_an_expression_is_compiled_once() -> None:
    assert compiled("=n + 12345") is compiled("=n + 12345")


def test_the_oldest_are_forgotten_where_the_texts_become_too_long() -> None:
    remembered = Remembered(10)
    for text in ("=aaa", "=bbb"):
        remembered.put(text, compiled(text))
    assert remembered.get("=aaa")
    remembered.put("=ccc", compiled("=ccc"))
    assert [text for text in ("=aaa", "=bbb", "=ccc") if remembered.get(text)] == ["=aaa", "=ccc"]


def test_what_is_longer_than_everything_that_is_remembered_is_not() -> None:
    remembered = Remembered(10)
    remembered.put("=a + b + c + d", compiled("=a + b + c + d"))
    assert remembered.get("=a + b + c + d") is None
