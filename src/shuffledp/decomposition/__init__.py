"""The algebra of general-clone decompositions and the random variable they induce."""

from shuffledp.decomposition.continuous import Continuous
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.decomposition.gparv import GPARV, Law
from shuffledp.decomposition.lattice import product_of
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.decomposition.segments import decompose_segments
from shuffledp.decomposition.smooth import Atom, Piece, Smooth
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.decomposition.transform import SmoothLaw

__all__ = [
    "GPARV",
    "Atom",
    "Continuous",
    "Decomposition",
    "Law",
    "LawRows",
    "Piece",
    "Smooth",
    "SmoothLaw",
    "SmoothRows",
    "decompose_segments",
    "product_of",
]
