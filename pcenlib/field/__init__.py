"""What is in my recordings?

Events in recordings of your own: the search, the threshold, the tables that other programs open, the report, and the
command.
"""
