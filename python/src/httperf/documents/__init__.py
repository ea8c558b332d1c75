# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.
"""Records that documents consist of, by the kind of document."""
