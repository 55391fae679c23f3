"""Bytes that are no model, or mean harm: each is refused with a sentence, quickly, and never with an error of lxml."""

import time

import pytest

from conjoin.bpmn import ModelError, judge, read_model
from conjoin.bpmn.reading.xml import MOST_BYTES
from tests.bpmn.snippets import BEGIN, END, HEAD, model

PLAIN = model(BEGIN + END, "begin>end")
BPMN = b'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"'

ENTITIES = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [
  <!ENTITY a "aaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
  <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<definitions>&c;</definitions>"""
OUTSIDE = b"""<!DOCTYPE d [<!ENTITY file SYSTEM "file:///etc/passwd">]><definitions>&file;</definitions>"""
OUTSIDE_DTD = b"""<!DOCTYPE definitions SYSTEM "http://127.0.0.1:9/evil.dtd"><definitions/>"""

HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "entities that grow": (ENTITIES, 2, "DOCTYPE"),
    "an entity from a file": (OUTSIDE, 1, "DOCTYPE"),
    "a DTD from outside": (OUTSIDE_DTD, 1, "DOCTYPE"),
    "an entity nobody declared": (PLAIN.replace(b'"begin"', b'"&evil;"', 1), 6, "undefined entity"),
    "deep nesting": (b"<a>" * 10_000 + b"</a>" * 10_000, 1, "nested more than 200 deep"),
    "a huge file": (PLAIN + b" " * MOST_BYTES, 1, "are the most"),
    "nothing": (b"", 1, "no element found"),
    "no XML": (b"PK\x03\x04 a zip file", 1, "not well-formed"),
    "bytes": (bytes(range(256)), 1, "not well-formed"),
    "half a file": (PLAIN[: len(PLAIN) // 2], 2, "not well-formed"),
    "two roots": (PLAIN + b"<more/>", 11, "junk after document element"),
    "a prefix without a namespace": (b"<x:definitions/>", 1, "unbound prefix"),
    "an attribute twice": (b'<a id="1" id="2"/>', 1, "duplicate attribute"),
    "an encoding that does not exist": (b'<?xml version="1.0" encoding="klingon"?><a/>', 1, "encoding"),
    "an encoding of many bytes": (b'<?xml version="1.0" encoding="euc-jp"?><a/>', 1, "encoding"),
    "bytes that are not of the encoding": (PLAIN.replace(b'"begin"', b'"\xff"', 1), 6, "invalid token"),
    "text that is not of the encoding it names": (PLAIN.replace(b"UTF-8", b"UTF-16"), 1, "encoding"),
    "another root": (b"<html/>", 1, "the root is <html>"),
    "an older BPMN": (b'<definitions xmlns="http://schema.omg.org/spec/BPMN/2.0"/>', 1, "the root is <definitions>"),
    "a process without definitions": (b"<process " + BPMN + b"/>", 1, "the root is <process>"),
    "a null byte": (PLAIN.replace(b"begin", b"be\x00gin", 1), 6, "not well-formed"),
}


@pytest.mark.parametrize(("content", "line", "words"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_model_is_refused_with_one_problem(content: bytes, line: int, words: str) -> None:
    began = time.monotonic()
    with pytest.raises(ModelError) as refused:
        read_model(content, "evil.bpmn")
    [problem] = refused.value.problems
    assert (problem.file, problem.rule, problem.line) == ("evil.bpmn", "xml", line)
    assert words in problem.text
    assert time.monotonic() - began < 2


def test_encodings_that_modelers_write_are_read() -> None:
    text = PLAIN.decode().replace('id="order"', 'id="order" name="Ümläut"')
    for encoding in ("utf-8", "utf-16", "iso-8859-1"):
        content = text.replace("UTF-8", encoding).encode(encoding)
        assert read_model(content).plans[0].name == "Ümläut"
    assert read_model(b"\xef\xbb\xbf" + text.encode()).plans[0].name == "Ümläut"


def test_comments_and_instructions_between_elements_change_nothing() -> None:
    body = "<!-- a note -->\n" + BEGIN + "<?modeler hint?>\n" + END
    assert list(read_model(model(body, "begin>end")).plans[0].elements) == ["begin", "end"]


def test_line_is_where_the_element_begins_however_long_its_tag() -> None:
    body = BEGIN + '<serviceTask\n  id="ship"\n  name="Ship"\n/>\n' + END
    [problem] = judge(model(body, "begin>ship ship>end")).problems
    assert (problem.line, problem.element) == (7, "ship")


def test_lines_are_right_in_files_of_more_lines_than_libxml2_counts() -> None:
    body = BEGIN + "\n" * 70_000 + '<serviceTask id="ship"/>\n<robot/>\n' + END
    problems = judge(model(body, "begin>ship ship>end")).problems
    head = HEAD.count("\n") + 3
    assert [(problem.line, problem.rule) for problem in problems] == [
        (head + 70_000, "jobs"),
        (head + 70_001, "schema"),
    ]


def test_large_model_is_read_in_a_few_seconds() -> None:
    tasks = "".join(f'<manualTask id="t{n}"/>\n' for n in range(8_000))
    flows = " ".join(f"t{n}>t{n + 1}" for n in range(7_999))
    began = time.monotonic()
    plan = read_model(model(BEGIN + tasks, f"begin>t0 {flows}"), is_deployed=True).plans[0]
    assert len(plan.elements) == 8_001
    assert time.monotonic() - began < 20


def test_element_with_thousands_of_flows_is_compiled_in_a_few_seconds() -> None:
    ends = "".join(f'<endEvent id="e{n}"/>\n' for n in range(6_000))
    flows = " ".join(f"split>e{n}" for n in range(6_000))
    began = time.monotonic()
    content = model(BEGIN + '<parallelGateway id="split"/>\n' + ends, f"begin>split {flows}")
    plan = read_model(content, is_deployed=True).plans[0]
    assert len(plan.elements["split"].outgoing) == 6_000
    assert time.monotonic() - began < 20
