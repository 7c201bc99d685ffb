"""Who detects better, and how sure are we?

The experiments of the paper and those on real sound: protocols, detectors, one evaluation, intervals, tables, and
results that are stored for readers without the recordings.
"""
