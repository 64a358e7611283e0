"""Tests that a session of the plugin runs."""

COLUMN = """
def test_column(smem):
    recording = smem.run("square.py", constants={"IPAD": 1}, engine="lockstep")
    smem.assert_max_degree(recording["set_row_read_col_pad"], 1)
    smem.assert_max_degree(recording["set_row_read_col"], 1)
"""
