"""Every expression can be read, and stands wherever a plain text would make no sense."""

from collections.abc import Iterator

from conjoin.bpmn.analysis.sites import ExpressionSite, sites
from conjoin.bpmn.document import Document
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.errors import Problem
from conjoin.feel import FeelSyntaxError

RULE = "expressions"


def expressions(document: Document) -> Iterator[Problem]:
    for site in sites(document):
        if is_expression(site.text):
            yield from _unreadable(document, site)
        elif site.must_be_expression:
            text = f"{site.what} is the plain text '{site.text}'" if site.text else f"{site.what} is empty"
            yield document.problem(site.part, RULE, text, f"Begin it with an equals sign: ={site.text or '...'}")


def _unreadable(document: Document, site: ExpressionSite) -> Iterator[Problem]:
    try:
        compiled(site.text)
    except FeelSyntaxError as error:
        text = f"{site.what} cannot be read: {site.text}"
        yield document.problem(site.part, RULE, text, f"The expression behind the equals sign, {error}.")
