"""The truth about small instances, from the definitions of the mechanisms alone.

Channels are written out output by output, all datasets of a few users and all neighbours are
enumerated, and the worst delta is computed in integers. Nothing but the tests and the judges
(``judge_*.py``) imports the package that is judged.
"""
