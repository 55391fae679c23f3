"""Every expression can be read, and stands wherever a plain text would make no sense."""

from conjoin.bpmn.analysis.expression_sites import sites
from conjoin.bpmn.document import Document, Found
from conjoin.bpmn.expressions import compiled, is_expression
from conjoin.feel import FeelSyntaxError


def expressions(document: Document) -> Found:
    for site in sites(document):
        if is_expression(site.text):
            try:
                compiled(site.text)
            except FeelSyntaxError as error:
                text = f"{site.what} cannot be read: {site.text}"
                yield site.part, text, f"The expression behind the equals sign, {error}."
        elif site.must_be_expression:
            text = f"{site.what} is the plain text '{site.text}'" if site.text else f"{site.what} is empty"
            yield site.part, text, f"Begin it with an equals sign: ={site.text or '...'}"
