"""What counts as a fit notebook, and each way of not being one."""

from __future__ import annotations

import base64
import copy
import io
import json
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from tritonlab import notebook

SOURCES = ["import numpy as np", "x = np.arange(3)\nprint(x)", "x"]


def make() -> nbformat.NotebookNode:
    """A small notebook as the build would store it."""
    cells = [v4.new_markdown_cell("# Title")]
    for count, source in enumerate(SOURCES, 1):
        cells.append(v4.new_code_cell(source, execution_count=count))
    cells[2].outputs = [v4.new_output("stream", name="stdout", text="[0 1 2]\n")]
    cells[3].outputs = [
        v4.new_output("execute_result", data={"text/plain": "array([0, 1, 2])"}, execution_count=3)
    ]
    nb = v4.new_notebook(cells=cells)
    nb.metadata["tritonlab"] = {"source": notebook.source_hash(nb)}
    return notebook.canonical(nb)


def store(nb: nbformat.NotebookNode, path: Path) -> Path:
    """Write ``nb`` as an editor would: not made canonical on the way."""
    path.write_text(nbformat.writes(nb, version=nbformat.NO_CONVERT) + "\n")
    return path


def png() -> str:
    from matplotlib.figure import Figure

    file = io.BytesIO()
    Figure(figsize=(1, 1)).savefig(file, format="png")
    return base64.b64encode(file.getvalue()).decode()


def test_a_notebook_as_the_build_stores_it_is_fit(tmp_path):
    assert notebook.problems(store(make(), tmp_path / "a.ipynb")) == []


def test_canonical_form_is_stable(tmp_path):
    text = notebook.to_text(make())
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    assert notebook.to_text(notebook.read(path)) == text
    assert text.endswith("}\n")


# each of these makes a fit notebook unfit, and `problems` must say so in these words


def change_source(nb):
    nb.cells[2].source += "\n# edited"


def change_tags(nb):
    nb.cells[2].metadata["tags"] = ["raises-exception"]


def drop_hash(nb):
    del nb.metadata["tritonlab"]


def unrun(nb):
    nb.cells[2].execution_count = None
    nb.cells[2].outputs = []


def add_cell(nb):
    nb.cells.append(v4.new_code_cell("y = 1", id="abc"))


def empty_cell(nb):
    nb.cells[1].source = "  \n"


def error(nb):
    nb.cells[2].outputs.append(v4.new_output("error", ename="ValueError", evalue="no", traceback=["no"]))


def widget_state(nb):
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}}


def widget_view(nb):
    nb.cells[3].outputs[0].data[notebook.WIDGET_MIME] = {"model_id": "1", "version_major": 2, "version_minor": 0}


def page_left(nb):
    nb.cells[3].outputs[0].data["application/vnd.tritonlab.page"] = "<html>"


def picture_lost(nb):
    nb.cells[3].outputs[0].metadata["tritonlab"] = {"hash": "1"}


def picture_stale(nb):
    output = nb.cells[3].outputs[0]
    output.data["image/png"] = png()
    output.metadata["tritonlab"] = {"hash": "1", "look": "2", "module": ["common.js"]}


def path_in_output(nb):
    nb.cells[2].outputs[0].text = f"{notebook.ROOT}/tritonlab/x.py:3: UserWarning\n"


def temporary_path_in_output(nb):
    nb.cells[2].outputs[0].text = "/tmp/ipykernel_123/4.py:3: UserWarning\n"


def saved_by_jupyterlab(nb):
    nb.metadata["language_info"]["version"] = "3.12.1"


def other_counts(nb):
    nb.cells[1].execution_count = 7


def split_stream(nb):
    nb.cells[2].outputs = [v4.new_output("stream", name="stdout", text=t) for t in ("[0 1", " 2]\n")]


def timed(nb):
    nb.cells[1].metadata["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}


def shown_answer(nb):
    nb.cells[3].metadata["tags"] = ["answer"]
    nb.metadata["tritonlab"]["source"] = notebook.source_hash(nb)


@pytest.mark.parametrize(
    "spoil, says",
    [
        (change_source, "is stale"),
        (change_tags, "is stale"),
        (drop_hash, "was not written by the build"),
        (unrun, "code cell 1 was not run"),
        (add_cell, "code cell 3 was not run"),
        (empty_cell, "code cell 0 is empty"),
        (error, "code cell 1 ends in ValueError"),
        (widget_state, "holds widget state"),
        (widget_view, "code cell 2 holds a widget view"),
        (page_left, "code cell 2 holds a page"),
        (picture_lost, "code cell 2 lacks the picture"),
        (picture_stale, "code cell 2 holds a stale picture: common.js changed"),
        (path_in_output, "code cell 1 names a place on the machine"),
        (temporary_path_in_output, "code cell 1 names a place on the machine"),
        (saved_by_jupyterlab, "is not in canonical form"),
        (other_counts, "is not in canonical form"),
        (split_stream, "is not in canonical form"),
        (timed, "is not in canonical form"),
        (shown_answer, "is not in canonical form"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_is_wrong_is_said(tmp_path, spoil, says):
    nb = make()
    spoil(nb)
    found = notebook.problems(store(nb, tmp_path / "a.ipynb"))
    assert any(says in line for line in found), found


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"nbformat": 3}', '{"nbformat": 4}'])
def test_what_is_no_notebook_is_said(tmp_path, text):
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    assert "cannot be read as a notebook" in notebook.problems(path)[0]


def test_an_error_that_its_tag_asks_for_is_fit(tmp_path):
    nb = make()
    error(nb)
    nb.cells[2].metadata["tags"] = ["raises-exception"]
    nb.metadata["tritonlab"]["source"] = notebook.source_hash(nb)
    assert notebook.problems(store(nb, tmp_path / "a.ipynb")) == []


def test_a_picture_whose_module_is_unchanged_is_fit(tmp_path):
    nb = make()
    picture_stale(nb)
    output = nb.cells[3].outputs[0]
    output.metadata["tritonlab"]["look"] = notebook.module_hash(["common.js"])
    assert notebook.problems(store(notebook.canonical(nb), tmp_path / "a.ipynb")) == []


def test_prose_does_not_make_a_notebook_stale():
    nb = make()
    before = notebook.source_hash(nb)
    nb.cells[0].source = "# Another title"
    assert notebook.source_hash(nb) == before


def test_an_answer_is_stored_hidden_and_nothing_else_is():
    nb = make()
    nb.cells[3].metadata["tags"] = ["answer"]
    nb.cells[2].metadata["jupyter"] = {"outputs_hidden": True, "source_hidden": True}
    nb = notebook.canonical(nb)
    assert nb.cells[3].metadata == {"tags": ["answer"], "jupyter": {"outputs_hidden": True}}
    assert nb.cells[2].metadata == {"jupyter": {"source_hidden": True}}


def test_streams_are_merged_between_other_outputs_with_stdout_first():
    nb = make()
    stream = lambda name, text: v4.new_output("stream", name=name, text=text)  # noqa: E731
    shown = v4.new_output("display_data", data={"text/plain": "x"})
    nb.cells[2].outputs = [stream("stderr", "e"), stream("stdout", "a"), stream("stderr", "f"), stream("stdout", "b"), shown, stream("stdout", "c")]
    outputs = notebook.canonical(nb).cells[2].outputs
    assert [(o.get("name"), o.get("text")) for o in outputs] == [("stdout", "ab"), ("stderr", "ef"), (None, None), ("stdout", "c")]


def test_cell_ids_are_kept_made_where_missing_and_unique():
    nb = make()
    kept = nb.cells[1].id
    nb.cells[2].id = kept
    del nb.cells[3]["id"]
    first, second = (notebook.canonical(copy.deepcopy(nb)) for _ in range(2))
    ids = [cell.id for cell in first.cells]
    assert ids[1] == kept and len(set(ids)) == 4
    assert ids == [cell.id for cell in second.cells]


def test_a_png_loses_who_wrote_it_and_keeps_its_pixels():
    from matplotlib.image import imread

    before = png()
    assert b"Software" in base64.b64decode(before)
    after = notebook.plain_png(before)
    assert b"Software" not in base64.b64decode(after) and notebook.plain_png(after) == after
    left, right = (imread(io.BytesIO(base64.b64decode(p))) for p in (before, after))
    assert (left == right).all()


def test_a_traceback_is_stored_without_this_machines_paths():
    nb = make()
    nb.cells[2].outputs = [
        v4.new_output("error", ename="E", evalue="e", traceback=[f"File {notebook.ROOT}/tritonlab/a.py:3", "/tmp/ipykernel_1/2.py"])
    ]
    assert notebook.canonical(nb).cells[2].outputs[0].traceback == ["File tritonlab/a.py:3", "<cell>"]


def test_multi_line_text_may_be_stored_as_a_list(tmp_path):
    raw = json.loads(notebook.to_text(make()))
    assert raw["cells"][2]["source"] == ["x = np.arange(3)\n", "print(x)"]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(raw))
    assert notebook.read(path).cells[2].source == SOURCES[1]
