"""A page of docs/ and the labels of a picture, read for check_docs.py."""

import re

import docs_facts as facts

CODE_BLOCK = re.compile(r"^```.*?^```|(?:^(?: {4}|\t)[^\n]*\n?)+", re.M | re.S)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"(?<!\\)\]\(([^()\s]*(?:\([^()]*\))?[^()\s]*)\)")


class Page:
    def __init__(self, path):
        self.path = path
        self.text = facts.read(path)
        self.prose = CODE_BLOCK.sub("\n", self.text)
        self.blocks = CODE_BLOCK.findall(self.text)
        self.spans = CODE_SPAN.findall(self.prose)
        self.code = "\n".join(self.blocks + self.spans)
        self.is_decision = bool(re.match(r"docs/decisions/\d", path))

    def anchors(self):
        """As GitHub makes them of headings, and those given by hand."""
        made = set(re.findall(r'<a id="([^"]+)"', self.text))
        for heading in re.findall(r"^#+ (.+)$", CODE_BLOCK.sub("\n", self.text), re.M):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
            slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
            number = 0
            while slug + (f"-{number}" if number else "") in made:
                number += 1
            made.add(slug + (f"-{number}" if number else ""))
        return made

    def links(self):
        return LINK.findall(CODE_SPAN.sub("", self.prose))

    def table(self, heading):
        """The rows of the first table below a heading, without its own two lines."""
        start = re.search(rf"^#+ {re.escape(heading)}$", self.text, re.M)
        if not start:
            raise facts.Missing(f"{self.path}: no heading '{heading}'")
        lines = self.text[start.end():].splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("|---")), None)
        if first is None:
            raise facts.Missing(f"{self.path}: no table below '{heading}'")
        rows = []
        for line in lines[first + 1:]:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        return rows


def label_boxes(picture):
    """(text, left, right, baseline, size) of each label, its width as in a wide font."""
    style = "".join(element.text or "" for element in picture.iter()
                    if element.tag.endswith("}style"))
    sizes = {name: float(size) for name, size in
             re.findall(r"\.(\w+)\{[^}]*?font-size:(\d+)px", style)}
    for element in picture.iter():
        if not element.tag.endswith("}text"):
            continue
        classes = element.get("class", "").split()
        size = float(element.get("font-size") or
                     next((sizes[name] for name in classes if name in sizes), 12))
        text = "".join(element.itertext())
        width = len(text) * size * (0.6 if "mono" in classes else 0.56)
        left = float(element.get("x", 0))
        if "mid" in classes or element.get("text-anchor") == "middle":
            left -= width / 2
        elif element.get("text-anchor") == "end":
            left -= width
        yield text, left, left + width, float(element.get("y", 0)), size
