"""Users of different levels: what one tier reveals among all, proved and attained."""
