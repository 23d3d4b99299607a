"""Proves inside a box that the image of the given target (slim, full, max) can do what it promises.

Runs as a box user, without network, on a read-only root: `python3 -c "$(cat smoke-test.py)" full`.
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import warnings

TARGETS = ["slim", "full", "max"]
CHECKS = []


def check(target):
    """Registers a check for this target and the larger ones."""

    def register(function):
        CHECKS.append((target, function))
        return function

    return register


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{' '.join(command)} gave {done.returncode}: {done.stderr.strip()[-400:]}"
    return done.stdout


@check("slim")
def surroundings():
    assert os.getuid() == 30001, "not run as a box user"
    assert run("whoami").strip() == "boxuser"
    assert not os.access("/", os.W_OK) and not os.access("/etc", os.W_OK)
    setuid = run("sh", "-c", "find / -xdev -type f -perm /6000 2>/dev/null || true")
    assert setuid == "", f"programs that change their user: {setuid.split()}"
    assert open("/etc/apt/sources.list").read() == "", "a package source is left"
    assert os.listdir("/etc/apt/sources.list.d") == [] and os.listdir("/var/lib/apt/lists") == []


@check("slim")
def programs():
    for program in ("bash", "curl", "git", "jq", "rg", "file", "less", "patch", "xz", "tini", "sort", "sed", "tar"):
        run(program, "--version")
    for program in ("pdftotext", "pdftoppm"):
        run(program, "-v")
    assert run("bash", "-lc", "command -v ps zip unzip bzip2 awk").count("\n") == 5


@check("slim")
def shell_and_encoding():
    pathlib.Path("销量.txt").write_text("一,2\n", encoding="utf-8")
    assert run("sh", "-lc", "ls 销量.txt && rg -c 一 销量.txt").split() == ["销量.txt", "1"]
    assert f"{os.environ['HOME']}/.local/bin" in run("sh", "-lc", "echo $PATH")
    assert run("sqlite3", ":memory:", "select 6 * 7").strip() == "42"
    assert run("jq", "-n", "6 * 7").strip() == "42"


@check("slim")
def archives_and_git():
    run("git", "init", "-q", "repo")
    run("git", "-c", "user.name=box", "-c", "user.email=box@localhost", "commit", "-qm", "x", "--allow-empty", cwd="repo")
    run("zip", "-q", "a.zip", "销量.txt")
    assert "销量.txt" in run("unzip", "-l", "a.zip")
    run("tar", "-cJf", "a.tar.xz", "销量.txt")


@check("slim")
def office_files():
    import docx
    import lxml.etree
    import openpyxl
    import PIL.Image
    import pypdf
    import requests
    import yaml

    book = openpyxl.Workbook()
    book.active.append(["月份", 3])
    book.save("a.xlsx")
    assert openpyxl.load_workbook("a.xlsx").active["A1"].value == "月份"
    text = docx.Document()
    text.add_paragraph("报告")
    text.save("a.docx")
    assert docx.Document("a.docx").paragraphs[0].text == "报告"
    pdf = pypdf.PdfWriter()
    pdf.add_blank_page(72, 72)
    pdf.write("a.pdf")
    assert len(pypdf.PdfReader("a.pdf").pages) == 1
    for kind in ("png", "jpeg", "webp", "gif"):
        PIL.Image.new("RGB", (4, 4), "red").save(f"a.{kind}")
    assert run("file", "-b", "--mime-type", "a.png").strip() == "image/png"
    assert lxml.etree.fromstring("<a><b/></a>").find("b") is not None
    assert yaml.safe_load("a: [1]") == {"a": [1]} and requests.__version__


@check("full")
def tables():
    import pandas
    import xlsxwriter

    with open("销量.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["月份", "销量"], ["一月", 3], ["二月", 4]])
    frame = pandas.read_csv("销量.csv")
    assert frame["销量"].sum() == 7
    frame.to_excel("b.xlsx", engine="xlsxwriter", index=False)
    assert pandas.read_excel("b.xlsx").shape == (2, 2) and xlsxwriter.__version__


@check("full")
def chart_with_default_settings():
    import numpy
    from matplotlib import pyplot

    def drawn(text):
        figure = pyplot.figure(figsize=(1, 1))
        figure.text(0.3, 0.3, text, fontsize=24)
        figure.canvas.draw()
        pixels = numpy.asarray(figure.canvas.buffer_rgba()).copy()
        pyplot.close(figure)
        return pixels

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = drawn("\u0378")
    assert (missing != drawn("")).any(), "the sign for a missing glyph is not drawn, so it cannot be compared"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for glyph in "销量図データ매출\u2212€Ж":
            assert (drawn(glyph) != missing).any(), f"{glyph} is drawn as a missing glyph"
            assert (drawn(glyph) != drawn("")).any(), f"{glyph} is not drawn"
        figure, axes = pyplot.subplots()
        axes.bar(["一月", "二月"], [-3, 4])
        axes.set_title("销量图表 データの推移 매출 추이")
        for kind in ("png", "svg", "pdf"):
            figure.savefig(f"chart.{kind}")


@check("full")
def chart_with_fonts_of_other_systems():
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in (
            {"font.sans-serif": ["SimHei", "Arial Unicode MS"]},
            {"font.family": "Microsoft YaHei"},
            {"font.family": "serif"},
            "seaborn-v0_8-whitegrid",
        ):
            with pyplot.style.context(settings):
                figure, axes = pyplot.subplots()
                axes.set_title("销量 −3")
                figure.canvas.draw()
                pyplot.close(figure)


@check("full")
def pdf_with_chinese_text():
    from reportlab.pdfbase import pdfmetrics, ttfonts
    from reportlab.pdfgen import canvas

    pdfmetrics.registerFont(ttfonts.TTFont("cjk", "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc", subfontIndex=0))
    page = canvas.Canvas("b.pdf")
    page.setFont("cjk", 20)
    page.drawString(72, 720, "销量报告")
    page.save()
    assert "销量报告" in run("pdftotext", "b.pdf", "-")


@check("full")
def node_images_and_pip():
    assert run("node", "-e", "console.log(6 * 7)").strip() == "42"
    run("convert", "-size", "8x8", "xc:red", "c.png")
    assert "PNG 8x8" in run("identify", "c.png")
    assert "wenquanyi" in run("fc-match", "-f", "%{family}", ":charset=9500").lower().replace(" ", "")
    package = pathlib.Path("package")
    package.mkdir()
    (package / "setup.py").write_text("from setuptools import setup; setup(name='smoke', py_modules=['smoke'])")
    (package / "smoke.py").write_text("answer = 42")
    run("pip", "install", "-q", "--no-index", "--no-build-isolation", "./package")
    assert run("python3", "-c", "import smoke; print(smoke.answer)").strip() == "42"


@check("max")
def media_documents_science():
    import scipy.optimize

    assert abs(scipy.optimize.brentq(lambda x: x - 1, 0, 3) - 1) < 1e-9
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=64x64", "-y", "a.mp4")
    assert "video" in run("ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "a.mp4")
    pathlib.Path("a.md").write_text("# 报告\n", encoding="utf-8")
    run("pandoc", "a.md", "-o", "b.docx")
    run("npm", "--version")
    run("python3", "-m", "venv", "venv")
    run("venv/bin/pip", "--version")


def main(target):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        for needed, function in CHECKS:
            if TARGETS.index(needed) > TARGETS.index(target):
                continue
            name = function.__name__.replace("_", " ")
            try:
                function()
                print(f"ok      {name}", flush=True)
            except Exception as error:
                failed += 1
                line = traceback.extract_tb(error.__traceback__)[1].lineno
                print(f"FAILED  {name} (line {line}): {type(error).__name__}: {error}", flush=True)
        os.chdir("/")
    return 1 if failed else 0


sys.exit(main(sys.argv[1]))
