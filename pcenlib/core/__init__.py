"""What do the equations say about this sound?

From samples to the spectrogram E, from E to the detection functions of the paper, and from their values to a threshold
and its false alarms. Arrays in, arrays out: nothing here knows of animals, distances, tables or figures.
"""
