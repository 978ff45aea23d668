"""What to try: tilts, amounts of smoothing, nodes, cells, cuts, and guesses of the answer.

Nothing in this package is trusted. The modules beside it bound their errors for whatever is
proposed here, so a mistake here can cost time or make an enclosure wide, never wrong.
"""
