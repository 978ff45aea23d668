"""The swap bound: an upper bound over all backgrounds, beyond what a decomposition can prove."""
