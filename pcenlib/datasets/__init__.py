"""Where do sounds come from?

Simulated, re-propagated and real data sets behind one interface, with the catalogue of the real ones and how to get
them. Nothing here knows of detectors.
"""
