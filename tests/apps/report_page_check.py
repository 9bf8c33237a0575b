"""The pages of `godwit report` and --report: well-formed, complete, self-contained."""

import json
import re
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from run_program import expect, run

BIN = sys.argv[1]
GODWIT = f"{BIN}/godwit"
SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"
NASTY = "<b>& \"quoted\" 'µs' \x07</script>"


def chart(ident, x_scale, y_scale, better, series):
    return {"id": ident, "title": f"{ident} {NASTY}", "x_label": "bytes", "y_label": "us", "x_scale": x_scale,
            "y_scale": y_scale, "better": better,
            "series": [{"runtime": name,
                        "points": [{"x": x, "median": y, "min": y * 0.9, "max": y * 1.5, "rounds": [y, y]} for x, y in points]}
                       for name, points in series]}


SIZES = [0, 1, 8, 1024, 8193, 1 << 22]
CHARTS = [
    chart("lat", "log2", "log", "lower",
          [("godwit", [(x, 0.2 + x / 1e4) for x in SIZES]), (NASTY, [(x, 0.4 + x / 1e4) for x in SIZES])]),
    chart("bw", "log2", "linear", "higher", [("godwit", [(8, 0), (64, 1e9)])]),
    chart("ranks", "category", "log", "lower", [("godwit", [("2 ranks", 0.3), (8, 5e199)]), (NASTY, [("2 ranks", 1)])]),
    chart("empty", "linear", "log", "lower", [("godwit", [])]),
]
BENCH = {"title": NASTY, "command": f"./dev bench {NASTY}", "date": "2026-01-31T12:00:00Z",
         "machine": {"cpu": NASTY, "cpus": 2, "caches": "L2 2M", "memory": "16 GiB", "kernel": "Linux", "virtual": "no",
                     "pinning": "cpu 0"},
         "runtimes": [{"name": "godwit", "version": "0.1", "about": NASTY}], "charts": CHARTS,
         "targets": [{"name": NASTY, "want": "<= 0.8", "got": "0.5", "met": True, "note": ""},
                     {"name": "other", "want": "1", "got": "2", "met": False, "note": "why"}]}


def page_of(path):
    """The root element. Strict XML, nothing from elsewhere, no scripts."""
    text = Path(path).read_text(encoding="utf-8")
    expect(text.startswith("<!DOCTYPE html>\n"), f"{path}: {text[:40]!r}")
    root = ElementTree.fromstring(text.partition("\n")[2])
    elsewhere = [value for element in root.iter() for name, value in element.attrib.items() if name in ("src", "href")]
    expect(elsewhere == [] and not re.search(r"@import|url\(", text), f"{path} needs {elsewhere}")
    expect(root.find(f".//{XHTML}script") is None, f"{path} has scripts")
    return root


def texts(root):
    return "\n".join(root.itertext())


def numbers_are_inside(svg, width, height):
    for element in svg.iter():
        for name, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if name in element.attrib and element.tag != f"{SVG}rect":
                value = float(element.attrib[name])
                expect(-1 <= value <= limit + 1, f"{element.tag} {element.attrib} lies outside {width} x {height}")
    for line in svg.iter(f"{SVG}polyline"):
        for pair in line.attrib["points"].split():
            x, y = map(float, pair.split(","))
            expect(0 <= x <= width and 0 <= y <= height, f"{pair} lies outside")


def write(folder, name, document):
    path = Path(folder) / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


with tempfile.TemporaryDirectory() as folder:
    bench, html, svg = write(folder, "bench.json", BENCH), f"{folder}/bench.html", f"{folder}/bench.svg"
    out, err = run([GODWIT, "report", bench, "-o", html, "--svg", svg])
    expect(out == err == "" and sorted(file.name for file in Path(folder).iterdir()) ==
           ["bench.html", "bench.json", "bench.svg"], f"{out} {err}")

    page = page_of(html)
    shown = NASTY.replace("\x07", "\ufffd")
    expect(shown in page.find(f".//{XHTML}h1").text, "texts come through as they are")
    figures = page.findall(f".//{XHTML}figure")
    expect([figure.attrib["id"] for figure in figures] == ["lat", "bw", "ranks", "empty"], "a figure for each chart")
    latency = figures[0]
    marks = [element for element in latency.iter(f"{SVG}title") if ", " in (element.text or "")]
    expect(len([mark for mark in marks if mark.text.startswith("godwit, ")]) == len(SIZES), "a title for each point")
    expect(len(latency.findall(f".//{SVG}polyline")) == 2 and len(latency.findall(f".//{SVG}polygon")) == 2,
           "a line and a band for each runtime")
    expect(any("0" == text.text for text in latency.iter(f"{SVG}text")), "zero has a tick")
    rows = latency.findall(f".//{XHTML}table/{XHTML}tr")
    expect(len(rows) == len(SIZES) + 2, f"heading, sizes, mean: {len(rows)} rows")
    expect("0.50" in texts(rows[1]), f"godwit by the other at 0 bytes: {texts(rows[1])!r}")
    expect(figures[2].find(f".//{SVG}path[@class='whisker']") is not None, "categories have whiskers")
    expect("Targets: 1 of 2 met" in texts(page) and "✗ no" in texts(page), "targets")
    for figure in figures:
        numbers_are_inside(figure.find(f"{SVG}svg"), 640, 400)

    picture = ElementTree.parse(svg).getroot()
    expect(picture.tag == f"{SVG}svg" and len(picture.findall(f".//{SVG}polyline")) == 3, "the picture has all lines")
    width, height = map(float, picture.attrib["viewBox"].split()[2:])
    numbers_are_inside(picture, width, height)

    # Reports of runs: the flag and the JSON file lead to the same charts; several files share them.
    run([GODWIT, "run", "-n", "2", "--", GODWIT, "perf", "send_lat", "--sizes", "0,8,64", "-n", "50", "-J",
         f"{folder}/a.json", "--report", f"{folder}/a.html"])
    run([GODWIT, "run", "-n", "2", "--", f"{BIN}/all_reduce_perf", "-b", "8", "-e", "64", "-f", "2", "-n", "5", "-J",
         f"{folder}/b.json", "--report", f"{folder}/b.html"])
    for name, charts, points in (("a", 1, 3), ("b", 2, 2 * 2 * 4)):
        root = page_of(f"{folder}/{name}.html")
        expect(len(root.findall(f".//{XHTML}figure")) == charts, f"{name}: charts")
        expect(len(root.findall(f".//{SVG}circle")) == points, f"{name}: points")
        expect("rank 1: cpu" in texts(root) and "--report" in texts(root), f"{name}: machine and command")
    run([GODWIT, "report", f"{folder}/a.json", f"{folder}/b.json", "-o", f"{folder}/both.html"])
    expect(len(page_of(f"{folder}/both.html").findall(f".//{XHTML}figure")) == 3, "charts of both files")
    Path(f"{folder}/c.json").write_bytes(Path(f"{folder}/a.json").read_bytes())
    run([GODWIT, "report", f"{folder}/a.json", f"{folder}/c.json", "-o", f"{folder}/both.html"])
    (figure,) = page_of(f"{folder}/both.html").findall(f".//{XHTML}figure")
    expect("godwit (a)" in texts(figure) and "godwit (c)" in texts(figure), "files are told apart")

    # Errors: one line that names file and key; no half of a page.
    broken = write(folder, "broken.json", {**BENCH, "charts": [{**CHARTS[0], "x_scale": "log3"}]})
    for words, status, text in [
        ([broken, "-o", f"{folder}/x.html"], 1, "broken.json: charts[0].x_scale: expected one of log2, linear, category"),
        ([f"{folder}/none.json", "-o", f"{folder}/x.html"], 1, "none.json: cannot be read: No such file"),
        ([folder, "-o", f"{folder}/x.html"], 1, f"{folder}: cannot be read: "),
        ([bench], 2, "report: name what to write"),
        ([bench, "-o", "/no/such/folder/x.html"], 2, "-o /no/such/folder/x.html: cannot write there"),
        ([], 2, "files is required"),
    ]:
        out, err = run([GODWIT, "report", *words], status)
        expect(text in err and err.count("\n") == 1 and out == "", f"report {words}: {out!r} {err!r}")
    expect(not Path(f"{folder}/x.html").exists(), "an error leaves no page")
