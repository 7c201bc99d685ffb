"""What would it sound like from there?

Callers, noises, the air and the sea between them, and the measurements that simulated and recorded sound are compared
by. Nothing here knows of detectors.
"""
