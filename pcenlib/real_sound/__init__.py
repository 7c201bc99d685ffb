"""The paper's experiments on real recordings: data sets in, a tidy table out.

One module for each experiment; the same files give the same table. `results` keeps the tables, and where they came
from, for readers without the recordings.
"""
