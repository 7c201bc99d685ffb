"""What do the equations say about this sound?

From samples to the spectrogram E, from E to the detection functions of the paper, and from their values to a threshold
and its false alarms. Arrays in, arrays out: nothing here knows about animals, distances, tables or figures.

In reading order: `novelty`, `setting`, `recordings` (with `riff`), `spectrogram`, `streaming` (with `butterflies`,
`transform` and `kernels`), `evaluation`, `resampling`.
"""
